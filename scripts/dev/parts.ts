/** Starts the processes of a stack, waits until each is ready, and notices when one dies. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Identity, identify, readText, signal } from "../../shared/process.ts";
import { ROOT, StackError } from "./files.ts";
import { type StopRule, WARDEN, type Word, wardenLog } from "./warden.ts";

/** How a part is started, when it counts as running, and how it is stopped. */
export type PartSpec = {
  name: string;
  command: string;
  args: string[];
  env: NodeJS.ProcessEnv;
  cwd?: string;
  user?: { uid: number; gid: number } | undefined;
  ready: () => Promise<boolean>;
  /** An end during the start that passes on its own, by what the log then says: the start is tried again for a minute. */
  passing?: RegExp;
  stop: StopRule;
  /** Advice for the person whose part dies. */
  hint: string;
};

/** A program that runs to its end. */
export type TaskSpec = Omit<PartSpec, "ready" | "passing" | "stop">;

type Part = {
  spec: PartSpec | TaskSpec;
  pid: number;
  /** The end of the part, as the end of a sentence that begins with its name; undefined while it runs. */
  end: string | undefined;
  ended: Promise<string>;
  watched: boolean;
};

const READY_MS = 120_000;
const PASSING_MS = 60_000;

/** The order in which parts stop: lower ranks first. */
export const RANK = { task: 0, api: 1, worker: 2, indexer: 3, postgres: 4, chain: 5 } as const;

export const AGAIN =
  "look at the message above; if it says nothing to act on, start again. Deleting the data folder begins anew (balances, keys and jobs are then gone).";

/** Something was left undone because the start was given up; the cause is elsewhere. */
export class GivenUp extends StackError {
  constructor() {
    super("The start was given up.");
  }
}

export const logFile = (dataDir: string, part: string): string => join(dataDir, "logs", `${part}.log`);

export class Parts {
  readonly dataDir: string;
  /** Aborted when the start is given up, or the stack stops. */
  readonly abort: AbortSignal;
  /** The process that ends the parts, even when this process is killed. */
  readonly warden: Identity;
  readonly #wardenProcess: ChildProcess;
  readonly #onDeath: (error: StackError, part: string) => void;
  readonly #parts = new Map<string, Part>();
  #stopping: Promise<void> | null = null;

  constructor(dataDir: string, abort: AbortSignal, onDeath: (error: StackError, part: string) => void) {
    this.dataDir = dataDir;
    this.abort = abort;
    this.#onDeath = onDeath;
    mkdirSync(join(dataDir, "logs"), { recursive: true });
    rmSync(wardenLog(dataDir), { force: true });
    this.#wardenProcess = spawn(process.execPath, [WARDEN, dataDir], {
      detached: true,
      stdio: ["pipe", "ignore", "inherit"],
    });
    // Killed, it cannot be told any more; the stack then ends by this process alone.
    this.#wardenProcess.stdin?.on("error", () => {});
    this.warden = identify(this.#wardenProcess.pid as number) as Identity;
  }

  /** Folders that are deleted if this process is killed. */
  deleteWhenKilled(folders: string[]): void {
    this.#tell({ temporary: folders });
  }

  /** Starts a part and waits until it is ready. From then on its end is the end of the stack. */
  async launch(spec: PartSpec, readyWithinMs = READY_MS): Promise<void> {
    let part = this.#start(spec, spec.stop);
    for (const started = Date.now(); !(await spec.ready()); await sleep(40)) {
      const waited = Date.now() - started;
      if (this.abort.aborted) throw new GivenUp();
      if (part.end !== undefined) {
        const log = readText(logFile(this.dataDir, spec.name)) ?? "";
        if (!spec.passing?.test(log) || waited > PASSING_MS) throw this.#failure(spec, part.end);
        await sleep(250);
        part = this.#start(spec, spec.stop);
      }
      if (waited > readyWithinMs) throw this.#failure(spec, `was not ready after ${readyWithinMs / 1_000} s`);
    }
    part.watched = true;
    if (part.end !== undefined) this.#died(part);
  }

  /** Runs a program to its end; fails with its last lines when it does. */
  async run(spec: TaskSpec): Promise<void> {
    const part = this.#start(spec, { rank: RANK.task, signal: "SIGTERM", seconds: 3 });
    const giveUp = (): void => signal(-part.pid, "SIGTERM");
    this.abort.addEventListener("abort", giveUp, { once: true });
    const end = await part.ended;
    this.abort.removeEventListener("abort", giveUp);
    this.#parts.delete(spec.name);
    if (this.abort.aborted) throw new GivenUp();
    if (end !== "ended with exit code 0") throw this.#failure(spec, end);
  }

  /** Signals one part and waits for its end, which is then no accident: for tests of what happens. */
  async kill(name: string, by: NodeJS.Signals): Promise<void> {
    const part = this.#part(name);
    part.watched = false;
    signal(part.pid, by);
    await part.ended;
  }

  async restart(name: string, readyWithinMs = READY_MS): Promise<void> {
    const part = this.#part(name);
    if (part.end === undefined) throw new StackError(`${name} is still running.`);
    await this.launch(part.spec as PartSpec, readyWithinMs);
  }

  list(): { name: string; pid: number; running: boolean }[] {
    return [...this.#parts].map(([name, { pid, end }]) => ({ name, pid, running: end === undefined }));
  }

  /** Stops everything in order; returns what the warden had to say about it. */
  async stop(): Promise<string[]> {
    this.#stopping ??= this.#stopAll();
    await this.#stopping;
    const said = readText(wardenLog(this.dataDir))?.trim() ?? "";
    return said === "" ? [] : said.split("\n");
  }

  killAll(): void {
    for (const { pid, end } of this.#parts.values()) if (end === undefined && pid > 0) signal(-pid, "SIGKILL");
  }

  async #stopAll(): Promise<void> {
    this.#tell({ stop: true });
    const { exitCode, signalCode } = this.#wardenProcess;
    const gone =
      exitCode !== null || signalCode !== null || new Promise((resolve) => this.#wardenProcess.once("exit", resolve));
    this.#wardenProcess.stdin?.end();
    await gone;
    // Nothing is left now, unless the warden itself was killed.
    this.killAll();
    await Promise.all([...this.#parts.values()].map(({ ended }) => ended));
  }

  #tell(word: Word): void {
    this.#wardenProcess.stdin?.write(`${JSON.stringify(word)}\n`);
  }

  /** Its output goes straight into its log file; the log of its last start is kept as `<part>.log.1`. */
  #start(spec: TaskSpec, stop: StopRule): Part {
    if (this.#stopping || this.abort.aborted) throw new GivenUp();
    const file = logFile(this.dataDir, spec.name);
    if (existsSync(file)) renameSync(file, `${file}.1`);
    const log = openSync(file, "a", 0o600);
    // A session and group of its own: Ctrl-C in a terminal must not reach it, the warden stops it in order.
    const child = spawn(spec.command, spec.args, {
      cwd: spec.cwd ?? ROOT,
      env: spec.env,
      detached: true,
      stdio: ["ignore", log, log],
      ...spec.user,
    });
    closeSync(log);
    const part: Part = {
      spec,
      pid: child.pid ?? -1,
      end: undefined,
      watched: false,
      ended: new Promise((resolve) => {
        child.once("error", (error) => resolve(`could not be started: ${error.message}`));
        child.once("exit", (code, by) => resolve(by ? `was ended by ${by}` : `ended with exit code ${code}`));
      }),
    };
    this.#parts.set(spec.name, part);
    if (child.pid !== undefined) this.#tell({ runs: spec.name, pid: child.pid, stop });
    void part.ended.then((end) => {
      part.end = end;
      if (this.#stopping) return;
      this.#tell({ ended: spec.name });
      if (part.watched) this.#died(part);
    });
    return part;
  }

  #died(part: Part): void {
    this.#onDeath(this.#failure(part.spec, part.end as string), part.spec.name);
  }

  #failure({ name, hint }: TaskSpec, how: string): StackError {
    const file = logFile(this.dataDir, name);
    const lines = readFileSync(file, "utf8").slice(-16_384).trimEnd().split("\n").slice(-12);
    const last = lines.map((line) => `  | ${line.slice(0, 400)}`).join("\n");
    const isFull = /ENOSPC|no space left on device/i.test(last);
    const help = isFull ? "the disk is full: free some space, then start again." : hint;
    return new StackError(`${name} ${how}. The last lines of ${file}:\n${last}\nWhat to do: ${help}`);
  }

  #part(name: string): Part {
    const part = this.#parts.get(name);
    if (!part) throw new StackError(`There is no part ${name}; there are: ${[...this.#parts.keys()].join(", ")}.`);
    return part;
  }
}

/** Does the address answer 200? No connection yet is an ordinary "no". */
export async function answersOk(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
    await response.arrayBuffer();
    return response.status === 200;
  } catch {
    return false;
  }
}
