import type pg from "pg";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { migrate, openDatabase } from "../../../api/store/database.ts";
import { JobStore } from "../../../api/store/jobs.ts";
import type { StoredState } from "../../../api/store/stored-job.ts";
import { newJobId, toApiJobId } from "../../../protocol/job-id.ts";
import { startTestStack, type TestStack } from "../../support/stack.ts";

const logger = pino({ level: "silent" });
const address = `0x${"11".repeat(20)}`;

let stack: TestStack;
let pool: pg.Pool;
let store: JobStore;
beforeAll(async () => {
  stack = await startTestStack({ parts: ["database"], workers: [] });
  await migrate(stack.info.database_url, logger);
  pool = openDatabase(stack.info.database_url, logger, 3);
  store = new JobStore(pool);
});
afterAll(async () => {
  await pool?.end();
  await stack?.remove();
});

async function add(state: StoredState, disputeTx: string | null = null) {
  const jobId = newJobId();
  await pool.query(
    `INSERT INTO job (job_id, wallet, gateway, model, tier, state, valid_until, credits_locked, dispute_tx)
     VALUES ($1, $2, $2, 'm', 'lite', $3, 1900000000, 8, $4)`,
    [toApiJobId(jobId), address, state, disputeTx],
  );
  return jobId;
}

test("what a reorganisation takes back is open again: how jobs ended, and the dispute of a job", async () => {
  const dispute = `0x${"dd".repeat(32)}`;
  const taken = [
    await add("settled", dispute),
    await add("settling", dispute),
    await add("unlocked"),
    await add("refunded"),
    await add("processing"),
  ];
  const other = await add("settled", dispute);
  await store.reopen(taken);
  const rows = await Promise.all([...taken, other].map((jobId) => store.find(jobId)));
  expect(rows.map((row) => [row?.state, row?.disputeTx])).toEqual([
    ["settling", null],
    ["settling", null],
    ["locking", null],
    ["pending", null],
    ["processing", null],
    ["settled", dispute],
  ]);
});

test("a job that is open again says nothing of the end it had; what it will be charged stays", async () => {
  const settled = await add("settled");
  const refunded = await add("refunded");
  await store.update(settled, {
    settlementTx: `0x${"ee".repeat(32)}`,
    settlementBlock: 77,
    settledAt: 1_800_000_000,
    creditsCharged: 8,
  });
  await store.update(refunded, { refundTx: `0x${"ff".repeat(32)}`, failure: "job_timeout" });
  await store.reopen([settled, refunded]);
  const nowhere = { settlementTx: null, settlementBlock: null, settledAt: null, refundTx: null };
  expect(await store.find(settled)).toMatchObject({ ...nowhere, state: "settling", creditsCharged: 8 });
  expect(await store.find(refunded)).toMatchObject({ ...nowhere, state: "pending", failure: "job_timeout" });
});
