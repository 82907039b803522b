import { destination, type Logger, pino } from "pino";
import type { Redact } from "../protocol/redact.ts";

export type { Logger };

/**
 * JSON lines on stdout. Nothing that passes through a worker may be logged beyond ids, counts and times: no prompt, no
 * answer, no key. So errors are reduced to name and message; viem's long messages (they quote request bodies) to the first line.
 * What is left of the settings that are secret `redact` takes out.
 */
export function createLogger(level: string, redact: Redact = (text) => text): Logger {
  return pino(
    {
      name: "worker",
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: describeError },
      hooks: { streamWrite: redact },
    },
    destination({ sync: true }),
  );
}

/** An error as it may be logged. */
function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: firstLine(String(error)) };
  // The parser of JSON quotes what it could not read, which may be a piece of an answer.
  if (error instanceof SyntaxError) return { name: error.name, message: "malformed" };
  const short = "shortMessage" in error && typeof error.shortMessage === "string" ? error.shortMessage : error.message;
  const cause = error.cause === undefined ? {} : { cause: describeError(error.cause) };
  const code = "code" in error && error.code !== undefined ? { code: error.code } : {};
  return { name: error.name, message: firstLine(short), ...code, ...cause };
}

function firstLine(text: string): string {
  return (text.split("\n")[0] ?? "").slice(0, 300);
}
