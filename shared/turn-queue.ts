/**
 * A queue in which owners take turns, as a data structure: it knows no clock and no work. An owner with many entries waits behind its own, and an owner
 * with one entry waits for one turn of each other owner.
 */
export class TurnQueue<T extends { readonly owner: string }> {
  readonly #most: number;
  /** By owner, each list in the order of arrival; the owner whose turn comes next in front. */
  readonly #turns = new Map<string, T[]>();
  #size = 0;

  /** At most `most` wait. */
  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#size;
  }

  /** Entries of one owner. */
  sizeOf(owner: string): number {
    return this.#turns.get(owner)?.length ?? 0;
  }

  /**
   * Adds one at the end of its owner's list. Returns the one that has no room: null, or, in a full queue, the newest of the owner that has the
   * most. So an owner that fills the queue keeps nobody else out.
   */
  add(one: T): T | null {
    const own = this.#turns.get(one.owner);
    if (own === undefined) this.#turns.set(one.owner, [one]);
    else own.push(one);
    this.#size += 1;
    if (this.#size <= this.#most) return null;
    const crowded = this.#newestOfLongest(one);
    this.delete(crowded);
    return crowded;
  }

  /** Takes one out that no longer waits. */
  delete(one: T): void {
    const own = this.#turns.get(one.owner);
    const at = own?.lastIndexOf(one) ?? -1;
    if (own === undefined || at === -1) return;
    own.splice(at, 1);
    this.#size -= 1;
    if (own.length === 0) this.#turns.delete(one.owner);
  }

  /**
   * Takes out the first owner's oldest one that `serves` accepts; that owner's next turn comes after those of all others. Undefined if there is none.
   */
  next(serves: (one: T) => boolean): T | undefined {
    for (const [owner, own] of this.#turns) {
      const [one] = own;
      if (one === undefined || !serves(one)) continue;
      own.shift();
      this.#size -= 1;
      this.#turns.delete(owner);
      if (own.length > 0) this.#turns.set(owner, own);
      return one;
    }
    return undefined;
  }

  /** The newest entry of the owner that has the most; if several owners have equally many, of the newcomer's if it is among them. */
  #newestOfLongest(newcomer: T): T {
    let longest = this.#turns.get(newcomer.owner) as T[];
    for (const own of this.#turns.values()) if (own.length > longest.length) longest = own;
    return longest.at(-1) as T;
  }
}
