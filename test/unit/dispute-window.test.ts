/** A reply that PostgreSQL holds up: its client has the window of a dispute from when it can have the answer. */
import type { Address } from "viem";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type AnsweredStep, JobStore } from "../../api/db/jobs.ts";
import { keepAnswer } from "../../api/jobs/ending.ts";
import { newJobId } from "../../protocol/job-id.ts";
import { fakeGateway, MODEL, TIMES } from "../support/fake-gateway.ts";
import { signingWorker } from "./support/jobs.ts";

const worker = signingWorker();
const OUTAGE_MS = 65_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("is not over before the reply leaves", async () => {
  const lockedAt = Math.floor(Date.now() / 1000);
  const back = Date.now() + OUTAGE_MS;
  let stored: AnsweredStep | undefined;
  const answered = async (step: AnsweredStep) => {
    if (Date.now() < back) throw new Error("Connection terminated unexpectedly");
    stored = step;
  };
  const context = fakeGateway({ store: { insist: JobStore.prototype.insist, answered } });
  const jobId = newJobId();
  const keeping = keepAnswer(context, {
    jobId,
    wallet: worker.signer as Address,
    worker: worker.signer,
    attempt: 1,
    acknowledgement: null,
    acknowledged: null,
    settleBefore: lockedAt + TIMES.completion + TIMES.inclusion,
    creditsLocked: 8,
    model: MODEL,
    text: "Hello.",
    signed: await worker.complete(jobId, "Hello.", { completedAt: lockedAt }),
    countedTokens: 4,
  });
  await vi.advanceTimersByTimeAsync(OUTAGE_MS + 1_000);
  await keeping;
  // The reply leaves now, and the next second its client asks for a dispute: `arrivedAt - finalTokenAt` decides.
  const late = Date.now() + 1_000 - (stored?.finalTokenAt.getTime() ?? 0);
  expect(late / 1_000).toBeLessThan(60);
});
