import { setTimeout as sleep } from "node:timers/promises";

const LOOK_MS = 250;
const SAY_MS = 5_000;

/**
 * Waits that have a name and an end. What is waited for is said every few seconds, so that a hang names itself. The end
 * of the whole run cuts every wait short. A run then fails with what it found, instead of being killed.
 */
export class Patience {
  readonly #end: number;
  readonly #note: (line: string) => void;

  /** @param within Milliseconds from now in which everything must have come to its end. */
  constructor(within: number, note: (line: string) => void) {
    this.#end = Date.now() + within;
    this.#note = note;
  }

  get isOver(): boolean {
    return Date.now() > this.#end;
  }

  /** Asks `lacking` until it says null, at most `ms`; returns what is still lacking, or null. An error of the question lacks too. */
  async until(what: string, lacking: () => Promise<string | null>, ms: number): Promise<string | null> {
    const begun = Date.now();
    const end = Math.min(begun + ms, this.#end);
    let said = begun;
    for (;;) {
      const asked = Date.now();
      const lacks = await this.within(what, lacking(), end - Date.now() + SAY_MS).catch((error) => String(error));
      if (lacks === null) return null;
      const now = Date.now();
      if (now > end) return `${lacks} (after ${Math.round((now - begun) / 1000)} s)`;
      if (now - said > SAY_MS) {
        said = now;
        this.#note(`waiting ${Math.round((now - begun) / 1000)} s for ${what}: ${lacks}`);
      }
      // A question that takes long, such as the whole chain read, is not asked all the time.
      await sleep(Math.max(LOOK_MS, 2 * (now - asked)));
    }
  }

  /** The result of `work`, or a rejection that names it after `ms`, or a little after the run's end. */
  async within<T>(what: string, work: Promise<T>, ms: number): Promise<T> {
    const left = Math.max(SAY_MS, Math.min(ms, this.#end - Date.now()));
    const timer = new AbortController();
    const late = sleep(left, undefined, { signal: timer.signal }).then(() => {
      throw new Error(`${what}: not done after ${Math.round(left / 1000)} s`);
    });
    late.catch(() => {});
    try {
      return await Promise.race([work, late]);
    } finally {
      timer.abort();
    }
  }
}
