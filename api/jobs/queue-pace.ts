/** How fast a queue moves: the mean over about the last ten seconds. Times are milliseconds. */
export class QueuePace {
  static readonly #MEMORY_MS = 10_000;
  static readonly #LONGEST_SECONDS = 60;
  #perMs = 0;
  #at = Number.NEGATIVE_INFINITY;

  /** One was served. */
  served(now: number): void {
    this.#perMs = this.#rate(now) + 1 / QueuePace.#MEMORY_MS;
    this.#at = now;
  }

  /** Whole seconds until so many are served, from 1 to 60. */
  secondsFor(waiting: number, now: number): number {
    const seconds = Math.ceil(Math.max(1, waiting) / this.#rate(now) / 1_000);
    return Math.min(QueuePace.#LONGEST_SECONDS, Math.max(1, seconds));
  }

  #rate(now: number): number {
    return this.#perMs === 0 ? 0 : this.#perMs * Math.exp((this.#at - now) / QueuePace.#MEMORY_MS);
  }
}
