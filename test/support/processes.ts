import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** The end of a process can be told before its last words are. */
const LAST_WORDS_MS = 5_000;
/** A look that takes longer is made anew. */
const LOOK_MS = 10_000;

/** A process of a test with all it has said. */
export class Part {
  readonly child: ChildProcess;
  output = "";
  readonly #name: string;
  readonly #exit: Promise<number | null>;

  constructor(name: string, file: string, args: string[], options: SpawnOptions = {}) {
    this.#name = name;
    this.child = spawn(file, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [this.child.stdout, this.child.stderr]) stream?.on("data", (data) => (this.output += data));
    const closed = new Promise<void>((resolve) => this.child.once("close", () => resolve()));
    this.#exit = new Promise((resolve) =>
      this.child.once("exit", (code) => {
        // What it said last is read first, unless a process of its own holds the pipes open.
        void Promise.race([closed, sleep(LAST_WORDS_MS)]).then(() => resolve(code));
      }),
    );
  }

  /** Its exit code, once it has ended and what it said is in `output`; null when a signal ended it. */
  get exited(): Promise<number | null> {
    return this.#exit;
  }

  /** Ends the process and waits until it is gone. */
  async stop(signal: NodeJS.Signals): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill(signal);
    await this.#exit;
  }

  /** Waits for `look` to be true; a process that ends instead fails with what it said. */
  async until(look: () => Promise<boolean>, timeoutMs = 170_000): Promise<void> {
    const end = Date.now() + timeoutMs;
    for (;;) {
      if (this.child.exitCode !== null || this.child.signalCode !== null) {
        await this.#exit;
        throw new Error(`${this.#name} ended with ${this.child.exitCode ?? this.child.signalCode}:\n${this.output}`);
      }
      // A port that was free can have another owner for a moment, who never answers.
      if (await Promise.race([look().catch(() => false), sleep(LOOK_MS, false)])) return;
      if (Date.now() > end) throw new Error(`${this.#name} is not ready after ${timeoutMs} ms:\n${this.output}`);
      await sleep(20);
    }
  }
}

/** A folder that every user may enter (PostgreSQL does not run as root), and its removal. */
export function temporaryFolder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), "index-test-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
