import { expect } from "chai";
import { answerHash } from "../../../protocol/answer-hash.ts";
import { ethers, nextBlockAt } from "../support/chain.ts";
import { freshWorld } from "../support/fresh.ts";
import {
  acknowledgedJob,
  lockJob,
  provenJob,
  sendAcknowledge,
  sendComplete,
  sendProof,
  settledValues,
  storedJob,
} from "../support/jobs.ts";
import { CLIENT_CREDITS, RESERVE_CREDITS } from "../support/world.ts";

const CHARGED = 60n;
const FEE = CHARGED * 1_000n;
const PAID = CHARGED * 10_000n - FEE;

describe("complete", () => {
  it("settles a locked job in one call and one event: worker, charge, payouts, change", async () => {
    const world = await freshWorld();
    const { escrow, token, treasury, worker } = world;
    const job = await lockJob(world);
    await nextBlockAt(job.lockedAt + 7);
    const completing = sendComplete(world, job);
    const address = await escrow.getAddress();
    const told = (await (await completing).wait())?.logs.filter((log) => log.address === address);
    expect(told?.map((log) => escrow.interface.parseLog(log)?.name)).to.deep.equal(["JobSettled"]);
    await expect(completing)
      .to.emit(escrow, "JobSettled")
      .withArgs(...(await settledValues(world, job)));
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
    expect(await escrow.liabilities()).to.deep.equal([BigInt(RESERVE_CREDITS + CLIENT_CREDITS) - CHARGED, 0n]);
    // Disputable for 60 s and 30 s of inclusion from the settlement.
    expect(await storedJob(world, job.id)).to.include({
      status: 4n,
      worker: BigInt(worker.id),
      attempt: 1n,
      credits: CHARGED,
      deadline: 97n,
    });
  });

  it("is any signer's of the operator", async () => {
    const world = await freshWorld();
    const job = await lockJob(world);
    await sendComplete(world, job, { gateway: world.secondGateway });
    expect((await world.escrow.jobOf(job.id)).status).to.equal(4);
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

  it("replaces no worker: of an acknowledged or proven job the recorded one is paid", async () => {
    const world = await freshWorld();
    const { escrow, rival } = world;
    for (const job of [await acknowledgedJob(world), await provenJob(world)]) {
      await expect(sendComplete(world, job, { worker: rival }))
        .to.be.revertedWithCustomError(escrow, "Job_NotTheWorker")
        .withArgs(job.id, rival.key.address);
    }
  });

  it("pays the worker of a later attempt once its acknowledgement is mined; the replaced one gets nothing", async () => {
    const world = await freshWorld();
    const { escrow, token, worker, rival } = world;
    const job = await acknowledgedJob(world);
    await sendAcknowledge(world, job, { worker: rival, attempt: 2 });
    await expect(sendComplete(world, job, { worker }))
      .to.be.revertedWithCustomError(escrow, "Job_NotTheWorker")
      .withArgs(job.id, worker.key.address);
    await expect(sendComplete(world, job, { worker: rival })).to.changeTokenBalances(
      ethers,
      token,
      [worker.payout, rival.payout],
      [0n, PAID],
    );
    await expect(sendProof(world, job, { worker }))
      .to.be.revertedWithCustomError(escrow, "Job_WrongState")
      .withArgs(job.id, 4);
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

  it("is a no-op for its worker's word alone: another worker's is refused", async () => {
    const world = await freshWorld();
    const job = await lockJob(world);
    await sendComplete(world, job);
    await expect(sendComplete(world, job, { proofHash: answerHash("another") })).not.to.emit(
      world.escrow,
      "JobSettled",
    );
    await expect(sendComplete(world, job, { worker: world.rival }))
      .to.be.revertedWithCustomError(world.escrow, "Job_NotTheWorker")
      .withArgs(job.id, world.rival.key.address);
  });
});
