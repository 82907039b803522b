import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { clearPostmaster } from "../../scripts/dev/postgres.ts";
import { identify } from "../../shared/process.ts";

let folder: string;
const file = () => join(folder, "postmaster.pid");
const programOf = (pid: number) => readFileSync(`/proc/${pid}/comm`, "utf8").trim();
const leftBy = (pid: number) => writeFileSync(file(), `${pid}\n${folder}\n`);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "postmaster-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

it("a server whose exit status nobody has read does not keep the next one from starting", async () => {
  const parent = spawn("sh", ["-c", "sleep 300 & echo $!; exec tail -f /dev/null"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  try {
    const pid = await new Promise<number>((resolve) => parent.stdout.once("data", (data) => resolve(Number(data))));
    // A shell would read the exit status; what it becomes never asks what became of its child.
    await expect.poll(() => programOf(parent.pid as number), { timeout: 60_000 }).toBe("tail");
    process.kill(pid, "SIGKILL");
    await expect.poll(() => identify(pid), { timeout: 60_000 }).toBeNull();
    leftBy(pid);
    await clearPostmaster(folder);
    expect(existsSync(file())).toBe(false);
  } finally {
    parent.kill("SIGKILL");
  }
});

it("a number that belongs to another program now does not either, and that program lives on", async () => {
  const other = spawn("sleep", ["300"], { stdio: "ignore" });
  try {
    leftBy(other.pid as number);
    await clearPostmaster(folder);
    expect(existsSync(file())).toBe(false);
    expect(other.exitCode ?? other.signalCode).toBeNull();
  } finally {
    other.kill("SIGKILL");
  }
});
