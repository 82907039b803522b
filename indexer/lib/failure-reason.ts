import { FailureReason } from "../../protocol/job-status.ts";

/** Names of `FailureReason` as the index and webhooks show them. */
export type FailureReasonName = "routing_failed" | "worker_failed" | "hash_mismatch" | "answer_lost" | "cancelled";

const NAMES: Record<FailureReason, FailureReasonName> = {
  [FailureReason.RoutingFailed]: "routing_failed",
  [FailureReason.WorkerFailed]: "worker_failed",
  [FailureReason.HashMismatch]: "hash_mismatch",
  [FailureReason.AnswerLost]: "answer_lost",
  [FailureReason.Cancelled]: "cancelled",
};

/** Number on chain → name. */
export function failureReasonName(reason: number): FailureReasonName {
  const name = NAMES[reason as FailureReason] as FailureReasonName | undefined;
  if (name === undefined) throw new RangeError(`unknown failure reason ${reason}: regenerate protocol/job-status.ts`);
  return name;
}
