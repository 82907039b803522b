/** Waits for the outcome of a job that an earlier request began. All repetitions of the request share the reads of the job's row. */
import type { Hex } from "viem";
import { toApiJobId } from "../../protocol/job-id.ts";
import type { JobStore, StoredJob } from "../db/jobs.ts";
import { ApiError } from "../errors.ts";
import type { JobTimes } from "./next-step.ts";

const POLL_MS = 100;
/** Jobs that are looked at so often. With more, each is looked at less often: however many wallets wait, they ask no more than this together. */
const POLLED_AT_ONCE = 100;
/** Repetitions of one wallet that wait at once. */
const WALLET_WAITING = 16;
/** When one more may be sent, seconds. */
const RETRY_AFTER = 5;
/**
 * A claimed job without a row belongs to a process that ended, once the waits for a place and for the lock are over by this many seconds.
 * The row is written with the lock's transaction: before it come the reads of balances and the wait for a batch. A claim that is given up
 * earlier lets an answer be paid twice.
 */
const UNRECORDED_SECONDS = 20;
export const claimLasts = ({ queue, lock }: Pick<JobTimes, "queue" | "lock">): number =>
  (queue + lock + UNRECORDED_SECONDS) * 1000;

/** True if the job ended without a charge, as the chain shows: its idempotency key is free again, for any body. */
export const cameToNothing = ({ state }: StoredJob) =>
  state === "failed" || state === "refunded" || state === "unlocked";

/** The job with its answer; null: it came to nothing, and the request may run anew. */
type Outcome = StoredJob | null;
/** Asks for the outcome; undefined while there is none. */
type Look = () => Promise<Outcome | undefined>;
/** The reads of one job's row for all who wait for it. */
type Watch = { waiting: number; outcome: Promise<Outcome> };

/** A request that repeats an earlier one, which ran as this job. */
type Repetition = {
  jobId: Hex;
  wallet: string;
  /** When the job has a row at the latest, ms since the epoch: one without a row by then came to nothing. */
  recordedBy: number;
  /** Whether the earlier request still holds the idempotency key. It gives the key free when it ends without a lock. */
  isClaimed: () => Promise<boolean>;
};

type Parts = {
  store: Pick<JobStore, "find">;
  times: Pick<JobTimes, "completion" | "inclusion" | "lock" | "queue">;
};

/** Repetitions that wait for the answers of earlier requests. */
export class EarlierAnswers {
  readonly #parts: Parts;
  readonly #watches = new Map<Hex, Watch>();
  /** By wallet. */
  readonly #waiting = new Map<string, number>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * The outcome of an earlier request's job. Waits for it as long as the job can still be paid. Rejects with `conflict` after that, and when
   * too many repetitions of the wallet wait; and when `signal` aborts.
   */
  async wait(repetition: Repetition, signal: AbortSignal): Promise<Outcome> {
    const look = this.#lookOf(repetition);
    const known = await look();
    signal.throwIfAborted();
    if (known !== undefined) return known;

    const { wallet, jobId } = repetition;
    const others = this.#waiting.get(wallet) ?? 0;
    if (others >= WALLET_WAITING) throw tooMany(jobId);
    this.#waiting.set(wallet, others + 1);
    const watch = this.#watches.get(jobId) ?? this.#watch(jobId, look);
    watch.waiting += 1;
    const given = Promise.withResolvers<never>();
    const leave = () => given.reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    const { completion, inclusion, lock, queue } = this.#parts.times;
    const late = setTimeout(() => given.reject(notOver(jobId)), (queue + lock + completion + inclusion) * 1000);
    try {
      return await Promise.race([watch.outcome, given.promise]);
    } finally {
      clearTimeout(late);
      signal.removeEventListener("abort", leave);
      this.#leave(watch, repetition);
    }
  }

  #leave(watch: Watch, { wallet, jobId }: Repetition): void {
    watch.waiting -= 1;
    if (watch.waiting === 0 && this.#watches.get(jobId) === watch) this.#watches.delete(jobId);
    const others = (this.#waiting.get(wallet) as number) - 1;
    if (others === 0) this.#waiting.delete(wallet);
    else this.#waiting.set(wallet, others);
  }

  #lookOf({ jobId, recordedBy, isClaimed }: Repetition): Look {
    const { store } = this.#parts;
    return async () => {
      const job = await store.find(jobId);
      if (job === null) return Date.now() > recordedBy || !(await isClaimed()) ? null : undefined;
      // An answer of a refused job is charged only if its worker proved it: the chain decides.
      if (job.state === "settled" || (job.state === "settling" && job.failure === null)) return job;
      return cameToNothing(job) ? null : undefined;
    };
  }

  /** Looks at intervals, until there is an outcome or the last waiting request has gone. */
  #watch(jobId: Hex, look: Look): Watch {
    const watch: Watch = { waiting: 0, outcome: this.#poll(look, () => watch.waiting > 0) };
    this.#watches.set(jobId, watch);
    // Those who have left do not hear that the database could not be asked.
    watch.outcome.catch(() => {});
    return watch;
  }

  async #poll(look: Look, isWanted: () => boolean): Promise<Outcome> {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS * Math.max(1, this.#watches.size / POLLED_AT_ONCE)));
      if (!isWanted()) return null;
      const outcome = await look();
      if (outcome !== undefined) return outcome;
    }
  }
}

const notOver = (jobId: Hex) =>
  new ApiError(
    "conflict",
    `The first one of these requests is still running: follow its job at GET /v1/jobs/${toApiJobId(jobId)}.`,
    {
      details: { job_id: toApiJobId(jobId) },
    },
  );

const tooMany = (jobId: Hex) =>
  new ApiError(
    "conflict",
    `${WALLET_WAITING} repeated requests of this wallet wait for their answers: retry in ${RETRY_AFTER} seconds, or follow the job at GET /v1/jobs/${toApiJobId(jobId)}.`,
    { details: { job_id: toApiJobId(jobId), retry_after: RETRY_AFTER } },
  );
