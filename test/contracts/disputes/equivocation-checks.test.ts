/** What two Completions must be to punish: different, of one job, by its worker's signature or proof, in time. */
import { expect } from "chai";
import { DAY, nextBlockAt } from "../support/chain.ts";
import { equivocationArgs, sendEquivocation, settledJob } from "../support/disputes.ts";
import { expectRevert } from "../support/expect.ts";
import { freshWorld } from "../support/fresh.ts";
import { acknowledgedJob, provenJob, sendAcknowledge, sendComplete, signedCompletion } from "../support/jobs.ts";
import { HIGH_S, NO_SIGNATURE, signCompletion } from "../support/sign.ts";
import type { World } from "../support/world.ts";

describe("The time for equivocation", () => {
  for (const [name, enter] of [
    ["acknowledged", (world: World) => acknowledgedJob(world)],
    ["proven", (world: World) => provenJob(world)],
    ["settled", settledJob],
  ] as const) {
    it(`of a job that is ${name} ends 24 hours after its lock, that second excluded`, async () => {
      const { world, escrow } = await freshWorld();
      const early = await enter(world);
      await nextBlockAt(early.lockedAt + DAY - 1);
      await expect(sendEquivocation(world, early)).to.emit(escrow, "WorkerEquivocated");
      const again = await freshWorld();
      const late = await enter(again);
      const deadline = late.lockedAt + DAY;
      await nextBlockAt(deadline);
      await expectRevert(sendEquivocation(again, late), "Job_TooLate", late.id, deadline, deadline);
    });
  }
});

describe("proveEquivocation", () => {
  it("takes no Completion twice and none of another job, on either side", async () => {
    const { world, escrow, stranger } = await freshWorld();
    const [job, other] = [await settledJob(world), await settledJob(world)];
    const [one, first, two, second] = await equivocationArgs(world, job);
    const foreign = await signedCompletion(world, other);
    const mine = escrow.connect(stranger);
    await expectRevert(mine.proveEquivocation(one, first, one, first), "Dispute_NoEquivocation", job.id);
    await expectRevert(mine.proveEquivocation(one, first, ...foreign), "Dispute_NoEquivocation", job.id);
    await expectRevert(mine.proveEquivocation(...foreign, one, first), "Dispute_NoEquivocation", other.id);
    // In either order it is one.
    await expect(mine.proveEquivocation(two, second, one, first)).to.emit(escrow, "WorkerEquivocated");
  });

  it("sees an equivocation in any field, not only in the hash", async () => {
    for (const second of [{ promptTokens: 13 }, { completionTokens: 2_999 }, { completedAt: 1 }]) {
      const world = await freshWorld();
      await expect(sendEquivocation(world, await settledJob(world), second), Object.keys(second).join()).to.emit(
        world.escrow,
        "WorkerEquivocated",
      );
    }
  });

  it("needs both signatures to be the worker's", async () => {
    const { world, escrow, rival } = await freshWorld();
    const job = await settledJob(world);
    const [one, first, two, second] = await equivocationArgs(world, job);
    const rivals = await signCompletion(escrow, rival.key, two);
    await expect(escrow.proveEquivocation(one, first, two, rivals))
      .to.be.revertedWithCustomError(escrow, "Job_NotTheWorker")
      .withArgs(job.id, rival.key.address);
    await expect(escrow.proveEquivocation(two, rivals, one, first))
      .to.be.revertedWithCustomError(escrow, "Job_NotTheWorker")
      .withArgs(job.id, rival.key.address);
    // Each signature under the other's Completion recovers some stranger.
    await expectRevert(escrow.proveEquivocation(one, second, two, first), "Job_NotTheWorker");
  });

  it("needs the job's present worker: who was replaced is not punished for it", async () => {
    const { world, worker, rival } = await freshWorld();
    const job = await acknowledgedJob(world);
    await sendAcknowledge(world, job, { worker: rival, attempt: 2 });
    await expectRevert(sendEquivocation(world, job), "Job_NotTheWorker", job.id, worker.key.address);
  });

  it("needs no signature for a proven Completion, also when the job is settled since, and one for the other", async () => {
    for (const settledSince of [false, true]) {
      const { world, escrow } = await freshWorld();
      const job = await provenJob(world);
      if (settledSince) await sendComplete(world, job);
      const [one, , two, second] = await equivocationArgs(world, job);
      await expectRevert(escrow.proveEquivocation(one, NO_SIGNATURE, two, NO_SIGNATURE), "ECDSAInvalidSignature");
      await expectRevert(escrow.proveEquivocation(one, NO_SIGNATURE, one, NO_SIGNATURE), "Dispute_NoEquivocation");
      await expect(escrow.proveEquivocation(two, second, one, NO_SIGNATURE)).to.emit(escrow, "WorkerEquivocated");
    }
  });

  it("needs both signatures for a job that was never proven", async () => {
    const { world, escrow } = await freshWorld();
    const job = await settledJob(world);
    const [one, first, two, second] = await equivocationArgs(world, job);
    for (const args of [
      [one, NO_SIGNATURE, two, second],
      [one, first, two, NO_SIGNATURE],
    ] as const) {
      await expectRevert(escrow.proveEquivocation(...args), "ECDSAInvalidSignature");
    }
  });

  it("takes no malleable form of a signature on either side", async () => {
    const { world, escrow } = await freshWorld();
    const job = await settledJob(world);
    const [one, first, two, second] = await equivocationArgs(world, job);
    await expect(escrow.proveEquivocation(one, { r: first.r, vs: HIGH_S }, two, second))
      .to.be.revertedWithCustomError(escrow, "ECDSAInvalidSignatureS")
      .withArgs(HIGH_S);
    await expect(escrow.proveEquivocation(one, first, two, { r: second.r, vs: HIGH_S }))
      .to.be.revertedWithCustomError(escrow, "ECDSAInvalidSignatureS")
      .withArgs(HIGH_S);
  });
});
