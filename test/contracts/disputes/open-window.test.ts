/** When a dispute can be opened: both sides of each bound, and once a job. */
import { expect } from "chai";
import { nextBlockAt } from "../support/chain.ts";
import { disputedProvenJob, Ruling, sendDispute, sendRuling, settledJob } from "../support/disputes.ts";
import { expectRevert } from "../support/expect.ts";
import { freshWorld } from "../support/fresh.ts";
import { lockJob, provenJob, sendComplete } from "../support/jobs.ts";

const parties = ["gateway", "client"] as const;

describe("The window of a dispute", () => {
  for (const party of parties) {
    it(`of a settled job ends 90 s after the settlement, that second excluded (${party})`, async () => {
      const { world, escrow, [party]: by } = await freshWorld();
      const [early, late] = [await settledJob(world), await settledJob(world)];
      await nextBlockAt(early.settledAt + 89);
      await expect(sendDispute(world, early, { by })).to.emit(escrow, "JobDisputed");
      const deadline = late.settledAt + 90;
      await nextBlockAt(deadline);
      await expectRevert(sendDispute(world, late, { by }), "Job_TooLate", late.id, deadline, deadline);
    });

    it(`of a proven job ends with the second in which it can be finalized (${party})`, async () => {
      const { world, escrow, [party]: by } = await freshWorld();
      const early = await provenJob(world);
      await nextBlockAt(early.finalizeFrom - 1);
      await expect(sendDispute(world, early, { by })).to.emit(escrow, "JobDisputed");
      const late = await provenJob(world);
      await nextBlockAt(late.finalizeFrom);
      await expect(sendDispute(world, late, { by }))
        .to.be.revertedWithCustomError(escrow, "Job_TooLate")
        .withArgs(late.id, late.finalizeFrom, late.finalizeFrom);
    });
  }

  it("runs from the settlement, not from the lock or the answer", async () => {
    const world = await freshWorld();
    const job = await lockJob(world);
    await nextBlockAt(job.lockedAt + 149);
    await sendComplete(world, job);
    await nextBlockAt(job.lockedAt + 149 + 89);
    await expect(sendDispute(world, job)).to.emit(world.escrow, "JobDisputed");
  });

  it("is new when the gateway settles a proven job", async () => {
    const world = await freshWorld();
    const job = await provenJob(world);
    await nextBlockAt(job.lockedAt + 100);
    await sendComplete(world, job);
    await nextBlockAt(job.lockedAt + 190);
    await expectRevert(sendDispute(world, job), "Job_TooLate", job.id, job.lockedAt + 190, job.lockedAt + 190);
  });
});

describe("A job is disputed once", () => {
  it("after the rejection of a proven job, also when its gateway settles it and a new window begins", async () => {
    const { world, client } = await freshWorld();
    const job = await disputedProvenJob(world, { by: client });
    await sendRuling(world, job, Ruling.Rejected);
    await expectRevert(sendDispute(world, job), "Job_TooLate");
    await sendComplete(world, job);
    for (const party of parties)
      await expectRevert(sendDispute(world, job, { by: world[party] }), "Dispute_AlreadyOpened", job.id);
  });
});
