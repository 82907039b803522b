/** Processes told apart from later ones with the same number, and lock files that die with their holder. */
import { spawnSync } from "node:child_process";
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import module from "node:module";
import { dirname } from "node:path";
import { retryUntil } from "./retry.ts";

/** The code of a system error (`ENOENT`, `EADDRINUSE`, ...), if it is one. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** Text of a file, or null when there is none. */
export function readText(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    // ESRCH: a file of a process that ended while we read.
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ESRCH") return null;
    throw error;
  }
}

export type Identity = { pid: number; started: string };

/** The process with this number; null when there is none, or only its unread exit status is left. */
export function identify(pid: number): Identity | null {
  const started = process.platform === "linux" ? startByProc(pid) : startByPs(pid);
  return started === null ? null : { pid, started };
}

/** The boot is part of it, as Linux counts start times from there. */
function startByProc(pid: number): string | null {
  const stat = readText(`/proc/${pid}/stat`);
  if (stat === null) return null;
  // The command name may hold spaces and brackets: the fields are counted behind its last bracket.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields[0] === "Z" || fields[0] === "X") return null;
  return `${readText("/proc/sys/kernel/random/boot_id")?.slice(0, 8)}:${fields[19]}`;
}

function startByPs(pid: number): string | null {
  const { stdout, status } = spawnSync("ps", ["-o", "stat=,lstart=", "-p", String(pid)], { encoding: "utf8" });
  const line = stdout?.trim();
  return status === 0 && line && !line.startsWith("Z") ? line.replace(/^\S+\s+/, "") : null;
}

export function isAlive({ pid, started }: Identity): boolean {
  return identify(pid)?.started === started;
}

/** Waits until the process is gone; false when it still runs at the deadline. */
export async function waitGone(identity: Identity, milliseconds: number): Promise<boolean> {
  return (await retryUntil(() => !isAlive(identity), { pauseMs: 25, timeoutMs: milliseconds })) !== null;
}

/** Sends a signal; a process (or group) that is gone already is what we wanted. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (codeOf(error) !== "ESRCH") throw error;
  }
}

/**
 * A line for stdout or stderr that cannot be written, as to a file on a full disk, is lost and the process goes on. Without a listener Node ends
 * the process; pino's own stream then waits for room, and the process hangs.
 */
export function ignoreLostOutput(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
}

/**
 * Writes what V8 has compiled for the next start, where NODE_COMPILE_CACHE names a folder. Node alone writes it at an orderly exit, which a
 * killed process does not have. Versions before 22.10 cannot write it earlier.
 */
export const keepCompiled = (): void => module.flushCompileCache?.();

type Lock<T extends Identity> = { release: () => void } | { holder: T };

/** Takes a lock file for this process, or for `owner`: the function that gives it back, or the living process that has it. */
export function tryLock<T extends Identity = Identity>(file: string, owner: T = identify(process.pid) as T): Lock<T> {
  mkdirSync(dirname(file), { recursive: true });
  const mine = JSON.stringify(owner);
  while (!create(file, mine)) {
    const text = readText(file);
    if (text === null) continue;
    const holder = parse<T>(text);
    if (holder !== null && isAlive(holder)) return { holder };
    removeStale(file, text);
  }
  return { release: () => void (readText(file) === mine && rmSync(file, { force: true })) };
}

/** Waits for the lock, holds it for the action. */
export async function withLock<T>(file: string, action: () => Promise<T>): Promise<T> {
  const release = await retryUntil(
    () => {
      const lock = tryLock(file);
      return "release" in lock && lock.release;
    },
    { pauseMs: 100 },
  );
  try {
    return await action();
  } finally {
    release();
  }
}

function parse<T extends Identity>(text: string): T | null {
  try {
    return JSON.parse(text) as T | null;
  } catch {
    // Cut short by a crash: nobody holds it.
    return null;
  }
}

/** Creates the file with its contents in one step, so that nobody ever reads an empty one. */
function create(file: string, text: string): boolean {
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, text, { mode: 0o600 });
  try {
    linkSync(temporary, file);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** Removes the lock of a dead process, unless another one has replaced it this very moment. */
function removeStale(file: string, stale: string): void {
  const aside = `${file}.${process.pid}.stale`;
  try {
    renameSync(file, aside);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return;
    throw error;
  }
  if (readFileSync(aside, "utf8") === stale) rmSync(aside);
  else renameSync(aside, file);
}
