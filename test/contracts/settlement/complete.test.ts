import { expect } from "chai";
import { answerHash } from "../../../protocol/answer-hash.ts";
import { ethers, nextBlockAt } from "../support/chain.ts";
import { freshWorld } from "../support/fresh.ts";
import {
  acknowledgedJob,
  lockJob,
  provenJob,
  sendComplete,
  sendProof,
  settledValues,
  storedJob,
} from "../support/jobs.ts";
import { CLIENT_CREDITS } from "../support/world.ts";

const CHARGED = 60n;
const FEE = CHARGED * 1_000n;
const PAID = CHARGED * 10_000n - FEE;

describe("complete", () => {
  it("settles a locked job in one call: acknowledgement, charge, payouts, change", async () => {
    const world = await freshWorld();
    const { escrow, token, treasury, worker } = world;
    const job = await lockJob(world);
    await nextBlockAt(job.lockedAt + 7);
    const completing = sendComplete(world, job, { attempt: 3 });
    await expect(completing).to.emit(escrow, "JobAcknowledged").withArgs(job.id, worker.key.address, 3);
    await expect(completing)
      .to.emit(escrow, "JobSettled")
      .withArgs(...settledValues(world, job));
    await expect(completing).to.changeTokenBalances(
      ethers,
      token,
      [escrow, worker.payout, treasury],
      [-PAID - FEE, PAID, FEE],
    );
    await expect(completing)
      .to.emit(token, "Transfer")
      .withArgs(await escrow.getAddress(), worker.payout, PAID);
    await expect(completing)
      .to.emit(token, "Transfer")
      .withArgs(await escrow.getAddress(), await treasury.getAddress(), FEE);
    expect(await escrow.liabilities()).to.deep.equal([BigInt(CLIENT_CREDITS) - CHARGED, 0n]);
    // Disputable for 60 s and 30 s of inclusion from the settlement.
    expect(await storedJob(world, job.id)).to.include({
      status: 4n,
      worker: BigInt(worker.id),
      attempt: 3n,
      credits: CHARGED,
      deadline: 97n,
    });
  });

  it("settles an acknowledged job without a second acknowledgement", async () => {
    const world = await freshWorld();
    const job = await acknowledgedJob(world);
    const completing = sendComplete(world, job);
    await expect(completing).to.emit(world.escrow, "JobSettled");
    await expect(completing).not.to.emit(world.escrow, "JobAcknowledged");
  });

  it("settles a proven job with the proven Completion at once", async () => {
    const world = await freshWorld();
    const { escrow, token, worker } = world;
    const job = await provenJob(world);
    await expect(sendComplete(world, job)).to.changeTokenBalance(ethers, token, worker.payout, PAID);
    expect((await escrow.jobOf(job.id)).status).to.equal(4);
  });

  it("does not settle a proven job with another Completion of its worker", async () => {
    const world = await freshWorld();
    const job = await provenJob(world);
    for (const other of [
      { proofHash: answerHash("another") },
      { completionTokens: 1 },
      { promptTokens: 13 },
      { completedAt: job.lockedAt + 2 },
    ]) {
      await expect(sendComplete(world, job, other))
        .to.be.revertedWithCustomError(world.escrow, "Settlement_OtherCompletion")
        .withArgs(job.id);
    }
  });

  it("does not let a higher attempt take a proven job", async () => {
    const world = await freshWorld();
    const job = await provenJob(world);
    for (const worker of [world.worker, world.rival]) {
      await expect(sendComplete(world, job, { worker, attempt: 2 }))
        .to.be.revertedWithCustomError(world.escrow, "Job_WrongState")
        .withArgs(job.id, 3);
    }
  });

  it("lets a higher attempt replace the acknowledged worker, who can then get nothing", async () => {
    const world = await freshWorld();
    const { escrow, token, worker, rival } = world;
    const job = await acknowledgedJob(world);
    await expect(sendComplete(world, job, { worker: rival, attempt: 2 })).to.changeTokenBalances(
      ethers,
      token,
      [worker.payout, rival.payout],
      [0n, PAID],
    );
    await expect(sendComplete(world, job, { worker }))
      .to.be.revertedWithCustomError(escrow, "Job_NotTheWorker")
      .withArgs(job.id, worker.key.address);
    await expect(sendProof(world, job, { worker }))
      .to.be.revertedWithCustomError(escrow, "Job_WrongState")
      .withArgs(job.id, 4);
  });

  it("does not pay the worker of a lower or equal attempt for another's job", async () => {
    const world = await freshWorld();
    const job = await acknowledgedJob(world, { attempt: 2 });
    for (const attempt of [0, 1, 2]) {
      await expect(sendComplete(world, job, { worker: world.rival, attempt }))
        .to.be.revertedWithCustomError(world.escrow, "Job_NotTheWorker")
        .withArgs(job.id, world.rival.key.address);
    }
  });

  it("takes attempt 0 for no attempt", async () => {
    const world = await freshWorld();
    const job = await lockJob(world);
    await expect(sendComplete(world, job, { attempt: 0 }))
      .to.be.revertedWithCustomError(world.escrow, "Job_AttemptTaken")
      .withArgs(job.id, 0, 0);
  });

  it("is a no-op when repeated, and pays nobody twice", async () => {
    const world = await freshWorld();
    const { escrow, token, worker } = world;
    const job = await lockJob(world);
    await sendComplete(world, job);
    const before = await storedJob(world, job.id);
    await nextBlockAt(job.lockedAt + 1_000);
    const again = sendComplete(world, job);
    await expect(again).not.to.emit(escrow, "JobSettled");
    await expect(again).to.changeTokenBalance(ethers, token, worker.payout, 0);
    expect(await storedJob(world, job.id)).to.deep.equal(before);
  });
});
