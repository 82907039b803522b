import { readdirSync, readFileSync } from "node:fs";

/** Linux counts processor time in hundredths of a second. */
const TICK_MS = 10;

/** Resident memory of one process; NaN where /proc does not tell. */
export function residentMegabytes(pid: number): number {
  try {
    return Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024);
  } catch {
    // Other systems, or the process has ended: the table shows a dash.
    return Number.NaN;
  }
}

/** Processor time of a process and its children (a database has one for each connection), ms; NaN where /proc does not tell. */
export function processorMilliseconds(pid: number): number {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .reduce((sum, name) => sum + timeOf(name, pid), 0);
  } catch {
    // As above.
    return Number.NaN;
  }
}

/** Time of the process `name` if it is `pid` or its child. */
function timeOf(name: string, pid: number): number {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${name}/stat`, "utf8");
  } catch {
    // Ended since the folder was listed.
    return 0;
  }
  // After the name, which is in parentheses and may hold anything: state, parent, …, user time (12th), system time (13th).
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (Number(name) !== pid && Number(fields[1]) !== pid) return 0;
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}
