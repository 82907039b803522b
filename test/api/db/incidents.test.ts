import { afterAll, expect, test } from "vitest";
import { listWorkerIncidents } from "../../../api/db/incidents.ts";
import { ownDatabase } from "../../support/database.ts";

const [first, second, other] = ["a", "b", "c"].map((digit) => `0x${digit.repeat(40)}`) as [string, string, string];

const { pool } = await ownDatabase();
afterAll(() => pool.end());

test("shows the newest incidents of each worker, however many one of them has", async () => {
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
