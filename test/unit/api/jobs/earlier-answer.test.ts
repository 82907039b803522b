/** A second request with an Idempotency-Key: it waits for the first one's job as long as that can still be paid. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { StoredJob } from "../../../../api/db/jobs.ts";
import { claimLasts, EarlierAnswers } from "../../../../api/jobs/earlier-answers.ts";
import { newJobId } from "../../../../protocol/job-id.ts";
import { storedJob } from "../../../support/fake-gateway.ts";

const jobId = newJobId();
const settled = storedJob({ jobId, state: "settled" });
let row: StoredJob | null;
let claimed: boolean;
let reads: number;
const context = {
  times: { completion: 120, inclusion: 30, queue: 30, lock: 20 },
  store: {
    find: async () => {
      reads += 1;
      return row;
    },
  },
};
let waiting: AbortController;
let answers: EarlierAnswers;
const ask = (ageMs = 0, id = jobId) =>
  answers.wait(
    {
      jobId: id,
      recordedBy: Date.now() - ageMs + claimLasts(context.times),
      wallet: "0x01",
      isClaimed: async () => claimed,
    },
    waiting.signal,
  );

beforeEach(() => {
  vi.useFakeTimers();
  [row, claimed, reads] = [null, true, 0];
  answers = new EarlierAnswers(context);
  waiting = new AbortController();
});
afterEach(() => void vi.useRealTimers());

it("takes no lock that waits for its batch for an ended process", async () => {
  const asked = ask();
  await vi.advanceTimersByTimeAsync(18_000);
  row = settled;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await asked).toBe(settled);
});

it("an answer whose request was refused is not given before the chain has its end", async () => {
  row = storedJob({ jobId, state: "settling", failure: "settlement refused" });
  const asked = ask();
  await vi.advanceTimersByTimeAsync(1_000);
  row = { ...row, state: "failed" };
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await asked).toBeNull();
});

it("a request that gave its key free is not waited for", async () => {
  claimed = false;
  expect(await ask()).toBeNull();
});

it("takes no request that waits 50 s for place and lock for an ended one", async () => {
  const asked = ask(51_000);
  await vi.advanceTimersByTimeAsync(18_000);
  row = settled;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await asked).toBe(settled);
});

it("a claim that is older than any lock, and has no job, is nobody's any more", async () => {
  expect(await ask(70_500)).toBeNull();
});

it("a request whose client left, or whose body was given up, waits no longer", async () => {
  const refused = expect(ask()).rejects.toThrow("given up");
  await vi.advanceTimersByTimeAsync(1_000);
  waiting.abort(new Error("given up"));
  await vi.advanceTimersByTimeAsync(1_000);
  await refused;
});

it("bounds the looks of a thousand wallets to a thousand a second together", async () => {
  const asked = Array.from({ length: 1_000 }, (_, n) =>
    answers.wait(
      { jobId: newJobId(), recordedBy: Date.now() + 60_000, wallet: `0x${n}`, isClaimed: async () => true },
      waiting.signal,
    ),
  );
  await vi.advanceTimersByTimeAsync(10_000);
  expect(reads).toBeGreaterThan(5 * 1_000);
  expect(reads).toBeLessThan(12 * 1_000);
  row = settled;
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await Promise.all(asked)).toEqual(Array(1_000).fill(settled));
});

it("repetitions of one request share the reads of its job, and each gets the answer", async () => {
  const asked = Array.from({ length: 16 }, () => ask());
  await vi.advanceTimersByTimeAsync(5_000);
  // A first look each, and ten a second together.
  expect(reads).toBeLessThan(16 + 60);
  row = settled;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await Promise.all(asked)).toEqual(Array(16).fill(settled));
});

it("refuses a wallet's seventeenth repetition, unless its answer is there", async () => {
  const asked = Promise.allSettled(Array.from({ length: 16 }, () => ask(0, newJobId())));
  await vi.advanceTimersByTimeAsync(0);
  const details = { job_id: expect.stringMatching(/^job_/), retry_after: 5 };
  await expect(ask()).rejects.toMatchObject({ code: "conflict", details });
  row = settled;
  expect(await ask()).toBe(settled);
  await vi.advanceTimersByTimeAsync(1_000);
  await asked;
  row = null;
  // All others have left: there is room again.
  const next = ask();
  await vi.advanceTimersByTimeAsync(1_000);
  row = settled;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await next).toBe(settled);
});

it("nothing is read any more once nobody waits", async () => {
  const left = expect(ask()).rejects.toThrow("left");
  await vi.advanceTimersByTimeAsync(1_000);
  waiting.abort(new Error("left"));
  await left;
  const before = reads;
  await vi.advanceTimersByTimeAsync(5_000);
  expect(reads).toBeLessThanOrEqual(before + 1);
});

it("a repetition is sent to the job when that is not over in its time", async () => {
  const job = { job_id: expect.stringMatching(/^job_/) };
  row = storedJob({ jobId, state: "pending" });
  const late = expect(ask()).rejects.toMatchObject({ code: "conflict", details: job });
  await vi.advanceTimersByTimeAsync(201_000);
  await late;
});
