/** Sign-In with Ethereum (EIP-4361): the nonces that the server hands out, and the check of a signed message. */
import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto";
import type pg from "pg";
import { type Address, type Hex, recoverMessageAddress } from "viem";
import { parseSiweMessage, validateSiweMessage } from "viem/siwe";
import { type Rpc, RpcUnreachable } from "../chain/rpc.ts";
import { WebError } from "../errors.ts";

/** A message must be signed and sent within this time. */
const NONCE_SECONDS = 600;

const FORMAT = /^[0-9a-f]{8}[0-9a-f]{24}[0-9a-f]{32}$/;

/**
 * Nonces of sign-in messages: expiry (8 hex digits), 12 random bytes, and a MAC over both. Whether a nonce is ours and
 * still good is computed, so asking for nonces fills no table. A used one is stored until it expires: it signs in once,
 * on whichever gateway.
 */
export class Nonces {
  readonly #pool: pg.Pool;
  /** The first one signs; those of other master keys are good too. */
  readonly #keys: readonly [Buffer, ...Buffer[]];

  constructor(pool: pg.Pool, masterKeyHex: string, others: readonly string[] = []) {
    const derive = (hex: string) => Buffer.from(hkdfSync("sha256", Buffer.from(hex, "hex"), "", "sign-in nonces", 32));
    this.#pool = pool;
    this.#keys = [derive(masterKeyHex), ...others.map(derive)];
  }

  /** A new nonce and when it expires. */
  issue(): { nonce: string; expiresAt: Date } {
    const expires = Math.floor(Date.now() / 1000) + NONCE_SECONDS;
    const head = expires.toString(16).padStart(8, "0") + randomBytes(12).toString("hex");
    return { nonce: head + mac(this.#keys[0], head), expiresAt: new Date(expires * 1000) };
  }

  /** Whether this service issued the nonce and its time is not over. Says nothing about use. */
  isGood(nonce: string): boolean {
    if (!FORMAT.test(nonce)) return false;
    const given = Buffer.from(nonce.slice(32), "hex");
    const head = nonce.slice(0, 32);
    if (!this.#keys.some((key) => timingSafeEqual(given, Buffer.from(mac(key, head), "hex")))) return false;
    return Date.now() < expiryOf(nonce).getTime();
  }

  /** Uses the nonce up; false if it was used before. */
  async spend(nonce: string): Promise<boolean> {
    // With an hour to spare: by the gateway's clock it may be good for longer than by the database's.
    await this.#pool.query("DELETE FROM web_nonce WHERE expires_at < now() - interval '1 hour'");
    const { rowCount } = await this.#pool.query(
      "INSERT INTO web_nonce (nonce, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING",
      [nonce, expiryOf(nonce)],
    );
    return rowCount === 1;
  }
}

const mac = (key: Buffer, head: string): string => createHmac("sha256", key).update(head).digest("hex").slice(0, 32);

const expiryOf = (nonce: string): Date => new Date(Number.parseInt(nonce.slice(0, 8), 16) * 1000);

/** What a sign-in message must be made for. */
export type Audience = { origin: string; chainId: number };

/** How far the signer's clock may be ahead of ours. */
const CLOCK_SKEW_MS = 120_000;

/**
 * Verifies an EIP-4361 message and its signature, and uses up its nonce. Returns the wallet, or throws a `WebError`
 * that says which check failed. The nonce is used up only by a valid signature: anyone could send garbage with it.
 */
export async function verifySignIn(
  { message, signature }: { message: string; signature: Hex },
  audience: Audience,
  nonces: Nonces,
  rpc: Rpc,
): Promise<Address> {
  const { address, nonce } = checkMessage(message, audience);
  if (!nonces.isGood(nonce)) {
    throw new WebError(
      "nonce_expired",
      "The sign-in request is too old, or was not made by this service. Sign in again.",
    );
  }
  if (!(await isSignedBy(address, message, signature, rpc))) {
    throw new WebError(
      "invalid_signature",
      `The signature is not of ${address}. Sign in again with that account selected.`,
    );
  }
  if (!(await nonces.spend(nonce))) {
    throw new WebError("nonce_used", "This sign-in request was used before; each one signs in once. Sign in again.");
  }
  return address;
}

function checkMessage(message: string, { origin, chainId }: Audience): { address: Address; nonce: string } {
  const parsed = parseSiweMessage(message);
  const { address, nonce, domain, uri, version, issuedAt, expirationTime } = parsed;
  if (address === undefined || nonce === undefined || uri === undefined || version !== "1" || issuedAt === undefined) {
    throw new WebError("invalid_message", "The signed text is not a sign-in message as of EIP-4361, version 1.");
  }
  const expected = new URL(origin);
  if (domain !== expected.host || originOf(uri) !== expected.origin) {
    throw new WebError(
      "wrong_domain",
      `The message is for ${domain ?? "no domain"} (${uri}), this service is ${expected.origin}: open it there and sign in again.`,
    );
  }
  if (parsed.chainId !== chainId) {
    throw new WebError(
      "wrong_chain",
      `The message is for chain ${parsed.chainId}, this service is on chain ${chainId}.`,
    );
  }
  const now = Date.now();
  const expires = expirationTime?.getTime() ?? Number.NaN;
  const tooLong = !(expires <= now + NONCE_SECONDS * 1000 + CLOCK_SKEW_MS);
  // Also checks the not-before time and the address's checksum.
  const valid = validateSiweMessage({ message: parsed, time: new Date(now) });
  if (!valid || tooLong || issuedAt.getTime() > now + CLOCK_SKEW_MS) {
    throw new WebError(
      "message_expired",
      `The sign-in message is not valid now: it must expire within ${NONCE_SECONDS / 60} minutes. Check the computer's clock and sign in again.`,
    );
  }
  return { address, nonce };
}

/** Ordinary accounts are recovered here; contract wallets (ERC-1271, ERC-6492) are asked on chain. */
async function isSignedBy(address: Address, message: string, signature: Hex, rpc: Rpc): Promise<boolean> {
  try {
    if ((await recoverMessageAddress({ message, signature })) === address) return true;
  } catch {
    // Not the 65 bytes of an ordinary account: a contract wallet's signature can have any form.
  }
  try {
    return await rpc.client.verifyMessage({ address, message, signature });
  } catch (error) {
    throw new RpcUnreachable("verification of a contract wallet's signature", error);
  }
}

function originOf(uri: string): string | null {
  return URL.canParse(uri) ? new URL(uri).origin : null;
}
