import type pg from "pg";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { migrate, openDatabase } from "../../../api/store/database.ts";
import { listWorkerIncidents } from "../../../api/store/incidents.ts";
import { startTestStack, type TestStack } from "../../support/stack.ts";

const logger = pino({ level: "silent" });
const [first, second, other] = ["a", "b", "c"].map((digit) => `0x${digit.repeat(40)}`) as [string, string, string];

let stack: TestStack;
let pool: pg.Pool;
beforeAll(async () => {
  stack = await startTestStack({ parts: ["database"], workers: [] });
  await migrate(stack.info.database_url, logger);
  pool = openDatabase(stack.info.database_url, logger, 3);
});
afterAll(async () => {
  await pool?.end();
  await stack?.remove();
});

test("a worker with many incidents leaves room for those of the others: so many of each, newest first", async () => {
  const hour = (n: number) => new Date(Date.UTC(2026, 0, 1, n));
  const add = (worker: string, n: number) =>
    pool.query(
      `INSERT INTO worker_incident (worker, code, hour, first_at, last_at, job_id, detail)
       VALUES ($1, 'unreachable', $2, $2, $2, NULL, $3)`,
      [worker, hour(n), String(n)],
    );
  for (const n of [3, 1, 5, 4, 2]) await add(first, n);
  await add(second, 0);
  await add(other, 6);
  const listed = await listWorkerIncidents(pool, [first.toUpperCase().replace("X", "x"), second], 3);
  expect(listed.map(({ worker, detail }) => [worker, detail])).toEqual([
    [first, "5"],
    [first, "4"],
    [first, "3"],
    [second, "0"],
  ]);
  expect(await listWorkerIncidents(pool, [], 3)).toEqual([]);
});
