import { expect } from "chai";
import { answerHash } from "../../../protocol/answer-hash.ts";
import { decodeUsageWord } from "../../../protocol/words.ts";
import { eventsOf } from "../support/events.ts";
import { expectRevert, expectTokens } from "../support/expect.ts";
import { freshWorld } from "../support/fresh.ts";
import { acknowledgedJob, completionOf, lockJob, otherFields, sendAcknowledge, sendComplete } from "../support/jobs.ts";
import { signCompletion } from "../support/sign.ts";
import { provide, registerWorker } from "../support/world.ts";

describe("What complete checks", () => {
  it("is its operator's alone", async () => {
    const { world, otherGateway, operatorAdmin, stranger, client, owner } = await freshWorld();
    const job = await lockJob(world);
    for (const gateway of [otherGateway, operatorAdmin, stranger, client, owner])
      await expectRevert(sendComplete(world, job, { gateway }), "Job_NotItsOperator", job.id, gateway.address);
  });

  it("verifies the signed hash: another hash than the worker's is another signer", async () => {
    const { world, escrow, worker } = await freshWorld();
    const job = await acknowledgedJob(world);
    const signature = await signCompletion(escrow, worker.key, completionOf(job));
    for (const changed of otherFields(job))
      await expectRevert(sendComplete(world, job, { ...changed, signature }), "Job_NotTheWorker");
    const open = await lockJob(world);
    const stolen = await signCompletion(escrow, worker.key, completionOf(open));
    await expect(
      sendComplete(world, open, { proofHash: answerHash("another"), signature: stolen }),
    ).to.be.revertedWithCustomError(escrow, "Job_WorkerNotEligible");
  });

  it("charges the lesser of the worker's and the gateway's count", async () => {
    const { world, escrow } = await freshWorld();
    const cases = [
      [3_000, 700, 700, 40],
      [700, 3_000, 700, 40],
      [3_000, 2_999, 2_999, 60],
      [4_000, 4_000, 4_000, 80],
    ] as const;
    for (const [completionTokens, countedTokens, billed, credits] of cases) {
      const job = await lockJob(world);
      const completing = sendComplete(world, job, { completionTokens, countedTokens });
      const [settled] = await eventsOf(completing, escrow, "JobSettled");
      expect(settled?.args.credits).to.equal(credits);
      expect(decodeUsageWord(settled?.args.usage)).to.include({ completionTokens, billedTokens: billed });
    }
  });

  it("never charges more than the lock, whatever was signed", async () => {
    const { world, escrow, token, worker } = await freshWorld();
    const job = await lockJob(world);
    const completing = sendComplete(world, job, { completionTokens: 4_294_967_295, countedTokens: 4_294_967_295 });
    await expectTokens(completing, token, worker.payout, 80n * 9_000n);
    expect((await escrow.accountOf(world.client.address)).escrowed).to.equal(0);
  });

  it("checks the wallet it is told", async () => {
    const { world, escrow, stranger, otherGateway } = await freshWorld();
    const job = await lockJob(world);
    await expect(sendComplete(world, job, { wallet: stranger.address }))
      .to.be.revertedWithCustomError(escrow, "Settlement_WrongWallet")
      .withArgs(job.id, stranger.address);
    await provide(world, otherGateway, 1_000_000n);
    await escrow.connect(otherGateway).deposit(100, 0);
    await expect(sendComplete(world, job, { wallet: otherGateway.address }))
      .to.be.revertedWithCustomError(escrow, "Settlement_WrongWallet")
      .withArgs(job.id, otherGateway.address);
  });

  it("from Locked needs an eligible worker; from Acknowledged one that has unbonded is still paid", async () => {
    const { world, escrow, registry, workerOwner, worker } = await freshWorld();
    const foreign = await registerWorker(world, "hosts nothing", { models: [] });
    const job = await lockJob(world);
    await expectRevert(sendComplete(world, job, { worker: foreign }), "Job_WorkerNotEligible", foreign.key.address, 1);
    const taken = await lockJob(world);
    await sendAcknowledge(world, taken);
    await registry.connect(workerOwner).startUnbonding(worker.key.address);
    await expectRevert(sendComplete(world, job), "Job_WorkerNotEligible");
    await sendComplete(world, taken);
    expect((await escrow.jobOf(taken.id)).status).to.equal(4);
  });
});
