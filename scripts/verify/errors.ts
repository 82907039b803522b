/** Something the person who runs the command can correct, or has to wait for; shown without a stack. Exit status 2. */
export class VerifyError extends Error {
  override name = "VerifyError";
}

/** The first line of what went wrong, without viem's long tail of request bodies. */
export function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return (text.split("\n")[0] ?? text).slice(0, 300);
}
