import type { Hex } from "viem";
import { sleep } from "../../shared/sleep.ts";
import type { RunningJob } from "./job.ts";

/** Longest wait for clients that take their whole answers slowly. */
const SLOW_CLIENT_MS = 10_000;

/** The jobs that this process runs, from their lock to their mined settlement. */
export class RunningJobs {
  readonly #jobs = new Map<Hex, { run: RunningJob; over: Promise<void> }>();
  /** One for each client that is still connected: resolves when it is noted that it left. */
  readonly #leaving = new Set<Promise<void>>();

  get size(): number {
    return this.#jobs.size;
  }

  has(jobId: Hex): boolean {
    return this.#jobs.has(jobId);
  }

  /** The job, while a request can still join it here. */
  find(jobId: Hex): RunningJob | undefined {
    return this.#jobs.get(jobId)?.run;
  }

  track(run: RunningJob): void {
    const { jobId } = run.input;
    const over = run.completed
      .then((job) => job.settling.done)
      .catch(() => {}) // the run has logged it; here only the end counts
      .then(() => void this.#jobs.delete(jobId));
    this.#jobs.set(jobId, { run, over });
  }

  /** A client is connected until `left` resolves, when its leave is written down. */
  connected(left: Promise<void>): void {
    const leaving = left.then(() => void this.#leaving.delete(leaving));
    this.#leaving.add(leaving);
  }

  /**
   * Waits until the answers of now are whole, their charges in the jobs' rows, and it is noted that their clients have them; some may have
   * failed. A gateway that takes a job over fails it while its client counts as waiting.
   */
  async answered(): Promise<void> {
    await Promise.allSettled([...this.#jobs.values()].map(({ run }) => run.completed));
    await Promise.race([Promise.all(this.#leaving), sleep(SLOW_CLIENT_MS)]);
  }

  /** Waits until those of now are over, at most `timeoutMs`. */
  async ended(timeoutMs: number): Promise<void> {
    await Promise.race([Promise.all([...this.#jobs.values()].map(({ over }) => over)), sleep(timeoutMs)]);
  }
}
