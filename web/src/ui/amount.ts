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
