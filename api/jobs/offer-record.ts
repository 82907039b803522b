import type { Hex } from "viem";
import type { Offer } from "../store/job-steps.ts";
import type { JobContext } from "./context.ts";
import type { Lock } from "./lock.ts";
import { untilStored } from "./stored.ts";

/** A client hears of its job this much later at most, where the write of the lock is held up. */
const RECORD_MS = 1_000;

/** What a job's row says of its lock and of the worker that has its newest offer: one write after the other, in their order. */
export class OfferRecord {
  readonly #context: JobContext;
  readonly #jobId: Hex;
  readonly #lock: Lock;
  #first: Promise<void> | null = null;
  #last: Promise<void> | null = null;

  constructor(context: JobContext, jobId: Hex, lock: Lock) {
    this.#context = context;
    this.#jobId = jobId;
    this.#lock = lock;
  }

  /** Writes the lock with the first offer, later only the offer; null where nobody is there to be asked. */
  write(offer: Offer | null): Promise<void> {
    const first = this.#last === null;
    const before = this.#last ?? Promise.resolve();
    const until = (this.#lock.lockedAt + this.#context.times.completion) * 1000;
    this.#last = before
      .catch(() => {})
      .then(() => untilStored(this.#context, this.#jobId, until, () => this.#write(offer, first)));
    // Whether anybody waits for it or not: a failure is logged, and it is not the end of the process.
    this.#last.catch(() => {});
    this.#first ??= this.#last;
    return this.#last;
  }

  /** Resolves once the lock is in the row, where reads of the job find it, or after a second. Never rejects. */
  async lockRecorded(): Promise<void> {
    if (this.#first === null) return;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, RECORD_MS).unref();
    await Promise.race([this.#first.catch(() => {}), late]);
    clearTimeout(timer);
  }

  #write(offer: Offer | null, first: boolean): Promise<void> {
    const { store } = this.#context;
    const { escrowTx, lockedAt, credits } = this.#lock;
    if (first) return store.locked({ jobId: this.#jobId, escrowTx, lockedAt, credits, offer });
    return offer === null ? Promise.resolve() : store.update(this.#jobId, offer);
  }
}
