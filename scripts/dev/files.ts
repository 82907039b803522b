import { existsSync, mkdirSync, renameSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { codeOf, readText } from "../../shared/process.ts";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** A failure that a person can act on: shown as its message alone, without a stack trace. */
export class StackError extends Error {
  override name = "StackError";
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The bytes that a stack writes in its first minutes: a database, logs, the chain's state. */
const NEEDED_BYTES = 500_000_000;

/** Makes the data folder, and makes sure that a stack can write into it. Throws a StackError that says why it cannot. */
export function demandRoom(folder: string, free = freeBytes): void {
  const probe = join(folder, `.write-${process.pid}`);
  try {
    makeFolder(folder);
    writeFileSync(probe, "");
    rmSync(probe);
  } catch (error) {
    if (codeOf(error) === "ENOSPC")
      throw new StackError(`The disk of ${folder} is full: free some space, then start again.`);
    throw new StackError(
      `The data folder ${folder} cannot be written (${messageOf(error)}): make it writable for this user, or choose another with DATA_DIR.`,
    );
  }
  const left = free(folder);
  if (left >= NEEDED_BYTES) return;
  const [has, needs] = [left, NEEDED_BYTES].map((bytes) => Math.floor(bytes / 1e6));
  throw new StackError(
    `The disk of ${folder} has ${has} MB left, and a stack needs ${needs} MB: free some space, or choose another disk with DATA_DIR.`,
  );
}

/** Node's own recursive form never returns where a file system lets nobody make folders, as /proc. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  mkdirSync(folder);
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** Contents of a JSON file of our own, or null when there is none. */
export function readJson<T>(file: string): T | null {
  const text = readText(file);
  if (text === null) return null;
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw new StackError(`${file} is damaged (${messageOf(error)}). Move it away and start again.`);
  }
}

/** Writes a file whole or not at all. Keys and passwords go through here, so others may not read it. */
export function writeJson(file: string, value: unknown): void {
  const temporary = `${file}.${process.pid}.tmp`;
  writeFileSync(temporary, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  renameSync(temporary, file);
}
