/** Values in one body: a conversation that fills the largest context in the smallest messages has fewer. */
const MAX_VALUES = 200_000;
/** A chat request is 5 deep. */
const MAX_DEPTH = 64;

/**
 * Why a parsed JSON body must not be looked at any further, as the end of a sentence; null if it may. A few megabytes can hold millions of
 * values, of which a schema makes as many complaints, or be nested so deep that whatever recurses overflows the stack. Takes one
 * step a value, and stops at the limit.
 */
export function whyUnreasonable(body: unknown): string | null {
  let level: object[] = isObject(body) ? [body] : [];
  let values = 0;
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return `is nested more than ${MAX_DEPTH} deep`;
    const next: object[] = [];
    for (const part of level) {
      const children = Array.isArray(part) ? part : Object.values(part);
      values += children.length;
      if (values > MAX_VALUES) return `holds more than ${MAX_VALUES.toLocaleString("en")} values`;
      for (const child of children) if (isObject(child)) next.push(child);
    }
    level = next;
  }
  return null;
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
