/** Values in a client's body: a conversation of `MAX_MESSAGES` in text parts has fewer. */
const MAX_VALUES = 40_000;
/** Values in a dispatch: its chat request has as many as a client's body, and stands in an envelope. */
export const DISPATCH_VALUES = 2 * MAX_VALUES;
/** Entries of one list, and fields of one object. Only conversations are longer than a few dozen. */
const MAX_ENTRIES = 1_000;
/** Messages of a conversation. Each is looked at by a schema, twice. */
export const MAX_MESSAGES = 4_096;
const LONG_LIST = Buffer.from("messages");
/** A chat request is 5 deep. */
const MAX_DEPTH = 64;
/** Bytes that are not in a text: brackets, commas, numbers and white space. An indented conversation of `MAX_MESSAGES` has fewer. */
const MAX_OUTSIDE = 1024 * 1024;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const [OPEN_LIST, CLOSE_LIST] = [0x5b, 0x5d];
const [OPEN_OBJECT, CLOSE_OBJECT] = [0x7b, 0x7d];

/**
 * Why a JSON text must not be parsed, as the end of a sentence; null if it may. Four megabytes can hold two million nested lists, or 400,000
 * fields, which take a parser half a second and more; or so many bad values that a schema's complaints do (10 µs each). This takes one step a
 * byte outside of texts and stops at the limit. What is no JSON is for the parser to refuse; a long conversation is for `firstBad` to look at.
 */
export function jsonShapeFault(json: Buffer, maxValues = MAX_VALUES): string | null {
  /** For each open list or object, the number of its entries, and how many it may have. */
  const entries = new Int32Array(MAX_DEPTH + 1);
  const most = new Int32Array(MAX_DEPTH + 1);
  let depth = 0;
  let values = 0;
  let outside = 0;
  /** The last text since the last bracket or comma: before a list, its name. */
  let name: [start: number, end: number] = [0, 0];
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    outside += 1;
    if (outside > MAX_OUTSIDE)
      return `has more than ${MAX_OUTSIDE / 1024} KiB outside of its texts; send it without white space`;
    if (byte === QUOTE) {
      const end = endOfText(json, at);
      if (end === -1) return null;
      name = [at + 1, end];
      at = end;
    } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth += 1;
      if (depth > MAX_DEPTH) return `is nested more than ${MAX_DEPTH} deep`;
      values += 1;
      entries[depth] = 1;
      const isLong = byte === OPEN_LIST && json.subarray(...name).equals(LONG_LIST);
      most[depth] = isLong ? MAX_MESSAGES : MAX_ENTRIES;
      name = [0, 0];
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      depth = Math.max(0, depth - 1);
    } else if (byte === COMMA) {
      values += 1;
      name = [0, 0];
      entries[depth] = (entries[depth] as number) + 1;
      if ((entries[depth] as number) > (most[depth] as number) && depth > 0) {
        const limit = most[depth] as number;
        return limit === MAX_MESSAGES
          ? `holds more than ${MAX_MESSAGES.toLocaleString("en")} messages; shorten the conversation`
          : `holds a list or an object of more than ${limit.toLocaleString("en")} entries`;
      }
    }
    if (values > maxValues) return `holds more than ${maxValues.toLocaleString("en")} values`;
  }
  return null;
}

/** Bytes of a text that are looked at one by one. What is longer is searched by native code, in a tenth of the time. */
const NEAR = 64;

/**
 * The position of the quote that ends the text that begins at `start`; -1 if there is none. No byte is searched twice for the same thing.
 */
function endOfText(json: Buffer, start: number): number {
  let quote = start;
  for (let at = start + 1; at < json.length; ) {
    for (const near = at + NEAR; at < near; at++) {
      const byte = json[at];
      if (byte === QUOTE) return at;
      if (byte === BACKSLASH) at += 1;
    }
    if (quote < at) quote = json.indexOf(QUOTE, at);
    if (quote === -1) return -1;
    const backslash = json.subarray(at, quote).indexOf(BACKSLASH);
    if (backslash === -1) return quote;
    at += backslash;
  }
  return -1;
}

/** Index of the first entry that a schema refuses, -1 if there is none: what comes after it is not looked at. */
export function firstBad(
  schema: { safeParse(value: unknown): { success: boolean } },
  list: readonly unknown[],
): number {
  return list.findIndex((entry) => !schema.safeParse(entry).success);
}
