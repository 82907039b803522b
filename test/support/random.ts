/** Random numbers that a seed repeats (mulberry32). Each actor forks its own, so that one's pace never changes another's choices. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from `min` to `max`, both included. */
  int(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  pick<T>(of: readonly T[]): T {
    if (of.length === 0) throw new Error("nothing to pick from");
    return of[Math.floor(this.next() * of.length)] as T;
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  /** The same things in another order. */
  shuffle<T>(of: readonly T[]): T[] {
    const shuffled = [...of];
    for (let i = shuffled.length - 1; i > 0; i--) {
      const j = this.int(0, i);
      [shuffled[i], shuffled[j]] = [shuffled[j] as T, shuffled[i] as T];
    }
    return shuffled;
  }

  fork(): Random {
    return new Random(this.int(0, 0xffffffff));
  }
}
