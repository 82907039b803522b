import type { FailureReasonName, JobState } from "../../../protocol/job-status.ts";
import type { Ended } from "../../contract.ts";

/** In few words, for a row; and as a sentence. */
type Why = readonly [few: string, sentence: string];

const FAILED: Record<FailureReasonName, Why> = {
  routing_failed: ["no worker took it", "No worker took the job."],
  worker_failed: ["worker gave no answer", "Its worker gave no whole answer."],
  hash_mismatch: [
    "answer did not match",
    "The text that arrived is not the one its worker signed, so it does not count.",
  ],
  answer_lost: ["answer was not delivered", "The service could not deliver the answer to its client."],
  cancelled: ["client left before", "Its client's connection ended before there was an answer."],
};
const REFUNDED: Record<NonNullable<Ended["refund_reason"]>, Why> = {
  timeout: ["not completed in time", "No worker completed it in time: the contract gave its credits back."],
  dispute: ["dispute ended for the client", "A dispute about it ended with its credits going back to its client."],
  equivocation: ["worker signed two answers", "Its worker signed two answers: the contract gave its credits back."],
};

/** Why a job ended without a charge, or lost it; null where it did not, or where nobody knows yet. */
export function whyUncharged({
  status,
  failure_reason,
  refund_reason,
}: Ended & { status: JobState | null }): Why | null {
  if (status === "failed") return failure_reason === undefined ? null : FAILED[failure_reason];
  return refund_reason === undefined ? null : REFUNDED[refund_reason];
}
