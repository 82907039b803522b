/** Reads a number of credits as typed; a message instead when it is none. */
export function readCredits(
  text: string,
  { least, most, mostSays }: { least: number; most?: number | undefined; mostSays?: string },
): { value: number; error: null } | { value: null; error: string | null } {
  const typed = text.replaceAll(/[,\s]/g, "");
  if (typed === "") return { value: null, error: null };
  if (!/^\d+$/.test(typed)) return { value: null, error: "Credits are whole numbers." };
  const value = Number(typed);
  if (value < least) return { value: null, error: `At least ${least.toLocaleString("en-US")} credits.` };
  if (most !== undefined && value > most)
    return { value: null, error: mostSays ?? `At most ${most.toLocaleString("en-US")}.` };
  return { value, error: null };
}

/** Reads an amount of SVC as typed, as millionths; a message instead when it is none. */
export function readSvc(
  text: string,
  { most, mostSays }: { most: bigint; mostSays: string },
): { value: bigint; error: null } | { value: null; error: string | null } {
  const typed = text.replaceAll(/[,\s]/g, "");
  if (typed === "") return { value: null, error: null };
  const [, whole = "", fraction = ""] = /^(\d+)(?:\.(\d{1,6}))?$/.exec(typed) ?? [];
  if (whole === "") return { value: null, error: "A number with up to six decimals." };
  const value = BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, "0"));
  if (value === 0n) return { value: null, error: "More than nothing." };
  return value > most ? { value: null, error: mostSays } : { value, error: null };
}
