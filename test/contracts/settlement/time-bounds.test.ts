import { expect } from "chai";
import { nextBlockAt } from "../support/chain.ts";
import { expectRevert } from "../support/expect.ts";
import { freshWorld } from "../support/fresh.ts";
import { acknowledgedJob, type Job, lockJob, sendComplete, sendProof } from "../support/jobs.ts";
import type { World } from "../support/world.ts";

/** The same bounds hold on every way in: [lockedAt, +120 s) for the answer, +150 s for its transaction. */
const ways: [
  string,
  (world: World) => Promise<Job>,
  (world: World, job: Job, completedAt: number) => Promise<unknown>,
][] = [
  [
    "complete from Locked",
    (world) => lockJob(world),
    (world, job, completedAt) => sendComplete(world, job, { completedAt }),
  ],
  [
    "complete from Acknowledged",
    (world) => acknowledgedJob(world),
    (world, job, completedAt) => sendComplete(world, job, { completedAt }),
  ],
  [
    "submitProof",
    (world) => acknowledgedJob(world),
    (world, job, completedAt) => sendProof(world, job, { completedAt }),
  ],
];

for (const [name, make, send] of ways) {
  describe(`Time bounds of ${name}`, () => {
    it("refuses an answer finished a second before the lock and takes one of the same second", async () => {
      const world = await freshWorld();
      const job = await make(world);
      await expect(send(world, job, job.lockedAt - 1))
        .to.be.revertedWithCustomError(world.escrow, "Settlement_CompletedOutOfTime")
        .withArgs(job.id, job.lockedAt - 1, job.lockedAt);
      await send(world, job, job.lockedAt);
    });

    it("takes an answer finished after 119 s and refuses one after 120 s", async () => {
      const world = await freshWorld();
      const job = await make(world);
      await nextBlockAt(job.lockedAt + 130);
      await expect(send(world, job, job.lockedAt + 120))
        .to.be.revertedWithCustomError(world.escrow, "Settlement_CompletedOutOfTime")
        .withArgs(job.id, job.lockedAt + 120, job.lockedAt);
      await send(world, job, job.lockedAt + 119);
    });

    it("takes an answer of the block's own second, and none of the next one", async () => {
      const world = await freshWorld();
      const job = await make(world);
      const time = job.lockedAt + 40;
      await nextBlockAt(time);
      await expectRevert(send(world, job, time + 1), "Settlement_CompletedOutOfTime", job.id, time + 1, job.lockedAt);
      await nextBlockAt(time + 1);
      await send(world, job, time + 1);
    });

    it("is mined up to 149 s after the lock", async () => {
      const world = await freshWorld();
      const job = await make(world);
      await nextBlockAt(job.lockedAt + 149);
      await send(world, job, job.lockedAt + 119);
      expect((await world.escrow.jobOf(job.id)).worker).to.equal(world.worker.id);
    });

    it("is too late 150 s after the lock, when anyone can refund", async () => {
      const { world, escrow, stranger } = await freshWorld();
      const job = await make(world);
      await nextBlockAt(job.lockedAt + 150);
      await expect(send(world, job, job.lockedAt + 119))
        .to.be.revertedWithCustomError(escrow, "Job_TooLate")
        .withArgs(job.id, job.lockedAt + 150, job.lockedAt + 150);
      await escrow.connect(stranger).refund(job.id);
    });
  });
}
