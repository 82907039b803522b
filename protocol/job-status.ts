/** Job states by their number on chain (`JobStatus`), with the API's name of each. */
export const ChainStatus = {
  None: 0,
  Locked: 1,
  Acknowledged: 2,
  Proven: 3,
  Settled: 4,
  Failed: 5,
  Refunded: 6,
  Disputed: 7,
} as const;

export const JOB_STATES = ["pending", "processing", "settling", "settled", "failed", "refunded", "disputed"] as const;
export type JobState = (typeof JOB_STATES)[number];

/** State a client sees; null for "no such job". */
export function jobState(chainStatus: number): JobState | null {
  return JOB_STATES[chainStatus - 1] ?? null;
}

/** Reasons of `fail` by their number on chain (`FailureReason`). */
export const FailureReason = {
  RoutingFailed: 0,
  WorkerFailed: 1,
  HashMismatch: 2,
  AnswerLost: 3,
  Cancelled: 4,
} as const;
export type FailureReason = (typeof FailureReason)[keyof typeof FailureReason];
