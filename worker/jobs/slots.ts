import { RefusalCode } from "../../protocol/dispatch.ts";
import { Refusal } from "../refusal.ts";

type Waiting = { start: () => void; refuse: (refusal: Refusal) => void };

/** At most `limit` jobs run at once and at most `queue` wait, first come first served. Beyond that: an honest refusal. */
export class Slots {
  readonly limit: number;
  readonly #queueLimit: number;
  readonly #queue: Waiting[] = [];
  #used = 0;
  #closed = false;

  constructor(limit: number, queue: number) {
    this.limit = limit;
    this.#queueLimit = queue;
  }

  get used(): number {
    return this.#used;
  }

  get queued(): number {
    return this.#queue.length;
  }

  /** Takes a slot, waiting for one if need be; the returned function gives it back. `signal` leaves the queue. */
  async enter(signal: AbortSignal): Promise<() => void> {
    if (this.#closed) throw draining();
    if (this.#used < this.limit) this.#used++;
    else await this.#wait(signal);
    let held = true;
    return () => {
      if (held) this.#release();
      held = false;
    };
  }

  /** Refuses all further jobs and those that wait. */
  close(): void {
    this.#closed = true;
    for (const waiting of this.#queue.splice(0)) waiting.refuse(draining());
  }

  async #wait(signal: AbortSignal): Promise<void> {
    if (this.#queue.length >= this.#queueLimit) {
      throw new Refusal(
        RefusalCode.Busy,
        `${this.limit} jobs run and ${this.#queue.length} wait; route this one elsewhere`,
      );
    }
    await new Promise<void>((resolve, reject) => {
      const waiting: Waiting = { start: resolve, refuse: reject };
      const leave = (): void => {
        const at = this.#queue.indexOf(waiting);
        if (at < 0) return;
        this.#queue.splice(at, 1);
        reject(new Refusal(RefusalCode.Busy, "no slot became free in time; route the job elsewhere"));
      };
      this.#queue.push(waiting);
      if (signal.aborted) leave();
      else signal.addEventListener("abort", leave, { once: true });
    });
  }

  #release(): void {
    // The slot goes to the next in line without becoming free in between.
    const next = this.#queue.shift();
    if (next === undefined) this.#used--;
    else next.start();
  }
}

function draining(): Refusal {
  return new Refusal(RefusalCode.Draining, "this worker is stopping; route the job elsewhere");
}
