/** The worker's console: log lines on stdout, words and questions on stderr, errors that its operator can set right. */
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { type Logger, pino } from "pino";
import { escapeControls, oneLine } from "../shared/one-line.ts";
import type { Redact } from "../shared/redact.ts";

export type { Logger };

/** The command that starts the worker: from the repository, or from the package. */
export const COMMAND = process.argv[1]?.endsWith("main.ts") ? "npm run worker --" : "cmi-worker";

/** Something that the operator can set right. Only its message is shown. */
export class ConfigError extends Error {
  override name = "ConfigError";
}

/**
 * JSON lines on stdout. A worker logs ids, counts and times, never a prompt, an answer or a key.
 * So an error is reduced to its name and first line: viem's long messages quote request bodies.
 * `redact` takes the secret settings out of every line.
 */
export function createLogger(level: string, redact: Redact = (text) => text): Logger {
  return pino(
    {
      name: "worker",
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: describeError },
      // JSON leaves some control characters as they are.
      hooks: { streamWrite: (line) => escapeControls(redact(line)) },
    },
    process.stdout,
  );
}

function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: firstLine(String(error)) };
  // The JSON parser quotes what it could not read, which may be a piece of an answer.
  if (error instanceof SyntaxError) return { name: error.name, message: "malformed" };
  const short = "shortMessage" in error && typeof error.shortMessage === "string" ? error.shortMessage : error.message;
  const cause = error.cause === undefined ? {} : { cause: describeError(error.cause) };
  const code = "code" in error && error.code !== undefined ? { code: error.code } : {};
  return { name: error.name, message: firstLine(short), ...code, ...cause };
}

const firstLine = (text: string): string => oneLine(text.split("\n")[0] ?? "", 300);

/**
 * Talks with the operator on stderr, so that stdout holds only the log or the JSON that was asked for.
 * Asks only where a person sits at the terminal; otherwise each question fails and names the setting that answers it.
 */
export class Terminal {
  readonly interactive = process.stdin.isTTY === true && process.stderr.isTTY === true;
  readonly #redact: Redact;

  constructor(redact: Redact) {
    this.#redact = redact;
  }

  say(text: string): void {
    process.stderr.write(escapeControls(this.#redact(`${text}\n`)));
  }

  /** A line of text. `instead` names the setting that answers the question. */
  async ask(question: string, instead: string): Promise<string> {
    return (await this.#read(question, instead, false)).trim();
  }

  /** A line that is not shown. */
  askHidden(question: string, instead: string): Promise<string> {
    return this.#read(question, instead, true);
  }

  /** Yes or no; `yes` answers it ahead. */
  async confirm(question: string, yes: boolean): Promise<boolean> {
    if (yes) return true;
    return /^y(es)?$/i.test(await this.ask(`${question} [y/N]`, "--yes"));
  }

  async #read(question: string, instead: string, hidden: boolean): Promise<string> {
    if (!this.interactive) {
      throw new ConfigError(`${question}\nNobody is at the terminal to answer; use ${instead} instead.`);
    }
    const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
    const output = hidden ? nowhere : process.stderr;
    const lines = createInterface({ input: process.stdin, output, terminal: true });
    // Asked only now, when the terminal no longer echoes: a quick answer must not show the passphrase.
    process.stderr.write(escapeControls(this.#redact(`${question} `)));
    try {
      return await new Promise<string>((resolve, reject) => {
        lines.once("line", resolve);
        lines.once("SIGINT", () => reject(new ConfigError("given up")));
        lines.once("close", () => reject(new ConfigError("the input ended before an answer")));
      });
    } finally {
      lines.close();
      if (hidden) process.stderr.write("\n");
    }
  }
}
