import { spawnSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { codeOf } from "./errors.ts";
import { readText } from "./files.ts";

/** A process, told apart from a later one that happens to get the same number. */
export type Identity = { pid: number; started: string };

/**
 * When a process began, in a form only good for comparison; null when there is no such process (or only its unread
 * exit status is left). On Linux the boot is part of it, as start times count from there.
 */
function startOf(pid: number): string | null {
  if (process.platform !== "linux") return startByPs(pid);
  const stat = readText(`/proc/${pid}/stat`);
  if (stat === null) return null;
  // The command name may hold spaces and brackets: the fields are counted behind its last bracket.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" || fields[0] === "X" ? null : `${bootId()}:${fields[19]}`;
}

let boot: string | undefined;
function bootId(): string {
  boot ??= readText("/proc/sys/kernel/random/boot_id")?.trim().slice(0, 8) ?? "boot";
  return boot;
}

function startByPs(pid: number): string | null {
  const { stdout, status } = spawnSync("ps", ["-o", "stat=,lstart=", "-p", String(pid)], { encoding: "utf8" });
  const line = stdout?.trim();
  return status === 0 && line && !line.startsWith("Z") ? line.replace(/^\S+\s+/, "") : null;
}

export function identify(pid: number): Identity | null {
  const started = startOf(pid);
  return started === null ? null : { pid, started };
}

export function isAlive({ pid, started }: Identity): boolean {
  return startOf(pid) === started;
}

/** Waits until the process is gone; false when it still runs at the deadline. */
export async function waitGone(identity: Identity, milliseconds: number): Promise<boolean> {
  const deadline = Date.now() + milliseconds;
  while (isAlive(identity)) {
    if (Date.now() > deadline) return false;
    await sleep(25);
  }
  return true;
}

/** Waits until nothing is left of a process, not even an unread exit status; false when something is at the deadline. */
export async function waitReaped(pid: number, milliseconds: number): Promise<boolean> {
  const deadline = Date.now() + milliseconds;
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch (error) {
      if (codeOf(error) === "ESRCH") return true;
      if (codeOf(error) !== "EPERM") throw error;
    }
    if (Date.now() > deadline) return false;
    await sleep(25);
  }
}

/** Sends a signal; a process (or group) that is gone already is what we wanted. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (codeOf(error) !== "ESRCH") throw error;
  }
}
