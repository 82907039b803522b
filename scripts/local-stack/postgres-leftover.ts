import { spawnSync } from "node:child_process";
import { readlinkSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { StackError } from "./errors.ts";
import { readText } from "./files.ts";
import { identify, signal, waitGone, waitReaped } from "./identity.ts";

const REAP_MS = 2_000;

/**
 * Deals with a postmaster.pid that is still there: stops the server it names if that really runs on this folder, and
 * removes the file if its number now belongs to some other process (PostgreSQL itself would refuse to start).
 */
export async function clearPostmaster(data: string, report: (line: string) => void): Promise<void> {
  const file = join(data, "postmaster.pid");
  const pid = Number(readText(file)?.split("\n")[0]);
  if (!Number.isInteger(pid) || pid <= 1) return;
  const server = identify(pid);
  if (server === null) {
    // Killed, but its parent has not read its exit status yet: PostgreSQL would take the number for a running server.
    if (!(await waitReaped(pid, REAP_MS))) rmSync(file, { force: true });
    return;
  }
  if (!runsOn(pid, data)) {
    rmSync(file, { force: true });
    return;
  }
  report(`stopping a server that an earlier start left behind (process ${pid})`);
  signal(pid, "SIGINT");
  if (await waitGone(server, 15_000)) return;
  signal(pid, "SIGQUIT");
  if (await waitGone(server, 5_000)) return;
  throw new StackError(
    `PostgreSQL (process ${pid}) still runs on ${data} and does not stop. What to do: kill -9 ${pid}, then start again.`,
  );
}

function runsOn(pid: number, data: string): boolean {
  if (process.platform === "linux") {
    try {
      // A server makes its data folder its working folder.
      return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(data);
    } catch {
      // Not ours to look into, so not started by us.
      return false;
    }
  }
  const { stdout } = spawnSync("ps", ["-o", "args=", "-p", String(pid)], { encoding: "utf8" });
  return stdout.includes("postgres") && stdout.includes(data);
}
