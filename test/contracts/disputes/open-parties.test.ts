/** Who may open a dispute, what it costs, and what is written down about it. */
import { expect } from "chai";
import { nextBlockAt, now } from "../support/chain.ts";
import { ARBITRATION, BOND, OTHER_HASH, sendDispute, settledJob, storedDispute } from "../support/disputes.ts";
import { expectRevert } from "../support/expect.ts";
import { freshWorld } from "../support/fresh.ts";
import { PROOF_HASH, provenJob } from "../support/jobs.ts";
import { buyCredits, CLIENT_CREDITS, OPERATOR, RESERVE_CREDITS, type World } from "../support/world.ts";

/** With the end of the job's own window, which a dispute by the operator waits for. */
const settled = async (world: World) => {
  const job = await settledJob(world);
  return { ...job, windowEnd: job.settledAt + 90 };
};
const proven = async (world: World) => {
  const job = await provenJob(world);
  return { ...job, windowEnd: job.finalizeFrom };
};

const origins = [
  // 60 credits charged; or 80 in escrow, of which the proof charges 60: the bond of the operator.
  { from: "Settled", enter: settled, free: CLIENT_CREDITS - 60, escrowed: 0, operatorBond: 0, counted: 1 },
  { from: "Proven", enter: proven, free: CLIENT_CREDITS - 80, escrowed: 80, operatorBond: 60, counted: 0 },
] as const;

for (const { from, enter, free, escrowed, operatorBond, counted } of origins) {
  describe(`openDispute from ${from}`, () => {
    it(`by a signer of its operator costs the wallet nothing, and the operator ${operatorBond || "no"} credits as a bond`, async () => {
      const { world, escrow, client, worker } = await freshWorld();
      const job = await enter(world);
      const at = (await now()) + 5;
      await nextBlockAt(at);
      const told = [job.id, client.address, worker.key.address, OTHER_HASH, PROOF_HASH] as const;
      const opening = sendDispute(world, job);
      await expect(opening)
        .to.emit(escrow, "JobDisputed")
        .withArgs(...told, true, 60, operatorBond, 1, job.windowEnd, at + ARBITRATION, free, escrowed);
      if (operatorBond === 0) await expect(opening).not.to.emit(escrow, "ReserveChanged");
      else {
        await expect(opening)
          .to.emit(escrow, "ReserveChanged")
          .withArgs(OPERATOR, job.id, 4, RESERVE_CREDITS - operatorBond, operatorBond);
      }
      expect(await storedDispute(world, job)).to.deep.equal({
        openedAt: BigInt(at),
        ruleFrom: BigInt(job.windowEnd),
        arbiterSet: 1n,
        bond: BigInt(operatorBond),
        byOperator: true,
        fromProven: from === "Proven",
        joined: false,
        afterEquivocation: false,
        resolved: false,
        ruling: 0n,
      });
      const { status, lockedAt, deadline } = await escrow.jobOf(job.id);
      expect([status, lockedAt + deadline]).to.deep.equal([7n, BigInt(at + ARBITRATION)]);
      expect((await escrow.accountOf(client.address)).openDisputes).to.equal(counted);
      const { reserve, held } = await escrow.operatorOf(OPERATOR);
      expect([reserve, held]).to.deep.equal([BigInt(RESERVE_CREDITS - operatorBond), BigInt(operatorBond)]);
    });

    it("by the wallet itself puts up its bond, does not count, and can be ruled at once", async () => {
      const { world, escrow, client, worker } = await freshWorld();
      const job = await enter(world);
      const at = (await now()) + 5;
      await nextBlockAt(at);
      const told = [job.id, client.address, worker.key.address, OTHER_HASH, PROOF_HASH] as const;
      const opening = sendDispute(world, job, { by: client });
      await expect(opening)
        .to.emit(escrow, "JobDisputed")
        .withArgs(...told, false, 60, BOND, 1, at, at + ARBITRATION, free - BOND, escrowed + BOND);
      await expect(opening).not.to.emit(escrow, "ReserveChanged");
      const dispute = await escrow.disputeOf(job.id);
      expect([dispute.bond, dispute.byOperator]).to.deep.equal([BigInt(BOND), false]);
      const { openDisputes, spentToday } = await escrow.accountOf(client.address);
      // A bond is no spending: the day's count is the job's alone.
      expect([openDisputes, spentToday]).to.deep.equal([0n, from === "Settled" ? 60n : 80n]);
    });

    it("is any signer's in office of the operator that locked the job", async () => {
      const world = await freshWorld();
      const job = await enter(world);
      await expect(sendDispute(world, job, { by: world.secondGateway })).to.emit(world.escrow, "JobDisputed");
    });

    it("is nobody else's: no stranger, other wallet, other operator, admin, removed signer, worker's owner, arbiter, guardian or owner", async () => {
      const world = await freshWorld();
      const { escrow, stranger, otherGateway, secondGateway, operatorAdmin, workerOwner, arbiters, guardian, owner } =
        world;
      await buyCredits(world, stranger, 1_000);
      const job = await enter(world);
      await escrow.connect(operatorAdmin).rotateSigners(OPERATOR, [], [], [secondGateway.address]);
      const others = [stranger, otherGateway, secondGateway, operatorAdmin, workerOwner, guardian, owner, ...arbiters];
      for (const by of others)
        await expectRevert(sendDispute(world, job, { by }), "Dispute_NotAParty", job.id, by.address);
    });
  });
}
