/** One holder a signer, and a holder that learns of it when it is the holder no more. */
import { once } from "node:events";
import { pino } from "pino";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type LockSpace, SignerLock, trySignerLock } from "../../../api/chain/signer-lock.ts";
import { eventually } from "../../support/api-client.ts";
import { ownDatabase } from "../../support/database.ts";

const signer = `0x${"11".repeat(20)}` as const;
const other = `0x${"22".repeat(20)}` as const;

const { pool, url } = await ownDatabase();
afterAll(() => pool.end());
const space: LockSpace = { databaseUrl: url, chainId: 1 };

/** Connections of this database that hold a lock: other files have databases on the same server. */
const HELD =
  "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
const breakConnections = () => pool.query(`SELECT pg_terminate_backend(pid) FROM (${HELD}) AS held`);

it("a signer is one process's; another signer and the same one on another chain are free", async () => {
  const held = await trySignerLock(space, signer);
  expect(await trySignerLock(space, signer)).toBeNull();
  const others = await Promise.all([trySignerLock(space, other), trySignerLock({ ...space, chainId: 2 }, signer)]);
  expect(others).not.toContain(null);
  await Promise.all([held, ...others].map((lock) => lock?.release()));
});

it("that is released is free at once, and its holder's work is over", async () => {
  const first = await trySignerLock(space, signer);
  expect(first?.lost.aborted).toBe(false);
  await first?.release();
  expect(first?.lost.aborted).toBe(true);
  const second = await trySignerLock(space, signer);
  expect(second).not.toBeNull();
  await second?.release();
});

it("whose connection is lost is free for the next process, and the holder is told", async () => {
  const first = await trySignerLock(space, signer);
  if (first === null) throw new Error("not taken");
  const lost = once(first.lost, "abort");
  await breakConnections();
  await lost;
  expect(first.lost.reason).toBeInstanceOf(Error);
  // The server lets go of the lock a moment after it has closed the connection.
  const second = await eventually(
    () => trySignerLock(space, signer),
    (lock) => lock !== null,
  );
  await second?.release();
});

it("rejects while the database does not answer: whether it was taken is not known", async () => {
  await expect(trySignerLock({ ...space, databaseUrl: "postgres://127.0.0.1:1/x" }, signer)).rejects.toThrow();
});

it("a gateway takes its own signer again when the connection was lost, and sends nothing meanwhile", async () => {
  // The loss is told in the log at once; the lock is taken again a second later at the earliest.
  const told: boolean[] = [];
  const logger = pino({ hooks: { logMethod: () => void told.push(lock.held) } });
  const lock = await SignerLock.keep(space, signer, logger);
  await expect(SignerLock.keep(space, signer, pino({ level: "silent" }))).rejects.toThrow("Another process sends");
  await breakConnections();
  await vi.waitFor(() => expect(told[0]).toBe(false), { timeout: 10_000 });
  await vi.waitFor(() => expect(lock.held).toBe(true), { timeout: 30_000 });
  await lock.release();
  expect(lock.held).toBe(false);
});

describe("another signer, whose lock is free,", () => {
  let lock: SignerLock;
  let now = Date.now();
  beforeEach(async () => {
    lock = await SignerLock.keep(space, signer, pino({ level: "silent" }));
    vi.spyOn(Date, "now").mockImplementation(() => now);
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await lock.release();
  });
  const later = (ms: number) => {
    now += ms;
    return lock.left([other]);
  };

  it("is left by its process once its lock was free for eight seconds", async () => {
    expect(await later(20_000)).toEqual([]);
    expect(await later(7_999)).toEqual([]);
    expect(await later(1)).toEqual([other]);
  });

  it("is not left where its process took the lock again between two looks", async () => {
    expect(await later(20_000)).toEqual([]);
    const again = await trySignerLock(space, other);
    expect(await later(7_000)).toEqual([]);
    await again?.release();
    // The server lets go of the lock a moment after it has closed the connection. The lock of this process stays.
    await vi.waitFor(async () => expect((await pool.query(HELD)).rows).toHaveLength(1), { timeout: 10_000 });
    expect(await later(7_000)).toEqual([]);
    expect(await later(8_000)).toEqual([other]);
  });

  it("is not left where nobody looked for half a minute", async () => {
    expect(await later(20_000)).toEqual([]);
    expect(await later(30_000)).toEqual([]);
    expect(await later(8_000)).toEqual([other]);
  });

  it("is not left where this process has just lost its own lock: others have, too", async () => {
    await breakConnections();
    vi.restoreAllMocks();
    await vi.waitFor(() => expect(lock.held).toBe(false), { timeout: 10_000 });
    expect(await lock.left([other])).toEqual([]);
    await vi.waitFor(() => expect(lock.held).toBe(true), { timeout: 30_000 });
    expect(await lock.left([other])).toEqual([]);
  });
});
