import type { Hex } from "viem";
import { toApiJobId } from "../../protocol/job-id.ts";
import { listOverdueJobs } from "../index/index.ts";
import type { Reader } from "../index/query.ts";
import type { JobContext } from "./context.ts";
import { refundJob } from "./end.ts";

const SWEEP_MS = 10_000;
/** Clocks and blocks, which a job's id and its lock are from, may be this far apart, seconds. */
const SLACK = 600;

/**
 * Returns the credits of jobs that are long over and that no gateway ends: those which a restored database has never seen, those of a
 * signer that is gone. The index tells of them, anyone may refund them, and their wallets should not have to.
 */
export class OverdueJobs {
  readonly #context: JobContext;
  readonly #index: Reader;
  /** Whether the index has what the chain has. */
  readonly #indexIsWhole: () => boolean;
  /** What the chain refused once, it would refuse again. */
  readonly #refused = new Set<Hex>();
  /** Unix seconds: no job that began earlier is open any more. Zero at a start, for a restore comes with one. */
  #since = 0;
  #sweeping = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(context: JobContext, index: Reader, indexIsWhole: () => boolean) {
    this.#context = context;
    this.#index = index;
    this.#indexIsWhole = indexIsWhole;
  }

  start(): void {
    this.#timer = setInterval(() => void this.sweep(), SWEEP_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Refunds what is overdue now. Never rejects. */
  async sweep(): Promise<void> {
    if (this.#sweeping || !this.#indexIsWhole()) return;
    this.#sweeping = true;
    const { head, times, logger } = this.#context;
    // Once more the time in which anyone may: a job's own gateway and its worker come first.
    const lockedBefore = head.time - times.completion - 2 * times.inclusion;
    try {
      const found = await listOverdueJobs(this.#index, this.#since, lockedBefore);
      const open = found.filter((jobId) => !this.#refused.has(jobId));
      await Promise.all(open.map((jobId) => this.#refund(jobId)));
      if (found.length === 0) this.#since = Math.max(0, lockedBefore - SLACK);
    } catch (error) {
      logger.warn({ err: error }, "overdue jobs could not be looked for");
    } finally {
      this.#sweeping = false;
    }
  }

  async #refund(jobId: Hex): Promise<void> {
    this.#context.logger.warn({ jobId: toApiJobId(jobId) }, "no gateway ended this job: its credits are returned");
    if ((await refundJob(this.#context, jobId)) === null) this.#refused.add(jobId);
  }
}
