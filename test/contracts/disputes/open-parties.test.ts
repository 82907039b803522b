/** Who may open a dispute, and what is written down about it. */
import { expect } from "chai";
import { nextBlockAt, now } from "../support/chain.ts";
import {
  ARBITRATION,
  BOND,
  OTHER_HASH,
  provenJob,
  sendDispute,
  settledJob,
  storedDispute,
} from "../support/disputes.ts";
import { freshWorld } from "../support/fresh.ts";
import { PROOF_HASH } from "../support/jobs.ts";
import { buyCredits, CLIENT_CREDITS, type World } from "../support/world.ts";

const origins = [
  // 60 credits charged; or 80 in escrow, of which the proof charges 60.
  { from: "Settled", enter: settledJob, free: CLIENT_CREDITS - 60, escrowed: 0 },
  { from: "Proven", enter: (world: World) => provenJob(world), free: CLIENT_CREDITS - 80, escrowed: 80 },
] as const;

for (const { from, enter, free, escrowed } of origins) {
  describe(`openDispute from ${from}`, () => {
    it("by the job's gateway costs the wallet nothing and counts", async () => {
      const world = await freshWorld();
      const { escrow, client, worker } = world;
      const job = await enter(world);
      const at = (await now()) + 5;
      await nextBlockAt(at);
      await expect(sendDispute(world, job))
        .to.emit(escrow, "JobDisputed")
        .withArgs(
          job.id,
          client.address,
          worker.key.address,
          OTHER_HASH,
          PROOF_HASH,
          true,
          60,
          0,
          1,
          at + ARBITRATION,
          free,
          escrowed,
        );
      expect(await storedDispute(world, job)).to.deep.equal({
        openedAt: BigInt(at),
        arbiterSet: 1n,
        bond: 0n,
        byGateway: true,
        fromProven: from === "Proven",
        resolved: false,
        ruling: 0n,
      });
      const { status, lockedAt, deadline } = await escrow.jobOf(job.id);
      expect([status, lockedAt + deadline]).to.deep.equal([7n, BigInt(at + ARBITRATION)]);
      expect((await escrow.accountOf(client.address)).openDisputes).to.equal(1);
    });

    it("by the wallet itself puts up the bond and does not count", async () => {
      const world = await freshWorld();
      const { escrow, client, worker } = world;
      const job = await enter(world);
      const at = (await now()) + 5;
      await nextBlockAt(at);
      await expect(sendDispute(world, job, { by: client }))
        .to.emit(escrow, "JobDisputed")
        .withArgs(
          job.id,
          client.address,
          worker.key.address,
          OTHER_HASH,
          PROOF_HASH,
          false,
          60,
          BOND,
          1,
          at + ARBITRATION,
          free - BOND,
          escrowed + BOND,
        );
      const dispute = await escrow.disputeOf(job.id);
      expect([dispute.bond, dispute.byGateway]).to.deep.equal([BigInt(BOND), false]);
      expect((await escrow.accountOf(client.address)).openDisputes).to.equal(0);
    });

    it("is nobody else's: no stranger, other wallet, other gateway, worker's owner, arbiter, guardian or owner", async () => {
      const world = await freshWorld();
      const { escrow, stranger, otherGateway, workerOwner, arbiters, guardian, owner } = world;
      await buyCredits(world, stranger, 1_000);
      const job = await enter(world);
      for (const by of [stranger, otherGateway, workerOwner, arbiters[0], guardian, owner]) {
        if (by === undefined) throw new Error("no arbiter");
        await expect(sendDispute(world, job, { by }))
          .to.be.revertedWithCustomError(escrow, "Dispute_NotAParty")
          .withArgs(job.id, by.address);
      }
    });

    it("works while paused, by a gateway that may lock no more, for a wallet with nothing left", async () => {
      const world = await freshWorld();
      const { escrow, client, gateway, guardian } = world;
      const job = await enter(world);
      await escrow.connect(client).withdraw((await escrow.accountOf(client.address)).free, client.address);
      await escrow.connect(guardian).setPaused(true);
      await escrow.connect(guardian).setGatewayLocking(gateway.address, false);
      await expect(sendDispute(world, job, { by: client }))
        .to.be.revertedWithCustomError(escrow, "Ledger_InsufficientCredits")
        .withArgs(client.address, 0, BOND);
      await expect(sendDispute(world, job)).to.emit(escrow, "JobDisputed");
    });

    it("works for a wallet that froze its spending and is at its limit, paused or not", async () => {
      const world = await freshWorld();
      const { escrow, client, guardian } = world;
      const job = await enter(world);
      await escrow.connect(client).setLimits(true, 0, true);
      await escrow.connect(guardian).setPaused(true);
      await expect(sendDispute(world, job, { by: client })).to.emit(escrow, "JobDisputed");
      // A bond is no spending: the day's count is the job's alone.
      expect((await escrow.accountOf(client.address)).spentToday).to.equal(from === "Settled" ? 60 : 80);
    });
  });
}
