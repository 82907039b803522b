/** Who the arbiters are: sets, their quorum, and that a dispute keeps the set of its opening. */

import { expect } from "chai";
import { someAddress } from "../support/actors.ts";
import { ethers } from "../support/chain.ts";
import {
  disputedJob,
  Ruling,
  sendDispute,
  sendEquivocation,
  sendRuling,
  sendVote,
  waitForVotes,
} from "../support/disputes.ts";
import { expectRevert } from "../support/expect.ts";
import { freshBare, freshWorld } from "../support/fresh.ts";
import type { World } from "../support/world.ts";

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

  it("is pinned to the disputes opened under it: later arbiters have no vote on them, earlier ones keep theirs", async () => {
    const { world, panel, escrow, arbiters, others } = await freshWorld();
    const old = await disputed(world);
    await waitForVotes(world, old);
    await sendVote(world, old, Ruling.GatewayAtFault, arbiters[0]);
    const successor = others[0];
    if (successor === undefined) throw new Error("too few accounts");
    await panel.setArbiters([successor.address], 1);
    const young = await disputed(world);
    expect([(await escrow.disputeOf(old.id)).arbiterSet, (await escrow.disputeOf(young.id)).arbiterSet]).to.deep.equal([
      1n,
      2n,
    ]);

    await expect(sendVote(world, old, Ruling.Rejected, successor))
      .to.be.revertedWithCustomError(panel, "Panel_NotAnArbiter")
      .withArgs(old.id, successor.address);
    await expect(sendVote(world, young, Ruling.Rejected, arbiters[0]))
      .to.be.revertedWithCustomError(panel, "Panel_NotAnArbiter")
      .withArgs(young.id, arbiters[0]?.address);

    // The old quorum of two holds for the old dispute, the new one of one for the new.
    expect((await escrow.jobOf(old.id)).status).to.equal(7);
    await expect(sendVote(world, old, Ruling.GatewayAtFault, arbiters[1])).to.emit(escrow, "DisputeResolved");
    await waitForVotes(world, young);
    await expect(sendVote(world, young, Ruling.Rejected, successor)).to.emit(escrow, "DisputeResolved");
  });

  it("is of each dispute's own opening, also of a second one of the same job after an equivocation", async () => {
    const { world, panel, escrow, arbiters, others, client } = await freshWorld();
    const job = await disputed(world);
    await sendRuling(world, job, Ruling.Rejected);
    const successor = others[0];
    if (successor === undefined) throw new Error("too few accounts");
    await panel.setArbiters([successor.address], 1);
    await sendEquivocation(world, job);
    await sendDispute(world, job, { by: client });
    expect((await escrow.disputeOf(job.id)).arbiterSet).to.equal(2);
    await expect(sendVote(world, job, Ruling.WorkerAtFault, arbiters[2]))
      .to.be.revertedWithCustomError(panel, "Panel_NotAnArbiter")
      .withArgs(job.id, arbiters[2]?.address);
    await expect(sendVote(world, job, Ruling.WorkerAtFault, successor)).to.emit(escrow, "DisputeResolved");
  });

  it("can contain an old arbiter again, who votes once on each dispute", async () => {
    const { world, panel, arbiters } = await freshWorld();
    const job = await disputedJob(world, { by: world.client });
    await sendVote(world, job, Ruling.Rejected, arbiters[0]);
    await panel.setArbiters(
      arbiters.map(({ address }) => address),
      3,
    );
    await expectRevert(sendVote(world, job, Ruling.Rejected, arbiters[0]), "Panel_AlreadyVoted");
    const next = await disputedJob(world, { by: world.client });
    await sendVote(world, next, Ruling.Rejected, arbiters[0]);
    await sendVote(world, next, Ruling.Rejected, arbiters[1]);
    expect((await world.escrow.jobOf(next.id)).status).to.equal(7);
    await expect(sendVote(world, next, Ruling.Rejected, arbiters[2])).to.emit(world.escrow, "DisputeResolved");
  });
});

describe("The panel's escrow", () => {
  it("is named once and never the zero address", async () => {
    const { panel, escrow, owner } = await freshBare();
    const address = await escrow.getAddress();
    expect(await panel.escrow()).to.equal(address);
    await expectRevert(panel.setEscrow(address), "Panel_InvalidEscrow", address);
    const fresh = await ethers.deployContract("ArbitrationPanel", [owner, people(1), 1]);
    await expectRevert(fresh.setEscrow(ethers.ZeroAddress), "Panel_InvalidEscrow", ethers.ZeroAddress);
    await expect(fresh.setEscrow(address)).to.emit(fresh, "EscrowSet").withArgs(address);
    expect(await fresh.escrow()).to.equal(address);
  });
});
