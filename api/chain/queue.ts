/** Which operations make the next batch, and when a batch may leave. Pure: no chain, and the clock is given or monotonic. */
import { BATCH_RESERVE, GAS_CEILING, isLock, type Operation } from "./operations.ts";

/** An operation with the promises of its submitter. */
export type Pending = {
  operation: Operation;
  queuedAt: number;
  /** Batches that reverted as a whole with this item in them. */
  tries: number;
};

/** Most items in one batch, whatever their gas: keeps the transaction's size within what nodes accept. */
const MAX_ITEMS = 128;

/** Operations that wait for a batch. */
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
   * Takes the next batch: earliest deadline first, locks last among equals. While anything else waits, locks get at
   * most half of the gas. So many new jobs cannot delay the settlement of finished ones.
   */
  take(gasLimit: bigint): T[] {
    this.#items.sort(
      (a, b) =>
        a.operation.deadline - b.operation.deadline ||
        Number(isLock(a.operation)) - Number(isLock(b.operation)) ||
        a.queuedAt - b.queuedAt,
    );
    const budget = gasLimit - BATCH_RESERVE;
    const others = this.#items.some(({ operation }) => !isLock(operation));
    const taken: T[] = [];
    const left: T[] = [];
    let gas = 0n;
    let lockGas = 0n;
    for (const item of this.#items) {
      const ceiling = GAS_CEILING[item.operation.kind];
      const lockFits = !isLock(item.operation) || !others || lockGas + ceiling <= budget / 2n;
      // One item always goes, however small the limit: a queue that cannot move would be silent.
      const fits = taken.length === 0 || (gas + ceiling <= budget && taken.length < MAX_ITEMS);
      if (fits && lockFits) {
        taken.push(item);
        gas += ceiling;
        if (isLock(item.operation)) lockGas += ceiling;
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

/** Gas of a batch of one operation. The limit does not go lower, because a node that refuses such a batch takes none at all. */
const LEAST_LIMIT = BATCH_RESERVE + GAS_CEILING.complete;
/** A learned limit grows by this factor with each transaction near it that was mined with all of its operations. */
const REGROWTH = { by: 5n, of: 4n };

/** Gas of one batch: the setting, and less after the node took a transaction only with fewer operations. It grows again as batches are taken. */
export class BatchLimit {
  readonly #setting: bigint;
  #learned: bigint | null = null;

  constructor(setting: bigint) {
    this.#setting = setting;
  }

  get gas(): bigint {
    return this.#learned ?? this.#setting;
  }

  /** Most gas that the node took when it last refused more; null while it has not. */
  get learned(): bigint | null {
    return this.#learned;
  }

  /** A transaction was mined with so many of its operations. */
  observe({ gas, operations }: { gas: bigint; operations: number }, of: number): void {
    if (operations < of) this.#learned = gas > LEAST_LIMIT ? gas : LEAST_LIMIT;
    // A batch that was far below the limit says nothing about it.
    else if (this.#learned !== null && gas * 4n >= this.#learned * 3n) {
      const grown = (this.#learned * REGROWTH.by) / REGROWTH.of;
      this.#learned = grown < this.#setting ? grown : null;
    }
  }
}

/** Consecutive nonces in flight that hold others up. Nodes keep at least 16 of a sender; more would only make a lost one hold up more. */
export const MAX_IN_FLIGHT = 8;
/** As many more can be promised by the sequencer. */
const MAX_PROMISED = 8;
/** With fewer in flight, operations wait only until the oldest of these is `SHORTEST_MS` old. */
export const AT_ONCE = 2;
/** Shortest and longest time that operations gather once those are in flight, ms. */
const SHORTEST_MS = 20;
const LONGEST_MS = 1_500;
/** After a batch of several operations the next one waits this long for each of them, and no longer than that, ms. */
const SPACING_PER_ITEM_MS = 5;
const LONGEST_SPACING_MS = 50;
/** A shorter confirmation time lowers the estimate to this part at most, so that a slow one counts for some time. */
const MEMORY = 0.9;

/** A transaction on its way: since when, `performance.now()`, and whether the sequencer promises it. */
export type InFlight = { since: number; isPromised: boolean };

/**
 * The transactions in flight that hold others up. One that is promised only waits for its block, which has room for others; until then its nonce
 * takes up the node's memory, so the ones after the first eight count again.
 */
export function holdingUp(inFlight: Iterable<InFlight>): InFlight[] {
  let room = MAX_PROMISED;
  return [...inFlight].filter(({ isPromised }) => !isPromised || room-- <= 0);
}

/** Transactions that hold others up, how long the oldest of them and the oldest queued operation have waited, ms. */
type Traffic = { inFlight: number; oldestMs: number; queuedMs: number };

/**
 * How long operations gather for one transaction:
 *
 * - On a chain of a block a transaction, what comes while one is mined shares the next one.
 * - The transactions in flight share the time between two blocks. If they gathered for less, all would be sent soon after a block, and later
 *   operations would miss the next one too. Those that the sequencer promises do not count (`holdingUp`).
 * - A block costs node, index, database and gateway ten times what an operation does. So the next batch waits by the size of the last one.
 *   The operations of a client alone come one by one, and are not spaced.
 */
export class BatchTiming {
  #confirmationMs = 0;
  #spacingMs = 0;
  #sentAt = Number.NEGATIVE_INFINITY;

  /** Takes the time from a transaction's record to its mining. */
  observe(confirmationMs: number): void {
    this.#confirmationMs = Math.min(
      Math.max(confirmationMs, this.#confirmationMs * MEMORY),
      (MAX_IN_FLIGHT - AT_ONCE) * LONGEST_MS,
    );
  }

  /** A batch of so many operations leaves. */
  sent(items: number, now = performance.now()): void {
    this.#spacingMs = items > 1 ? Math.min(LONGEST_SPACING_MS, items * SPACING_PER_ITEM_MS) : 0;
    this.#sentAt = now;
  }

  /** Milliseconds until the next batch may leave; 0 for at once. */
  wait({ inFlight, oldestMs, queuedMs }: Traffic, now = performance.now()): number {
    const share = Math.max(SHORTEST_MS, this.#confirmationMs / (MAX_IN_FLIGHT - AT_ONCE));
    return Math.max(
      0,
      inFlight > 0 ? SHORTEST_MS - oldestMs : 0,
      inFlight >= AT_ONCE ? share - queuedMs : 0,
      this.#sentAt + this.#spacingMs - now,
    );
  }
}

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
