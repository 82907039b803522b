/** Rows of jobs follow our mined transactions, whether or not anybody waits for them. */
import { pino } from "pino";
import type { Hex } from "viem";
import { expect, it, vi } from "vitest";
import type { MinedBatch } from "../../../../api/chain/operations.ts";
import { RowUpdater } from "../../../../api/jobs/row-updater.ts";
import { createLogger } from "../../../../api/observe/log.ts";
import { newJobId, toApiJobId } from "../../../../protocol/job-id.ts";
import { rowsInMemory } from "../../../support/fake-gateway.ts";

const [locked, settled, failed, refunded, disputed] = [newJobId(), newJobId(), newJobId(), newJobId(), newJobId()];
const hash: Hex = `0x${"ee".repeat(32)}`;
const event = (name: string, args: Record<string, unknown>) => [{ name, args, position: 1 }];
const batch: MinedBatch = {
  hash,
  blockHash: hash,
  fee: 0n,
  success: true,
  failures: new Map(),
  blockNumber: 77,
  blockTime: 1_900_000_000,
  eventsByJob: new Map([
    [locked, event("JobLocked", { credits: 9 })],
    [settled, event("JobSettled", { credits: 8 })],
    [failed, event("JobFailed", { credits: 7 })],
    [refunded, event("JobRefunded", { credits: 6 })],
    [disputed, event("JobDisputed", { credits: 5 })],
  ]),
};
const silent = pino({ level: "silent" });

it("writes each event of a mined batch as one step of its job's row", async () => {
  const steps: unknown[] = [];
  const { store } = rowsInMemory(async (step, change) => void steps.push([step, change]));
  const rows = new RowUpdater(store, silent);
  rows.observe(batch);
  await Promise.all([locked, settled, failed, refunded, disputed].map((jobId) => rows.written(jobId)));
  const place = { settlementTx: hash, settlementBlock: 77, settledAt: 1_900_000_000 };
  expect(steps).toEqual([
    ["locked", { jobId: locked, escrowTx: hash, lockedAt: 1_900_000_000, credits: 9 }],
    ["ended", { jobId: settled, state: "settled", ...place, creditsCharged: 8 }],
    ["ended", { jobId: failed, state: "failed", refundTx: hash }],
    ["ended", { jobId: refunded, state: "refunded", refundTx: hash }],
    ["disputed", { jobId: disputed, disputeTx: hash }],
  ]);
});

it("a reply waits for the row of its job, a second at most", async () => {
  vi.useFakeTimers();
  try {
    const { promise: away, resolve: back } = Promise.withResolvers<void>();
    const rows = new RowUpdater(rowsInMemory(() => away).store, silent);
    rows.observe(batch);
    const told: string[] = [];
    void rows.written(locked).then(() => told.push("first"));
    await vi.advanceTimersByTimeAsync(999);
    expect(told).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(told).toEqual(["first"]);
    back();
    await vi.advanceTimersByTimeAsync(0);
    await rows.written(locked);
  } finally {
    vi.useRealTimers();
  }
});

it("logs the job whose row could not be written", async () => {
  const lines: string[] = [];
  const logger = createLogger("info", {}, { write: (line) => void lines.push(line) });
  const one = { ...batch, eventsByJob: new Map([[settled, event("JobSettled", { credits: 8 })]]) };
  new RowUpdater(rowsInMemory(() => Promise.reject(new Error("the database is away"))).store, logger).observe(one);
  await vi.waitFor(() => expect(lines).toHaveLength(1), { timeout: 30_000 });
  expect(JSON.parse(lines[0] as string)).toMatchObject({
    jobId: toApiJobId(settled),
    err: { message: "the database is away" },
  });
});
