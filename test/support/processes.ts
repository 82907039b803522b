import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** The end of a process can be told before its last words are. */
const OUTPUT_MS = 5_000;

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
    this.#exit = this.#ended();
  }

  /** Its exit code, once it has ended and all it said is in `output`. */
  get exited(): Promise<number | null> {
    return this.#exit;
  }

  async #ended(): Promise<number | null> {
    const closed = once(this.child, "close");
    const [code] = (await once(this.child, "exit")) as [number | null];
    // A process that it has left behind can hold its output open.
    await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, OUTPUT_MS).unref())]);
    return code;
  }

  /** Ends the process and waits until it is gone. */
  async stop(signal: NodeJS.Signals): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill(signal);
    await this.#exit;
  }

  /** Waits for `look` to be true; a process that ends instead fails with what it said. */
  async until(look: () => Promise<boolean>, timeoutMs = 60_000): Promise<void> {
    const end = Date.now() + timeoutMs;
    for (;;) {
      if (this.child.exitCode !== null)
        throw new Error(`${this.#name} ended with ${this.child.exitCode}:\n${this.output}`);
      if (await look().catch(() => false)) return;
      if (Date.now() > end) throw new Error(`${this.#name} is not ready after ${timeoutMs} ms:\n${this.output}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** A folder that every user may enter (PostgreSQL does not run as root), and its removal. */
export function temporaryFolder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), "index-test-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
