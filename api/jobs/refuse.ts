/** How a job ends whose client gets an error: without a charge, and where possible on chain before the client hears of it. */
import type { Address, Hex } from "viem";
import { toApiJobId } from "../../protocol/job-id.ts";
import { FailureReason } from "../../protocol/job-status.ts";
import type { Model } from "../chain/directory.ts";
import { ApiError } from "../errors.ts";
import type { JobContext } from "./context.ts";
import { failJob, JOB_TIMEOUT, refundJob } from "./end.ts";

/** How long a client waits for its job's end on chain. */
const END_WAIT_MS = 10_000;
/** Seconds after which a client that found no worker may ask again: one probe interval. */
const RETRY_AFTER_SECONDS = 5;

/** The job, and the worker that has it now. */
type Refused = { jobId: Hex; worker: Address | undefined };

/** Ends the job without a charge, then gives the error back: no 5xx leaves a live job. */
export async function endUncharged(
  context: JobContext,
  job: Refused,
  { reason, why }: { reason: FailureReason; why: string },
  error: ApiError,
): Promise<ApiError> {
  void noteRefusal(context, job.jobId, why);
  const failing = failJob(context, job.jobId, reason, why);
  failing.catch((failure) => context.logger.warn({ err: failure }, "a job could not be failed yet"));
  // The operation is on its way; a chain that stands still must not hold the client.
  const outcome = await Promise.race([failing, sleep(END_WAIT_MS).then(() => null)]);
  return outcome?.status === "reverted" ? claimedByWorker(context, job) : error;
}

/** Returns the escrow of a job whose time is over. */
export async function timedOut(context: JobContext, job: Refused, credits: number): Promise<ApiError> {
  const jobId = toApiJobId(job.jobId);
  // A refund that is not mined while the client waits, or is too early for the chain's clock, must not be overtaken by a late answer.
  void noteRefusal(context, job.jobId, JOB_TIMEOUT);
  const refund = refundJob(context, job.jobId);
  refund.catch((error) => context.logger.error({ err: error, jobId }, "a refund is open; a restart takes it up again"));
  const refundTx = await Promise.race([refund, sleep(END_WAIT_MS).then(() => "pending" as const)]);
  // The refund was refused: the job ended in another way, which only a proof of its worker can have been.
  if (refundTx === null) return claimedByWorker(context, job);
  const seconds = context.times.completion;
  return new ApiError(
    "job_timeout",
    `No worker completed the job within ${seconds} seconds; the credits are refunded.`,
    {
      details: { job_id: jobId, credits_refunded: credits, refund_tx: refundTx === "pending" ? null : refundTx },
    },
  );
}

/** A fault of ours. The client gets an error, so the job must never be charged: it is failed now, or by the next sweep. */
export function giveUp(context: JobContext, jobId: Hex, error: unknown): void {
  const log = context.logger.child({ jobId: toApiJobId(jobId) });
  log.error({ err: error }, "a job broke off on our side: it is failed");
  const why = "the gateway broke off";
  void noteRefusal(context, jobId, why);
  failJob(context, jobId, FailureReason.AnswerLost, why).catch((failure) =>
    log.warn({ err: failure }, "the job could not be failed yet; the next sweep does it"),
  );
}

/**
 * Notes that the client of a job gets an error, before the chain has the job's end: nobody may charge it for an answer that turns up later.
 * It is in the row too, for a process that is killed meanwhile. Never rejects.
 */
async function noteRefusal({ refused, store, logger }: JobContext, jobId: Hex, why: string): Promise<void> {
  refused.set(jobId, why);
  try {
    await store.update(jobId, { failure: why });
  } catch (error) {
    logger.error(
      { err: error, jobId: toApiJobId(jobId), why },
      "a refused job could not be noted as such: killed before its end is mined, the next process may charge it",
    );
  }
}

/** The worker proved a completion on chain that it never delivered: the escrow is held until that is decided. */
function claimedByWorker(context: JobContext, job: Refused): ApiError {
  const jobId = toApiJobId(job.jobId);
  context.logger.error({ jobId, worker: job.worker }, "a worker proved an answer that it did not deliver");
  return new ApiError(
    "job_timeout",
    "The worker claims an answer on chain that it did not deliver; the charge can be disputed.",
    {
      details: { job_id: jobId, credits_refunded: 0, refund_tx: null },
    },
  );
}

/** 503 with the details of the specification. */
export function noWorkers(model: Model): ApiError {
  return new ApiError(
    "no_workers_available",
    `No worker is available for '${model.id}' now; retry in ${RETRY_AFTER_SECONDS} seconds.`,
    {
      details: { model: model.id, retry_after: RETRY_AFTER_SECONDS },
    },
  );
}

/** 503 after a worker that did not finish what it had begun. */
export function brokenOff(): ApiError {
  return new ApiError(
    "service_unavailable",
    "The worker broke off before the answer was complete; nothing is charged. Retry.",
  );
}

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms).unref());
