/** Where the time of one request went, for its client (`Server-Timing`) and for the benchmark. */
export class Timings {
  readonly #durations: [name: string, ms: number][] = [];
  /** When the request arrived, `performance.now()`. */
  readonly startedAt: number;
  #since: number;

  /** @param startedAt When the request arrived, `performance.now()`. */
  constructor(startedAt = performance.now()) {
    this.startedAt = startedAt;
    this.#since = startedAt;
  }

  /** Ends the stage that runs now under this name; the next one begins. */
  end(name: string): void {
    const now = performance.now();
    this.#durations.push([name, now - this.#since]);
    this.#since = now;
  }

  /** Value of a `Server-Timing` header (W3C Server Timing), milliseconds. */
  header(): string {
    return this.#durations.map(([name, ms]) => `${name};dur=${ms.toFixed(2)}`).join(", ");
  }
}
