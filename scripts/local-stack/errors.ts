/** A failure that a person can act on: shown as its message alone, without a stack trace. */
export class StackError extends Error {
  override name = "StackError";
}

/** Something was left undone because the start was given up; the cause is elsewhere. */
export class GivenUp extends StackError {
  constructor() {
    super("The start was given up.");
  }
}

/** The code of a system error (`ENOENT`, `EADDRINUSE`, ...), if it is one. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
