/** How much work runs at the same time, of one owner and of all. This shares places among owners; `turns.ts` shares time. */
import { TurnQueue } from "./turn-queue.ts";

/** Bounds of the work that runs, of one owner and of all, and of the work that waits. `refusal`: the error of work that has no room to wait. */
type Limits = { each?: number; all?: number; waitingEach?: number; waiting?: number; refusal: () => Error };

/** `restMs`: how long the place of the work stays taken after it, by the time that it took and by its result; that is undefined if it failed. */
type RunOptions<T> = { signal?: AbortSignal; restMs?: (tookMs: number, result: T | undefined) => number };

type Waiting = { owner: string; start: PromiseWithResolvers<void> };

/**
 * Runs so much work at once; the rest waits, and owners take turns. Where too much waits, the newest of the owner that has the most gives way, so an
 * owner that fills the queue keeps nobody else out.
 *
 * @example const picture = await drawing.run(address, () => draw(), { restMs: (tookMs) => 3 * tookMs });
 */
export class FairLimit {
  readonly #limits: Required<Limits>;
  readonly #waiting: TurnQueue<Waiting>;
  /** Places that are taken, by owner and altogether. */
  readonly #taken = new Map<string, number>();
  #allTaken = 0;

  constructor(limits: Limits) {
    const none = Number.POSITIVE_INFINITY;
    this.#limits = { each: none, all: none, waitingEach: none, waiting: none, ...limits };
    this.#waiting = new TurnQueue(this.#limits.waiting);
  }

  /** Does the work once there is a place for it. Rejects with the refusal, or with the reason of the signal when that aborts before. */
  async run<T>(owner: string, work: () => T | Promise<T>, { signal, restMs }: RunOptions<T> = {}): Promise<T> {
    await this.#enter(owner, signal);
    const startedAt = performance.now();
    let result: T | undefined;
    try {
      signal?.throwIfAborted();
      result = await work();
      return result;
    } finally {
      const ms = restMs?.(performance.now() - startedAt, result) ?? 0;
      // A shorter rest is the time that the next work needs to begin.
      if (ms < 1) this.#leave(owner);
      else setTimeout(() => this.#leave(owner), ms).unref();
    }
  }

  async #enter(owner: string, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    const { waitingEach, refusal } = this.#limits;
    if (this.#waiting.sizeOf(owner) >= waitingEach) throw refusal();
    const one = { owner, start: Promise.withResolvers<void>() };
    const abort = () => {
      this.#waiting.delete(one);
      one.start.reject(signal?.reason);
    };
    signal?.addEventListener("abort", abort, { once: true });
    this.#waiting.add(one)?.start.reject(refusal());
    this.#serve();
    await one.start.promise.finally(() => signal?.removeEventListener("abort", abort));
  }

  #leave(owner: string): void {
    this.#take(owner, -1);
    this.#serve();
  }

  #take(owner: string, places: 1 | -1): void {
    const taken = this.#takenBy(owner) + places;
    if (taken === 0) this.#taken.delete(owner);
    else this.#taken.set(owner, taken);
    this.#allTaken += places;
  }

  #takenBy(owner: string): number {
    return this.#taken.get(owner) ?? 0;
  }

  #serve(): void {
    while (this.#allTaken < this.#limits.all) {
      const next = this.#waiting.next(({ owner }) => this.#takenBy(owner) < this.#limits.each);
      if (next === undefined) return;
      this.#take(next.owner, 1);
      next.start.resolve();
    }
  }
}
