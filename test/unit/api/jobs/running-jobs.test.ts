/** The jobs of a process: what a gateway waits for before it leaves them to others. */
import type { Hex } from "viem";
import { expect, it } from "vitest";
import type { RunningJob } from "../../../../api/jobs/job.ts";
import { RunningJobs } from "../../../../api/jobs/running-jobs.ts";

it("are over once their charges and answers are on record", async () => {
  const runs = new RunningJobs();
  const answer = Promise.withResolvers<unknown>();
  const leave = Promise.withResolvers<void>();
  const jobId: Hex = `0x${"11".repeat(16)}`;
  runs.track({ input: { jobId }, completed: answer.promise } as unknown as RunningJob);
  runs.connected(leave.promise);
  let isAnswered = false;
  const answered = runs.answered().then(() => {
    isAnswered = true;
  });
  // The key was removed: the chain refuses the settlement, and the job is over here.
  answer.resolve({ settling: { done: Promise.resolve(false) } });
  await expect.poll(() => runs.has(jobId)).toBe(false);
  expect(isAnswered).toBe(false);
  leave.resolve();
  await answered;
});
