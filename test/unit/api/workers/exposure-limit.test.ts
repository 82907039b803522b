/** How many credits may be at risk at a worker, and from when on no more. */
import { pino } from "pino";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ExposureLimit } from "../../../../api/workers/exposure-limit.ts";
import { newJobId } from "../../../../protocol/job-id.ts";

const SIGNER = `0x${"Aa".repeat(20)}` as const;
/** 2,000 SVC: what a worker registers with. */
const newcomer = { signer: SIGNER, stake: 2_000_000_000 };
const times = { completion: 120, inclusion: 30, dispute: 60, acknowledge: 10 };
/** From an answer to the end of its charge's dispute window. */
const DISPUTABLE_MS = 120_000;
/** Until a refused offer has run out, and a proof by it is in the index. */
const REFUSED_MS = 40_000;

let exposure: ExposureLimit | undefined;
beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  exposure?.stop();
  vi.useRealTimers();
});

type Settled = { credits: number; createdAt: number };
const now = () => Math.floor(Date.now() / 1000);

/** 500 SVC at 10 credits, as a deployment begins. */
let slash = { amount: 500_000_000, worth: 5_000 };
beforeEach(() => {
  slash = { amount: 500_000_000, worth: 5_000 };
});
type Given = { proven?: number; own?: string[]; creditsPerSvc?: number };

/** A gateway's cover over an index with these jobs of the worker; null: there is no index. */
async function over(
  settled: Settled[] | null,
  { proven = 0, own = [], creditsPerSvc }: Given = {},
): Promise<ExposureLimit> {
  const query = async ({ name, values }: { name: string; values: number[] }) => {
    if (settled === null) throw Object.assign(new Error("no schema"), { code: "3F000" });
    const row = (credits: number) => ({ rows: credits === 0 ? [] : [{ worker: SIGNER.toLowerCase(), credits }] });
    // Charges of what was locked within the completion and the dispute window before.
    if (name === "index_proven_at_workers") return row(values[1] === now() - 240 ? proven : 0);
    if (name !== "index_charged_at_workers") return { rows: [{ blockNumber: 1, blockTime: now() }] };
    const [, from, until] = values as [number, number, number];
    const within = settled.filter(({ createdAt }) => createdAt >= from && createdAt < until);
    return row(within.reduce((sum, { credits }) => sum + credits, 0));
  };
  const head = {
    get time() {
      return now();
    },
  };
  const directory = { slash: () => slash };
  const parts = { index: { query } as never, directory, operator: 1, head, times, logger: pino({ level: "silent" }) };
  exposure = new ExposureLimit(parts, { creditsPerSvc, ownWorkers: new Set(own) });
  await exposure.start();
  return exposure;
}

it("is the worth of the whole slashes in a stake, also without an index", async () => {
  expect((await over(null)).room(newcomer)).toBe(20_000);
  const at = await over([]);
  for (const [stake, room] of [
    [1_500_000_000, 15_000],
    [1_499_999_999, 10_000],
    [499_999_999, 0],
  ] as const)
    expect(at.room({ ...newcomer, stake })).toBe(room);
});

it("follows the worth that governance states, from the next offer on", async () => {
  const at = await over([]);
  at.offered(newJobId(), newcomer, 4_000);
  slash = { amount: 500_000_000, worth: 500 };
  expect(at.room(newcomer)).toBe(-2_000);
});

it("is the operator's own worth of SVC where that is less", async () => {
  expect((await over([], { creditsPerSvc: 5 })).room(newcomer)).toBe(10_000);
  expect((await over([], { creditsPerSvc: 50 })).room(newcomer)).toBe(20_000);
});

it("has no place for a job that locks more than a slash is worth, at any stake", async () => {
  const at = await over([]);
  const rich = { ...newcomer, stake: 1_000_000_000_000 };
  expect(at.largest(rich)).toBe(5_000);
  slash = { amount: 500_000_000, worth: 2_500.5 };
  expect([at.largest(rich), at.room(rich)]).toEqual([2_500, 5_001_000]);
  expect(at.largest({ ...newcomer, stake: 500_000_000 })).toBe(2_500);
  expect(at.largest({ ...newcomer, stake: 499_999_999 })).toBe(0);
});

it("shrinks by a running job's lock, then by its charge while it can be disputed", async () => {
  const at = await over([]);
  const job = newJobId();
  at.offered(job, newcomer, 2_560);
  expect(at.room(newcomer)).toBe(17_440);
  at.left(job, "taken");
  expect(at.room(newcomer)).toBe(17_440);
  at.charged(job, newcomer, 40);
  expect(at.room(newcomer)).toBe(19_960);
  await vi.advanceTimersByTimeAsync(DISPUTABLE_MS - 1);
  expect(at.room(newcomer)).toBe(19_960);
  await vi.advanceTimersByTimeAsync(1);
  expect(at.room(newcomer)).toBe(20_000);
});

it("is whole again where no offer was signed, and the job went to another worker", async () => {
  const at = await over([]);
  const second = { ...newcomer, signer: `0x${"bb".repeat(20)}` as const };
  const job = newJobId();
  at.offered(job, newcomer, 100);
  at.left(job, "unsent");
  at.offered(job, second, 100);
  expect([at.room(newcomer), at.room(second)]).toEqual([20_000, 19_900]);
});

it("comes back after a refusal once the worker can no longer take the job on chain", async () => {
  const at = await over([]);
  const job = newJobId();
  at.offered(job, newcomer, 5_000);
  at.left(job, "refused");
  expect(at.room(newcomer)).toBe(15_000);
  await vi.advanceTimersByTimeAsync(REFUSED_MS - 1);
  expect(at.room(newcomer)).toBe(15_000);
  await vi.advanceTimersByTimeAsync(1);
  expect(at.room(newcomer)).toBe(20_000);
});

it("comes back after a refusal once the job is over, at each worker that refused it", async () => {
  const at = await over([]);
  const second = { ...newcomer, signer: `0x${"bb".repeat(20)}` as const };
  const [job, other] = [newJobId(), newJobId()];
  for (const [one, worker] of [
    [job, newcomer],
    [job, second],
    [other, newcomer],
  ] as const) {
    at.offered(one, worker, 5_000);
    at.left(one, "refused");
  }
  expect([at.room(newcomer), at.room(second)]).toEqual([10_000, 15_000]);
  at.over(job, true);
  expect([at.room(newcomer), at.room(second)]).toEqual([15_000, 20_000]);
  await vi.advanceTimersByTimeAsync(REFUSED_MS);
  expect(at.room(newcomer)).toBe(20_000);
});

it("is there for a job that fills it, however often the worker has no room for it", async () => {
  const at = await over([]);
  const single = { ...newcomer, stake: 500_000_000 };
  const job = newJobId();
  for (let offer = 0; offer < 3; offer++) {
    expect([at.room(single, job), offer === 0 || at.room(single) === 0]).toEqual([5_000, true]);
    at.offered(job, single, 5_000);
    expect(at.room(single, job)).toBe(0);
    at.left(job, "refused");
  }
  at.offered(job, single, 5_000);
  at.left(job, "taken");
  at.charged(job, single, 40);
  expect([at.room(single), at.room(single, job)]).toEqual([4_960, 4_960]);
});

it("comes back at each worker that may have proven a job which moved on", async () => {
  const at = await over([]);
  const second = { ...newcomer, signer: `0x${"bb".repeat(20)}` as const };
  const job = newJobId();
  at.offered(job, newcomer, 100);
  at.left(job, "taken");
  at.offered(job, second, 100);
  at.left(job, "taken");
  at.charged(job, second, 40);
  expect([at.room(newcomer), at.room(second)]).toEqual([19_900, 19_960]);
  await vi.advanceTimersByTimeAsync(DISPUTABLE_MS);
  expect([at.room(newcomer), at.room(second)]).toEqual([20_000, 20_000]);
});

it.each([
  ["comes back once the chain shows that a job was not charged, at each worker that had it", false, [20_000, 20_000]],
  ["stays as it is once the chain shows the charge of a job that moved on", true, [19_900, 19_960]],
])("%s", async (_what, isCharged, room) => {
  const at = await over([]);
  const second = { ...newcomer, signer: `0x${"bb".repeat(20)}` as const };
  const job = newJobId();
  at.offered(job, newcomer, 100);
  at.left(job, "taken");
  at.offered(job, second, 40);
  at.left(job, "taken");
  at.over(job, isCharged);
  expect([at.room(newcomer), at.room(second)]).toEqual(room);
});

it("does not grow by what a worker earned: nobody can take that back", async () => {
  expect((await over([{ credits: 100_000, createdAt: now() - 3_600 }])).room(newcomer)).toBe(20_000);
});

it("is what it was after a restart: charges that can be disputed still count", async () => {
  const at = await over([{ credits: 19_000, createdAt: now() - 10 }]);
  expect(at.room(newcomer)).toBe(1_000);
  await vi.advanceTimersByTimeAsync(DISPUTABLE_MS);
  expect(at.room(newcomer)).toBe(20_000);
});

it("is less by what the worker proved and did not deliver, until that is decided", async () => {
  expect((await over([], { proven: 4_000 })).room(newcomer)).toBe(16_000);
});

it("has no bound at the operator's own workers", async () => {
  const at = await over([], { own: [SIGNER.toLowerCase()] });
  at.offered(newJobId(), newcomer, 1_000_000);
  expect(at.room(newcomer)).toBe(Number.POSITIVE_INFINITY);
  expect(at.largest(newcomer)).toBe(Number.POSITIVE_INFINITY);
});
