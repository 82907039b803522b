import type { Logger } from "pino";
import type { Address, Hex } from "viem";
import { contextMargin, lengthGrace } from "../../protocol/dispatch.ts";
import type { Completion } from "../../protocol/messages.ts";
import { FLAT_TOKENS } from "../../protocol/pricing.ts";
import { jobDigests } from "../../shared/keccak.ts";
import { recoverSigner } from "../../shared/secp256k1.ts";
import type { Head } from "../chain/rpc.ts";
import type { IncidentCode } from "../db/incidents.ts";
import type { SigningDomain } from "../workers/signatures.ts";
import type { CompletedEvent } from "../workers/worker-client.ts";
import type { JobTimes } from "./next-step.ts";
import { estimateTokens } from "./tokenizer.ts";

/** The gateway's own figures of an answer, independent of the worker's statements. */
export type Observed = {
  jobId: Hex;
  worker: Address;
  lockedAt: number;
  hash: Hex;
  text: string;
  bytes: number;
  /** The worker's reasoning, of which it signs only the token count; null after a restart, because reasoning is not stored. */
  reasoning: string | null;
  /** Characters of the reasoning that a client has who pays for it. */
  shownReasoning: number;
  /** Null after a restart: reasoning counts to it and is not stored. */
  maxTokens: number | null;
  contextWindow: number;
  /** Chain time at which the answer was finished at the latest. */
  finishedBy: number;
  /** True if the gateway told the worker to end the answer, because no client waits for it any more. */
  isUnwanted: boolean;
};

type JudgeParts = SigningDomain & { head: Pick<Head, "time">; times: Pick<JobTimes, "completion"> };
/** Reads the chain's time. */
export type ClockParts = { head: Pick<Head, "time" | "refresh">; logger: Logger };

export type Fault = { code: IncidentCode; detail: string };

/**
 * `fault`: the Completion is invalid, and the job is not charged. Otherwise `countedTokens` are the tokens that can be billed, of the answer's
 * content and of the reasoning that was shown. `excess`: what is wrong with it all the same, such as a count that was too high.
 */
export type Verdict = { fault: Fault } | { fault: null; countedTokens: number; excess: Fault | null };

/** Tokenizers differ on the same text, but never by more than this factor and this many tokens. */
const PLAUSIBLE_FACTOR = 2.5;
const PLAUSIBLE_EXTRA = 64;

/** Reads the chain's time where a worker has dated its Completion later than we know: it may have seen a newer block. */
export async function knowsTime({ head, logger }: ClockParts, completedAt: number): Promise<void> {
  if (completedAt <= head.time) return;
  await head.refresh().catch((error) => logger.warn({ err: error }, "the chain's time could not be read"));
}

/** Judges a worker's signed Completion by what was received. The chain checks signature, hash and time again. */
export function judge(context: JudgeParts, seen: Observed, signed: CompletedEvent): Verdict {
  const fault = findFault(context, seen, signed);
  if (fault !== null) return { fault };
  const count = countOf(seen, signed.completion);
  const short = cutShort(context, seen, signed);
  if (short === null) return { fault: null, ...count };
  // Up to the flat price a client pays for tokens that it did not get. Above it, an answer that ended early costs what there is of it.
  return count.countedTokens <= FLAT_TOKENS
    ? { fault: { code: "cut_short", detail: short } }
    : { fault: null, ...count, excess: count.excess ?? { code: "ended_early", detail: short } };
}

type Count = { countedTokens: number; excess: Fault | null };

/** The worker's counts of content and shown reasoning, or the bounds that they exceed. `max_tokens` limits both together. */
function countOf(seen: Observed, { completionTokens, reasoningTokens }: Completion): Count {
  const { text, bytes, reasoning, shownReasoning, maxTokens } = seen;
  // Up to there the price is flat, and counting again would cost every answer time.
  const isFlat = completionTokens + reasoningTokens <= FLAT_TOKENS;
  const content = boundOf({ what: "text", claimed: completionTokens, text, bytes, maxTokens, isFlat });
  if (reasoning === null || reasoning === "") {
    const isInvented = reasoning !== null && reasoningTokens > 0;
    const detail = `claimed ${reasoningTokens} tokens of reasoning, and sent none`;
    return isInvented ? { ...content, excess: { code: "tokens_over_reported", detail } } : content;
  }
  const left = maxTokens === null ? null : maxTokens - content.countedTokens;
  const thought = { what: "reasoning", claimed: reasoningTokens, text: reasoning, bytes: Buffer.byteLength(reasoning) };
  const all = boundOf({ ...thought, maxTokens: left, isFlat });
  const shown = Math.floor((all.countedTokens * shownReasoning) / reasoning.length);
  return { countedTokens: content.countedTokens + shown, excess: content.excess ?? all.excess };
}

type Claim = {
  what: string;
  claimed: number;
  text: string;
  bytes: number;
  maxTokens: number | null;
  /** True if the reported counts are within the flat price, so that a recount would not change it. */
  isFlat: boolean;
};

/** A worker's count of a text, or the bound that it exceeds. */
function boundOf({ what, claimed, text, bytes, maxTokens, isFlat }: Claim): Count {
  const most = Math.min(bytes, maxTokens ?? bytes);
  if (claimed > most) {
    const detail = `claimed ${claimed} tokens for ${bytes} bytes of ${what} and max_tokens ${maxTokens ?? "unknown"}`;
    return { countedTokens: most, excess: { code: "tokens_over_reported", detail } };
  }
  if (isFlat) return { countedTokens: claimed, excess: null };
  const estimate = estimateTokens(text);
  const plausible = mostTokens(estimate);
  if (claimed <= plausible) return { countedTokens: claimed, excess: null };
  const detail = `claimed ${claimed} tokens for a ${what} of about ${estimate}`;
  return { countedTokens: plausible, excess: { code: "tokens_implausible", detail } };
}

/** The most tokens that any tokenizer may count where ours counts so many. */
const mostTokens = (estimate: number) => Math.ceil(estimate * PLAUSIBLE_FACTOR) + PLAUSIBLE_EXTRA;

function findFault(context: JudgeParts, seen: Observed, signed: CompletedEvent): Fault | null {
  const { completion, signature } = signed;
  const { jobId, proofHash, textBytes, completedAt } = completion;
  if (jobId !== seen.jobId) return { code: "wrong_job", detail: `the completion is of job ${jobId}` };
  if (proofHash !== seen.hash) return { code: "hash_mismatch", detail: `sent ${seen.hash}, signed ${proofHash}` };
  if (textBytes !== seen.bytes)
    return { code: "wrong_length", detail: `sent ${seen.bytes} bytes, signed ${textBytes}` };
  if (!isSignedBy(context, completion, signature, seen.worker)) {
    return { code: "wrong_signature", detail: "the completion is not signed by the worker's key" };
  }
  const closes = seen.lockedAt + context.times.completion;
  if (completedAt < seen.lockedAt || completedAt >= closes) {
    return { code: "wrong_time", detail: `completedAt ${completedAt} is not in [${seen.lockedAt}, ${closes})` };
  }
  const now = context.head.time;
  if (completedAt > now) return { code: "wrong_time", detail: `completedAt ${completedAt} is later than now, ${now}` };
  return null;
}

/**
 * `length` means that a limit was reached: `max_tokens`, the context window, a token a byte, or the job's time. Model servers count reasoning to
 * the first two, so it counts here by what was received of it. Returns what is wrong with the answer where none was reached.
 */
function cutShort({ times }: Pick<JudgeParts, "times">, seen: Observed, signed: CompletedEvent): string | null {
  const { completion, finish_reason } = signed;
  const { maxTokens, contextWindow, bytes, reasoning, lockedAt, finishedBy } = seen;
  if (finish_reason !== "length" || maxTokens === null || seen.isUnwanted) return null;
  const { promptTokens, completionTokens } = completion;
  const written = completionTokens + (reasoning ? mostTokens(estimateTokens(reasoning)) : 0);
  const isLong = completionTokens >= bytes || written >= maxTokens;
  const isFull = promptTokens + written >= contextWindow - contextMargin(contextWindow);
  // Not by the Completion's date: that is the newest block's, which can be old on a quiet chain.
  const isLate = finishedBy >= lockedAt + times.completion - lengthGrace(times.completion);
  if (isLong || isFull || isLate) return null;
  return `${completionTokens} of ${maxTokens} tokens, ${finishedBy - lockedAt} s after the lock`;
}

/** Whether the completion is signed by this worker, as the contracts take it. */
function isSignedBy(context: SigningDomain, message: Completion, signature: Hex, worker: Address): boolean {
  return recovers(worker, signature, () => jobDigests(context.chainId, context.escrow).completion(message));
}

/** True if the worker itself signed the acknowledgement of this attempt. */
export function isAcknowledgedBy(
  context: SigningDomain,
  message: { jobId: Hex; attempt: number },
  signature: Hex,
  worker: Address,
): boolean {
  return recovers(worker, signature, () => jobDigests(context.chainId, context.escrow).acknowledgement(message));
}

function recovers(worker: Address, signature: Hex, hashOf: () => Hex): boolean {
  try {
    return recoverSigner(hashOf(), signature)?.toLowerCase() === worker.toLowerCase();
  } catch {
    // No EIP-712 message can hold this value, so it was not signed.
    return false;
  }
}
