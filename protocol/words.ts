/** The packed words of the contracts (`contracts/Words.sol`), as plain objects with the field names of `contracts/Types.sol`. */
import { type Address, getAddress, pad, toHex } from "viem";
import type { Completion } from "./messages.ts";

/** An account's word: `JobLocked` and `JobSettled` tell it. Credits are whole. */
export type AccountWord = {
  id: number;
  free: number;
  escrowed: number;
  sequence: number;
  dailyLimit: number;
  spentToday: number;
  spentDay: number;
  flags: number;
  openDisputes: number;
  operator: number;
};

/** A job's word: `JobLocked` tells it as the lock wrote it. Times are Unix seconds. */
export type JobWord = {
  account: number;
  worker: number;
  credits: number;
  creditsPerRequest: number;
  creditsPer1kTokens: number;
  model: number;
  feeBps: number;
  /** The operator's share of the fee, twentieths. */
  operatorShare: number;
  lockedAt: number;
  deadline: number;
  operator: number;
  attempt: number;
  status: number;
};

/** `JobProven.usage` and `JobSettled.usage`: as the worker signed it, and the output tokens charged. */
export type Usage = Omit<Completion, "jobId" | "proofHash"> & { billedTokens: number };

/** Bits of `AccountWord.flags`. */
export const ACCOUNT_FROZEN = 1;
export const ACCOUNT_LIMITED = 2;
export const ACCOUNT_AUTHORIZED = 4;

/** Fields from the lowest bit up, with their widths. */
const ACCOUNT_FIELDS = {
  id: 32,
  free: 40,
  escrowed: 40,
  sequence: 32,
  dailyLimit: 32,
  spentToday: 32,
  spentDay: 16,
  flags: 8,
  openDisputes: 8,
  operator: 8,
} as const satisfies Record<keyof AccountWord, number>;

const JOB_FIELDS = {
  account: 32,
  worker: 32,
  credits: 32,
  creditsPerRequest: 16,
  creditsPer1kTokens: 16,
  model: 16,
  feeBps: 12,
  operatorShare: 4,
  lockedAt: 40,
  deadline: 32,
  operator: 8,
  attempt: 8,
  status: 8,
} as const satisfies Record<keyof JobWord, number>;

/**
 * Reads `JobLocked.account` or `JobSettled.account`.
 *
 * @example
 * decodeAccountWord(5n << 32n).free; // 5
 */
export function decodeAccountWord(word: bigint): AccountWord {
  return decode(word, ACCOUNT_FIELDS);
}

/**
 * Reads `JobLocked.job`.
 *
 * @example
 * decodeJobWord(8n << 64n).credits; // 8
 */
export function decodeJobWord(word: bigint): JobWord {
  return decode(word, JOB_FIELDS);
}

/**
 * Reads `JobProven.usage` or `JobSettled.usage`.
 *
 * @example
 * decodeUsageWord(12n).promptTokens; // 12
 */
export function decodeUsageWord(word: bigint): Usage {
  return decode(word, {
    promptTokens: 32,
    completionTokens: 32,
    reasoningTokens: 32,
    textBytes: 32,
    billedTokens: 32,
    completedAt: 40,
  });
}

type CompletionEvent = Pick<Completion, "jobId" | "proofHash"> & { usage: bigint };

/**
 * The Completion that the arguments of `JobProven` or `JobSettled` tell.
 *
 * @example
 * const signer = await recoverTypedDataAddress({ ...typedData, message: signedCompletion(event.args) });
 */
export function signedCompletion({ jobId, proofHash, usage }: CompletionEvent): Completion {
  const { billedTokens: _, ...signed } = decodeUsageWord(usage);
  return { jobId, proofHash, ...signed };
}

/**
 * Reads `WorkerRegistry.payeeOf`; null for no such worker, or one that may not take the job.
 *
 * @example
 * decodePayee(0n); // null
 */
export function decodePayee(word: bigint): { id: number; payout: Address } | null {
  if (word === 0n) return null;
  const payout = getAddress(pad(toHex(word & ((1n << 160n) - 1n)), { size: 20 }));
  return { id: Number(word >> 160n), payout };
}

/**
 * Reads `ModelCatalog.termsOf`; null for a model that is unknown or retired.
 *
 * @example
 * decodeLockTerms(40n); // { creditsPerRequest: 40, creditsPer1kTokens: 0, tier: 0 }
 */
export function decodeLockTerms(
  word: bigint,
): { creditsPerRequest: number; creditsPer1kTokens: number; tier: number } | null {
  return word === 0n ? null : decode(word, { creditsPerRequest: 16, creditsPer1kTokens: 16, tier: 8 });
}

function decode<Field extends string>(word: bigint, fields: Record<Field, number>): Record<Field, number> {
  let rest = word;
  const values = {} as Record<Field, number>;
  for (const [field, width] of Object.entries(fields) as [Field, number][]) {
    values[field] = Number(BigInt.asUintN(width, rest));
    rest >>= BigInt(width);
  }
  return values;
}
