/** Which job answers a request: a new one, or that of an earlier request which it repeats (docs/guide/idempotency.md, "Pay once: repeated requests"). */
import type { Hex } from "viem";
import { needsOf } from "../../protocol/dispatch.ts";
import { newJobId, toApiJobId } from "../../protocol/job-id.ts";
import type { ReadBody } from "../../shared/request-body.ts";
import { describeSpan } from "../../shared/tracing.ts";
import type { AbandonedRequests } from "../db/abandoned-requests.ts";
import type { IdempotencyStore } from "../db/idempotency.ts";
import type { JobStore, StoredJob } from "../db/jobs.ts";
import { ApiError } from "../errors.ts";
import { type AdmissionParts, admit, idTaken, type PlannedJob } from "./admission.ts";
import { cameToNothing, claimLasts, type EarlierAnswers } from "./earlier-answers.ts";
import { RunningJob, type RunParts } from "./job.ts";
import { Timings } from "./lock.ts";
import type { PlaceQueue } from "./place-queue.ts";
import type { RunningJobs } from "./running-jobs.ts";

/** A validated request, and the job that is planned for it. */
export type JobRequest = {
  plan: PlannedJob;
  /** By which a repetition is known. */
  bodyHash: Buffer;
  /** Null without that header. For a request with an authorization, the job id that its client chose is the key. */
  idempotencyKey: string | null;
  /** When it arrived, `performance.now()`. */
  receivedAt: number;
  /** Its body in memory: a wait during which the request may be given up, and until when at least the body counts. */
  kept: Pick<ReadBody, "whileWaiting"> & { until: (over: Promise<unknown>) => void };
};

/** The job that answers a request. */
type AnsweringJob =
  /**
   * One of its own. `answer` calls `serve` once the job has a place at a worker and its lock is on its way. It rejects as `serve`, `admit` and the
   * queue do; if nothing was locked, the request's key is free again by then.
   */
  | { kind: "new"; answer: (serve: (run: RunningJob) => Promise<void>) => Promise<void> }
  /** Begun for an earlier request, and still running in this process. */
  | { kind: "joined"; run: RunningJob }
  /** An earlier request's, with its answer. */
  | { kind: "answered"; job: StoredJob };

export type IdempotencyParts = {
  jobs: AdmissionParts &
    RunParts & {
      store: Pick<JobStore, "find">;
      abandoned: Pick<AbandonedRequests, "add" | "take">;
      queue: Pick<PlaceQueue, "enter">;
    };
  idempotency: Pick<IdempotencyStore, "claim" | "isClaimed" | "release">;
  earlier: Pick<EarlierAnswers, "wait">;
  runs: Pick<RunningJobs, "find" | "track">;
};

/**
 * Finds the job that answers a request, and claims the request's key for a new one. Waits for the answer of an earlier request that this one repeats.
 * Rejects with `conflict` for a key or a job id that was used otherwise, and as `EarlierAnswers.wait` does.
 */
export async function findJob(parts: IdempotencyParts, request: JobRequest): Promise<AnsweringJob> {
  const { authorization } = request.plan;
  if (authorization !== null) {
    const { jobId } = authorization.signed;
    return findByKey(parts, request, { key: toApiJobId(jobId), jobId });
  }
  if (request.idempotencyKey !== null) return findByKey(parts, request, { key: request.idempotencyKey, jobId: null });
  return findAbandoned(parts, request);
}

/** The key under which a client can repeat its request: its `Idempotency-Key`, or the job id that it chose, which is then `jobId`, too. */
type RepetitionKey = { key: string; jobId: Hex | null };

/** A new job, unless an earlier request with this key has one. */
async function findByKey(
  parts: IdempotencyParts,
  request: JobRequest,
  { key, jobId: chosen }: RepetitionKey,
): Promise<AnsweringJob> {
  const { jobs, idempotency, earlier } = parts;
  const { bodyHash, kept } = request;
  const { wallet } = request.plan;
  const isUsed = async () => chosen !== null && (await jobs.store.find(chosen)) !== null;
  for (;;) {
    const jobId = chosen ?? newJobId();
    const claimedUntil = Date.now() + claimLasts(jobs.times);
    const claim = await idempotency.claim({ wallet, key, bodyHash }, jobId);
    if (claim.status === "mismatch") {
      if (chosen !== null) throw idTaken(chosen);
      const job = await jobs.store.find(claim.jobId);
      if (job !== null && cameToNothing(job)) {
        await idempotency.release(wallet, key, claim.jobId);
        continue;
      }
      throw new ApiError("conflict", "This Idempotency-Key was used with another body; use a new key.", {
        param: "Idempotency-Key",
      });
    }
    if (claim.status === "new") {
      const release = () => idempotency.release(wallet, key, jobId);
      if (!(await isUsed())) return newJob(parts, request, { jobId, claimedUntil, release });
      await release();
      throw idTaken(jobId);
    }
    const isClaimed = () => idempotency.isClaimed(wallet, key, claim.jobId);
    const recordedBy = Date.now() - claim.ageMs + claimLasts(jobs.times);
    const repetition = { jobId: claim.jobId, wallet, recordedBy, isClaimed };
    const job = await kept.whileWaiting((signal) => earlier.wait(repetition, signal));
    if (job !== null) return { kind: "answered", job };
    // The chain takes an id once, also when its job came to nothing.
    if (await isUsed()) throw idTaken(jobId);
    await idempotency.release(wallet, key, claim.jobId);
  }
}

/**
 * A new job for a request without a key, or that of the same request whose client hung up before any byte of its answer. Client libraries
 * hang up at their timeout and send the same bytes again: their user pays once.
 */
async function findAbandoned(parts: IdempotencyParts, request: JobRequest): Promise<AnsweringJob> {
  const { jobs, runs, earlier } = parts;
  const { plan, bodyHash, kept } = request;
  const repeated = { wallet: plan.wallet, bodyHash };
  const joined = await jobs.abandoned.take(repeated);
  if (joined === null) return newJob(parts, request, null);
  const run = runs.find(joined);
  if (run !== undefined) return { kind: "joined", run };
  // Another gateway runs the job, or it is over. Its row is there once its lock is recorded.
  const recordedBy = Date.now() + jobs.times.lock * 1000;
  const repetition = { jobId: joined, wallet: plan.wallet, recordedBy, isClaimed: async () => true };
  const waiting = kept.whileWaiting((signal) => earlier.wait(repetition, signal));
  const job = await waiting.catch(async (error) => {
    // This client has left, too: its next repetition can join.
    await jobs.abandoned.add(repeated, joined);
    throw error;
  });
  if (job === null) return newJob(parts, request, null);
  return { kind: "answered", job };
}

/** A client of the job hung up before any byte of its answer: if the request has no key, its next repetition can join the job. */
export function noteHangUp(
  { abandoned, logger }: Pick<IdempotencyParts["jobs"], "abandoned" | "logger">,
  { plan, bodyHash }: Pick<JobRequest, "plan" | "bodyHash">,
  run: RunningJob,
): void {
  const { jobId, claimedUntil } = run.input;
  if (claimedUntil !== null) return;
  abandoned
    .add({ wallet: plan.wallet, bodyHash }, jobId)
    // Without a lock there is no job to join.
    .then(() => run.mined.catch(() => abandoned.close(jobId)))
    .catch((error) =>
      logger.warn(
        { err: error, jobId },
        "a client's hang-up was not noted: a repetition of its request can wait in vain, or pay for a job of its own",
      ),
    );
}

/** The key that a request has claimed for a job of this id. */
type Claim = { jobId: Hex; claimedUntil: number; release: () => Promise<void> };

function newJob(parts: IdempotencyParts, request: JobRequest, claim: Claim | null): AnsweringJob {
  const answer = async (serve: (run: RunningJob) => Promise<void>): Promise<void> => {
    let run: RunningJob | undefined;
    let isLocked = false;
    try {
      run = await admitAndLock(parts.jobs, request, claim);
      parts.runs.track(run);
      request.kept.until(run.completed);
      run.mined.then(
        () => {
          isLocked = true;
        },
        () => {}, // `run.locked` or `run.completed` rejects with it
      );
      await serve(run);
    } catch (error) {
      // Without a lock the key is free again. From the lock on it stays with the job, whose row tells a repetition what came of it: an error does
      // not say that the chain has the job's end.
      if (!isLocked && (run === undefined || error instanceof ApiError)) await claim?.release();
      throw error;
    }
  };
  return { kind: "new", answer };
}

async function admitAndLock(
  jobs: IdempotencyParts["jobs"],
  { plan, receivedAt, kept }: JobRequest,
  claim: Claim | null,
): Promise<RunningJob> {
  const timings = new Timings(receivedAt);
  const { wallet, model } = plan;
  const admitted = await kept.whileWaiting((signal) => admit(jobs, plan, signal));
  timings.end("prepare");
  const { credits, authorization } = admitted;
  const wanted = { wallet, model, credits, needs: needsOf(admitted.request), isAuthorized: authorization !== null };
  const admission = await kept.whileWaiting((signal) => jobs.queue.enter(wanted, signal));
  timings.end("queue");
  // Made as late as it can be: until the lock is mined, the job is missing in lists behind newer ids.
  const jobId = claim?.jobId ?? newJobId();
  describeSpan({ "job.id": toApiJobId(jobId), "gen_ai.request.model": model.id });
  const claimedUntil = claim?.claimedUntil ?? null;
  return new RunningJob(jobs, { ...admitted, wallet, model, jobId, admission, timings, claimedUntil });
}
