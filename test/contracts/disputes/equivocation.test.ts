/** Two Completions of one worker for one job: a slash without a vote. What it tells, and who can still be paid. */
import { expect } from "chai";
import { answerHash } from "../../../protocol/answer-hash.ts";
import {
  acknowledgedJob,
  CHARGE_UNITS,
  disputedJob,
  OTHER_HASH,
  provenJob,
  sendEquivocation,
  settledJob,
} from "../support/disputes.ts";
import { freshWorld } from "../support/fresh.ts";
import { sendAcknowledge, sendComplete, sendProof } from "../support/jobs.ts";
import { CLIENT_CREDITS } from "../support/world.ts";

const [LOCKED, SETTLED, REFUNDED] = [1n, 4n, 6n];

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
});
