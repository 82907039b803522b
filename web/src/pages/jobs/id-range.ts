const DIGITS = 32;
const LAST = 2n ** 128n - 1n;
const name = (id: bigint): string => `job_${id.toString(16).padStart(DIGITS, "0")}`;

/**
 * The jobs that a text names, as the API lists them: those between two ids, without these. The text is an id or its beginning, in any case, with
 * `job_`, 0x or hyphens, or without. Null if it is none.
 */
export function idRange(text: string): IdRange | null {
  const [, digits] = /^(?:job_|0x)?([0-9a-f]{1,32})$/.exec(text.toLowerCase().replaceAll(/[-\s]/g, "")) ?? [];
  if (digits === undefined) return null;
  const [first, last] = [BigInt(`0x${digits.padEnd(DIGITS, "0")}`), BigInt(`0x${digits.padEnd(DIGITS, "f")}`)];
  return { after: name(first === 0n ? first : first - 1n), before: name(last === LAST ? last : last + 1n) };
}

/** Ids between two, without these. */
type IdRange = { after: string; before: string };

/** Ids begin with the milliseconds at which they were made. */
const TIME_SHIFT = 80n;
const DAY_MS = 86_400_000;
const idAt = (ms: number): bigint => BigInt(ms) << TIME_SHIFT;

/** The jobs of the UTC days from one to another, `YYYY-MM-DD`, both included; an empty one is no bound. Null if neither is a day. */
export function dayRange(from: string, to: string): IdRange | null {
  const [first, last] = [Date.parse(`${from}T00:00Z`), Date.parse(`${to}T00:00Z`)];
  if (Number.isNaN(first) && Number.isNaN(last)) return null;
  return {
    after: name(Number.isNaN(first) || first <= 0 ? 0n : idAt(first) - 1n),
    before: name(Number.isNaN(last) ? LAST : idAt(last + DAY_MS)),
  };
}

/** The ids that are in both ranges. Ids have one length, so their order is that of their text. */
export function within(a: IdRange | null, b: IdRange | null): IdRange | null {
  if (a === null || b === null) return a ?? b;
  const [, after = ""] = [a.after, b.after].sort();
  const [before = ""] = [a.before, b.before].sort();
  return { after, before };
}
