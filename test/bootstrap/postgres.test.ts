import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { afterEach, describe, expect, it } from "vitest";
import { outsideFolder, removeDataDir } from "../../scripts/dev/postgres.ts";
import { signal } from "../../shared/process.ts";
import { only, startTestStack, type TestStack, temporaryDataDir } from "../support/stack.ts";

const parts = only("database");
const isRoot = process.getuid?.() === 0;

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

  it("keeps its data over a stop, asks for its password, and keeps durability on", async () => {
    dataDir = temporaryDataDir();
    stack = await startTestStack({ parts, dataDir });
    await query(stack.info.database_url, "CREATE TABLE kept AS SELECT 42 AS answer");
    await expect(query(stack.info.database_url.replace(/:[0-9a-f]+@/, ":wrong@"), "SELECT 1")).rejects.toThrow(
      /password/,
    );
    expect(
      await query(
        stack.info.database_url,
        "SELECT current_setting('fsync') AS f, current_setting('listen_addresses') AS l",
      ),
    ).toEqual([{ f: "on", l: "127.0.0.1" }]);
    expect(statSync(join(dataDir, "secrets.json")).mode & 0o777).toBe(0o600);
    expect(statSync(join(dataDir, "stack.json")).mode & 0o777).toBe(0o600);
    await stack.stop();

    stack = await startTestStack({ parts, dataDir });
    expect(await query(stack.info.database_url, "SELECT answer FROM kept")).toEqual([{ answer: 42 }]);
  });

  it.runIf(isRoot)("lives outside a folder that is closed to its user, and is found there again", async () => {
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

  it("survives the kill of its server, and a stale postmaster.pid that names another process", async () => {
    dataDir = temporaryDataDir();
    stack = await startTestStack({ parts, dataDir });
    await query(stack.info.database_url, "CREATE TABLE kept AS SELECT 42 AS answer");
    await stack.kill("postgres", "SIGKILL");
    await stack.restart("postgres");
    expect(await query(stack.info.database_url, "SELECT answer FROM kept")).toEqual([{ answer: 42 }]);
    await stack.stop();

    // What a crashed machine leaves, once the number belongs to somebody else: PostgreSQL alone would refuse to start.
    const data = join(dataDir, "postgres", "data");
    writeFileSync(join(data, "postmaster.pid"), `${process.ppid}\n${data}\n1700000000\n5432\n\n\n\n`);
    stack = await startTestStack({ parts, dataDir });
    expect(await query(stack.info.database_url, "SELECT answer FROM kept")).toEqual([{ answer: 42 }]);
  });

  it("starts again after kill -9 although a session of the dead server has not noticed its end yet", async () => {
    dataDir = temporaryDataDir();
    stack = await startTestStack({ parts, dataDir });
    const session = new pg.Client({ connectionString: stack.info.database_url });
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
    expect(await query(stack.info.database_url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    expect(log()).toMatch(/ready to accept/);
  });
});
