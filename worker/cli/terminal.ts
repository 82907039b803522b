import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import type { Redact } from "../../protocol/redact.ts";
import { ConfigError } from "../errors.ts";

/**
 * Talks with the operator: words go to stderr, so that stdout stays the log or the JSON that was asked for. Asks only when a person sits there;
 * otherwise every question ends with how to answer it ahead. What is said may quote settings: `redact` takes the secret of them out.
 */
export class Terminal {
  readonly interactive = process.stdin.isTTY === true && process.stderr.isTTY === true;
  readonly #redact: Redact;

  constructor(redact: Redact = (text) => text) {
    this.#redact = redact;
  }

  say(text: string): void {
    process.stderr.write(this.#redact(`${text}\n`));
  }

  /** A line of text. `instead`: how to give it without being asked. */
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
    const answer = await this.ask(`${question} [y/N]`, "--yes");
    return /^y(es)?$/i.test(answer);
  }

  async #read(question: string, instead: string, hidden: boolean): Promise<string> {
    if (!this.interactive) {
      throw new ConfigError(`${question}\nNobody is at the terminal to answer; use ${instead} instead.`);
    }
    const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
    const output = hidden ? nowhere : process.stderr;
    const lines = createInterface({ input: process.stdin, output, terminal: true });
    // Only now, when the terminal no longer echoes by itself: whoever answers at once must not see the passphrase.
    process.stderr.write(this.#redact(`${question} `));
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
