import { ConfigError } from "../errors.ts";

/** Whether LevelDB found what it cannot have written. */
export const isDamage = (error: unknown): boolean => hasCode(error, "LEVEL_CORRUPTION");

/** Whether another process has the store open. */
export const isLocked = (error: unknown): boolean => hasCode(error, "LEVEL_LOCKED");

/** What the operator is told of a store that cannot be opened. */
export function unusable(path: string, error: unknown): ConfigError {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const [why, remedy] = isLocked(error)
    ? ["another process has it open", "stop that one, or give this one another data folder"]
    : [
        String(cause),
        "see that the folder can be read and written and its disk has room; if it is damaged, move it away and wait three minutes " +
          "before the next start, so that no job is answered twice (answers in it that are not settled yet are lost)",
      ];
  return new ConfigError(`the worker's memory of its jobs, ${path}, cannot be opened: ${why}. What to do: ${remedy}`, {
    cause: error,
  });
}

/** Whether the error, or what caused it, has this code. */
function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && (("code" in error && error.code === code) || hasCode(error.cause, code));
}
