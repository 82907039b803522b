/**
 * The lock of a job's credits: sent with the job's row, waited for, and undone if it is mined after its client was refused. `seen` below is the one
 * place that decides when a lock is enough for its job to begin.
 */

import type { Logger } from "pino";
import type { Address, Hex } from "viem";
import { needsOf } from "../../protocol/dispatch.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import type { PreconfirmationLimit } from "../../shared/preconfirmation-limit.ts";
import { sleep } from "../../shared/sleep.ts";
import type { Balances } from "../chain/balances.ts";
import type { Model } from "../chain/directory.ts";
import {
  accountIn,
  eventOf,
  lockAuthorizedOperation,
  lockOperation,
  NotSent,
  type Outcome,
  type Promised,
  type Submission,
} from "../chain/operations.ts";
import type { Operator } from "../chain/operator.ts";
import type { Pipeline } from "../chain/pipeline.ts";
import type { Head } from "../chain/rpc.ts";
import type { JobStore } from "../db/jobs.ts";
import { ApiError, unavailable } from "../errors.ts";
import { type AdmittedJob, lockError } from "./admission.ts";
import type { EndingJob, JobEnding } from "./job-ending.ts";
import type { JobTimes } from "./next-step.ts";
import type { Admission } from "./place-queue.ts";
import type { RowUpdater } from "./row-updater.ts";
import type { WalletStandings } from "./wallet-standing.ts";

/** Measures how long each step of one request takes, for its client (`Server-Timing`) and for the benchmark. */
export class Timings {
  readonly #durations = new Map<string, number>();
  /** When the request arrived, `performance.now()`. */
  readonly startedAt: number;
  #since: number;

  /** @param startedAt When the request arrived, `performance.now()`. */
  constructor(startedAt = performance.now()) {
    this.startedAt = startedAt;
    this.#since = startedAt;
  }

  /** Ends the stage that runs now under this name; the next one begins. Parts of one stage add up. */
  end(name: string): void {
    const now = performance.now();
    this.#durations.set(name, (this.#durations.get(name) ?? 0) + now - this.#since);
    this.#since = now;
  }

  /** Value of a `Server-Timing` header (W3C Server Timing), milliseconds. */
  header(): string {
    return [...this.#durations].map(([name, ms]) => `${name};dur=${ms.toFixed(2)}`).join(", ");
  }
}

export type JobInput = AdmittedJob & {
  jobId: Hex;
  wallet: Address;
  model: Model;
  /**
   * Until when (ms since the epoch) a repetition under the request's key waits for this job's row; null for a request without a key. Such a job
   * ends soon after its clients have left.
   */
  claimedUntil: number | null;
  /** The place at a worker that is kept for it, and the wallet's credits that are held for its lock. */
  admission: Admission;
  /** Takes note of how long each stage took: `prepare`, `queue`, `lock`, `first-token`, `answer`, `record`. */
  timings: Timings;
};

/** A lock, mined or promised. `lockedAt` is chain time; `free` the wallet's balance after it. */
export type Lock = { escrowTx: Hex; lockedAt: number; credits: number; free: number };

/** A lock on its way. `seen`: it is enough for the job to begin. `mined`: it is in a block of the chain, and the job can be ended there. */
export type Locking = { seen: Promise<Lock>; mined: Promise<Lock> };

export type LockParts = {
  /** Whom the gateway locks for. */
  operator: Pick<Operator, "id" | "mayNotLock" | "refresh">;
  head: Pick<Head, "time">;
  balances: Pick<Balances, "doubt">;
  standings: Pick<WalletStandings, "lockReverted">;
  times: Pick<JobTimes, "lock">;
  pipeline: Pick<Pipeline, "submit">;
  /** Jobs that run on a promise of their lock. */
  promises: Pick<PreconfirmationLimit, "take">;
  store: Pick<JobStore, "newJob" | "refused">;
  rows: Pick<RowUpdater, "neverLocked">;
  ending: Pick<JobEnding, "endUncharged">;
  logger: Logger;
};

/**
 * Locks a job's credits. Both promises reject with the ApiError of the client's answer, `mined` also after `seen` has resolved; after a rejection
 * nothing stays locked: a lock that is mined later is failed at once.
 */
export function lockCredits(parts: LockParts, input: JobInput): Locking {
  const { times } = parts;
  const { claimedUntil } = input;
  // The row comes with the lock's transaction, at most this much later. Without one by then, a repetition runs a job of its own.
  if (claimedUntil !== null && Date.now() > claimedUntil - times.lock * 1000) {
    const message = "The request waited too long for the settlement chain; nothing is charged. Retry.";
    const tooLate = Promise.reject(unavailable(message, 5));
    return { seen: tooLate, mined: tooLate };
  }
  const submission = submitLock(parts, input);
  input.timings.end("prepare");
  const mined = minedLock(parts, input, submission.mined);
  return { seen: seen(parts, input, submission, mined), mined };
}

/** Resolves when the job may begin: when its lock is mined; or when the sequencer promises it, as long as the operator's limit has room for the job. */
async function seen(
  { promises }: LockParts,
  { credits }: JobInput,
  { promised }: Submission,
  mined: Promise<Lock>,
): Promise<Lock> {
  const giveBack = promises.take(credits);
  if (giveBack === null) return mined;
  mined.then(giveBack, giveBack);
  const first = promised.then(
    (outcome) => (outcome.status === "promised" ? lockOf(outcome) : mined),
    () => mined, // It was not sent.
  );
  return Promise.race([first, mined]);
}

function submitLock({ pipeline, head, times, store }: LockParts, input: JobInput): Submission {
  const { jobId, wallet, model, request, credits, authorization, claimedUntil } = input;
  const wantedBy = head.time + times.lock;
  const validUntil = authorization?.message.expiresAt ?? wantedBy;
  const maxTokens = request.max_tokens;
  const operation =
    authorization === null
      ? lockOperation({ jobId, wallet, model: model.number, maxTokens, maxCredits: credits, validUntil })
      : lockAuthorizedOperation(authorization.message, authorization.signature, wantedBy);
  const row = {
    jobId,
    wallet,
    model: model.id,
    tier: model.tier,
    validUntil,
    creditsLocked: credits,
    // Reasoning uses it up, and is not kept.
    maxTokens: needsOf(request).includes("reasoning") ? null : maxTokens,
    repeatable: claimedUntil !== null,
  };
  return pipeline.submit(operation, store.newJob(row));
}

async function minedLock(parts: LockParts, input: JobInput, mined: Promise<Outcome>): Promise<Lock> {
  const { times, operator, logger } = parts;
  let outcome: Outcome | "late";
  try {
    outcome = await Promise.race([mined, sleep(times.lock * 1000).then(() => "late" as const)]);
  } catch (error) {
    if (!(error instanceof NotSent)) throw error;
    // Its row, if there is one, stays `locking`: whether its transaction was recorded is for the next process to find out.
    throw new ApiError("service_unavailable", "The service is stopping; retry the request.", { cause: error });
  }
  if (outcome === "late") {
    undoLateLock(parts, input, mined);
    const message = "The settlement chain did not confirm the escrow in time; nothing is charged. Retry.";
    const details = { job_id: toApiJobId(input.jobId), retry_after: 5 };
    throw new ApiError("service_unavailable", message, { details });
  }
  if (outcome.status === "reverted") {
    await noteRefusedLock(parts, input, outcome);
    if (outcome.revert.name === "Job_MayNotLock") {
      await operator
        .refresh()
        .catch((error) => logger.warn({ err: error }, "the operator's standing could not be read"));
    }
    throw lockError(parts, input, outcome.revert);
  }
  return lockOf(outcome);
}

function lockOf(outcome: Extract<Outcome, { status: "mined" }> | Promised): Lock {
  const event = eventOf(outcome, "JobLocked");
  if (event === undefined) throw new Error(`a lock is ${outcome.status} in ${outcome.hash} without its event`);
  return {
    escrowTx: outcome.hash,
    lockedAt: outcome.blockTime,
    credits: event.args.credits as number,
    free: accountIn(event)?.free ?? 0,
  };
}

/**
 * The chain refused the lock. If an id of ours exists on chain, it may be our own lock, whose receipt we never saw. Its
 * row stays unfinished, and recovery compares the two. An id that the client chose may be a job that runs elsewhere: it
 * is left alone.
 */
async function noteRefusedLock(
  { store, rows, balances, standings }: LockParts,
  { jobId, wallet, authorization }: JobInput,
  { blockNumber, revert: { name } }: Extract<Outcome, { status: "reverted" }>,
): Promise<void> {
  if (name === "Job_AlreadyExists" && authorization === null) {
    return store.refused({ jobId, reason: "cancelled", why: name });
  }
  if (standings.lockReverted(wallet, name)) balances.doubt(wallet, blockNumber);
  await rows.neverLocked(jobId, name);
}

/** The client has its 503 already: a lock that still comes through must not keep its credits. */
function undoLateLock(parts: LockParts, input: JobInput, mined: Promise<Outcome>): void {
  const log = parts.logger.child({ jobId: input.jobId });
  const refusal = { reason: "cancelled", why: "the lock was mined too late" } as const;
  mined
    .then(async (outcome) => {
      if (outcome.status === "reverted") return noteRefusedLock(parts, input, outcome);
      log.warn("a lock was mined after its request had been refused: it is failed");
      await parts.ending.endUncharged(lockedJob(input, lockOf(outcome), false), refusal);
    })
    .catch((error) => log.error({ err: error }, "a late lock could not be undone now; the next sweep does it"));
}

/** A job that a request of this process runs, as `JobEnding` takes it: locked, and its worker's answer comes to this process or not at all. */
export function lockedJob({ jobId, wallet, model }: JobInput, lock: Lock, wasOffered: boolean): EndingJob {
  const { lockedAt, credits } = lock;
  const { creditsPerRequest, creditsPer1kTokens } = model;
  return {
    jobId,
    wallet,
    facts: {
      refusal: null,
      answer: null,
      isDeliverable: true,
      wasOffered,
      asked: "none",
      askingFor: 0,
    },
    chain: {
      status: ChainStatus.Locked,
      isOurs: true,
      lockedAt,
      worker: null,
      attempt: 0,
      proof: null,
      finalizeFrom: null,
      isAbsent: false,
      credits,
      creditsPerRequest,
      creditsPer1kTokens,
    },
    askWorkers: async () => "none",
  };
}
