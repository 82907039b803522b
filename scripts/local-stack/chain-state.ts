import {
  closeSync,
  copyFileSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { untoldTransactions } from "./chain-tidy.ts";
import { messageOf } from "./errors.ts";

/** Where the chain is kept: the dump that anvil overwrites in place, and the newest whole copy of it. */
export function chainFiles(dataDir: string): { folder: string; state: string; previous: string; cache: string } {
  const folder = join(dataDir, "chain");
  mkdirSync(folder, { recursive: true });
  return {
    folder,
    state: join(folder, "state.json"),
    previous: join(folder, "state.previous.json"),
    cache: join(folder, "cache"),
  };
}

/**
 * Whether a dump was written to its end. anvil truncates the file and writes it anew, so that a kill in between
 * leaves half of it. Its last field is looked at, because reading all of a large chain would take seconds.
 */
export function isWhole(file: string): boolean {
  if (!existsSync(file)) return false;
  const handle = openSync(file, "r");
  try {
    const size = fstatSync(handle).size;
    const tail = Buffer.alloc(Math.min(size, 4096));
    readSync(handle, tail, 0, tail.length, size - tail.length);
    const text = tail.toString("utf8").trimEnd();
    return size > 2 && text.endsWith("}") && /"historical_states":\s*(null|\{\}|\[\])\s*\}$/.test(text);
  } finally {
    closeSync(handle);
  }
}

/** Chooses the dump to start from, putting aside one that cannot be used. Returns what a person should know. */
export function chooseState(dataDir: string): string | null {
  const { state, previous } = chainFiles(dataDir);
  if (isWhole(state)) return null;
  const damaged = existsSync(state);
  if (damaged) putAside(state);
  if (isWhole(previous)) {
    copyFileSync(previous, state);
    return `the newest dump was ${damaged ? "cut short" : "missing"}: resumed from the one before (${when(previous)})`;
  }
  return damaged
    ? "its dump was cut short and there is no other: it starts anew, and the contracts are deployed again"
    : null;
}

/** A copy that is this much older still loses less than a dump that does not fit itself. */
const COPY_IS_RECENT_MS = 60_000;

/**
 * A dump that was written while transactions came can hold their effects without their events: the copy before it is taken instead,
 * if that one is whole and recent. Returns what a person should know.
 */
export function avoidTornState(dataDir: string): string | null {
  const { state, previous } = chainFiles(dataDir);
  const untold = untoldTransactions(state);
  if (untold === 0) return null;
  const recent = isWhole(previous) && statSync(state).mtimeMs - statSync(previous).mtimeMs < COPY_IS_RECENT_MS;
  if (recent && untoldTransactions(previous) === 0) {
    putAside(state);
    copyFileSync(previous, state);
    return `the newest dump was written while blocks came and does not fit itself: resumed from the one before (${when(previous)})`;
  }
  return (
    `its dump was written while blocks came: ${untold} transactions have their effects and no events, so that balances and lists ` +
    "may differ by them. To begin with an empty chain, delete the data folder"
  );
}

/** After anvil refused the dump: falls back to the copy, or to nothing. False when there was nothing to put aside. */
export function discardState(dataDir: string): string | null {
  const { state, previous } = chainFiles(dataDir);
  if (!existsSync(state)) return null;
  const copyIsOther = isWhole(previous) && statSync(previous).mtimeMs !== statSync(state).mtimeMs;
  putAside(state);
  if (copyIsOther) {
    copyFileSync(previous, state);
    rmSync(previous);
    return `anvil could not read the newest dump: resumed from the one before`;
  }
  return "anvil could not read its dump: it starts anew, and the contracts are deployed again";
}

function putAside(file: string): void {
  // One is enough to look into what happened; they must not pile up.
  renameSync(file, file.replace(/\.json$/, ".unreadable.json"));
}

const when = (file: string): string => statSync(file).mtime.toISOString().replace("T", " ").slice(0, 19);

/**
 * Keeps a whole copy of the newest dump, so that a kill in the middle of writing one loses at most an interval.
 * Returns the function that ends it.
 */
export function keepCopies(dataDir: string, intervalMs: number, report: (line: string) => void): () => void {
  let copied = 0;
  const copy = (): void => {
    try {
      copied = copyIfChanged(dataDir, copied);
    } catch (error) {
      report(`the chain's dump could not be copied: ${messageOf(error)}`);
    }
  };
  copy();
  const timer = setInterval(copy, intervalMs);
  timer.unref();
  return () => clearInterval(timer);
}

function copyIfChanged(dataDir: string, copied: number): number {
  const { state, previous } = chainFiles(dataDir);
  const before = statSync(state, { throwIfNoEntry: false });
  if (!before || before.mtimeMs === copied || !isWhole(state)) return copied;
  const temporary = `${previous}.tmp`;
  copyFileSync(state, temporary);
  const after = statSync(state, { throwIfNoEntry: false });
  // Overwritten while we copied: the next round gets it.
  if (after?.mtimeMs !== before.mtimeMs || !isWhole(temporary)) return copied;
  renameSync(temporary, previous);
  return before.mtimeMs;
}
