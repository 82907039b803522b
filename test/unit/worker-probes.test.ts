import { pino } from "pino";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { RegisteredWorker } from "../../api/chain/directory.ts";
import { WorkerPool } from "../../api/jobs/worker-pool.ts";

const worker = {
  signer: `0x${"aa".repeat(20)}`,
  endpoint: "http://worker.test",
  models: [1],
} as unknown as RegisteredWorker;
const MODEL = 1;

type Answer = "ok" | "late" | "refused";
let pool: WorkerPool;
let answers: Answer[];

async function probe() {
  switch (answers.shift() ?? "ok") {
    case "late":
      throw new DOMException("The operation was aborted due to timeout", "TimeoutError");
    case "refused":
      throw new Error("connect ECONNREFUSED");
    default:
      return { status: "ok", worker: worker.signer, capacity: 4 };
  }
}

beforeEach(async () => {
  vi.useFakeTimers();
  answers = [];
  const parts = { directory: { workers: () => [worker], workersOf: () => [worker] }, client: { probe } };
  const rest = { incidents: {}, metrics: {}, logger: pino({ level: "silent" }) };
  pool = new WorkerPool({ ...parts, ...rest } as never, { jobsPerWorker: 4, misconductRestMs: 1_000 });
  await pool.start();
});
afterEach(() => {
  pool.stop();
  vi.useRealTimers();
});

const isOffered = (): boolean => pool.hosts(MODEL).length === 1;
/** Until every probe of the list was made. */
async function probed(list: Answer[]): Promise<void> {
  answers = [...list];
  while (answers.length > 0) await vi.advanceTimersByTimeAsync(1_000);
}

it("keeps a worker that is late with one probe, and asks it again soon", async () => {
  await probed(["late"]);
  expect(isOffered()).toBe(true);
  answers = ["ok"];
  await vi.advanceTimersByTimeAsync(1_000);
  expect(answers).toEqual([]);
  expect(isOffered()).toBe(true);
  // Late, in time, late: never two in a row.
  await probed(["late", "ok", "late"]);
  expect(isOffered()).toBe(true);
});

it("loses a worker that is late two times in a row, until it answers again", async () => {
  await probed(["late", "late"]);
  expect(isOffered()).toBe(false);
  await probed(["late"]);
  expect(isOffered()).toBe(false);
  await probed(["ok"]);
  expect(isOffered()).toBe(true);
});

it("loses a worker whose host refuses the connection at once", async () => {
  await probed(["refused"]);
  expect(isOffered()).toBe(false);
});
