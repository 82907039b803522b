/**
 * A queue in which wallets take turns, as a data structure: it knows no clock and no workers. A wallet with many requests waits behind its own, and
 * a wallet with one request waits for one turn of each other wallet.
 */

/** An entry of the queue. `isFirst`: it was served before and came back, so it goes before all turns. */
export type Waiting = { readonly wallet: string; readonly isFirst: boolean };

export class TurnQueue<T extends Waiting> {
  readonly #most: number;
  /** Those that came back, the oldest first. */
  readonly #first = new Set<T>();
  /** The others by wallet, each list in the order of arrival; the wallet whose turn comes next in front. */
  readonly #turns = new Map<string, T[]>();
  #size = 0;

  /** At most `most` wait; those that came back do not count. */
  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#size + this.#first.size;
  }

  /**
   * Adds one at the end of its wallet's list. Returns the one that has no room: null, or, in a full queue, the newest of the wallet that has the
   * most. So a wallet that fills the queue keeps nobody else out.
   */
  add(one: T): T | null {
    if (one.isFirst) {
      this.#first.add(one);
      return null;
    }
    const own = this.#turns.get(one.wallet);
    if (own === undefined) this.#turns.set(one.wallet, [one]);
    else own.push(one);
    this.#size += 1;
    if (this.#size <= this.#most) return null;
    const crowded = this.#newestOfLongest(one);
    this.delete(crowded);
    return crowded;
  }

  /** Takes one out that no longer waits. */
  delete(one: T): void {
    if (this.#first.delete(one)) return;
    const own = this.#turns.get(one.wallet);
    const at = own?.lastIndexOf(one) ?? -1;
    if (own === undefined || at === -1) return;
    own.splice(at, 1);
    this.#size -= 1;
    if (own.length === 0) this.#turns.delete(one.wallet);
  }

  /** Takes out the oldest of those that came back that `serves` accepts; undefined if there is none. */
  nextReturned(serves: (one: T) => boolean): T | undefined {
    for (const one of this.#first) {
      if (!serves(one)) continue;
      this.#first.delete(one);
      return one;
    }
    return undefined;
  }

  /**
   * Takes out the first wallet's oldest one that `serves` accepts; that wallet's next turn comes after those of all others. Undefined if there is
   * none.
   */
  nextInTurn(serves: (one: T) => boolean): T | undefined {
    for (const [wallet, own] of this.#turns) {
      const [one] = own;
      if (one === undefined || !serves(one)) continue;
      own.shift();
      this.#size -= 1;
      this.#turns.delete(wallet);
      if (own.length > 0) this.#turns.set(wallet, own);
      return one;
    }
    return undefined;
  }

  /** The newest entry of the wallet that has the most; if several wallets have equally many, of the newcomer's if it is among them. */
  #newestOfLongest(newcomer: T): T {
    let longest = this.#turns.get(newcomer.wallet) as T[];
    for (const own of this.#turns.values()) if (own.length > longest.length) longest = own;
    return longest.at(-1) as T;
  }
}

/** How fast a queue moves: the mean over about the last ten seconds. Times are milliseconds. */
export class QueuePace {
  static readonly #MEMORY_MS = 10_000;
  static readonly #LONGEST_SECONDS = 60;
  #perMs = 0;
  #at = Number.NEGATIVE_INFINITY;

  /** One was served. */
  served(now: number): void {
    this.#perMs = this.#rate(now) + 1 / QueuePace.#MEMORY_MS;
    this.#at = now;
  }

  /** Whole seconds until so many are served, from 1 to 60. */
  secondsFor(waiting: number, now: number): number {
    const seconds = Math.ceil(Math.max(1, waiting) / this.#rate(now) / 1_000);
    return Math.min(QueuePace.#LONGEST_SECONDS, Math.max(1, seconds));
  }

  #rate(now: number): number {
    return this.#perMs === 0 ? 0 : this.#perMs * Math.exp((this.#at - now) / QueuePace.#MEMORY_MS);
  }
}
