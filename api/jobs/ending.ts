/**
 * How a job ends, and what follows from each end for its row, for the chain and for its client:
 *
 *   end         row                         on chain     client
 *   answered    settling, then settled      complete     the answer; the charge is that of its tokens
 *   refused     failure, then failed        fail         the error of its cause; nothing is charged
 *   timed out   failure, then refunded      refund       504 job_timeout; nothing is charged
 *   broken off  failure, then failed        fail         500; nothing is charged
 *   withheld    failure                     its worker   500 answer_withheld: the worker proved an answer that it did not deliver. Recovery
 *                                           proved it    asks it for the answer, and disputes the charge where there is none. The worker
 *                                                        is paid for what it delivers: it finalizes its proof, or recovery does
 *
 * If the chain refuses a settlement, the job is failed, unless only its sender was refused. The row's lock and end (`settled`, `failed`,
 * `refunded`) are written from the events of our own mined transactions, whether or not a request waits: job-record.ts.
 */
import type { Address, Hex } from "viem";
import type { DecodedRevert } from "../../protocol/events.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { ChainStatus, FailureReason } from "../../protocol/job-status.ts";
import { charge } from "../../protocol/pricing.ts";
import type { Model } from "../chain/directory.ts";
import {
  completeOperation,
  failOperation,
  finalizeOperation,
  type Outcome,
  refundOperation,
} from "../chain/operations.ts";
import { NotSent, type Submission } from "../chain/pipeline.ts";
import { JobLost, type SignedCompletion } from "../db/jobs.ts";
import { ApiError } from "../errors.ts";
import type { JobContext } from "./context.ts";

// ---------------------------------------------------------------- answered

/** A finished answer whose hash is the one its worker signed. */
export type Finished = {
  jobId: Hex;
  wallet: Address;
  worker: Address;
  attempt: number;
  /** The worker's signature that it took this attempt; null if it gave none. */
  acknowledgement: Hex | null;
  /**
   * What becomes of that acknowledgement on chain. The settlement waits for it: it makes the worker's hash public, and an earlier
   * worker that acknowledged the job could prove the same hash first. Null where no other worker can have the job.
   */
  acknowledged: Promise<Outcome> | null;
  /** Chain time before which it can be settled. */
  settleBefore: number;
  creditsLocked: number;
  model: Pick<Model, "creditsPerRequest" | "creditsPer1kTokens">;
  text: string;
  signed: SignedCompletion;
  /** Output tokens that are billed: the worker's count, as the gateway bounds it. */
  countedTokens: number;
};

/** A settlement on its way. `signed`: hash of its transaction, before that is on record; `done`: whether it was mined as a settlement. */
type Settlement = { signed: Promise<Hex>; done: Promise<boolean> };
export type Settling = Settlement & { charged: number; countedTokens: number };

/** Stores the answer, then sends its settlement. Resolves once the answer is safe; the settlement goes on. Rejects with JobLost. */
export async function settle(context: JobContext, job: Finished): Promise<Settling> {
  const { wallet, jobId, creditsLocked, countedTokens, settleBefore } = job;
  const charged = await keepAnswer(context, job);
  context.balances.expectReturn(wallet, jobId, creditsLocked - charged, settleBefore);
  return { ...submitSettlement(context, job), charged, countedTokens };
}

/** Stores the answer and its charge, and returns that. Rejects with JobLost. */
export async function keepAnswer(context: JobContext, job: Finished): Promise<number> {
  const { store, cipher, logger, times, outputRetentionHours } = context;
  const { jobId, worker, attempt, acknowledgement, signed, countedTokens } = job;
  const charged = charge(countedTokens, job.model, job.creditsLocked);
  const row = {
    jobId,
    worker,
    attempt,
    acknowledgement,
    completion: signed,
    countedTokens,
    creditsCharged: charged,
    output: outputRetentionHours > 0 ? cipher.encrypt(job.text, toApiJobId(jobId)) : null,
    retentionHours: outputRetentionHours,
  };
  // The client waits for this write: as long as the proof can still be mined in time, a failed one is made again.
  const until = (job.settleBefore - times.inclusion / 2) * 1000;
  await store.insist(
    until,
    // Its client has the answer once this is written, and the window of a dispute from then on.
    () => store.answered({ ...row, finalTokenAt: new Date() }),
    (error) => logger.error({ err: error, jobId: toApiJobId(jobId) }, "an answer could not be stored; trying again"),
  );
  return charged;
}

/** Sends the settlement of a stored answer. */
export function submitSettlement(
  context: JobContext,
  job: Pick<Finished, "jobId" | "wallet" | "signed" | "countedTokens" | "settleBefore" | "acknowledged">,
): Settlement {
  const { pipeline, logger } = context;
  const { jobId, wallet, signed, countedTokens } = job;
  const { completion, signature } = signed;
  const settlement = { completion, signature, countedTokens, wallet };
  const send = () => pipeline.submit(completeOperation(settlement, job.settleBefore * 1000));
  const submission = job.acknowledged === null ? send() : sendAfter(job.acknowledged, send);
  const done = submission.mined.then(async (outcome) => {
    if (outcome.status === "mined") return true;
    const { revert } = outcome;
    const log = logger.child({ jobId: toApiJobId(jobId), revert });
    if (revert.name === "Job_NotItsOperator") {
      log.error("this gateway's key is no signer any more: another gateway of the operator settles the job");
      return false;
    }
    log.error("the chain refused a settlement: the job is to be failed, unless its worker proved the answer");
    await fail(context, jobId, FailureReason.WorkerFailed, `settlement refused: ${revert.name}`);
    return false;
  });
  done.catch((error) =>
    logger.error({ err: error, jobId: toApiJobId(jobId) }, "a settlement is open; the next sweep takes it up again"),
  );
  return { signed: submission.signed, done };
}

/** Sends a settlement once its worker's acknowledgement is mined. A refused acknowledgement is a refused settlement. */
function sendAfter(acknowledged: Promise<Outcome>, send: () => Submission): Submission {
  const submission = acknowledged.then((outcome): Submission => {
    if (outcome.status === "mined") return send();
    const signed = Promise.reject(new NotSent("its worker's acknowledgement was refused"));
    return { signed, mined: Promise.resolve(outcome) };
  });
  const signed = submission.then((settlement) => settlement.signed);
  // A caller may care for its outcome only.
  signed.catch(() => {});
  return { signed, mined: submission.then((settlement) => settlement.mined) };
}

// ---------------------------------------------------------------- not answered

/** How long a client waits for its job's end on chain. */
const END_WAIT_MS = 10_000;
/** The `failure` of a job whose time was over. */
export const JOB_TIMEOUT = "job_timeout";

/** The job, the credits that were locked, and the only worker that was offered it; undefined where several were. */
type Refused = { jobId: Hex; credits: number; worker: Address | undefined };

/** Fails the job, then gives the client's error back: no 5xx leaves a live job. */
export async function refuse(
  context: JobContext,
  job: Refused,
  { reason, why, error }: { reason: FailureReason; why: string; error: ApiError },
): Promise<ApiError> {
  const failing = fail(context, job.jobId, reason, why).catch((failure) => {
    context.logger.warn(
      { err: failure, jobId: toApiJobId(job.jobId) },
      "a job could not be failed yet; the next sweep does it",
    );
    return null;
  });
  // The operation is on its way; a chain that stands still must not hold the client.
  const outcome = await Promise.race([failing, sleep(END_WAIT_MS).then(() => null)]);
  return outcome?.status === "reverted" ? endedOtherwise(context, job, outcome.revert, error) : error;
}

/** Refunds a job whose time is over, and gives its client's error back. */
export async function timeOut(context: JobContext, job: Refused): Promise<ApiError> {
  const jobId = toApiJobId(job.jobId);
  const refunding = refund(context, job.jobId).catch((error) => {
    context.logger.error({ err: error, jobId }, "a refund is open; the next sweep sends it");
    return null;
  });
  const outcome = await Promise.race([refunding, sleep(END_WAIT_MS).then(() => null)]);
  const isMined = outcome?.status === "mined";
  const told = isMined ? "the credits are refunded" : `the refund is on its way: follow it at GET /v1/jobs/${jobId}`;
  const error = new ApiError(
    "job_timeout",
    `No worker completed the job within ${context.times.completion} seconds; ${told}.`,
    {
      details: {
        job_id: jobId,
        credits_refunded: isMined ? job.credits : 0,
        refund_tx: isMined ? outcome.hash : null,
      },
    },
  );
  return outcome?.status === "reverted" ? endedOtherwise(context, job, outcome.revert, error) : error;
}

/** A fault of ours: the client gets an error, so the job is failed now, or by the next sweep. A lost job is its new owner's to end. */
export function breakOff(context: JobContext, jobId: Hex, error: unknown): void {
  const log = context.logger.child({ jobId: toApiJobId(jobId) });
  if (error instanceof JobLost) return log.error({ err: error }, "another gateway took over a job that ran here");
  log.error({ err: error }, "a job broke off on our side: it is failed");
  fail(context, jobId, FailureReason.AnswerLost, "the gateway broke off").catch((failure) =>
    log.warn({ err: failure }, "the job could not be failed yet; the next sweep does it"),
  );
}

/** Ends a job without a charge; resolves when that is mined and in its row. */
export async function fail(context: JobContext, jobId: Hex, reason: FailureReason, why: string): Promise<Outcome> {
  void noteRefusal(context, jobId, why);
  const outcome = await context.pipeline.submit(failOperation(jobId, reason)).mined;
  if (outcome.status === "mined") await context.record.written(jobId);
  else {
    const { revert } = outcome;
    context.logger.warn({ jobId: toApiJobId(jobId), revert: revert.name }, "a job could not be failed on chain");
  }
  return outcome;
}

/** Charges a job for the answer that its worker proved and did not finalize; resolves when that is mined or refused. */
export async function finalize(context: JobContext, jobId: Hex, { completion }: SignedCompletion): Promise<void> {
  const outcome = await context.pipeline.submit(finalizeOperation(completion)).mined;
  if (outcome.status === "mined") return;
  context.logger.warn({ jobId: toApiJobId(jobId), revert: outcome.revert.name }, "a proven job could not be finalized");
}

/** Chain time runs in blocks: a refund may be mined in a block whose time is just short of the deadline. */
const REFUND_RETRY_MS = 500;
const REFUND_TRIES = 60;

/** Returns the escrow of a job whose time is over; resolves when that is mined or refused. Null where the chain's time stays behind. */
export async function refund(context: JobContext, jobId: Hex): Promise<Outcome | null> {
  const log = context.logger.child({ jobId: toApiJobId(jobId) });
  void noteRefusal(context, jobId, JOB_TIMEOUT);
  for (let attempt = 1; attempt <= REFUND_TRIES; attempt++) {
    const outcome = await context.pipeline.submit(refundOperation(jobId)).mined;
    if (outcome.status === "mined") {
      await context.record.written(jobId);
      return outcome;
    }
    if (outcome.revert.name !== "Job_TooEarly") {
      log.warn({ revert: outcome.revert.name }, "a job could not be refunded");
      return outcome;
    }
    await sleep(REFUND_RETRY_MS);
  }
  log.error(
    "the chain's time stays behind this machine's clock: the job is not refunded now, the next sweep tries again",
  );
  return null;
}

/** So long a refusal is noted again where the database is away: a job that is not over by then has been refunded. */
const NOTE_MS = 150_000;

/**
 * Notes that the client of a job gets an error, before the chain has the job's end: nobody may charge it for an answer that turns up later.
 * The note is in the row, too, for a process that is killed meanwhile. Never rejects.
 */
async function noteRefusal({ refused, store, logger }: JobContext, jobId: Hex, why: string): Promise<void> {
  if (!refused.has(jobId)) refused.set(jobId, why);
  const log = logger.child({ jobId: toApiJobId(jobId), why });
  try {
    await store.insist(
      Date.now() + NOTE_MS,
      () => store.refused(jobId, why),
      (error) => log.warn({ err: error }, "a refused job could not be noted; trying again"),
    );
  } catch (error) {
    // A job that this database has never seen, or that another process has: nothing of it is charged here.
    if (error instanceof JobLost) return void refused.delete(jobId);
    log.error({ err: error }, "a refused job could not be noted: after a kill, the next process may charge it");
  }
}

/** The client's error where the chain refused the end: the job ended in another way. `error`: what the client would have got. */
function endedOtherwise(context: JobContext, job: Refused, { name, args }: DecodedRevert, error: ApiError): ApiError {
  const status = name === "Job_WrongState" ? args[1] : undefined;
  if (status === ChainStatus.Proven || status === ChainStatus.Disputed) return withheld(context, job);
  if (status === ChainStatus.Settled || status === ChainStatus.Failed || status === ChainStatus.Refunded) {
    return takenOver(job.jobId);
  }
  return error;
}

/** 500: the worker proved an answer that it did not deliver. The credits stay in escrow until that is decided. */
function withheld(context: JobContext, { jobId, worker, credits }: Refused): ApiError {
  const id = toApiJobId(jobId);
  // At most: the proof is older than this error.
  const until = new Date((context.head.time + context.times.finalization) * 1000);
  // Of several workers only the chain knows which one proved: recovery asks it.
  if (worker !== undefined) context.workers.withholds(worker, jobId, until.getTime());
  return new ApiError(
    "answer_withheld",
    `The worker proved an answer on chain that it did not deliver. ${credits} credits stay in escrow until ${until.toISOString()} at most: ` +
      `the service asks the worker for the answer, and disputes the charge if it gets none. Follow it at GET /v1/jobs/${id}.`,
    { details: { job_id: id, credits_held: credits, held_until: until.toISOString() } },
  );
}

/** 503: this process lost its database or its chain for so long that another gateway ended its job. */
export function takenOver(jobId: Hex, cause?: JobLost): ApiError {
  const id = toApiJobId(jobId);
  return new ApiError(
    "service_unavailable",
    `This gateway lost its database, and another one took the job over; ask for ${id} at GET /v1/jobs/${id}.`,
    { details: { job_id: id }, cause },
  );
}

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms).unref());
