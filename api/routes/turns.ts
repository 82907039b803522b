/** Work that one client can ask for without an end, shared out so that everybody else is served. */
type Waiting = { signal: AbortSignal; start: PromiseWithResolvers<void> };

/**
 * Pieces of work on the event loop, one at a time. Owners take turns, so that one with many pieces makes another wait for one of them. After
 * each piece comes a pause of `rest` times its length, in which everybody else is served.
 */
export class Turns {
  readonly #rest: number;
  readonly #waiting = new Map<string, Waiting[]>();
  #isTaken = false;

  constructor(rest: number) {
    this.#rest = rest;
  }

  /** Does the work at the owner's turn, which lasts until its result is there. Rejects with the signal's reason when it aborts before. */
  async run<T>(owner: string, signal: AbortSignal, work: () => T | Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const start = Promise.withResolvers<void>();
    const own = this.#waiting.get(owner);
    if (own === undefined) this.#waiting.set(owner, [{ signal, start }]);
    else own.push({ signal, start });
    const leave = () => start.reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    this.#next();
    await start.promise;
    signal.removeEventListener("abort", leave);
    const startedAt = performance.now();
    try {
      return await work();
    } finally {
      setTimeout(() => this.#end(), this.#rest * (performance.now() - startedAt)).unref();
    }
  }

  #end(): void {
    this.#isTaken = false;
    this.#next();
  }

  #next(): void {
    while (!this.#isTaken) {
      const [turn] = this.#waiting;
      if (turn === undefined) return;
      const [owner, queue] = turn;
      const next = queue.shift();
      // The next turn is another owner's.
      this.#waiting.delete(owner);
      if (queue.length > 0) this.#waiting.set(owner, queue);
      if (next === undefined || next.signal.aborted) continue;
      this.#isTaken = true;
      next.start.resolve();
    }
  }
}
