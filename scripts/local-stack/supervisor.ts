import { type ChildProcess, spawn } from "node:child_process";
import { closeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { GivenUp, StackError } from "./errors.ts";
import { ROOT } from "./files.ts";
import { identify, signal } from "./identity.ts";
import { boundLog, lastLines, logFile, logFrom, openLog } from "./logs.ts";
import type { Exit, Part, PartSpec } from "./part.ts";
import { untilReady } from "./ready.ts";
import { MARK, type PartRecord, reapLeftovers, stopInOrder, writeRecords } from "./records.ts";

/** @property logStart Where in its log the words of this process begin. */
type Entry = { record: PartRecord; spec: PartSpec; part: Part; watched: boolean; logStart: number };

/** Between two tries of a start whose failure passes on its own. */
const AGAIN_MS = 250;

/** Starts the parts, keeps the record from which a later start cleans up, and notices when one dies. */
export class Supervisor {
  readonly #dataDir: string;
  readonly #report: (line: string) => void;
  readonly #onDeath: (error: StackError, part: string) => void;
  readonly #abort: AbortSignal;
  readonly #entries = new Map<string, Entry>();
  readonly #logTimer: NodeJS.Timeout;
  #stopping: Promise<void> | null = null;

  constructor(of: {
    dataDir: string;
    report: (line: string) => void;
    onDeath: (error: StackError, part: string) => void;
    abort: AbortSignal;
  }) {
    this.#dataDir = of.dataDir;
    this.#report = of.report;
    this.#onDeath = of.onDeath;
    this.#abort = of.abort;
    this.#logTimer = setInterval(() => {
      for (const name of this.#entries.keys()) boundLog(of.dataDir, name);
    }, 30_000);
    this.#logTimer.unref();
  }

  async reapLeftovers(): Promise<string[]> {
    return await reapLeftovers(this.#dataDir, this.#report);
  }

  /** Starts a part and waits until it is ready. From then on its end is the end of the stack. */
  async launch(spec: PartSpec): Promise<void> {
    const deadline = Date.now() + (spec.passing?.forMs ?? 0);
    for (let again = false; ; again = true) {
      spec.before?.();
      const entry = this.#start(spec, again);
      try {
        await untilReady(spec.ready, {
          part: entry.part,
          abort: this.#abort,
          timeoutMs: spec.readyTimeoutMs,
          failure: (how) => this.#failure(spec, how),
        });
        break;
      } catch (error) {
        const reason = this.#passingReason(entry);
        if (reason === undefined || (again && Date.now() > deadline)) throw error;
        if (!again) this.#report(`${spec.name} cannot start yet and is tried again: ${reason}`);
        await sleep(AGAIN_MS);
      }
    }
    this.#watch(spec.name);
  }

  /** The line that says why a part ended, if that is nothing to stay. */
  #passingReason({ spec, part, logStart }: Entry): string | undefined {
    const { passing } = spec;
    if (passing === undefined || this.#abort.aborted || !part.hasExited()) return undefined;
    return logFrom(this.#dataDir, spec.name, logStart)
      .split("\n")
      .find((line) => passing.says.test(line));
  }

  /** Runs a program to its end; fails with its last lines when it does. */
  async run(spec: Omit<PartSpec, "ready" | "readyTimeoutMs">): Promise<void> {
    const { part } = this.#start({ ...spec, ready: async () => true, readyTimeoutMs: 0 });
    const giveUp = (): void => {
      signal(-part.pid, "SIGTERM");
      setTimeout(() => part.hasExited() || signal(-part.pid, "SIGKILL"), spec.stop.deadlineMs).unref();
    };
    this.#abort.addEventListener("abort", giveUp, { once: true });
    const exit = await part.exited;
    this.#abort.removeEventListener("abort", giveUp);
    this.#entries.delete(spec.name);
    this.#record();
    if (this.#abort.aborted) throw new GivenUp();
    if (!exit.ok) throw this.#failure(spec, exit.how);
  }

  /** Its output goes straight to its log file, so that a part outlives us without a broken pipe. */
  #start(spec: PartSpec, again = false): Entry {
    if (this.#stopping || this.#abort.aborted) throw new GivenUp();
    const { handle, length } = openLog(this.#dataDir, spec.name, again);
    try {
      const child = spawn(spec.command, spec.args, {
        cwd: spec.cwd ?? ROOT,
        env: { ...spec.env, [MARK]: this.#dataDir },
        // A process group of its own: Ctrl-C in the terminal must not reach it, we stop it in order.
        detached: true,
        stdio: ["ignore", handle, handle],
        ...spec.user,
      });
      const entry = this.#follow(spec, child, length);
      this.#entries.set(spec.name, entry);
      this.#record();
      return entry;
    } finally {
      closeSync(handle);
    }
  }

  #follow(spec: PartSpec, child: ChildProcess, logStart: number): Entry {
    let ended = false;
    const exited = new Promise<Exit>((resolve) => {
      child.once("error", (error) => resolve({ ok: false, how: `could not be started: ${error.message}` }));
      child.once("exit", (code, by) =>
        resolve({ ok: code === 0, how: by ? `was ended by ${by}` : `ended with exit code ${code}` }),
      );
    });
    const pid = child.pid ?? -1;
    const part: Part = { name: spec.name, pid, exited, hasExited: () => ended };
    const record: PartRecord = { name: spec.name, stop: spec.stop, ...(identify(pid) ?? { pid, started: "ended" }) };
    const entry: Entry = { record, spec, part, watched: false, logStart };
    void exited.then(({ how }) => {
      ended = true;
      if (entry.watched && !this.#stopping) this.#onDeath(this.#failure(spec, how), spec.name);
    });
    return entry;
  }

  #failure(spec: Pick<PartSpec, "name" | "hint">, how: string): StackError {
    return new StackError(
      `${spec.name} ${how}. The last lines of ${logFile(this.#dataDir, spec.name)}:\n` +
        `${lastLines(this.#dataDir, spec.name)}\nWhat to do: ${spec.hint}`,
    );
  }

  #watch(name: string): void {
    const entry = this.#entry(name);
    entry.watched = true;
    if (!entry.part.hasExited()) return;
    void entry.part.exited.then(({ how }) => this.#onDeath(this.#failure(entry.spec, how), name));
  }

  /** Signals one part and waits for its end, which is then no accident: for tests of what happens. */
  async kill(name: string, by: NodeJS.Signals): Promise<void> {
    const entry = this.#entry(name);
    entry.watched = false;
    signal(entry.part.pid, by);
    await entry.part.exited;
  }

  /** Starts a part again that has ended. */
  async restart(name: string): Promise<void> {
    const entry = this.#entry(name);
    if (!entry.part.hasExited()) throw new StackError(`${name} is still running.`);
    await this.launch(entry.spec);
  }

  parts(): { name: string; pid: number; running: boolean }[] {
    return [...this.#entries.values()].map(({ part }) => ({
      name: part.name,
      pid: part.pid,
      running: !part.hasExited(),
    }));
  }

  /** Stops everything in order. Calling it again waits for the same end. */
  async stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    await this.#stopping;
  }

  async #stopAll(): Promise<void> {
    clearInterval(this.#logTimer);
    await stopInOrder(
      [...this.#entries.values()].map((entry) => entry.record),
      this.#report,
    );
    // Their ends were seen from outside; let them arrive here too.
    await Promise.all(
      [...this.#entries.values()].map((entry) =>
        Promise.race([entry.part.exited, sleep(1_000, undefined, { ref: false })]),
      ),
    );
    writeRecords(this.#dataDir, []);
  }

  /** Ends everything at once, for the person who does not want to wait. */
  killAll(): void {
    for (const { part } of this.#entries.values()) {
      if (!part.hasExited() && part.pid > 0) signal(-part.pid, "SIGKILL");
    }
  }

  #entry(name: string): Entry {
    const entry = this.#entries.get(name);
    if (!entry) throw new StackError(`There is no part ${name}; there are: ${[...this.#entries.keys()].join(", ")}.`);
    return entry;
  }

  #record(): void {
    const running = [...this.#entries.values()].filter((entry) => !entry.part.hasExited());
    writeRecords(
      this.#dataDir,
      running.map((entry) => entry.record),
    );
  }
}
