import { describe, expect, it } from "vitest";
import { JobStore } from "../../../api/store/jobs.ts";
import { insertJobs, newJobsJson } from "../../../api/store/new-jobs.ts";
import { newJobId } from "../../../protocol/job-id.ts";
import { MODEL, STRANGER, type World } from "./world.ts";

/** The gateway's own row of a job. */
export function store(world: World): void {
  describe("a job's row", () => {
    it("is not taken back to processing by an acknowledgement that is written late", async () => {
      const jobs = new JobStore(world.pool);
      const jobId = newJobId();
      const gateway = STRANGER;
      const row = {
        jobId,
        wallet: STRANGER,
        gateway,
        model: MODEL,
        tier: "standard" as const,
        validUntil: 1,
        creditsLocked: 8,
      };
      await world.pool.query(insertJobs("$1"), [newJobsJson([row])]);
      await jobs.acknowledged(jobId);
      expect((await jobs.find(jobId))?.state).toBe("locking");
      await jobs.update(jobId, { state: "pending" });
      await jobs.acknowledged(jobId);
      expect((await jobs.find(jobId))?.state).toBe("processing");
      for (const state of ["settling", "settled", "failed", "refunded"] as const) {
        await jobs.update(jobId, { state });
        await jobs.acknowledged(jobId);
        expect((await jobs.find(jobId))?.state).toBe(state);
      }
    });
  });
}
