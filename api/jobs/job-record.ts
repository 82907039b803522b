/**
 * What the chain says of jobs, written into their rows: locked, settled, failed, refunded, never locked. Nobody else writes these steps. It comes
 * from the events of our own mined transactions, or from a sweep that read the job.
 */
import type { Logger } from "pino";
import type { Hex } from "viem";
import { toApiJobId } from "../../protocol/job-id.ts";
import type { PlacedEvent } from "../chain/operations.ts";
import type { BatchObserver } from "../chain/pipeline.ts";
import { JobLost, type JobStore } from "../db/jobs.ts";

/** A write is made again for so long; a sweep then asks the chain. */
const INSIST_MS = 60_000;
/** A client hears of its job this much later at most, where the write of its row is held up. */
const WRITTEN_MS = 1_000;

/** Whoever waits for an operation, or nobody: rows follow the chain. The jobs of a batch share one statement a kind of step. */
export class JobRecord {
  readonly #store: JobStore;
  readonly #refused: Map<Hex, string>;
  readonly #logger: Logger;
  /** Writes under way. */
  readonly #writing = new Map<Hex, Promise<void>>();

  /** `refused`: jobs whose client got an error; they leave it once the chain has their end. */
  constructor(store: JobStore, refused: Map<Hex, string>, logger: Logger) {
    this.#store = store;
    this.#refused = refused;
    this.#logger = logger;
  }

  /** Called by the pipeline for each mined batch, before anybody who waits for one of its operations hears of it. */
  readonly observe: BatchObserver = ({ hash, blockNumber, eventsByJob }, blockTime) => {
    for (const [jobId, events] of eventsByJob) {
      for (const event of events) this.#note(jobId, event, { hash, blockNumber, blockTime });
    }
  };

  /** The chain refused the job's lock, or will never have it. */
  async neverLocked(jobId: Hex, why: string): Promise<void> {
    await this.#store.ended({ jobId, state: "unlocked", failure: why });
  }

  /** The chain has the end of a job, as a read of it showed; `creditsCharged` of a settled one. */
  async found(
    jobId: Hex,
    end: { state: "settled"; creditsCharged: number } | { state: "failed" | "refunded" },
  ): Promise<void> {
    this.#refused.delete(jobId);
    await this.#store.ended({ jobId, ...end });
  }

  /** Resolves once the newest news of the job are in its row, or after a second. Never rejects. */
  async written(jobId: Hex): Promise<void> {
    const writing = this.#writing.get(jobId);
    if (writing !== undefined) await Promise.race([writing, sleep(WRITTEN_MS)]);
  }

  #note(jobId: Hex, { name, args }: PlacedEvent, at: { hash: Hex; blockNumber: number; blockTime: number }): void {
    const credits = args.credits as number;
    switch (name) {
      case "JobLocked":
        return this.#write(jobId, () =>
          this.#store.locked({ jobId, escrowTx: at.hash, lockedAt: at.blockTime, credits }),
        );
      case "JobSettled":
        this.#refused.delete(jobId);
        return this.#write(jobId, () =>
          this.#store.ended({
            jobId,
            state: "settled",
            settlementTx: at.hash,
            settlementBlock: at.blockNumber,
            settledAt: at.blockTime,
            creditsCharged: credits,
          }),
        );
      case "JobFailed":
      case "JobRefunded": {
        this.#refused.delete(jobId);
        const state = name === "JobFailed" ? "failed" : "refunded";
        return this.#write(jobId, () => this.#store.ended({ jobId, state, refundTx: at.hash }));
      }
    }
  }

  /** One after the other for a job, in the order of the chain. */
  #write(jobId: Hex, write: () => Promise<void>): void {
    const log = this.#logger.child({ jobId: toApiJobId(jobId) });
    const insist = () =>
      this.#store.insist(Date.now() + INSIST_MS, write, (error) =>
        log.error({ err: error }, "a job's row could not be written; trying again"),
      );
    const before = this.#writing.get(jobId);
    const writing = (before === undefined ? insist() : before.then(insist))
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
}

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms).unref());
