import { readdirSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "./errors.ts";
import { readJson, readText, writeJson } from "./files.ts";
import { type Identity, isAlive, signal, waitGone } from "./identity.ts";

/** How a part is stopped. */
export type StopRule = {
  /** Lower ranks stop first: nobody loses what it depends on. */
  rank: number;
  signal: NodeJS.Signals;
  deadlineMs: number;
};
export type PartRecord = Identity & { name: string; stop: StopRule };

/** Set in every part's environment, so that members of a group without a leader can be told from strangers. */
export const MARK = "LOCAL_STACK";

const fileOf = (dataDir: string): string => join(dataDir, "processes.json");

const readRecords = (dataDir: string): PartRecord[] => readJson<PartRecord[]>(fileOf(dataDir)) ?? [];
export const writeRecords = (dataDir: string, records: PartRecord[]): void => writeJson(fileOf(dataDir), records);

/** Stops one part: its own signal first, then, at the deadline, the whole process group without asking. */
async function stopPart(part: PartRecord): Promise<"stopped" | "killed"> {
  let result: "stopped" | "killed" = "stopped";
  if (isAlive(part)) {
    // Only the process itself: Ponder's and PostgreSQL's own children are theirs to end.
    signal(part.pid, part.stop.signal);
    if (!(await waitGone(part, part.stop.deadlineMs))) {
      result = "killed";
      signal(-part.pid, "SIGKILL");
      await waitGone(part, 5_000);
    }
  }
  for (const pid of leaderless(part.pid)) signal(pid, "SIGKILL");
  return result;
}

/** Stops parts rank by rank; those of one rank together. Reports what had to be killed. */
export async function stopInOrder(parts: PartRecord[], report: (line: string) => void): Promise<void> {
  const ranks = [...new Set(parts.map((part) => part.stop.rank))].sort((a, b) => a - b);
  for (const rank of ranks) {
    await Promise.all(
      parts
        .filter((part) => part.stop.rank === rank)
        .map(async (part) => {
          try {
            if ((await stopPart(part)) === "stopped") return;
            report(`${part.name} did not stop within ${part.stop.deadlineMs / 1000} s and was killed`);
          } catch (error) {
            // One that cannot be stopped must not keep the others running.
            report(`${part.name} (process ${part.pid}) could not be stopped: ${messageOf(error)}`);
          }
        }),
    );
  }
}

/**
 * Ends what an earlier start left behind when it was killed, and only that: number and start time must both match.
 * Returns the names of the parts that were still running.
 */
export async function reapLeftovers(dataDir: string, report: (line: string) => void): Promise<string[]> {
  const records = readRecords(dataDir);
  const left = records.filter((part) => isAlive(part) || leaderless(part.pid).length > 0);
  await stopInOrder(left, report);
  writeRecords(dataDir, []);
  return left.map((part) => part.name);
}

/** Processes of ours in a group whose leader is gone. Only Linux shows what is needed to be sure. */
function leaderless(group: number): number[] {
  if (process.platform !== "linux" || readText(`/proc/${group}/stat`) !== null) return [];
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => groupOf(pid) === group && isMarked(pid));
}

function groupOf(pid: number): number | null {
  const stat = tryRead(`/proc/${pid}/stat`);
  return stat === null ? null : Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[2]);
}

const isMarked = (pid: number): boolean => tryRead(`/proc/${pid}/environ`)?.includes(`${MARK}=`) ?? false;

/** A process may end, or be another user's, while we look: either way it is none of ours. */
function tryRead(file: string): string | null {
  try {
    return readText(file);
  } catch {
    return null;
  }
}
