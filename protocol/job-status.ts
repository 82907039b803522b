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

/**
 * State a client sees; null for "no such job".
 *
 * @example
 * jobState(4); // "settled"
 */
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

/** The names of these reasons in the index and the API. */
export const FAILURE_REASONS = [
  "routing_failed",
  "worker_failed",
  "hash_mismatch",
  "answer_lost",
  "cancelled",
] as const;
export type FailureReasonName = (typeof FAILURE_REASONS)[number];

/**
 * Name → number on chain.
 *
 * @example
 * failureReason("worker_failed"); // 1
 */
export function failureReason(name: FailureReasonName): FailureReason {
  return FAILURE_REASONS.indexOf(name) as FailureReason;
}

/** Outcomes of a dispute by their number on chain (`Ruling`). */
export const Ruling = { None: 0, WorkerAtFault: 1, GatewayAtFault: 2, Rejected: 3 } as const;

/** The names of a dispute's end in the index and in webhooks; `expired` is the end without a ruling. */
export const RULINGS = ["expired", "worker_at_fault", "gateway_at_fault", "rejected"] as const;
export type RulingName = (typeof RULINGS)[number];

/**
 * Number on chain → name.
 *
 * @example
 * rulingName(1); // "worker_at_fault"
 */
export function rulingName(ruling: number): RulingName {
  const name = RULINGS[ruling];
  if (name === undefined)
    throw new RangeError(`unknown ruling ${ruling}: protocol/job-status.ts is older than the contracts`);
  return name;
}
