import { EventEmitter } from "node:events";
import type pg from "pg";
import { pino } from "pino";
import { afterAll, expect, test } from "vitest";
import { bindToDeployment, openDatabase, transaction } from "../../../api/db/pool.ts";
import { eventually } from "../../support/api-client.ts";
import { ownDatabase } from "../../support/database.ts";

const { pool, url } = await ownDatabase();
afterAll(() => pool.end());

test("a connection that breaks inside a transaction fails that transaction and nothing else", async () => {
  const backend = async (client: pg.ClientBase | pg.Pool) =>
    (await client.query("SELECT pg_backend_pid() AS pid")).rows[0].pid;
  let victim = 0;
  await expect(
    transaction(pool, async (client) => {
      victim = await backend(client);
      await pool.query("SELECT pg_terminate_backend($1)", [victim]);
      // Between two queries nobody waits for an answer: the break arrives as an event, which once ended the process.
      await new Promise((resolve) => setTimeout(resolve, 200));
      await client.query("SELECT 1");
    }),
  ).rejects.toThrow();
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

test("a query that is never answered fails in its time, and its connection is not used again", async () => {
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

test("a database is bound to the first deployment that uses it, and refused to any other", async () => {
  const deployment = (chainId: number) => ({
    chainId,
    startBlockHash: `0x${"0a".repeat(32)}`,
    contracts: { InferenceEscrow: `0x${"e5".repeat(20)}` },
  });
  await bindToDeployment(pool, deployment(31_337));
  await bindToDeployment(pool, deployment(31_337));
  await expect(bindToDeployment(pool, deployment(1))).rejects.toThrow(
    /holds the jobs of 31337:.* names 1:.*use another database/,
  );
});
