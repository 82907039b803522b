/**
 * Ends a stack, in order: `node warden.ts <data folder>`, started beside every stack.
 *
 * The starter tells it about each part on its standard input. Once that closes, whether the starter asks for the end or was killed, every
 * part still running is stopped. No record of processes is needed, and a killed starter leaves nothing behind.
 */
import { appendFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Identity, identify, isAlive, signal, waitGone } from "../../shared/process.ts";
import { messageOf } from "./files.ts";

/** How a part is stopped. Lower ranks stop first, so that nobody loses what it depends on. */
export type StopRule = {
  rank: number;
  signal: NodeJS.Signals;
  seconds: number;
  /** File that is deleted once the part has ended by its signal. */
  mark?: string;
};

/** A message of the starter: a part runs, a part has ended, folders must be deleted if the starter dies, or everything is to stop. */
export type Word =
  | { runs: string; pid: number; stop: StopRule }
  | { ended: string }
  | { temporary: string[] }
  | { stop: true };

export const WARDEN = fileURLToPath(import.meta.url);
export const wardenLog = (dataDir: string): string => join(dataDir, "logs", "stop.log");

type Running = { name: string; process: Identity; stop: StopRule };

async function stopPart({ name, process: part, stop }: Running, say: (line: string) => void): Promise<void> {
  const { pid } = part;
  if (!isAlive(part)) return;
  try {
    // Only the process itself: the children of Ponder and PostgreSQL are theirs to end.
    signal(pid, stop.signal);
    if (await waitGone(part, stop.seconds * 1_000)) {
      if (stop.mark !== undefined) rmSync(stop.mark, { force: true });
      return;
    }
    say(`${name} did not stop within ${stop.seconds} s and was killed`);
    signal(-pid, "SIGKILL");
    await waitGone(part, 5_000);
  } catch (error) {
    // One that cannot be stopped must not keep the others running.
    say(`${name} (process ${pid}) could not be stopped: ${messageOf(error)}`);
  }
}

async function main(dataDir: string): Promise<void> {
  const parts = new Map<string, Running>();
  let temporary: string[] = [];
  let asked = false;
  for await (const line of createInterface(process.stdin)) {
    const word = JSON.parse(line) as Word;
    if ("runs" in word) {
      const part = identify(word.pid);
      if (part !== null) parts.set(word.runs, { name: word.runs, process: part, stop: word.stop });
    } else if ("ended" in word) parts.delete(word.ended);
    else if ("temporary" in word) temporary = word.temporary;
    else asked = true;
  }
  const say = (line: string): void => appendFileSync(wardenLog(dataDir), `${line}\n`);
  if (!asked) say("the starter is gone: its parts are stopped");
  const ranks = [...new Set([...parts.values()].map(({ stop }) => stop.rank))].sort((a, b) => a - b);
  for (const rank of ranks) {
    const group = [...parts.values()].filter(({ stop }) => stop.rank === rank);
    await Promise.all(group.map((part) => stopPart(part, say)));
  }
  if (!asked) for (const folder of temporary) rmSync(folder, { recursive: true, force: true });
}

if (import.meta.main) {
  // Its end is that of its input, and nothing else.
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => {});
  await main(process.argv[2] as string);
}
