import type { Hex } from "viem";
import { toApiJobId } from "../../protocol/job-id.ts";
import type { FailureReason } from "../../protocol/job-status.ts";
import { failOperation, refundOperation } from "../chain/operations.ts";
import type { Outcome } from "../chain/outcome.ts";
import type { JobContext } from "./context.ts";

/** Chain time runs in blocks: a refund may be mined in a block whose time is just short of the deadline. */
const REFUND_RETRY_MS = 500;
const REFUND_TRIES = 60;

/** The `failure` of a job whose escrow is returned because its time was over. */
export const JOB_TIMEOUT = "job_timeout";

/** Ends a job without a charge and waits until that is mined. */
export async function failJob(context: JobContext, jobId: Hex, reason: FailureReason, why: string): Promise<Outcome> {
  const outcome = await context.pipeline.submit(failOperation(jobId, reason)).mined;
  if (outcome.status === "mined") {
    context.refused.delete(jobId);
    await context.store.update(jobId, { state: "failed", refundTx: outcome.hash, failure: why });
  } else {
    context.logger.warn(
      { jobId: toApiJobId(jobId), revert: outcome.revert.name },
      "a job could not be failed on chain",
    );
  }
  return outcome;
}

/** Returns the escrow of a job whose time is over; waits for the transaction. Null if the job ended in another way. */
export async function refundJob(context: JobContext, jobId: Hex): Promise<Hex | null> {
  const log = context.logger.child({ jobId: toApiJobId(jobId) });
  for (let attempt = 1; attempt <= REFUND_TRIES; attempt++) {
    const outcome = await context.pipeline.submit(refundOperation(jobId)).mined;
    if (outcome.status === "mined") {
      context.refused.delete(jobId);
      await context.store.update(jobId, { state: "refunded", refundTx: outcome.hash, failure: JOB_TIMEOUT });
      return outcome.hash;
    }
    if (outcome.revert.name !== "Job_TooEarly") {
      log.warn({ revert: outcome.revert.name }, "a job could not be refunded");
      return null;
    }
    await new Promise((resolve) => setTimeout(resolve, REFUND_RETRY_MS));
  }
  log.error("the chain's time stays behind this machine's clock: the refund is left to whoever calls it");
  return null;
}
