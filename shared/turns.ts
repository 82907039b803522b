/**
 * Runs pieces of work one at a time, and counts the time that each owner has used, so that one owner cannot keep an event loop busy. This shares time
 * among owners; `fair-limit.ts` shares places.
 */
import { setNewest } from "./newest.ts";

type Waiting = { signal: AbortSignal; start: PromiseWithResolvers<void> };

/** Half of the time that an owner has used is forgotten after this time. */
const HALF_LIFE_MS = 60_000;
/** A good result takes `ms` off its owner's used time. That can fall to minus `most`, so an owner with good results can be ahead. */
type Earned = { ms: number; most: number };

/**
 * Pieces of work on an event loop, one at a time. Every other turn is that of the owner who has used the least time of late, so that neither one
 * owner with many pieces nor many owners with long ones make another wait for more than two pieces. The other turns go to the owner who has waited
 * longest, so that nobody waits for ever. After each piece comes a pause of `rest` times its length, in which the event loop does everything else.
 * Anybody can be any number of owners, so an owner who had a good result comes before a new one.
 */
export class Turns {
  readonly #rest: number;
  readonly #earned: Earned;
  readonly #waiting = new Map<string, Waiting[]>();
  /** Milliseconds that owners had used at `at`, `performance.now()`, less what they earned. */
  readonly #used = new Map<string, { ms: number; at: number }>();
  #isTaken = false;
  /** Whether the next turn is that of the owner who has used the least. */
  #isForLeast = true;

  constructor(rest: number, earned: Earned = { ms: 1_000, most: 2_000 }) {
    this.#rest = rest;
    this.#earned = earned;
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
      const ms = performance.now() - startedAt;
      this.#use(owner, ms);
      setTimeout(() => this.#end(), this.#rest * ms).unref();
    }
  }

  /** The owner's work had a good result: one that is paid for, or an answer in time. */
  earned(owner: string): void {
    this.#use(owner, -this.#earned.ms);
  }

  #use(owner: string, ms: number): void {
    const at = performance.now();
    setNewest(this.#used, owner, { ms: Math.max(-this.#earned.most, this.#usedBy(owner, at) + ms), at });
  }

  #usedBy(owner: string, now: number): number {
    const used = this.#used.get(owner);
    return used === undefined ? 0 : used.ms * 2 ** ((used.at - now) / HALF_LIFE_MS);
  }

  #end(): void {
    this.#isTaken = false;
    this.#next();
  }

  #next(): void {
    while (!this.#isTaken && this.#waiting.size > 0) {
      const owner = this.#nextOwner();
      const queue = this.#waiting.get(owner) as Waiting[];
      const next = queue.shift();
      // Its other pieces wait from now on.
      this.#waiting.delete(owner);
      if (queue.length > 0) this.#waiting.set(owner, queue);
      if (next === undefined || next.signal.aborted) continue;
      this.#isTaken = true;
      this.#isForLeast = !this.#isForLeast;
      next.start.resolve();
    }
  }

  /** The owner who has waited longest, or who has used the least; of those who have used equally much, the one who has waited longest. */
  #nextOwner(): string {
    const now = performance.now();
    let [least, next] = [Number.POSITIVE_INFINITY, ""];
    for (const owner of this.#waiting.keys()) {
      if (!this.#isForLeast) return owner;
      const used = this.#usedBy(owner, now);
      if (used < least) [least, next] = [used, owner];
    }
    return next;
  }
}
