import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { codeOf, StackError } from "./errors.ts";

/** The project's folder. */
export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Text of a file, or null when there is none. */
export function readText(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}

/** Contents of a JSON file of our own, or null when there is none. */
export function readJson<T>(file: string): T | null {
  const text = readText(file);
  if (text === null) return null;
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw new StackError(`${file} is damaged (${(error as Error).message}). Move it away and start again.`);
  }
}

/** Writes a file whole or not at all. Keys and passwords go through here, so others may not read it. */
export function writeJson(file: string, value: unknown): void {
  const temporary = `${file}.${process.pid}.tmp`;
  writeFileSync(temporary, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  renameSync(temporary, file);
}
