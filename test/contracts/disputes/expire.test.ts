/** Silence of the arbiters: anyone ends the dispute after 24 hours, and it costs the protocol. */
import { expect } from "chai";
import { nextBlockAt } from "../support/chain.ts";
import {
  ARBITRATION,
  disputedJob,
  disputedProvenJob,
  Ruling,
  sendExpire,
  sendJoin,
  sendVote,
  waitForVotes,
} from "../support/disputes.ts";
import { expectRevert } from "../support/expect.ts";
import { freshWorld } from "../support/fresh.ts";
import { CLIENT_CREDITS } from "../support/world.ts";

describe("expire", () => {
  for (const [from, enter, status, free, returned] of [
    ["settled", disputedJob, 4, CLIENT_CREDITS - 60, 0],
    ["proven", disputedProvenJob, 6, CLIENT_CREDITS, 80],
  ] as const) {
    it(`ends the dispute of a ${from} job from 24:00:00 on, not a second sooner, for any stranger`, async () => {
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
