import {
  closeSync,
  copyFileSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  statSync,
  truncateSync,
} from "node:fs";
import { join } from "node:path";

const LARGEST = 32 * 1024 * 1024;

export const logFile = (dataDir: string, part: string): string => join(dataDir, "logs", `${part}.log`);

/**
 * Opens a part's log for appending, and says how long it is. The log of the start before is kept as `<part>.log.1`; a start that is
 * only tried `again` goes on with its own.
 */
export function openLog(dataDir: string, part: string, again: boolean): { handle: number; length: number } {
  mkdirSync(join(dataDir, "logs"), { recursive: true });
  const file = logFile(dataDir, part);
  if (!again && existsSync(file)) renameSync(file, `${file}.1`);
  const handle = openSync(file, "a", 0o600);
  return { handle, length: fstatSync(handle).size };
}

/** What a part's log says from this byte on. */
export function logFrom(dataDir: string, part: string, start: number): string {
  return readFileSync(logFile(dataDir, part)).subarray(start).toString("utf8");
}

/**
 * Empties a log that has grown too large, after copying it aside. The part goes on writing to the same open file,
 * which is why it cannot simply be renamed.
 */
export function boundLog(dataDir: string, part: string): void {
  const file = logFile(dataDir, part);
  if (!existsSync(file) || statSync(file).size < LARGEST) return;
  copyFileSync(file, `${file}.1`);
  truncateSync(file);
}

/** The last lines of a log, for a message about a part that died. */
export function lastLines(dataDir: string, part: string, count = 12): string {
  const file = logFile(dataDir, part);
  if (!existsSync(file)) return "(no log)";
  const handle = openSync(file, "r");
  try {
    const size = fstatSync(handle).size;
    const buffer = Buffer.alloc(Math.min(size, 16_384));
    readSync(handle, buffer, 0, buffer.length, size - buffer.length);
    const lines = buffer.toString("utf8").trimEnd().split("\n").slice(-count);
    return lines.map((line) => `  | ${line.slice(0, 400)}`).join("\n");
  } finally {
    closeSync(handle);
  }
}
