/** The findings of an audit. */
import { oneLine } from "../shared/one-line.ts";

/** One statement about a job or a range, and whether it holds. */
export type Check = {
  /** Stable name for machines, e.g. `settlement.charge`. */
  id: string;
  holds: boolean;
  /** The finding, in plain words, on one line without control characters. */
  says: string;
};

/** An event that others presuppose is not there: the chain, or the reader of it, left it out. */
export class MissingEvent extends Error {
  override name = "MissingEvent";
}

/** Collects checks. */
export class Checks {
  readonly list: Check[] = [];

  /** Notes a check; `good` and `bad` say in words what was found. */
  add(id: string, holds: boolean, good: string, bad: string): boolean {
    this.list.push({ id, holds, says: oneLine(holds ? good : bad, Number.POSITIVE_INFINITY) });
    return holds;
  }

  /** Notes a check that holds when nothing is wrong. */
  note(id: string, wrong: readonly string[], good: string): boolean {
    return this.add(id, wrong.length === 0, good, wrong.join("; "));
  }

  /** Notes what is wrong one by one, or that nothing is. */
  noteEach(id: string, wrong: readonly string[], good: string): void {
    for (const says of wrong) this.note(id, [says], "");
    if (wrong.length === 0) this.note(id, [], good);
  }

  /** Runs checks that presuppose events of other jobs; one that is not there fails as `id`. */
  presuming(id: string, check: () => void): void {
    try {
      check();
    } catch (error) {
      if (!(error instanceof MissingEvent)) throw error;
      this.note(id, [error.message], "");
    }
  }

  get holds(): boolean {
    return this.list.every(({ holds }) => holds);
  }
}

/** `JobSettled.credits is 9, it should be 8`, for each field of `expected`. */
export function wrongFields(name: string, stated: object, expected: object): string[] {
  const values = stated as Record<string, unknown>;
  return Object.entries(expected).flatMap(([field, value]) =>
    shown(values[field]) === shown(value)
      ? []
      : [`${name}.${field} is ${oneLine(shown(values[field]))}, it should be ${oneLine(shown(value))}`],
  );
}

/** Addresses and hashes are equal in any case, numbers in any type. */
const shown = (value: unknown): string => (value === null ? "nothing" : String(value).toLowerCase());
