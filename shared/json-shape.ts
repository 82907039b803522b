/** Values in one body: a conversation that fills the largest context in the smallest messages has fewer. */
const MAX_VALUES = 200_000;
/** Entries of one list. Only conversations are longer than a few dozen. */
const MAX_ENTRIES = 1_000;
const LONG_LIST = "messages";
/** A chat request is 5 deep. */
const MAX_DEPTH = 64;

const MANY = `holds more than ${MAX_VALUES.toLocaleString("en")} values`;
const LIST = `holds a list of more than ${MAX_ENTRIES.toLocaleString("en")} entries`;

/**
 * Why a parsed JSON body must not be looked at any further, as the end of a sentence; null if it may. A few megabytes can hold millions of
 * values, of which a schema makes as many complaints (10 µs each), or be nested so deep that whatever recurses overflows the stack. Takes one
 * step a value, and stops at the limit. A long conversation is for `firstBad` to look at.
 */
export function whyUnreasonable(body: unknown): string | null {
  let level: object[] = isObject(body) ? [body] : [];
  if (Array.isArray(body) && body.length > MAX_ENTRIES) return LIST;
  let values = 0;
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return `is nested more than ${MAX_DEPTH} deep`;
    const next: object[] = [];
    for (const part of level) {
      // Before its entries are made into pairs.
      if (Array.isArray(part) && values + part.length > MAX_VALUES) return MANY;
      const entries = Object.entries(part);
      values += entries.length;
      if (values > MAX_VALUES) return MANY;
      for (const [name, child] of entries) {
        if (Array.isArray(child) && child.length > MAX_ENTRIES && name !== LONG_LIST) {
          return LIST;
        }
        if (isObject(child)) next.push(child);
      }
    }
    level = next;
  }
  return null;
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

/** Index of the first entry that a schema refuses, -1 if there is none: what comes after it is not looked at. */
export function firstBad(
  schema: { safeParse(value: unknown): { success: boolean } },
  list: readonly unknown[],
): number {
  return list.findIndex((entry) => !schema.safeParse(entry).success);
}
