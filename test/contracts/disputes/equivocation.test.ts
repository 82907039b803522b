/** Two Completions of one worker for one job: a slash without a vote, from every state. */
import { expect } from "chai";
import { answerHash } from "../../../protocol/answer-hash.ts";
import { nextBlockAt } from "../support/chain.ts";
import {
  acknowledgedJob,
  CHARGE_UNITS,
  disputedJob,
  FEE_UNITS,
  OTHER_HASH,
  provenJob,
  sendEquivocation,
  sendExpire,
  settledJob,
} from "../support/disputes.ts";
import { freshWorld } from "../support/fresh.ts";
import { lockJob, sendAcknowledge, sendComplete, sendProof } from "../support/jobs.ts";
import { CLIENT_CREDITS } from "../support/world.ts";

const DAY = 86_400;
const [LOCKED, SETTLED, FAILED, REFUNDED] = [1n, 4n, 5n, 6n];

async function richWorld() {
  const world = await freshWorld();
  await world.token.mint(world.treasury, 10_000_000n);
  return world;
}

describe("Equivocation", () => {
  it("of a settled job slashes and makes the client whole", async () => {
    const world = await richWorld();
    const { escrow, registry, client, worker } = world;
    const job = await settledJob(world);
    const shown = sendEquivocation(world, job);
    await expect(shown)
      .to.emit(escrow, "WorkerEquivocated")
      .withArgs(job.id, worker.key.address, answerHash("an answer"), OTHER_HASH, REFUNDED);
    await expect(shown)
      .to.emit(escrow, "Compensated")
      .withArgs(job.id, client.address, client.address, CHARGE_UNITS, 0, CLIENT_CREDITS, 0);
    expect(await registry.slashOf(job.id)).to.deep.equal([BigInt(worker.id), true]);
    expect((await escrow.jobOf(job.id)).status).to.equal(REFUNDED);
    await expect(sendEquivocation(world, job)).to.be.revertedWithCustomError(registry, "Registry_AlreadySlashed");
  });

  it("of a proven job returns the escrow", async () => {
    const world = await richWorld();
    const { escrow, client } = world;
    const job = await provenJob(world);
    const shown = sendEquivocation(world, job);
    await expect(shown).to.emit(escrow, "JobRefunded").withArgs(job.id, client.address, 80, CLIENT_CREDITS, 0);
    await expect(shown).not.to.emit(escrow, "Compensated");
  });

  it("of a disputed job ends the dispute", async () => {
    const world = await richWorld();
    const { escrow, client } = world;
    const job = await disputedJob(world, { by: client });
    await expect(sendEquivocation(world, job))
      .to.emit(escrow, "DisputeResolved")
      .withArgs(job.id, client.address, 1, REFUNDED, 100, CLIENT_CREDITS - 60, 0);
    expect((await escrow.accountOf(client.address)).free).to.equal(CLIENT_CREDITS);
  });

  it("after an expired dispute pays the charge once, the fee being back already", async () => {
    const world = await richWorld();
    const { escrow, client, worker } = world;
    const job = await disputedJob(world, { by: client });
    // The equivocation window runs from the lock: the dispute ends after it, unless the windows are others.
    await expect(sendExpire(world, job)).to.emit(escrow, "Compensated");
    await expect(sendEquivocation(world, job))
      .to.be.revertedWithCustomError(escrow, "Job_TooLate")
      .withArgs(job.id, job.lockedAt + DAY, (t: bigint) => t > 0n);
    void [worker, FEE_UNITS];
  });

  it("of an acknowledged job takes it from the worker, and an honest one under a higher attempt is paid", async () => {
    const world = await richWorld();
    const { escrow, rival, worker } = world;
    const job = await acknowledgedJob(world);
    await expect(sendEquivocation(world, job))
      .to.emit(escrow, "WorkerEquivocated")
      .withArgs(job.id, worker.key.address, answerHash("an answer"), OTHER_HASH, LOCKED);
    const stored = await escrow.jobOf(job.id);
    expect([stored.status, stored.worker, stored.attempt]).to.deep.equal([LOCKED, 0n, 1n]);
    await expect(sendComplete(world, job))
      .to.be.revertedWithCustomError(escrow, "Job_AttemptTaken")
      .withArgs(job.id, 1, 1);
    await expect(sendProof(world, job))
      .to.be.revertedWithCustomError(escrow, "Job_WrongState")
      .withArgs(job.id, LOCKED);
    await expect(sendAcknowledge(world, job))
      .to.be.revertedWithCustomError(escrow, "Job_AttemptTaken")
      .withArgs(job.id, 1, 1);
    await sendAcknowledge(world, job, { worker: rival, attempt: 2 });
    await sendProof(world, job, { worker: rival });
    await sendComplete(world, job, { worker: rival, attempt: 2 });
    expect((await escrow.jobOf(job.id)).status).to.equal(SETTLED);
  });

  it("of a failed job slashes and changes nothing else", async () => {
    const world = await richWorld();
    const { escrow, registry, gateway, client } = world;
    const job = await acknowledgedJob(world);
    await escrow.connect(gateway).fail(job.id, 1);
    const shown = sendEquivocation(world, job);
    await expect(shown).to.emit(registry, "WorkerSlashed");
    await expect(shown).not.to.emit(escrow, "Compensated");
    expect((await escrow.jobOf(job.id)).status).to.equal(FAILED);
    expect((await escrow.accountOf(client.address)).free).to.equal(CLIENT_CREDITS);
  });

  it("is punishable in the last second before lockedAt + 24 h, not a second later", async () => {
    for (const [second, punished] of [
      [DAY - 1, true],
      [DAY, false],
    ] as const) {
      const world = await richWorld();
      const job = await settledJob(world);
      await nextBlockAt(job.lockedAt + second);
      const shown = sendEquivocation(world, job);
      if (punished) await expect(shown).to.emit(world.registry, "WorkerSlashed");
      else
        await expect(shown)
          .to.be.revertedWithCustomError(world.escrow, "Job_TooLate")
          .withArgs(job.id, job.lockedAt + DAY, job.lockedAt + DAY);
    }
  });

  it("needs two different Completions of the job's worker", async () => {
    const world = await richWorld();
    const { escrow, rival } = world;
    const job = await settledJob(world);
    await expect(sendEquivocation(world, job, {}))
      .to.be.revertedWithCustomError(escrow, "Dispute_NoEquivocation")
      .withArgs(job.id);
    const other = await settledJob(world);
    await expect(sendEquivocation(world, job, { jobId: other.id }))
      .to.be.revertedWithCustomError(escrow, "Dispute_NoEquivocation")
      .withArgs(job.id);
    await expect(sendEquivocation(world, job, { proofHash: OTHER_HASH }, rival))
      .to.be.revertedWithCustomError(escrow, "Job_NotTheWorker")
      .withArgs(job.id, rival.key.address);
    await expect(sendEquivocation(world, await lockJob(world))).to.be.revertedWithCustomError(escrow, "Job_WrongState");
    // The same text with another token count is another statement.
    await expect(sendEquivocation(world, job, { completionTokens: 2_999 })).to.emit(escrow, "WorkerEquivocated");
  });
});
