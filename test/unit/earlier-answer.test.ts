/** A second request with an Idempotency-Key: it waits for the first one's job as long as that can still be paid. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { JobContext } from "../../api/jobs/context.ts";
import { earlierAnswer } from "../../api/routes/chat.ts";
import { newJobId } from "../../protocol/job-id.ts";

const jobId = newJobId();
const settled = { jobId, state: "settled", failure: null };
let row: object | null;
let claimed: boolean;
const context = {
  times: { completion: 120, inclusion: 30, lock: 20 },
  store: { find: async () => row },
} as unknown as JobContext;
let waiting: AbortController;
const ask = (ageMs = 0) => earlierAnswer(context, { jobId, ageMs }, async () => claimed, waiting.signal);

beforeEach(() => {
  vi.useFakeTimers();
  [row, claimed] = [null, true];
  waiting = new AbortController();
});
afterEach(() => void vi.useRealTimers());

it("a lock that waits for its batch is not taken for a process that ended: the answer would be paid twice", async () => {
  const asked = ask();
  await vi.advanceTimersByTimeAsync(18_000);
  row = settled;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await asked).toBe(settled);
});

it("an answer whose request was refused is not given before the chain has its end", async () => {
  row = { jobId, state: "settling", failure: "settlement refused" };
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

it("a request that waits for credits and then for its lock, 20 s each, is not taken for one that ended", async () => {
  const asked = ask(41_000);
  await vi.advanceTimersByTimeAsync(18_000);
  row = settled;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await asked).toBe(settled);
});

it("a claim that is older than any lock, and has no job, is nobody's any more", async () => {
  expect(await ask(60_500)).toBeNull();
});

it("a request whose client left, or whose body was given up, waits no longer", async () => {
  const refused = expect(ask()).rejects.toThrow("given up");
  await vi.advanceTimersByTimeAsync(1_000);
  waiting.abort(new Error("given up"));
  await vi.advanceTimersByTimeAsync(1_000);
  await refused;
});
