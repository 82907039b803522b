import { type Address, type Hex, recoverMessageAddress } from "viem";
import { parseSiweMessage, validateSiweMessage } from "viem/siwe";
import { type Rpc, RpcUnreachable } from "../chain/rpc.ts";
import { WebError } from "./errors.ts";
import { NONCE_SECONDS, type Nonces } from "./nonces.ts";

/** What a sign-in message must be made for. */
export type Audience = { origin: string; chainId: number };

/** How far the signer's clock may be ahead of ours. */
const CLOCK_SKEW_MS = 120_000;

/**
 * Verifies an EIP-4361 message and its signature, and uses up its nonce. Returns the wallet, or throws a `WebError` that says
 * which check failed. The nonce is used up only by a valid signature: anyone could send garbage with it.
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
