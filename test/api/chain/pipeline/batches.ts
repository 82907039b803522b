import { describe, expect, it } from "vitest";
import { failOperation } from "../../../../api/chain/operations.ts";
import { eventOf } from "../../../../api/chain/outcome.ts";
import { newJobId } from "../../../../protocol/job-id.ts";
import { FailureReason } from "../../../../protocol/job-status.ts";
import { account, lock, owner, type World } from "./world.ts";

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

  describe("an operation whose row could not be written", () => {
    it("is never sent, says so, and holds up nobody", async () => {
      const { pipeline, head } = await world.start();
      // In flight, so that the others wait for a batch: a failure before that must not go unheard.
      const first = pipeline.submit(lock(head)).mined;
      const operation = lock(head);
      const unwritten = pipeline.submit(operation, Promise.reject(new Error("the database is away"))).mined;
      const neighbour = pipeline.submit(lock(head)).mined;
      await expect(unwritten).rejects.toThrow("not on record");
      expect([(await first).status, (await neighbour).status]).toEqual(["mined", "mined"]);
      expect((await pipeline.submit(failOperation(operation.jobId, FailureReason.Cancelled)).mined).status).toBe(
        "reverted",
      );
    });
  });
}
