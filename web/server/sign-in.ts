/** Sign-In with Ethereum (EIP-4361): the nonces that the server hands out, and the check of a signed message. */
import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto";
import type pg from "pg";
import {
  type Address,
  compactSignatureToSignature,
  encodeDeployData,
  encodeFunctionData,
  erc6492SignatureValidatorAbi,
  erc6492SignatureValidatorByteCode,
  type Hex,
  hashMessage,
  isErc6492Signature,
  isHex,
  numberToHex,
  parseAbi,
  parseCompactSignature,
  serializeSignature,
  size,
} from "viem";
import { parseSiweMessage, validateSiweMessage } from "viem/siwe";
import { type Rpc, RpcError } from "../../api/chain/rpc.ts";
import { ApiError, WebError } from "../../api/errors.ts";
import { FairLimit } from "../../shared/fair-limit.ts";
import { recoverAnySigner } from "../../shared/secp256k1.ts";

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

  issue(): { nonce: string; expiresAt: Date } {
    const expires = Math.floor(Date.now() / 1000) + NONCE_SECONDS;
    const head = expires.toString(16).padStart(8, "0") + randomBytes(12).toString("hex");
    return { nonce: head + mac(this.#keys[0], head), expiresAt: new Date(expires * 1000) };
  }

  /** True if this service issued the nonce and its time is not over. Says nothing about use. */
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

/**
 * The whole of a sign-in message (EIP-4361). Wallets warn of a message for another site only where they find this form: around it, and between
 * its lines, nothing else may stand.
 */
const FORM = new RegExp(
  [
    String.raw`^(?:(?<scheme>[a-z][a-z0-9+.-]*)://)?[^\s/?#@]+ wants you to sign in with your Ethereum account:`,
    "0x[0-9a-fA-F]{40}",
    "",
    String.raw`(?:[^\n]+\n)?`,
    String.raw`URI: \S+`,
    "Version: 1",
    String.raw`Chain ID: \d{1,16}`,
    "Nonce: [a-zA-Z0-9]{8,}",
    String.raw`Issued At: \S+(?:\nExpiration Time: \S+)?(?:\nNot Before: \S+)?(?:\nRequest ID: [^\s]*)?(?:\nResources:(?:\n- \S+)*)?$`,
  ].join("\n"),
);

/** The origin and the chain that a sign-in message must be made for. */
type Audience = { origin: string; chainId: number };

/** How far the signer's clock may be ahead of ours. */
const CLOCK_SKEW_MS = 120_000;

/** A signed sign-in message, and the address of the client that sent it. */
type SignIn = { message: string; signature: Hex; from: string };

export type SignInCheck = { audience: Audience; nonces: Nonces; contracts: ContractSignatures };

/**
 * Verifies an EIP-4361 message and its signature, and uses up its nonce. Returns the wallet, or throws a `WebError`
 * that says which check failed. The nonce is used up only by a valid signature: anyone could send garbage with it.
 */
export async function verifySignIn(signIn: SignIn, { audience, nonces, contracts }: SignInCheck): Promise<Address> {
  const { address, nonce } = checkMessage(signIn.message, audience);
  if (!nonces.isGood(nonce)) {
    throw new WebError(
      "nonce_expired",
      "The sign-in request is too old, or was not made by this service. Sign in again.",
    );
  }
  if (!isOwnSignature(address, signIn) && !(await contracts.verify(address, nonce, signIn))) {
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
  const form = FORM.exec(message);
  const parsed = form === null ? {} : parseSiweMessage(message);
  const { address, nonce, domain, uri, version, issuedAt, expirationTime } = parsed;
  if (address === undefined || nonce === undefined || uri === undefined || version !== "1" || issuedAt === undefined) {
    throw new WebError("invalid_message", "The signed text is not a sign-in message by EIP-4361, version 1.");
  }
  const expected = new URL(origin);
  const scheme = form?.groups?.["scheme"];
  const isOwnScheme = scheme === undefined || `${scheme}:` === expected.protocol;
  if (domain !== expected.host || originOf(uri) !== expected.origin || !isOwnScheme) {
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

/** True if an ordinary account signed the message, which is computed here without the chain. */
function isOwnSignature(address: Address, { message, signature }: SignIn): boolean {
  try {
    // Some wallets sign in 64 bytes (EIP-2098).
    const whole =
      size(signature) === 64
        ? serializeSignature(compactSignatureToSignature(parseCompactSignature(signature)))
        : signature;
    return recoverAnySigner(hashMessage(message), whole) === address;
  } catch {
    // 64 bytes that are no signature of an ordinary account: a contract wallet's can have any form.
    return false;
  }
}

function originOf(uri: string): string | null {
  return URL.canParse(uri) ? new URL(uri).origin : null;
}

// ---------------------------------------------------------------- contract wallets

const erc1271Abi = parseAbi(["function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)"]);

/** Enough to deploy a wallet and to check a passkey's signature in it; a node runs it in some ten milliseconds. */
const GAS = 3_000_000;
const TIMEOUT_MS = 2_000;
/** Checks at a time, and those that may wait for one of them. */
const CONCURRENT = 2;
const MOST_WAITING = 20;
/** Checks of one nonce, and of one client address in a minute. */
const TRIES_A_NONCE = 5;
const TRIES_A_MINUTE = 20;
const MINUTE_MS = 60_000;

/**
 * Signatures of contract wallets (ERC-1271, ERC-6492), which only the chain can judge: the node runs code that the client chose. So the gas is
 * capped, few checks run at a time, and tries are counted by nonce and by client address.
 */
export class ContractSignatures {
  readonly #rpc: Pick<Rpc, "request">;
  readonly #byNonce = new Map<string, number>();
  readonly #byClient = new Map<string, number>();
  #minute = 0;
  readonly #checks = new FairLimit({
    all: CONCURRENT,
    waiting: MOST_WAITING,
    refusal: () => tooMany("Too many contract wallets sign in at once"),
  });

  constructor(rpc: Pick<Rpc, "request">) {
    this.#rpc = rpc;
  }

  /** True if the contract at `address`, or the one that the signature would deploy there, takes the signature. */
  async verify(address: Address, nonce: string, { message, signature, from }: SignIn): Promise<boolean> {
    this.#count(nonce, from);
    try {
      const hash = hashMessage(message);
      const { yes, ...call } = isErc6492Signature(signature)
        ? deployedAnd(address, hash, signature)
        : asked(address, hash, signature);
      const question = { ...call, gas: numberToHex(GAS) };
      const ask = () => this.#rpc.request<Hex>("eth_call", [question, "latest"], TIMEOUT_MS);
      const result = await this.#checks.run(from, ask);
      return isHex(result) && result.length > 2 && BigInt(result) === yes;
    } catch (error) {
      // The code reverted or used up its gas.
      if (error instanceof RpcError) return false;
      throw error;
    }
  }

  #count(nonce: string, from: string): void {
    const minute = Math.floor(Date.now() / MINUTE_MS);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#byClient.clear();
      for (const one of this.#byNonce.keys()) if (expiryOf(one).getTime() < Date.now()) this.#byNonce.delete(one);
    }
    const tries = (this.#byClient.get(from) ?? 0) + 1;
    if (tries > TRIES_A_MINUTE) throw tooMany(`More than ${TRIES_A_MINUTE} signatures of contract wallets in a minute`);
    const used = (this.#byNonce.get(nonce) ?? 0) + 1;
    if (used > TRIES_A_NONCE) {
      throw new WebError(
        "nonce_used",
        `This sign-in request was tried ${TRIES_A_NONCE} times with signatures that the wallet's contract refused. Sign in again.`,
      );
    }
    this.#byClient.set(from, tries);
    this.#byNonce.set(nonce, used);
  }
}

/** A call, and the answer that means yes. */
type Question = { to?: Address; data: Hex; yes: bigint };

/** Asks the contract (ERC-1271). Its signature can be empty: a Safe's is, where its owners have approved the message on chain. */
const asked = (address: Address, hash: Hex, signature: Hex): Question => ({
  to: address,
  data: encodeFunctionData({ abi: erc1271Abi, functionName: "isValidSignature", args: [hash, signature] }),
  yes: BigInt(`0x1626ba7e${"0".repeat(56)}`),
});

/** Asks the contract that the signature would deploy (ERC-6492). */
const deployedAnd = (address: Address, hash: Hex, signature: Hex): Question => ({
  data: encodeDeployData({
    abi: erc6492SignatureValidatorAbi,
    bytecode: erc6492SignatureValidatorByteCode,
    args: [address, hash, signature],
  }),
  yes: 1n,
});

const tooMany = (what: string) =>
  new ApiError("rate_limited", `${what}; try again in a minute.`, { details: { retry_after: 60 } });
