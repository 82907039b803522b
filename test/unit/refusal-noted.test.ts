/**
 * A client that got an error is not charged by the next process either: its row says so, also where PostgreSQL was away for a moment. The
 * same client's leave is noted again and again, and a job whose client left is charged.
 */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { JobStore } from "../../api/db/jobs.ts";
import { ApiError } from "../../api/errors.ts";
import { refuse } from "../../api/jobs/ending.ts";
import { newJobId } from "../../protocol/job-id.ts";
import { FailureReason } from "../../protocol/job-status.ts";
import { fakeGateway } from "../support/fake-gateway.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("is noted once PostgreSQL is back", async () => {
  const back = Date.now() + 3_000;
  let failure: string | null = null;
  const refused = async (_jobId: string, why: string) => {
    if (Date.now() < back) throw new Error("Connection terminated unexpectedly");
    failure = why;
  };
  // Nothing can be recorded, so nothing is sent.
  const open = new Promise<never>(() => {});
  const context = fakeGateway({
    store: { insist: JobStore.prototype.insist, refused },
    pipeline: { congested: false, submit: () => ({ signed: open, mined: open }) },
  });
  const error = new ApiError("service_unavailable", "The worker broke off.");
  const job = { jobId: newJobId(), credits: 8, worker: undefined };
  const told = refuse(context, job, { reason: FailureReason.WorkerFailed, why: "unfinished", error });
  await vi.advanceTimersByTimeAsync(11_000);
  expect(await told).toBe(error);
  expect(failure).toBe("unfinished");
});
