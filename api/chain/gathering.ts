/** Consecutive nonces in flight. Nodes keep at least 16 of a sender; more would only make a lost one hold up more. */
export const MAX_IN_FLIGHT = 8;
/** So many transactions go out without waiting: who comes to a quiet gateway waits for nobody. */
export const AT_ONCE = 2;
/** Shortest and longest time that operations gather once those are in flight, ms. */
const SHORTEST_MS = 20;
const LONGEST_MS = 1_500;
/** What is left of an old confirmation time at each new one: a slow one counts, and is forgotten. */
const MEMORY = 0.9;

/**
 * How long operations gather for one transaction. The transactions in flight share the time between two blocks: with less, all of
 * them would be out soon after a block, and what comes later in the interval would miss the next block too.
 */
export class Gathering {
  #confirmationMs = 0;

  /** A transaction was mined so long after it was recorded. */
  observe(confirmationMs: number): void {
    this.#confirmationMs = Math.min(
      Math.max(confirmationMs, this.#confirmationMs * MEMORY),
      (MAX_IN_FLIGHT - AT_ONCE) * LONGEST_MS,
    );
  }

  get ms(): number {
    return Math.max(SHORTEST_MS, this.#confirmationMs / (MAX_IN_FLIGHT - AT_ONCE));
  }
}
