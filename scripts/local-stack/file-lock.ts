import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { codeOf } from "./errors.ts";
import { readText } from "./files.ts";
import { type Identity, identify, isAlive } from "./identity.ts";

/** Takes a lock file for this process: the function that gives it back, or the living process that has it. */
export function tryLock(file: string): { release: () => void } | { holder: Identity } {
  mkdirSync(dirname(file), { recursive: true });
  const mine = JSON.stringify(identify(process.pid));
  while (!create(file, mine)) {
    const text = readText(file);
    if (text === null) continue;
    const holder = parse(text);
    if (holder !== null && isAlive(holder)) return { holder };
    removeStale(file, text);
  }
  return {
    release: () => {
      if (readText(file) === mine) rmSync(file, { force: true });
    },
  };
}

/** Waits for the lock, holds it for the action. */
export async function withLock<T>(file: string, action: () => Promise<T>): Promise<T> {
  for (;;) {
    const lock = tryLock(file);
    if ("holder" in lock) {
      await sleep(200);
      continue;
    }
    try {
      return await action();
    } finally {
      lock.release();
    }
  }
}

function parse(text: string): Identity | null {
  try {
    return JSON.parse(text) as Identity | null;
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
