/** Votes of arbiters: how many, whose, once, and until when. */
import { expect } from "chai";
import { jobId } from "../support/actors.ts";
import { ethers, nextBlockAt } from "../support/chain.ts";
import {
  ARBITRATION,
  disputedJob,
  disputedProvenJob,
  Ruling,
  sendRuling,
  sendVote,
  settledJob,
} from "../support/disputes.ts";
import { freshWorld } from "../support/fresh.ts";
import { actingAs } from "../support/impersonate.ts";
import type { Job } from "../support/jobs.ts";

describe("A vote", () => {
  it("rules when it reaches the quorum and not before", async () => {
    const world = await freshWorld();
    const { panel, escrow, arbiters } = world;
    const job = await disputedJob(world);
    const first = await sendVote(world, job, Ruling.Rejected);
    await expect(first).to.emit(panel, "Voted").withArgs(job.id, arbiters[0]?.address, Ruling.Rejected, 1);
    await expect(first).not.to.emit(escrow, "DisputeResolved");
    expect((await escrow.jobOf(job.id)).status).to.equal(7);
    const second = await sendVote(world, job, Ruling.Rejected, arbiters[1]);
    await expect(second).to.emit(panel, "Voted").withArgs(job.id, arbiters[1]?.address, Ruling.Rejected, 2);
    await expect(second).to.emit(escrow, "DisputeResolved");
    expect(await panel.votesFor(job.id, Ruling.Rejected)).to.equal(2);
    const { resolved, ruling } = await escrow.disputeOf(job.id);
    expect([resolved, ruling]).to.deep.equal([true, BigInt(Ruling.Rejected)]);
  });

  it("counts for its own ruling only: three arbiters of three opinions rule nothing", async () => {
    const world = await freshWorld();
    const { panel, escrow, arbiters } = world;
    const job = await disputedJob(world);
    for (const [i, ruling] of [Ruling.WorkerAtFault, Ruling.GatewayAtFault, Ruling.Rejected].entries()) {
      await sendVote(world, job, ruling, arbiters[i]);
      expect(await panel.votesFor(job.id, ruling)).to.equal(1);
    }
    expect((await escrow.jobOf(job.id)).status).to.equal(7);
  });

  it("is cast once, whatever it says the second time", async () => {
    const world = await freshWorld();
    const { panel, arbiters } = world;
    const job = await disputedJob(world);
    await sendVote(world, job, Ruling.Rejected);
    for (const ruling of [Ruling.Rejected, Ruling.WorkerAtFault]) {
      await expect(sendVote(world, job, ruling))
        .to.be.revertedWithCustomError(panel, "Panel_AlreadyVoted")
        .withArgs(job.id, arbiters[0]?.address);
    }
    expect(await panel.votesFor(job.id, Ruling.WorkerAtFault)).to.equal(0);
  });

  it("is an arbiter's", async () => {
    const world = await freshWorld();
    const { panel, owner, guardian, gateway, client, workerOwner, stranger } = world;
    const job = await disputedJob(world);
    for (const caller of [owner, guardian, gateway, client, workerOwner, stranger]) {
      await expect(sendVote(world, job, Ruling.Rejected, caller))
        .to.be.revertedWithCustomError(panel, "Panel_NotAnArbiter")
        .withArgs(job.id, caller.address);
    }
  });

  it("says something: None is no ruling, and there are three", async () => {
    const world = await freshWorld();
    const job = await disputedJob(world);
    await expect(sendVote(world, job, Ruling.None)).to.be.revertedWithCustomError(world.panel, "Panel_InvalidRuling");
    await expect(sendVote(world, job, 4)).to.revert(ethers);
  });

  it("needs an open dispute", async () => {
    const world = await freshWorld();
    const settled = await settledJob(world);
    const ruled = await disputedJob(world);
    await sendRuling(world, ruled, Ruling.Rejected);
    const unknown: Job = { id: jobId(), lockedAt: 0 };
    for (const job of [settled, ruled, unknown]) {
      await expect(sendVote(world, job, Ruling.Rejected, world.arbiters[2]))
        .to.be.revertedWithCustomError(world.panel, "Panel_NotOpen")
        .withArgs(job.id);
    }
  });

  for (const [from, enter] of [
    ["settled", disputedJob],
    ["proven", disputedProvenJob],
  ] as const) {
    it(`can rule on a ${from} job 23:59:59 after the opening, not at 24:00:00`, async () => {
      const world = await freshWorld();
      const { panel, escrow, arbiters } = world;
      const [early, late] = [await enter(world), await enter(world)];
      for (const job of [early, late]) await sendVote(world, job, Ruling.Rejected);
      await nextBlockAt(early.openedAt + ARBITRATION - 1);
      await expect(sendVote(world, early, Ruling.Rejected, arbiters[1])).to.emit(escrow, "DisputeResolved");
      await nextBlockAt(late.openedAt + ARBITRATION);
      await expect(sendVote(world, late, Ruling.Rejected, arbiters[1]))
        .to.be.revertedWithCustomError(panel, "Panel_NotOpen")
        .withArgs(late.id);
      expect((await escrow.jobOf(late.id)).status).to.equal(7);
    });
  }
});

describe("rule", () => {
  it("is the panel's", async () => {
    const world = await freshWorld();
    const { escrow, owner, guardian, gateway, client, arbiters } = world;
    const job = await disputedJob(world);
    for (const caller of [owner, guardian, gateway, client, ...arbiters]) {
      await expect(escrow.connect(caller).rule(job.id, Ruling.Rejected))
        .to.be.revertedWithCustomError(escrow, "Dispute_NotThePanel")
        .withArgs(caller.address);
    }
  });

  it("checks for itself what the panel checked: ruling, state and time", async () => {
    const world = await freshWorld();
    const { escrow, panel } = world;
    const asPanel = escrow.connect(await actingAs(panel));
    const settled = await settledJob(world);
    await expect(asPanel.rule(settled.id, Ruling.Rejected))
      .to.be.revertedWithCustomError(escrow, "Job_WrongState")
      .withArgs(settled.id, 4);
    const job = await disputedJob(world);
    await expect(asPanel.rule(job.id, Ruling.None)).to.be.revertedWithCustomError(escrow, "Dispute_InvalidRuling");
    const deadline = job.openedAt + ARBITRATION;
    await nextBlockAt(deadline);
    await expect(asPanel.rule(job.id, Ruling.Rejected))
      .to.be.revertedWithCustomError(escrow, "Job_TooLate")
      .withArgs(job.id, deadline, deadline);
  });

  it("happens once", async () => {
    const world = await freshWorld();
    const { escrow, panel } = world;
    const asPanel = escrow.connect(await actingAs(panel));
    for (const [ruling, status] of [
      [Ruling.Rejected, 4],
      [Ruling.GatewayAtFault, 6],
      [Ruling.WorkerAtFault, 6],
    ] as const) {
      const job = await disputedJob(world);
      await asPanel.rule(job.id, ruling);
      await expect(asPanel.rule(job.id, Ruling.WorkerAtFault))
        .to.be.revertedWithCustomError(escrow, "Job_WrongState")
        .withArgs(job.id, status);
    }
  });
});
