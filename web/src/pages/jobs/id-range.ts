const DIGITS = 32;
const LAST = 2n ** 128n - 1n;
const name = (id: bigint): string => `job_${id.toString(16).padStart(DIGITS, "0")}`;

/**
 * The jobs that a text names, as the API lists them: those between two ids, without these. The text is an id or its beginning, in any case, with
 * `job_`, 0x or hyphens, or without. Null if it is none.
 */
export function idRange(text: string): { after: string; before: string } | null {
  const [, digits] = /^(?:job_|0x)?([0-9a-f]{1,32})$/.exec(text.toLowerCase().replaceAll(/[-\s]/g, "")) ?? [];
  if (digits === undefined) return null;
  const [first, last] = [BigInt(`0x${digits.padEnd(DIGITS, "0")}`), BigInt(`0x${digits.padEnd(DIGITS, "f")}`)];
  return { after: name(first === 0n ? first : first - 1n), before: name(last === LAST ? last : last + 1n) };
}
