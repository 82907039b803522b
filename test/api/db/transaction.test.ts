import { randomUUID } from "node:crypto";
import { EventEmitter, once } from "node:events";
import type pg from "pg";
import { pino } from "pino";
import { zeroAddress, zeroHash } from "viem";
import { afterAll, expect, test } from "vitest";
import { DisputeStore } from "../../../api/db/disputes.ts";
import { IdempotencyStore } from "../../../api/db/idempotency.ts";
import { insertJobs, newJobsJson } from "../../../api/db/jobs.ts";
import { openDatabase, transaction } from "../../../api/db/pool.ts";
import { bindToDeployment } from "../../../api/db/upkeep.ts";
import { newJobId } from "../../../protocol/job-id.ts";
import { eventually } from "../../support/api-client.ts";
import { ownDatabase } from "../../support/database.ts";

const { pool, url } = await ownDatabase();
afterAll(() => pool.end());

test("a connection that breaks fails its own transaction and nothing else", async () => {
  const backend = async (client: pg.ClientBase | pg.Pool) =>
    (await client.query("SELECT pg_backend_pid() AS pid")).rows[0].pid;
  let victim = 0;
  await expect(
    transaction(pool, async (client) => {
      victim = await backend(client);
      // Between two queries nobody waits for an answer: the break arrives as an event, which once ended the process.
      const broken = once(client, "error");
      await pool.query("SELECT pg_terminate_backend($1)", [victim]);
      await broken;
      await client.query("SELECT 1");
    }),
    // Of which routes/errors.ts makes a 503: the cause, not the query that found the connection ended.
  ).rejects.toMatchObject({ severity: "FATAL", code: "57P01" });
  expect(EventEmitter.listenerCount(pool, "error")).toBeGreaterThan(0);
  expect(await transaction(pool, backend)).not.toBe(victim);
});

test("what fails is undone, and its connection serves the next one", async () => {
  await pool.query("CREATE TABLE public.proof (n int)");
  await expect(
    transaction(pool, async (client) => {
      await client.query("INSERT INTO public.proof VALUES (1)");
      throw new Error("changed my mind");
    }),
  ).rejects.toThrow("changed my mind");
  await transaction(pool, (client) => client.query("INSERT INTO public.proof VALUES (2)"));
  expect((await pool.query("SELECT n FROM public.proof")).rows).toEqual([{ n: 2 }]);
});

test("a query without an answer fails in time, and its connection is dropped", async () => {
  const impatient = openDatabase(url, pino({ level: "silent" }), 1, 300);
  try {
    await expect(impatient.query("SELECT pg_sleep(600)")).rejects.toThrow("Query read timeout");
    // With one connection at most, this one would wait for the sleeping query. It is as impatient itself.
    const ask = () => impatient.query("SELECT 1 AS one").catch(() => null);
    const answer = await eventually(ask, (result) => result !== null);
    expect(answer?.rows).toEqual([{ one: 1 }]);
  } finally {
    await impatient.end();
  }
});

test("a database refuses another deployment; a development chain begins it anew", async () => {
  const logger = pino({ level: "silent" });
  const bind = async (chainId: number, escrow: string) => {
    const place = { chainId, startBlockHash: `0x${"0a".repeat(32)}` };
    await bindToDeployment(pool, { ...place, contracts: { InferenceEscrow: `0x${escrow.repeat(20)}` } }, logger);
    const tables = ["job", "idempotency", "dispute_request"].map((table) => `(SELECT count(*) FROM ${table})`);
    return Number((await pool.query(`SELECT ${tables.join(" + ")} AS count`)).rows[0].count);
  };
  await bind(1, "e5");
  const row = { jobId: newJobId(), wallet: zeroAddress, gateway: zeroAddress, operator: 1, owner: randomUUID() };
  const job = {
    ...row,
    model: "m",
    tier: "lite",
    validUntil: 1,
    creditsLocked: 8,
    maxTokens: 1,
    repeatable: true,
  } as const;
  await pool.query(insertJobs("$1"), [newJobsJson([job])]);
  const { jobId } = row;
  await new IdempotencyStore(pool).claim({ wallet: zeroAddress, key: "one", bodyHash: Buffer.alloc(32) }, jobId);
  const request = { jobId, receivedHash: zeroHash, wallet: zeroAddress, gateway: zeroAddress, arrivedAt: new Date() };
  await new DisputeStore(pool).record(request, 60);
  expect(await bind(1, "E5")).toBe(3);
  await expect(bind(1, "e6")).rejects.toThrow(/holds the jobs of 1:.*e5, .* names 1:.*e6: use another database/);
  expect(await bind(31_337, "e6")).toBe(0);
  expect(await bind(31_337, "e6")).toBe(0);
});
