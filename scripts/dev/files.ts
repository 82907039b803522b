import { renameSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { readText } from "../../shared/process.ts";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** A failure that a person can act on: shown as its message alone, without a stack trace. */
export class StackError extends Error {
  override name = "StackError";
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
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
