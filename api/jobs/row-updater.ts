/**
 * Updates the rows of jobs from the events of our own mined transactions, whether or not a request waits for them: locked, disputed, settled,
 * failed, refunded. Also writes the ends that a sweep read from the chain.
 */

import type { Logger } from "pino";
import type { Hex } from "viem";
import { sleep } from "../../shared/sleep.ts";
import type { PlacedEvent } from "../chain/operations.ts";
import type { BatchObserver } from "../chain/pipeline.ts";
import { JobLost, type JobStore } from "../db/jobs.ts";

/** How long a failed write is retried; after that a sweep reads the job from the chain. */
const RETRY_MS = 60_000;
/** A client hears of its job this much later at most, where the write of its row is held up. */
const WRITTEN_MS = 1_000;

type RowStore = Pick<JobStore, "disputed" | "ended" | "locked" | "retry">;

export class RowUpdater {
  readonly #store: RowStore;
  readonly #logger: Logger;
  /** Writes under way. */
  readonly #writing = new Map<Hex, Promise<void>>();

  constructor(store: RowStore, logger: Logger) {
    this.#store = store;
    this.#logger = logger;
  }

  /** Called by the pipeline for each mined batch, before the promises of its operations resolve. */
  readonly observe: BatchObserver = ({ hash, blockNumber, blockTime, eventsByJob }) => {
    for (const [jobId, events] of eventsByJob) {
      for (const event of events) this.#write(jobId, event, { hash, blockNumber, blockTime });
    }
  };

  /** The chain refused the job's lock, or will never have it. */
  async neverLocked(jobId: Hex, why: string): Promise<void> {
    await this.#store.ended({ jobId, state: "unlocked", failure: why });
  }

  /** The chain has the end of a job, as a read of it showed; `creditsCharged` of a settled one. */
  async closed(jobId: Hex, state: "settled" | "failed" | "refunded", creditsCharged: number | null): Promise<void> {
    await this.#store.ended({ jobId, state, ...(creditsCharged !== null && { creditsCharged }) });
  }

  /** Resolves once the newest events of the job are in its row, or after a second. Never rejects. */
  async written(jobId: Hex): Promise<void> {
    const writing = this.#writing.get(jobId);
    if (writing !== undefined) await Promise.race([writing, sleep(WRITTEN_MS)]);
  }

  /** Writes one event, after those before it: in the order of the chain. */
  #write(jobId: Hex, event: PlacedEvent, place: Place): void {
    const log = this.#logger.child({ jobId, event: event.name });
    const step = this.#stepOf(jobId, event, place);
    if (step === null) return;
    const write = () =>
      this.#store.retry(Date.now() + RETRY_MS, step, (error) =>
        log.error({ err: error }, "a job's row could not be written; trying again"),
      );
    const before = this.#writing.get(jobId);
    const writing = (before === undefined ? write() : before.then(write))
      .catch((error) => {
        // A job that this database has never seen can be refunded, too.
        if (error instanceof JobLost) log.debug({ err: error }, "the row belongs to another process");
        else log.error({ err: error }, "a job's row was not written: the next sweep asks the chain");
      })
      .finally(() => {
        if (this.#writing.get(jobId) === writing) this.#writing.delete(jobId);
      });
    this.#writing.set(jobId, writing);
  }

  /** The write to the job's row that an event causes; null for an event that says nothing of the row. */
  #stepOf(
    jobId: Hex,
    { name, args }: PlacedEvent,
    { hash, blockNumber, blockTime }: Place,
  ): (() => Promise<void>) | null {
    const credits = args.credits as number;
    switch (name) {
      case "JobLocked":
        return () => this.#store.locked({ jobId, escrowTx: hash, lockedAt: blockTime, credits });
      case "JobSettled": {
        const settlement = { settlementTx: hash, settlementBlock: blockNumber, settledAt: blockTime };
        return () => this.#store.ended({ jobId, state: "settled", ...settlement, creditsCharged: credits });
      }
      case "JobFailed":
        return () => this.#store.ended({ jobId, state: "failed", refundTx: hash });
      case "JobRefunded":
        return () => this.#store.ended({ jobId, state: "refunded", refundTx: hash });
      case "JobDisputed":
        return () => this.#store.disputed(jobId, hash);
      default:
        return null;
    }
  }
}

/** Where an event was mined. `blockTime` in Unix seconds. */
type Place = { hash: Hex; blockNumber: number; blockTime: number };
