/** A token bucket: at most `burst` at once, `perSecond` in the long run. */
export class Pacer {
  #perMs: number;
  readonly #burst: number;
  #tokens: number;
  #at: number;

  constructor(perSecond: number, burst: number, now = performance.now()) {
    this.#perMs = perSecond / 1000;
    this.#burst = burst;
    this.#tokens = burst;
    this.#at = now;
  }

  /** Changes the rate from now on. */
  setRate(perSecond: number, now = performance.now()): void {
    this.#refill(now);
    this.#perMs = perSecond / 1000;
  }

  /** Takes a token and returns 0, or returns the milliseconds until there is one. */
  take(now = performance.now()): number {
    this.#refill(now);
    if (this.#tokens >= 1) {
      this.#tokens -= 1;
      return 0;
    }
    return Math.ceil((1 - this.#tokens) / this.#perMs);
  }

  #refill(now: number): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + (now - this.#at) * this.#perMs);
    this.#at = now;
  }
}
