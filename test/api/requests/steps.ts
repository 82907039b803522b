import { describe, expect, it } from "vitest";
import { JobStore } from "../../../api/store/jobs.ts";
import { insertJobs, newJobsJson } from "../../../api/store/new-jobs.ts";
import { newJobId } from "../../../protocol/job-id.ts";
import { MODEL, STRANGER, type World } from "./world.ts";

const HASH = `0x${"0c".repeat(32)}` as const;

/** The steps of many jobs' rows at once, as a block with many jobs causes them. */
export function steps(world: World): void {
  describe("rows of many jobs at once", () => {
    it("take all their steps, each its own values, whatever order they come in", async () => {
      const jobs = new JobStore(world.pool);
      const ids = Array.from({ length: 120 }, newJobId);
      const row = { wallet: STRANGER, gateway: STRANGER, model: MODEL, tier: "standard", validUntil: 1 } as const;
      await world.pool.query(insertJobs("$1"), [
        newJobsJson(ids.map((jobId, n) => ({ jobId, creditsLocked: n, ...row }))),
      ]);
      const signed = (n: number) => ({
        completion: { jobId: ids[n], proofHash: HASH, promptTokens: n, completionTokens: n, completedAt: n },
        signature: HASH,
        finish_reason: "stop",
      });
      // Two statements over the same rows in opposite orders would wait for each other for ever.
      await Promise.all([
        ...ids.map((jobId, n) =>
          jobs.locked({
            jobId,
            escrowTx: HASH,
            lockedAt: n,
            credits: n,
            offer: { worker: STRANGER, workerEndpoint: `http://w${n}`, attempt: 1, acknowledgeBy: n },
          }),
        ),
        ...ids.toReversed().map((jobId) => jobs.acknowledged(jobId)),
        ...ids.map((jobId, n) =>
          jobs.answered({
            jobId,
            worker: STRANGER,
            attempt: 1,
            acknowledgement: null,
            completion: signed(n) as Parameters<JobStore["answered"]>[0]["completion"],
            countedTokens: n,
            finalTokenAt: new Date(n * 1000),
            creditsCharged: n,
            output: n % 2 === 0 ? Buffer.from(`answer ${n}`) : null,
            retentionHours: 1,
          }),
        ),
      ]);
      await Promise.all(
        ids
          .toReversed()
          .map((jobId) =>
            jobs.settled({ jobId, settlementTx: HASH, settlementBlock: 7, settledAt: 8, creditsCharged: 9 }),
          ),
      );
      const n = 101;
      expect(await jobs.find(ids[n] as (typeof ids)[0])).toMatchObject({
        state: "settled",
        escrowTx: HASH,
        lockedAt: n,
        creditsLocked: n,
        worker: STRANGER,
        workerEndpoint: `http://w${n}`,
        attempt: 1,
        acknowledgeBy: n,
        countedTokens: n,
        completion: signed(n),
        finalTokenAt: new Date(n * 1000),
        settlementTx: HASH,
        settlementBlock: 7,
        settledAt: 8,
        creditsCharged: 9,
      });
      expect(await jobs.output(ids[100] as (typeof ids)[0])).toEqual(Buffer.from("answer 100"));
      expect(await jobs.output(ids[n] as (typeof ids)[0])).toBeNull();
    });

    it("a lock without a worker to offer it to leaves the row without one", async () => {
      const jobs = new JobStore(world.pool);
      const jobId = newJobId();
      const job = {
        jobId,
        wallet: STRANGER,
        gateway: STRANGER,
        model: MODEL,
        tier: "standard",
        validUntil: 1,
      } as const;
      await world.pool.query(insertJobs("$1"), [newJobsJson([{ ...job, creditsLocked: 8 }])]);
      await jobs.locked({ jobId, escrowTx: HASH, lockedAt: 5, credits: 8, offer: null });
      expect(await jobs.find(jobId)).toMatchObject({ state: "pending", worker: null, attempt: 0, escrowTx: HASH });
    });
  });
}
