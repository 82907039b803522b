import { spawnSync } from "node:child_process";
import { readdirSync, readlinkSync } from "node:fs";
import { readText } from "./files.ts";

/** The process that listens on a port, described for a person; null when it cannot be found out. */
export function holderOf(port: number): string | null {
  return process.platform === "linux" ? byProc(port) : byLsof(port);
}

function byProc(port: number): string | null {
  const sockets = new Set(["/proc/net/tcp", "/proc/net/tcp6"].flatMap((table) => listening(table, port)));
  if (sockets.size === 0) return null;
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    if (openFiles(pid).some((target) => sockets.has(target))) {
      const command = readText(`/proc/${pid}/cmdline`)?.replaceAll("\0", " ").trim();
      return `process ${pid}${command ? ` (${command.slice(0, 120)})` : ""}`;
    }
  }
  return null;
}

/** Names of the sockets that listen on the port, as links in /proc/<pid>/fd show them. */
function listening(table: string, port: number): string[] {
  const wanted = port.toString(16).toUpperCase().padStart(4, "0");
  return (readText(table) ?? "")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[1]?.endsWith(`:${wanted}`) && fields[3] === "0A")
    .map((fields) => `socket:[${fields[9]}]`);
}

function openFiles(pid: string): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return [readlinkSync(`/proc/${pid}/fd/${fd}`)];
      } catch {
        // Closed while we looked.
        return [];
      }
    });
  } catch {
    // Another user's process, or gone: cannot be looked into.
    return [];
  }
}

function byLsof(port: number): string | null {
  const { stdout } = spawnSync("lsof", ["-nP", `-iTCP:${port}`, "-sTCP:LISTEN", "-Fpc"], { encoding: "utf8" });
  const pid = stdout?.match(/^p(\d+)/m)?.[1];
  return pid ? `process ${pid} (${stdout.match(/^c(.+)/m)?.[1] ?? "unknown"})` : null;
}
