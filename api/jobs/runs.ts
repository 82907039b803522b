import type { Hex } from "viem";
import type { JobRun } from "./run.ts";

/** The jobs that this process runs, from their lock to their mined settlement. */
export class Runs {
  readonly #jobs = new Map<Hex, Promise<void>>();

  get size(): number {
    return this.#jobs.size;
  }

  has(jobId: Hex): boolean {
    return this.#jobs.has(jobId);
  }

  track(run: JobRun): void {
    const { jobId } = run.input;
    const over = run.completed
      .then((job) => job.settling.done)
      .catch(() => {}) // the run has logged it; here only the end counts
      .then(() => void this.#jobs.delete(jobId));
    this.#jobs.set(jobId, over);
  }

  /** Waits until those of now are over, at most `timeoutMs`. */
  async ended(timeoutMs: number): Promise<void> {
    const deadline = new Promise<void>((resolve) => setTimeout(resolve, timeoutMs).unref());
    await Promise.race([Promise.all(this.#jobs.values()), deadline]);
  }
}
