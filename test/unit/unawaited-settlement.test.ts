/** Who writes where a job was settled: whoever waits for it, or else the observer of mined batches. */
import { pino } from "pino";
import type { Hex } from "viem";
import { expect, it, vi } from "vitest";
import type { MinedBatch } from "../../api/chain/outcome.ts";
import { noteUnawaitedSettlements } from "../../api/jobs/unawaited-settlement.ts";
import type { SettledStep } from "../../api/store/job-steps.ts";
import { newJobId, toApiJobId } from "../../protocol/job-id.ts";

const settled = newJobId();
const hash: Hex = `0x${"ee".repeat(32)}`;
const event = (name: string, args: object) => [{ name, args, position: 1 }];
const batch = {
  hash,
  blockNumber: 77,
  eventsByJob: new Map([
    [newJobId(), event("JobLocked", { credits: 9 })],
    [settled, event("JobSettled", { credits: 8 })],
    [newJobId(), event("JobFailed", { returned: 7 })],
  ]),
} as unknown as MinedBatch;

it("a settlement that somebody waits for is written once, by them", () => {
  const write = vi.fn(async (_: SettledStep) => {});
  const observe = noteUnawaitedSettlements({ settled: write }, pino({ level: "silent" }));
  observe(batch, 1_900_000_000, true);
  expect(write).not.toHaveBeenCalled();
  observe(batch, 1_900_000_000, false);
  const place = { settlementTx: hash, settlementBlock: 77, settledAt: 1_900_000_000 };
  expect(write.mock.calls).toEqual([[{ jobId: settled, ...place, creditsCharged: 8 }]]);
});

it("one that cannot be written is told of in the log, with its job and its transaction", async () => {
  const lines: string[] = [];
  const logger = pino({}, { write: (line) => void lines.push(line) });
  const write = () => Promise.reject(new Error("the database is away"));
  noteUnawaitedSettlements({ settled: write }, logger)(batch, 1_900_000_000, false);
  await vi.waitFor(() => expect(lines).toHaveLength(1), { timeout: 30_000 });
  expect(JSON.parse(lines[0] as string)).toMatchObject({
    jobId: toApiJobId(settled),
    settlementTx: hash,
    err: { message: "the database is away" },
  });
});
