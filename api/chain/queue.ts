import { BATCH_RESERVE, GAS_CEILING, type Operation } from "./operations.ts";

/** An operation with the promises of whoever submitted it. */
export type Pending = {
  operation: Operation;
  queuedAt: number;
  /** Batches that reverted as a whole with this item in them. */
  tries: number;
};

/** Most items in one batch, whatever their gas: keeps the transaction's size within what nodes accept. */
const MAX_ITEMS = 128;

/** Operations that wait for a batch. Pure: no clock, no chain. */
export class OperationQueue<T extends Pending = Pending> {
  #items: T[] = [];

  get size(): number {
    return this.#items.length;
  }

  /** Time (ms) since the oldest item was queued, 0 when empty. */
  age(now: number): number {
    return this.#items.reduce((age, item) => Math.max(age, now - item.queuedAt), 0);
  }

  push(item: T): void {
    this.#items.push(item);
  }

  /**
   * Takes the next batch: earliest deadline first, locks last among equals. While anything else waits, locks get at most
   * half of the gas, so that a rush of new jobs never holds up the settlement of finished ones.
   */
  take(gasLimit: bigint): T[] {
    const isLock = ({ operation: { kind } }: T) => kind === "lock" || kind === "lockAuthorized";
    this.#items.sort(
      (a, b) =>
        a.operation.deadline - b.operation.deadline || Number(isLock(a)) - Number(isLock(b)) || a.queuedAt - b.queuedAt,
    );
    const budget = gasLimit - BATCH_RESERVE;
    const others = this.#items.some((item) => !isLock(item));
    const taken: T[] = [];
    const left: T[] = [];
    let gas = 0n;
    let lockGas = 0n;
    for (const item of this.#items) {
      const ceiling = GAS_CEILING[item.operation.kind];
      const lockFits = !isLock(item) || !others || lockGas + ceiling <= budget / 2n;
      // One item always goes, however small the limit: a queue that cannot move would be silent.
      const fits = taken.length === 0 || (gas + ceiling <= budget && taken.length < MAX_ITEMS);
      if (fits && lockFits) {
        taken.push(item);
        gas += ceiling;
        if (isLock(item)) lockGas += ceiling;
      } else left.push(item);
    }
    this.#items = left;
    return taken;
  }

  /** Empties the queue. */
  drain(): T[] {
    const items = this.#items;
    this.#items = [];
    return items;
  }
}
