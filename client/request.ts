/** A chat request as the client sends it: what it asks for, under which id, and what it signs for that. */
import { createHash, randomUUID } from "node:crypto";
import type { Address, Hex } from "viem";
import { newJobId, toApiJobId } from "../protocol/job-id.ts";
import type { Authorization } from "../protocol/messages.ts";
import { DEFAULT_MAX_TOKENS, quote } from "../protocol/pricing.ts";
import type { SigningAccount } from "../shared/secp256k1.ts";
import type { ChainView } from "./chain.ts";

/** The key that signs for a request, its wallet, and the most credits that the request may cost. */
export type Signing = { account: Pick<SigningAccount, "address" | "sign">; wallet: Address; maxCredits: number };

/**
 * The fields of a request that the client checks its answer against. `again`: the program names it (Idempotency-Key), so its answer can be
 * an earlier one's. `from`: no event of its job is before this block, unless the job is an earlier request's.
 */
export type ClientRequest = {
  model: string;
  maxTokens: number;
  stream: boolean;
  reasoning: boolean;
  /** Milliseconds. */
  askedAt: number;
  /** Jobs that replies to it have named: one, however often it is sent. */
  named: Set<Hex>;
  again: boolean;
  from: Promise<bigint>;
  wallet: Address | null;
  /** The authorization that was signed for the request; null without an authorization key. */
  authorization: (Authorization & { key: Address }) | null;
};

/** The fields of a chat request's body; null if the body is no chat request. */
export function readBody(body: string): Pick<ClientRequest, "model" | "maxTokens" | "stream" | "reasoning"> | null {
  let value: Record<string, unknown>;
  try {
    value = Object(JSON.parse(body));
  } catch {
    return null;
  }
  const { model, stream, max_tokens, max_completion_tokens, reasoning_effort } = value;
  const maxTokens = max_tokens ?? max_completion_tokens ?? DEFAULT_MAX_TOKENS;
  if (typeof model !== "string" || typeof maxTokens !== "number") return null;
  return {
    model,
    maxTokens,
    stream: stream === true,
    reasoning: reasoning_effort != null && reasoning_effort !== "none",
  };
}

const HEADER = "x-service-authorization";
const KEY = "idempotency-key";
/** How long a signature is valid, seconds: a request can wait for its turn that long. */
const HOLDS = 300;

/**
 * Names the job in the headers, so that the request can be repeated and is paid for once: by an authorization where the program has a key for
 * it, else by an Idempotency-Key. Returns what was signed, or the refusal of a request that can cost more than the program allows: SDKs show
 * its message, and do not send the request again.
 */
export async function nameJob(
  chain: ChainView,
  headers: Headers,
  asked: Pick<ClientRequest, "model" | "maxTokens"> & { body: string },
  signing: Signing | null,
): Promise<ClientRequest["authorization"] | Response> {
  if (signing === null) {
    if (!headers.has(KEY)) headers.set(KEY, randomUUID());
    return null;
  }
  const { wallet, account, maxCredits: most } = signing;
  const [{ digests }, model, operator] = await Promise.all([
    chain.deployment(),
    chain.model(asked.model),
    chain.operatorOf(wallet),
  ]);
  // The service says what is wrong with such a request, and locks nothing.
  if (model === null) return null;
  const maxTokens = Math.min(asked.maxTokens, model.contextWindow);
  const maxCredits = quote(maxTokens, model);
  if (maxCredits > most) {
    const says = `${maxTokens} tokens of '${asked.model}' can cost ${maxCredits} credits, and maxCredits is ${most}`;
    const message = `${says}: ask for fewer tokens (max_tokens), or allow more. Nothing was sent.`;
    const error = { code: "invalid_request", message, type: "invalid_request_error", param: "max_tokens" };
    return Response.json({ error }, { status: 400 });
  }
  const message: Authorization = {
    jobId: newJobId(),
    wallet,
    operator,
    model: model.number,
    maxTokens,
    maxCredits,
    requestHash: `0x${createHash("sha256").update(asked.body).digest("hex")}`,
    expiresAt: Math.floor(Date.now() / 1000) + HOLDS,
  };
  const signature: Hex = await account.sign({ hash: digests.authorization(message) });
  headers.set(
    HEADER,
    `job_id=${toApiJobId(message.jobId)};max_tokens=${maxTokens};max_credits=${maxCredits};` +
      `expires_at=${message.expiresAt};signature=${signature}`,
  );
  headers.delete(KEY);
  return { ...message, key: account.address };
}

/** The headers that name a job, of a request that is repeated. */
export const jobNames = (headers: Headers): [string, string][] =>
  [HEADER, KEY].flatMap((name): [string, string][] => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value]];
  });
