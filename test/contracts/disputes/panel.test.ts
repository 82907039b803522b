/** Arbiters, their votes, and what happens when they are silent. */
import { expect } from "chai";
import { someAddress } from "../support/actors.ts";
import { actingAs, ethers, nextBlockAt } from "../support/chain.ts";
import {
  ARBITRATION,
  disputedJob,
  disputedProvenJob,
  Ruling,
  sendDispute,
  sendEquivocation,
  sendExpire,
  sendJoin,
  sendRuling,
  sendVote,
  settledJob,
  waitForVotes,
} from "../support/disputes.ts";
import { eventsOf, expectRevert } from "../support/expect.ts";
import { freshBare, freshWorld } from "../support/fresh.ts";
import type { Job } from "../support/jobs.ts";
import { CLIENT_CREDITS, type World } from "../support/world.ts";

// Who the arbiters are: sets, their quorum, and that a dispute keeps the set of its opening.

/** Opened by the wallet: votes count at once. */
const disputed = (world: World) => disputedJob(world, { by: world.client });
const people = (count: number) => Array.from({ length: count }, (_, i) => someAddress(`arbiter ${i}`));

describe("A set of arbiters", () => {
  it("is numbered, announced and kept for ever", async () => {
    const { panel, arbiters } = await freshBare();
    const first = arbiters.map(({ address }) => address);
    expect(await panel.currentSet()).to.equal(1);
    const next = people(5);
    await expect(panel.setArbiters(next, 3)).to.emit(panel, "ArbitersSet").withArgs(2, next, 3);
    expect(await panel.currentSet()).to.equal(2);
    expect(await panel.arbitersOf(1)).to.deep.equal([first, 2n]);
    expect(await panel.arbitersOf(2)).to.deep.equal([next, 3n]);
    expect(await panel.arbitersOf(3)).to.deep.equal([[], 0n]);
  });

  for (const [arbiters, quorum, good] of [
    [1, 1, true],
    [2, 1, false],
    [2, 2, true],
    [3, 1, false],
    [3, 2, true],
    [3, 3, true],
    [3, 4, false],
    [4, 2, false],
    [4, 3, true],
    [32, 16, false],
    [32, 17, true],
    [32, 32, true],
    [33, 17, false],
    [0, 0, false],
    [1, 0, false],
  ] as const) {
    it(`of ${arbiters} with a quorum of ${quorum} is ${good ? "taken" : "refused"}`, async () => {
      const { panel, owner } = await freshBare();
      const setting = panel.setArbiters(people(arbiters), quorum);
      if (good) {
        await expect(setting).to.emit(panel, "ArbitersSet");
      } else {
        await expectRevert(setting, "Panel_InvalidQuorum", arbiters, quorum);
        const factory = await ethers.getContractFactory("ArbitrationPanel");
        await expectRevert(factory.deploy(owner, people(arbiters), quorum), "Panel_InvalidQuorum", arbiters, quorum);
      }
    });
  }

  it("names nobody twice and never the zero address", async () => {
    const { panel } = await freshBare();
    const [a = "", b = ""] = people(2);
    for (const [arbiters, wrong] of [
      [[a, b, a], a],
      [[a, b, b], b],
      [[a, b, ethers.ZeroAddress], ethers.ZeroAddress],
    ] as const) {
      await expectRevert(panel.setArbiters([...arbiters], 2), "Panel_InvalidArbiter", wrong);
    }
    expect(await panel.currentSet()).to.equal(1);
  });

  it("is pinned to the disputes opened under it, for later and earlier arbiters", async () => {
    const { world, panel, escrow, arbiters, others } = await freshWorld();
    const old = await disputed(world);
    await waitForVotes(world, old);
    await sendVote(world, old, Ruling.GatewayAtFault, arbiters[0]);
    const successor = others[0];
    if (successor === undefined) throw new Error("too few accounts");
    await panel.setArbiters([successor.address], 1);
    const young = await disputed(world);
    expect((await escrow.disputeOf(old.id)).arbiterSet).to.equal(1);
    expect((await escrow.disputeOf(young.id)).arbiterSet).to.equal(2);

    const refused = sendVote(world, old, Ruling.Rejected, successor);
    await expectRevert(refused, "Panel_NotAnArbiter", old.id, successor.address);
    await expect(sendVote(world, young, Ruling.Rejected, arbiters[0]))
      .to.be.revertedWithCustomError(panel, "Panel_NotAnArbiter")
      .withArgs(young.id, arbiters[0]?.address);

    // The old quorum of two holds for the old dispute, the new one of one for the new.
    expect((await escrow.jobOf(old.id)).status).to.equal(7);
    await expect(sendVote(world, old, Ruling.GatewayAtFault, arbiters[1])).to.emit(escrow, "DisputeResolved");
    await waitForVotes(world, young);
    await expect(sendVote(world, young, Ruling.Rejected, successor)).to.emit(escrow, "DisputeResolved");
  });

  it("is of each dispute's own opening, also after an equivocation", async () => {
    const { world, panel, escrow, arbiters, others, client } = await freshWorld();
    const job = await disputed(world);
    await sendRuling(world, job, Ruling.Rejected);
    const successor = others[0];
    if (successor === undefined) throw new Error("too few accounts");
    await panel.setArbiters([successor.address], 1);
    await sendEquivocation(world, job);
    await sendDispute(world, job, { by: client });
    expect((await escrow.disputeOf(job.id)).arbiterSet).to.equal(2);
    const refused = sendVote(world, job, Ruling.WorkerAtFault, arbiters[2]);
    await expectRevert(refused, "Panel_NotAnArbiter", job.id, arbiters[2]?.address);
    await expect(sendVote(world, job, Ruling.WorkerAtFault, successor)).to.emit(escrow, "DisputeResolved");
  });
});

it("The panel's escrow is named once and never the zero address", async () => {
  const { panel, escrow, owner } = await freshBare();
  const address = await escrow.getAddress();
  expect(await panel.escrow()).to.equal(address);
  await expectRevert(panel.setEscrow(address), "Panel_InvalidEscrow", address);
  const fresh = await ethers.deployContract("ArbitrationPanel", [owner, people(1), 1]);
  await expectRevert(fresh.setEscrow(ethers.ZeroAddress), "Panel_InvalidEscrow", ethers.ZeroAddress);
  await expect(fresh.setEscrow(address)).to.emit(fresh, "EscrowSet").withArgs(address);
  expect(await fresh.escrow()).to.equal(address);
});

// Votes of arbiters: how many, whose, that they can be changed, and from when until when.

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
    const sent = sendVote(world, job, Ruling.WorkerAtFault);
    await expect(sent).to.emit(panel, "Voted").withArgs(job.id, arbiters[0]?.address, Ruling.WorkerAtFault, 1);
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

  it("lets one of three arbiters of three opinions change its mind and end it", async () => {
    const { world, escrow, arbiters } = await freshWorld();
    const job = await disputed(world);
    for (const [i, ruling] of [Ruling.WorkerAtFault, Ruling.GatewayAtFault, Ruling.Rejected].entries())
      await sendVote(world, job, ruling, arbiters[i]);
    expect([await votes(world, job), await statusOf(world, job)]).to.deep.equal([[1, 1, 1], 7]);
    await nextBlockAt(job.openedAt + ARBITRATION - 1);
    await expect(sendVote(world, job, Ruling.WorkerAtFault, arbiters[2]))
      .to.emit(escrow, "DisputeResolved")
      .withArgs(job.id, world.client.address, Ruling.WorkerAtFault, 6, 60, 9_940, 0);
    expect(await votes(world, job)).to.deep.equal([2, 1, 0]);
  });
});

describe("voteMany", () => {
  it("counts on each of several disputes, and rules where it completes a quorum", async () => {
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

  it("passes over disputes that have ended and jobs without one", async () => {
    const { world, panel, escrow, arbiters } = await freshWorld();
    const [settled, late, ruled] = [await settledJob(world), await disputed(world), await disputed(world)];
    await sendRuling(world, ruled, Ruling.Rejected);
    await nextBlockAt(late.openedAt + ARBITRATION - 100);
    const open = await disputed(world);
    await nextBlockAt(late.openedAt + ARBITRATION);
    const ids = [settled.id, late.id, ruled.id, open.id];
    const voting = panel.connect(arbiters[0]).voteMany(ids, Ruling.Rejected);
    const voted = await eventsOf(voting, panel, "Voted");
    expect(voted.map(({ args }) => args.jobId)).to.deep.equal([open.id]);
    await panel.connect(arbiters[1]).voteMany(ids, Ruling.Rejected);
    expect((await escrow.jobOf(open.id)).status).to.equal(4);
    await expectRevert(panel.connect(arbiters[0]).vote(late.id, Ruling.Rejected), "Panel_NotOpen", late.id);
  });

  it("votes on all or on none of those that are open", async () => {
    const { world, panel, arbiters, stranger } = await freshWorld();
    const [one, other] = [await disputed(world), await disputed(world)];
    const mine = panel.connect(arbiters[0]);
    await expectRevert(mine.voteMany([one.id, other.id, one.id], Ruling.Rejected), "Panel_AlreadyVoted");
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
    for (const job of [open, waiting]) expect(await votes(world, job)).to.deep.equal([0, 0, 1]);
  });

  it("of nothing does nothing", async () => {
    const { panel, stranger } = await freshWorld();
    await expect(panel.connect(stranger).voteMany([], Ruling.Rejected)).not.to.emit(panel, "Voted");
  });
});

it("rule checks for itself what the panel checked: ruling, state and time", async () => {
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

// Silence of the arbiters: anyone ends the dispute after 24 hours, and it costs the protocol.

describe("expire", () => {
  for (const [from, enter, status, free, returned] of [
    ["settled", disputedJob, 4, CLIENT_CREDITS - 60, 0],
    ["proven", disputedProvenJob, 6, CLIENT_CREDITS, 80],
  ] as const) {
    it(`ends the dispute of a ${from} job from 24:00:00 on, for any stranger`, async () => {
      const { world, escrow, client, stranger } = await freshWorld();
      const job = await enter(world);
      const from24 = job.openedAt + ARBITRATION;
      await nextBlockAt(from24 - 1);
      await expectRevert(escrow.connect(stranger).expire(job.id), "Job_TooEarly", job.id, from24, from24 - 1);
      await nextBlockAt(from24);
      await expect(escrow.connect(stranger).expire(job.id))
        .to.emit(escrow, "DisputeResolved")
        .withArgs(job.id, client.address, Ruling.None, status, returned, free, 0);
      const dispute = await escrow.disputeOf(job.id);
      expect([dispute.resolved, dispute.ruling]).to.deep.equal([true, BigInt(Ruling.None)]);
      expect((await escrow.jobOf(job.id)).status).to.equal(status);
    });

    it(`comes no later when the wallet joins (${from})`, async () => {
      const world = await freshWorld();
      const job = await enter(world);
      await nextBlockAt(job.ruleFrom - 1);
      await sendJoin(world, job);
      await expect(sendExpire(world, job)).to.emit(world.escrow, "DisputeResolved");
    });
  }

  it("ends a dispute one vote short of a ruling: the vote counts for nothing", async () => {
    const world = await freshWorld();
    const job = await disputedJob(world);
    await waitForVotes(world, job);
    await sendVote(world, job, Ruling.WorkerAtFault);
    await sendExpire(world, job);
    expect((await world.registry.workerAt(world.worker.id)).stake).to.equal(1_000_000_000n);
    await expectRevert(sendVote(world, job, Ruling.WorkerAtFault, world.arbiters[1]), "Panel_NotOpen", job.id);
  });
});
