/** Votes of arbiters: how many, whose, that they can be changed, and from when until when. */
import { expect } from "chai";
import { ethers, nextBlockAt } from "../support/chain.ts";
import {
  ARBITRATION,
  type DisputedJob,
  disputedJob,
  disputedProvenJob,
  Ruling,
  sendVote,
  settledJob,
  waitForVotes,
} from "../support/disputes.ts";
import { expectRevert } from "../support/expect.ts";
import { freshWorld } from "../support/fresh.ts";
import { actingAs } from "../support/impersonate.ts";
import type { Job } from "../support/jobs.ts";
import type { World } from "../support/world.ts";

/** Opened by the wallet: votes count at once. */
const disputed = (world: World): Promise<DisputedJob> => disputedJob(world, { by: world.client });

const votes = async ({ panel }: World, { id }: Job) =>
  (await Promise.all([1, 2, 3].map((ruling) => panel.votesFor(id, ruling)))).map(Number);
const statusOf = async ({ escrow }: World, { id }: Job) => Number((await escrow.jobOf(id)).status);

describe("A vote", () => {
  it("rules when it reaches the quorum and not before", async () => {
    const { world, panel, escrow, arbiters } = await freshWorld();
    const job = await disputed(world);
    const first = await sendVote(world, job, Ruling.Rejected);
    await expect(first).to.emit(panel, "Voted").withArgs(job.id, arbiters[0]?.address, Ruling.Rejected, 1);
    await expect(first).not.to.emit(escrow, "DisputeResolved");
    expect(await statusOf(world, job)).to.equal(7);
    const second = await sendVote(world, job, Ruling.Rejected, arbiters[1]);
    await expect(second).to.emit(panel, "Voted").withArgs(job.id, arbiters[1]?.address, Ruling.Rejected, 2);
    await expect(second).to.emit(escrow, "DisputeResolved");
    expect(await votes(world, job)).to.deep.equal([0, 0, 2]);
    const { resolved, ruling } = await escrow.disputeOf(job.id);
    expect([resolved, ruling]).to.deep.equal([true, BigInt(Ruling.Rejected)]);
  });

  it("is an arbiter's", async () => {
    const { world, owner, guardian, gateway, operatorAdmin, client, workerOwner, stranger } = await freshWorld();
    const job = await disputed(world);
    for (const caller of [owner, guardian, gateway, operatorAdmin, client, workerOwner, stranger])
      await expectRevert(sendVote(world, job, Ruling.Rejected, caller), "Panel_NotAnArbiter", job.id, caller.address);
  });

  it("says something: None is no ruling, and there are three", async () => {
    const world = await freshWorld();
    const job = await disputed(world);
    await expectRevert(sendVote(world, job, Ruling.None), "Panel_InvalidRuling");
    await expect(sendVote(world, job, 4)).to.revert(ethers);
  });

  for (const [from, enter] of [
    ["settled", disputedJob],
    ["proven", disputedProvenJob],
  ] as const) {
    it(`can rule on a ${from} job 23:59:59 after the opening, not at 24:00:00`, async () => {
      const { world, escrow, arbiters } = await freshWorld();
      const [early, late] = [await enter(world), await enter(world)];
      await waitForVotes(world, late);
      for (const job of [early, late]) await sendVote(world, job, Ruling.Rejected);
      await nextBlockAt(early.openedAt + ARBITRATION - 1);
      await expect(sendVote(world, early, Ruling.Rejected, arbiters[1])).to.emit(escrow, "DisputeResolved");
      await nextBlockAt(late.openedAt + ARBITRATION);
      await expectRevert(sendVote(world, late, Ruling.Rejected, arbiters[1]), "Panel_NotOpen", late.id);
      expect(await statusOf(world, late)).to.equal(7);
    });
  }
});

describe("A vote that is changed", () => {
  it("counts for the new ruling alone", async () => {
    const { world, panel, arbiters } = await freshWorld();
    const job = await disputed(world);
    await sendVote(world, job, Ruling.Rejected);
    await expect(sendVote(world, job, Ruling.WorkerAtFault))
      .to.emit(panel, "Voted")
      .withArgs(job.id, arbiters[0]?.address, Ruling.WorkerAtFault, 1);
    expect(await votes(world, job)).to.deep.equal([1, 0, 0]);
    // A second arbiter of the first opinion is alone with it.
    await sendVote(world, job, Ruling.Rejected, arbiters[1]);
    expect([await votes(world, job), await statusOf(world, job)]).to.deep.equal([[1, 0, 1], 7]);
  });

  it("can be changed back, and as often as its arbiter wants: it is one vote", async () => {
    const world = await freshWorld();
    const job = await disputed(world);
    for (const ruling of [1, 2, 3, 1, 3, 2, 1]) await sendVote(world, job, ruling);
    expect([await votes(world, job), await statusOf(world, job)]).to.deep.equal([[1, 0, 0], 7]);
  });

  it("is another one: the same ruling twice is refused, before and after a change", async () => {
    const { world, arbiters } = await freshWorld();
    const job = await disputed(world);
    for (const ruling of [Ruling.Rejected, Ruling.GatewayAtFault]) {
      await sendVote(world, job, ruling);
      await expectRevert(sendVote(world, job, ruling), "Panel_AlreadyVoted", job.id, arbiters[0]?.address);
    }
    expect(await votes(world, job)).to.deep.equal([0, 1, 0]);
  });

  it("ends what stranded before: three arbiters of three opinions, of whom one is convinced", async () => {
    const { world, escrow, arbiters } = await freshWorld();
    const job = await disputed(world);
    for (const [i, ruling] of [Ruling.WorkerAtFault, Ruling.GatewayAtFault, Ruling.Rejected].entries())
      await sendVote(world, job, ruling, arbiters[i]);
    expect([await votes(world, job), await statusOf(world, job)]).to.deep.equal([[1, 1, 1], 7]);
    await nextBlockAt(job.openedAt + ARBITRATION - 1);
    await expect(sendVote(world, job, Ruling.WorkerAtFault, arbiters[2]))
      .to.emit(escrow, "DisputeResolved")
      .withArgs(job.id, world.client.address, Ruling.WorkerAtFault, 6, 100, 9_940, 0);
    expect(await votes(world, job)).to.deep.equal([2, 1, 0]);
  });
});

describe("voteMany", () => {
  it("is the same vote on each of several disputes, and rules where it completes a quorum", async () => {
    const { world, panel, arbiters, escrow } = await freshWorld();
    const jobs = [await disputed(world), await disputed(world), await disputed(world)] as const;
    await sendVote(world, jobs[1], Ruling.WorkerAtFault, arbiters[1]);
    const ids = jobs.map(({ id }) => id);
    const voting = panel.connect(arbiters[0]).voteMany(ids, Ruling.WorkerAtFault);
    for (const [i, id] of ids.entries())
      await expect(voting)
        .to.emit(panel, "Voted")
        .withArgs(id, arbiters[0]?.address, Ruling.WorkerAtFault, i === 1 ? 2 : 1);
    await expect(voting).to.emit(escrow, "DisputeResolved");
    expect(await Promise.all(jobs.map((job) => statusOf(world, job)))).to.deep.equal([7, 6, 7]);
    await panel.connect(arbiters[2]).voteMany([ids[0] as string, ids[2] as string], Ruling.WorkerAtFault);
    expect(await Promise.all(jobs.map((job) => statusOf(world, job)))).to.deep.equal([6, 6, 6]);
  });

  it("votes on all or on none", async () => {
    const { world, panel, arbiters, stranger } = await freshWorld();
    const [one, other, settled] = [await disputed(world), await disputed(world), await settledJob(world)];
    const mine = panel.connect(arbiters[0]);
    for (const [ids, error] of [
      [[one.id, settled.id], "Panel_NotOpen"],
      [[one.id, other.id, one.id], "Panel_AlreadyVoted"],
    ] as const) {
      await expectRevert(mine.voteMany([...ids], Ruling.Rejected), error);
    }
    await expectRevert(mine.voteMany([one.id], Ruling.None), "Panel_InvalidRuling");
    await expectRevert(panel.connect(stranger).voteMany([one.id], Ruling.Rejected), "Panel_NotAnArbiter");
    for (const job of [one, other]) expect(await votes(world, job)).to.deep.equal([0, 0, 0]);
  });

  it("waits for the latest of them", async () => {
    const { world, panel, arbiters } = await freshWorld();
    const [open, waiting] = [await disputed(world), await disputedJob(world)];
    const mine = panel.connect(arbiters[0]);
    await nextBlockAt(waiting.ruleFrom - 1);
    await expectRevert(mine.voteMany([open.id, waiting.id], Ruling.Rejected), "Panel_TooEarly");
    await nextBlockAt(waiting.ruleFrom);
    await mine.voteMany([open.id, waiting.id], Ruling.Rejected);
    expect([await votes(world, open), await votes(world, waiting)]).to.deep.equal([
      [0, 0, 1],
      [0, 0, 1],
    ]);
  });

  it("of nothing does nothing", async () => {
    const { panel, stranger } = await freshWorld();
    await expect(panel.connect(stranger).voteMany([], Ruling.Rejected)).not.to.emit(panel, "Voted");
  });
});

describe("rule", () => {
  it("checks for itself what the panel checked: ruling, state and time", async () => {
    const { world, escrow, panel } = await freshWorld();
    const asPanel = escrow.connect(await actingAs(panel));
    const settled = await settledJob(world);
    await expectRevert(asPanel.rule(settled.id, Ruling.Rejected), "Job_WrongState", settled.id, 4);
    const job = await disputed(world);
    await expectRevert(asPanel.rule(job.id, Ruling.None), "Dispute_InvalidRuling");
    const deadline = job.openedAt + ARBITRATION;
    await nextBlockAt(deadline);
    await expectRevert(asPanel.rule(job.id, Ruling.Rejected), "Job_TooLate", job.id, deadline, deadline);
  });
});
