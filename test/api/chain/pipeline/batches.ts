import { describe, expect, it } from "vitest";
import type { Operation } from "../../../../api/chain/operations.ts";
import { failOperation } from "../../../../api/chain/operations.ts";
import { eventOf } from "../../../../api/chain/outcome.ts";
import type { NewJob } from "../../../../api/store/new-jobs.ts";
import { newJobId, toApiJobId } from "../../../../protocol/job-id.ts";
import { FailureReason } from "../../../../protocol/job-status.ts";
import { account, lock, owner, sleep, type World } from "./world.ts";

/** Operations in batches: gathered, isolated from each other, on record before they go out. */
export function batches(world: World): void {
  describe("group commit", () => {
    it("sends the first at once and gathers the rest into few transactions", async () => {
      const { pipeline, head } = await world.start();
      const outcomes = await Promise.all(Array.from({ length: 40 }, () => pipeline.submit(lock(head)).mined));
      expect(outcomes.map((outcome) => outcome.status)).toEqual(Array(40).fill("mined"));
      expect(new Set(outcomes.map((outcome) => outcome.hash)).size).toBeLessThanOrEqual(5);
    });

    it("a failing item tells why and leaves its neighbours alone", async () => {
      const { pipeline, head } = await world.start();
      const [good, poor, late, twice] = await Promise.all(
        [
          lock(head),
          lock(head, { wallet: account.address }),
          lock(head, { validUntil: head.time - 10 }),
          failOperation(newJobId(), FailureReason.Cancelled),
        ].map((operation) => pipeline.submit(operation).mined),
      );
      expect(good && eventOf(good, "JobLocked")?.args).toMatchObject({ wallet: owner.address, credits: 2 });
      expect(poor).toMatchObject({
        status: "reverted",
        revert: { name: "Ledger_UnknownAccount", args: [account.address] },
      });
      expect(late).toMatchObject({ status: "reverted", revert: { name: "Job_LockExpired" } });
      expect(twice).toMatchObject({ status: "reverted", revert: { name: "Job_WrongState" } });
    });
  });

  describe("a new job", () => {
    const row = (operation: Operation): NewJob => ({
      jobId: operation.jobId,
      wallet: owner.address,
      gateway: account.address,
      model: "qwen3-1.7b",
      tier: "lite",
      validUntil: 1_900_000_000,
      creditsLocked: 2,
    });
    const stored = async (operation: Operation) =>
      (await world.pool.query("SELECT state FROM job WHERE job_id = $1", [toApiJobId(operation.jobId)])).rows;

    it("is on record when its lock is mined, and once only when the lock goes out a second time", async () => {
      const { pipeline, head } = await world.start();
      const operation = lock(head);
      expect((await pipeline.submit(operation, row(operation)).mined).status).toBe("mined");
      expect(await stored(operation)).toEqual([{ state: "locking" }]);
      await world.pool.query("UPDATE job SET state = 'pending' WHERE job_id = $1", [toApiJobId(operation.jobId)]);
      expect((await pipeline.submit(operation, row(operation)).mined).status).toBe("reverted");
      expect(await stored(operation)).toEqual([{ state: "pending" }]);
    });

    it("that cannot be recorded is not sent, nor is its transaction on record; both are once it can", async () => {
      const { pipeline, head, outbox } = await world.start();
      await pipeline.submit(lock(head)).mined;
      const nonce = await outbox.lastNonce();
      const operation = lock(head);
      await world.pool.query("ALTER TABLE job RENAME TO job_away");
      const { mined } = pipeline.submit(operation, row(operation));
      await sleep(1_200);
      expect(await outbox.lastNonce()).toBe(nonce);
      await world.pool.query("ALTER TABLE job_away RENAME TO job");
      expect((await mined).status).toBe("mined");
      expect(await stored(operation)).toEqual([{ state: "locking" }]);
    });
  });
}
