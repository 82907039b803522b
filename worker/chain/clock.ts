import type { Sighting } from "./reader.ts";

/**
 * Chain time between blocks, for one job. The chain's clock and this machine's can differ, and a quiet chain makes no blocks: so
 * it is the later of the wall clock and the last block's time carried on. It is never before the lock.
 */
export class ChainClock {
  readonly #blockTime: number;
  readonly #at: number;

  constructor(seen: Sighting) {
    this.#blockTime = Math.max(seen.blockTime, seen.job.lockedAt);
    this.#at = seen.at;
  }

  /** Unix seconds, with fractions. */
  exact(): number {
    return Math.max(Date.now() / 1000, this.#blockTime + (performance.now() - this.#at) / 1000);
  }
}
