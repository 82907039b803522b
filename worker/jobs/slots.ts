/** The places of a worker: how many jobs run at once, who waits for one, and how many its model server bears. */
import { RefusalCode } from "../../protocol/dispatch.ts";
import { Refusal } from "../reply.ts";

type Waiting = { start: () => void; refuse: (refusal: Refusal) => void };

/** After the model server refused a job, so long no more jobs are tried than it had; then one more for each that it finishes. */
const GROW_AFTER_MS = 30_000;

/**
 * At most `most` jobs run at once and at most `queue` wait, first come first served. Beyond that jobs are refused. A model server may bear fewer:
 * one that refuses a job for want of room shows how many it has. The job keeps its place here, and is sent again when another one ends.
 */
export class Slots {
  readonly #most: number;
  readonly #queueLimit: number;
  readonly #queue: Waiting[] = [];
  /** Jobs that the model server refused, and which wait to be sent again. */
  readonly #refused = new Set<() => void>();
  #limit: number;
  #growAt = 0;
  #used = 0;
  #closed = false;

  constructor(most: number, queue: number) {
    this.#most = most;
    this.#limit = most;
    this.#queueLimit = queue;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Jobs that can run at once, as far as it is known. */
  get limit(): number {
    return this.#limit;
  }

  /** Jobs that run. */
  get running(): number {
    return this.#used - this.#refused.size;
  }

  /** Jobs that wait to run. */
  get waiting(): number {
    return this.#queue.length + this.#refused.size;
  }

  /** Jobs that may wait. */
  get queueLimit(): number {
    return this.#queueLimit;
  }

  /** Takes a slot, waiting for one if need be, but not after `until` fires. Throws a Refusal. */
  async enter(until: AbortSignal): Promise<void> {
    if (this.#closed) throw draining();
    if (this.#used < this.#limit) this.#used++;
    else await this.#wait(until);
  }

  /** Gives a slot back. It goes to the next in line without becoming free in between; jobs that the model server refused come first. */
  leave({ isDone = false } = {}): void {
    this.#used--;
    if (isDone && this.#limit < this.#most && Date.now() >= this.#growAt) this.#limit++;
    const [again] = this.#refused;
    if (again !== undefined) {
      this.#refused.delete(again);
      again();
    }
    while (this.#used < this.#limit) {
      const next = this.#queue.shift();
      if (next === undefined) return;
      this.#used++;
      next.start();
    }
  }

  /**
   * The model server has no room for a job that has a slot. Resolves to true when the job may be sent again: another job has ended, or `ms` are
   * over; to false when `until` fires before. A job that was sent again says nothing of the number of places: the server may not have noticed the
   * end of the job before it yet.
   */
  async refused(ms: number, { isAgain, until }: { isAgain: boolean; until: AbortSignal }): Promise<boolean> {
    if (until.aborted) return false;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#refused.add(resolve);
    // A server that refuses the only job has no room for other reasons: it loads its model, or has clients of its own.
    if (this.running > 0 && !isAgain) this.#limit = Math.min(this.#limit, this.running);
    this.#growAt = Date.now() + GROW_AFTER_MS;
    const timer = setTimeout(resolve, ms);
    const giveUp = () => resolve();
    until.addEventListener("abort", giveUp);
    await promise;
    clearTimeout(timer);
    until.removeEventListener("abort", giveUp);
    this.#refused.delete(resolve);
    return !until.aborted;
  }

  /** Refuses all further jobs and those that wait. */
  close(): void {
    this.#closed = true;
    for (const waiting of this.#queue.splice(0)) waiting.refuse(draining());
  }

  async #wait(signal: AbortSignal): Promise<void> {
    if (this.#queue.length >= this.#queueLimit) {
      const message = `${this.#limit} jobs run and ${this.waiting} wait; route this one elsewhere`;
      throw new Refusal(RefusalCode.Busy, message);
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = { start: resolve, refuse: reject };
    const giveUp = (): void => {
      const at = this.#queue.indexOf(waiting);
      if (at < 0) return;
      this.#queue.splice(at, 1);
      reject(new Refusal(RefusalCode.Busy, "no slot became free in time; route the job elsewhere"));
    };
    this.#queue.push(waiting);
    if (signal.aborted) giveUp();
    signal.addEventListener("abort", giveUp);
    await promise.finally(() => signal.removeEventListener("abort", giveUp));
  }
}

export function draining(): Refusal {
  return new Refusal(RefusalCode.Draining, "this worker is stopping; route the job elsewhere");
}
