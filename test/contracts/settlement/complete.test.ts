import { expect } from "chai";
import { ethers, nextBlockAt } from "../support/chain.ts";
import { freshWorld } from "../support/fresh.ts";
import { acknowledgedJob, completionOf, lockJob, PROOF_HASH, provenJob, sendAcknowledge, sendComplete, sendProof, storedJob } from "../support/jobs.ts";
import { answerHash } from "../../../protocol/answer-hash.ts";
import { signCompletion } from "../support/sign.ts";
import { CLIENT_CREDITS, registerWorker } from "../support/world.ts";

const CHARGED = 60n;
const FEE = CHARGED * 1_000n;
const PAID = CHARGED * 10_000n - FEE;

describe("complete", () => {
  it("settles a locked job in one call: acknowledgement, charge, payouts, change", async () => {
    const world = await freshWorld();
    const { escrow, token, treasury, worker, client } = world;
    const job = await lockJob(world);
    await nextBlockAt(job.lockedAt + 7);
    const completing = sendComplete(world, job, { attempt: 3 });
    await expect(completing).to.emit(escrow, "JobAcknowledged").withArgs(job.id, worker.key.address, 3);
    await expect(completing)
      .to.emit(escrow, "JobSettled")
      .withArgs(job.id, client.address, worker.key.address, PROOF_HASH, 12, 3_000, 3_000, 60, 20, PAID, FEE, CLIENT_CREDITS - 60, 0);
    await expect(completing).to.changeTokenBalances(ethers, token, [escrow, worker.payout, treasury], [-PAID - FEE, PAID, FEE]);
    await expect(completing).to.emit(token, "Transfer").withArgs(await escrow.getAddress(), worker.payout, PAID);
    await expect(completing).to.emit(token, "Transfer").withArgs(await escrow.getAddress(), await treasury.getAddress(), FEE);
    expect(await escrow.liabilities()).to.deep.equal([BigInt(CLIENT_CREDITS) - CHARGED, 0n]);
    // Disputable for 60 s and 30 s of inclusion from the settlement.
    expect(await storedJob(world, job.id)).to.include({ status: 4n, worker: BigInt(worker.id), attempt: 3n, credits: CHARGED, deadline: 97n });
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
    for (const other of [{ proofHash: answerHash("another") }, { completionTokens: 1 }, { promptTokens: 13 }, { completedAt: job.lockedAt + 2 }]) {
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
    await expect(sendComplete(world, job, { worker: rival, attempt: 2 })).to.changeTokenBalances(ethers, token, [worker.payout, rival.payout], [0n, PAID]);
    await expect(sendComplete(world, job, { worker })).to.be.revertedWithCustomError(escrow, "Job_NotTheWorker").withArgs(job.id, worker.key.address);
    await expect(sendProof(world, job, { worker })).to.be.revertedWithCustomError(escrow, "Job_WrongState").withArgs(job.id, 4);
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
    await expect(sendComplete(world, job, { attempt: 0 })).to.be.revertedWithCustomError(world.escrow, "Job_AttemptTaken").withArgs(job.id, 0, 0);
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

  it("is its gateway's alone", async () => {
    const world = await freshWorld();
    const { otherGateway, stranger, client, owner } = world;
    const job = await lockJob(world);
    for (const gateway of [otherGateway, stranger, client, owner]) {
      await expect(sendComplete(world, job, { gateway }))
        .to.be.revertedWithCustomError(world.escrow, "Job_NotItsGateway")
        .withArgs(job.id, gateway.address);
    }
  });

  it("verifies the signed hash: another hash than the worker's is another signer", async () => {
    const world = await freshWorld();
    const { escrow, worker } = world;
    const job = await acknowledgedJob(world);
    const signature = await signCompletion(escrow, worker.key, completionOf(job));
    for (const changed of [{ proofHash: answerHash("another") }, { promptTokens: 13 }, { completionTokens: 2_999 }, { completedAt: job.lockedAt }]) {
      await expect(sendComplete(world, job, { ...changed, signature })).to.be.revertedWithCustomError(escrow, "Job_NotTheWorker");
    }
    const open = await lockJob(world);
    const stolen = await signCompletion(escrow, worker.key, completionOf(open));
    await expect(sendComplete(world, open, { proofHash: answerHash("another"), signature: stolen })).to.be.revertedWithCustomError(escrow, "Job_WorkerNotEligible");
  });

  it("charges the lesser of the worker's and the gateway's count", async () => {
    const world = await freshWorld();
    const { escrow } = world;
    const cases = [[3_000, 700, 700, 40], [700, 3_000, 700, 40], [3_000, 2_999, 2_999, 60], [4_000, 4_000, 4_000, 80]] as const;
    for (const [completionTokens, countedTokens, billed, credits] of cases) {
      const job = await lockJob(world);
      const settled = (await (await sendComplete(world, job, { completionTokens, countedTokens })).wait())?.logs.map((log) => escrow.interface.parseLog(log)).find((log) => log?.name === "JobSettled");
      expect([settled?.args.completionTokens, settled?.args.billedTokens, settled?.args.credits, settled?.args.returned]).to.deep.equal(
        [completionTokens, billed, credits, 80 - credits].map(BigInt),
      );
    }
  });

  it("never charges more than the lock, whatever was signed", async () => {
    const world = await freshWorld();
    const { escrow, token, worker } = world;
    const job = await lockJob(world);
    const completing = sendComplete(world, job, { completionTokens: 4_294_967_295, countedTokens: 4_294_967_295 });
    await expect(completing).to.changeTokenBalance(ethers, token, worker.payout, 80n * 9_000n);
    expect((await escrow.accountOf(world.client.address)).escrowed).to.equal(0);
  });

  it("checks the wallet it is told", async () => {
    const world = await freshWorld();
    const { escrow, stranger, token, otherGateway } = world;
    const job = await lockJob(world);
    await expect(sendComplete(world, job, { wallet: stranger.address })).to.be.revertedWithCustomError(escrow, "Ledger_UnknownAccount").withArgs(stranger.address);
    await token.mint(otherGateway.address, 1_000_000n);
    await token.connect(otherGateway).approve(escrow, 1_000_000n);
    await escrow.connect(otherGateway).deposit(100);
    await expect(sendComplete(world, job, { wallet: otherGateway.address }))
      .to.be.revertedWithCustomError(escrow, "Settlement_WrongWallet")
      .withArgs(job.id, otherGateway.address);
  });

  it("from Locked needs an eligible worker; from Acknowledged one that has unbonded is still paid", async () => {
    const world = await freshWorld();
    const { escrow, registry, workerOwner, worker } = world;
    const foreign = await registerWorker(world, "hosts nothing", { models: [] });
    const job = await lockJob(world);
    await expect(sendComplete(world, job, { worker: foreign })).to.be.revertedWithCustomError(escrow, "Job_WorkerNotEligible").withArgs(foreign.key.address, 1);
    const taken = await lockJob(world);
    await sendAcknowledge(world, taken);
    await registry.connect(workerOwner).startUnbonding(worker.key.address);
    await expect(sendComplete(world, job)).to.be.revertedWithCustomError(escrow, "Job_WorkerNotEligible");
    await sendComplete(world, taken);
    expect((await escrow.jobOf(taken.id)).status).to.equal(4);
  });

  it("works while paused and by a gateway without the right to lock", async () => {
    const world = await freshWorld();
    const { escrow, guardian, gateway } = world;
    const job = await lockJob(world);
    await escrow.connect(guardian).setPaused(true);
    await escrow.connect(guardian).setGatewayLocking(gateway.address, false);
    await sendComplete(world, job);
    expect((await escrow.jobOf(job.id)).status).to.equal(4);
  });
});
