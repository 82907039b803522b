/** One holder a signer, and a holder that learns of it when it is the holder no more. */
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
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

/** Ends every connection of this database that holds a lock: other files have databases on the same server. */
const breakConnections = () =>
  pool.query(
    "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND pid <> pg_backend_pid()",
  );

it("one process holds a signer; another signer or another chain is free", async () => {
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

it("a gateway that lost its signer sends nothing until it has it again", async () => {
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
  beforeEach(async () => {
    lock = await SignerLock.keep(space, signer, pino({ level: "silent" }));
  });
  afterEach(() => lock.release());

  it("is left by its process once its lock was free for eight seconds", async () => {
    const began = performance.now();
    expect(await lock.left([other])).toEqual([other]);
    expect(performance.now() - began).toBeGreaterThan(7_900);
  });

  it("is not left where its process takes the lock again within that time", async () => {
    const left = lock.left([other]);
    await sleep(3_000);
    const again = await trySignerLock(space, other);
    expect(await left).toEqual([]);
    await again?.release();
  });

  it("is not left where this process has just lost its own lock: others have, too", async () => {
    const left = lock.left([other]);
    await breakConnections();
    await expect(left.catch(() => [])).resolves.toEqual([]);
    await vi.waitFor(() => expect(lock.held).toBe(true), { timeout: 30_000 });
    expect(await lock.left([other])).toEqual([]);
  });
});
