import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clearPostmaster, outsideFolder, removeDataDir } from "../../scripts/dev/postgres.ts";
import { identify, signal } from "../../shared/process.ts";
import { only, startTestStack, type TestStack, temporaryDataDir } from "../support/stack.ts";

const parts = only("database");

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

describe("the local database", () => {
  let stack: TestStack | undefined;
  let dataDir = "";
  afterEach(async () => {
    await stack?.stop();
    removeDataDir(dataDir);
  });

  it("keeps its data over a kill and a stop, with a password and durability", async () => {
    dataDir = temporaryDataDir();
    stack = await startTestStack({ parts, dataDir });
    const url = stack.info.database_url;
    await query(url, "CREATE TABLE kept AS SELECT 42 AS answer");
    await expect(query(url.replace(/:[0-9a-f]+@/, ":wrong@"), "SELECT 1")).rejects.toThrow(/password/);
    expect(await query(url, "SELECT current_setting('fsync') AS f, current_setting('listen_addresses') AS l")).toEqual([
      { f: "on", l: "127.0.0.1" },
    ]);
    expect(statSync(join(dataDir, "secrets.json")).mode & 0o777).toBe(0o600);
    expect(statSync(join(dataDir, "stack.json")).mode & 0o777).toBe(0o600);

    // A session of the killed server that has not noticed its end yet.
    const session = new pg.Client({ connectionString: url });
    // Its end is what this is about.
    session.on("error", () => {});
    await session.connect();
    const { rows } = await session.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
    const held = rows[0]?.pid as number;
    const log = (): string => readFileSync(join(dataDir, "logs", "postgres.log"), "utf8");
    process.kill(held, "SIGSTOP");
    try {
      await stack.kill("postgres", "SIGKILL");
      const restarted = stack.restart("postgres");
      restarted.catch(() => {});
      await expect.poll(log, { timeout: 60_000 }).toMatch(/still in use/);
      process.kill(held, "SIGCONT");
      await restarted;
    } finally {
      signal(held, "SIGCONT");
    }
    expect(await query(url, "SELECT answer FROM kept")).toEqual([{ answer: 42 }]);
    await stack.stop();

    // What a crashed machine leaves, once the number belongs to somebody else: PostgreSQL alone would refuse to start.
    const data = join(dataDir, "postgres", "data");
    writeFileSync(join(data, "postmaster.pid"), `${process.ppid}\n${data}\n1700000000\n5432\n\n\n\n`);
    stack = await startTestStack({ parts, dataDir });
    expect(await query(stack.info.database_url, "SELECT answer FROM kept")).toEqual([{ answer: 42 }]);
  });

  it("lives outside a folder that is closed to its user, and is found there again", async ({ skip }) => {
    skip(process.getuid?.() !== 0, "only root starts PostgreSQL as another user");
    const closed = temporaryDataDir();
    chmodSync(closed, 0o700);
    dataDir = join(closed, "data");
    mkdirSync(dataDir);
    stack = await startTestStack({ parts, dataDir });
    const folder = outsideFolder(dataDir);
    expect(existsSync(join(folder, "data", "PG_VERSION"))).toBe(true);
    await query(stack.info.database_url, "CREATE TABLE kept AS SELECT 42 AS answer");
    await stack.stop();

    stack = await startTestStack({ parts, dataDir });
    expect(await query(stack.info.database_url, "SELECT answer FROM kept")).toEqual([{ answer: 42 }]);
    await stack.stop();

    // A data folder that was deleted and made anew must not inherit the old one's database.
    rmSync(dataDir, { recursive: true });
    mkdirSync(dataDir);
    stack = await startTestStack({ parts, dataDir });
    await expect(query(stack.info.database_url, "SELECT answer FROM kept")).rejects.toThrow(/kept/);
    await stack.stop();
    removeDataDir(dataDir);
    expect(existsSync(folder)).toBe(false);
  });
});

describe("the postmaster.pid that a server leaves", () => {
  let folder: string;
  const file = () => join(folder, "postmaster.pid");
  const programOf = (pid: number) => readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  const leftBy = (pid: number) => writeFileSync(file(), `${pid}\n${folder}\n`);

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "postmaster-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it("a server that became a zombie does not keep the next one from starting", async () => {
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
});
