/** Two Completions of one worker for one job: a slash without a vote. What it tells. */

import { expect } from "chai";
import { answerHash } from "../../../protocol/answer-hash.ts";
import { DAY, nextBlockAt, now } from "../support/chain.ts";
import {
  acknowledgedJob,
  disputedProvenJob,
  FEE_UNITS,
  OTHER_HASH,
  provenJob,
  Ruling,
  sendEquivocation,
  settledJob,
} from "../support/disputes.ts";
import { expectRevert } from "../support/expect.ts";
import { freshWorld, rich } from "../support/fresh.ts";
import { CLIENT_CREDITS, OPERATOR, RESERVE_CREDITS } from "../support/world.ts";

const [SETTLED, REFUNDED] = [4n, 6n];

describe("Equivocation", () => {
  it("of a settled job slashes, gives the client the protocol's fee back and a day to dispute the charge", async () => {
    const { world, escrow, registry, client, worker } = await rich(freshWorld());
    const job = await settledJob(world);
    const at = (await now()) + 100;
    await nextBlockAt(at);
    const shown = sendEquivocation(world, job);
    await expect(shown)
      .to.emit(escrow, "WorkerEquivocated")
      .withArgs(job.id, worker.key.address, answerHash("an answer"), OTHER_HASH, SETTLED, at + DAY);
    await expect(shown)
      .to.emit(escrow, "Compensated")
      .withArgs(job.id, client.address, client.address, FEE_UNITS, 0, CLIENT_CREDITS - 54, 0);
    await expect(shown).not.to.emit(escrow, "DisputeResolved");
    expect(await registry.slashOf(job.id)).to.deep.equal([BigInt(worker.id), true]);
    const { status, lockedAt, deadline } = await escrow.jobOf(job.id);
    expect([status, lockedAt + deadline]).to.deep.equal([SETTLED, BigInt(at + DAY)]);
    expect((await escrow.disputeOf(job.id)).openedAt).to.equal(0);
    await expectRevert(sendEquivocation(world, job), "Registry_AlreadySlashed");
  });

  for (const [name, enter] of [
    ["acknowledged", (world) => acknowledgedJob(world)],
    ["proven", (world) => provenJob(world)],
  ] as [string, typeof acknowledgedJob][]) {
    it(`of a job that is ${name} returns the escrow`, async () => {
      const { world, escrow, client, worker } = await rich(freshWorld());
      const job = await enter(world);
      const shown = sendEquivocation(world, job);
      await expect(shown)
        .to.emit(escrow, "WorkerEquivocated")
        .withArgs(job.id, worker.key.address, answerHash("an answer"), OTHER_HASH, REFUNDED, 0);
      await expect(shown).to.emit(escrow, "JobRefunded").withArgs(job.id, client.address, 80, CLIENT_CREDITS, 0);
      await expect(shown).not.to.emit(escrow, "Compensated");
    });
  }

  it("of a disputed job whose escrow is held ends the dispute, before anybody could rule", async () => {
    const { world, escrow, client, worker } = await rich(freshWorld());
    const job = await disputedProvenJob(world);
    const shown = sendEquivocation(world, job);
    await expect(shown)
      .to.emit(escrow, "WorkerEquivocated")
      .withArgs(job.id, worker.key.address, answerHash("an answer"), OTHER_HASH, REFUNDED, 0);
    await expect(shown)
      .to.emit(escrow, "DisputeResolved")
      .withArgs(job.id, client.address, Ruling.WorkerAtFault, REFUNDED, 80, CLIENT_CREDITS, 0);
    await expect(shown).to.emit(escrow, "ReserveChanged").withArgs(OPERATOR, job.id, 5, RESERVE_CREDITS, 0);
    await expect(shown).not.to.emit(escrow, "Compensated");
  });
});
