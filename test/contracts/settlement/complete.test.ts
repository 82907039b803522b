import { expect } from "chai";
import { answerHash } from "../../../protocol/answer-hash.ts";
import { nextBlockAt } from "../support/chain.ts";
import { expectRevert, expectTokens } from "../support/expect.ts";
import { freshWorld } from "../support/fresh.ts";
import { lockJob, otherFields, provenJob, sendComplete, settledValues, storedJob } from "../support/jobs.ts";
import { CLIENT_CREDITS, RESERVE_CREDITS } from "../support/world.ts";

const CHARGED = 60n;
const FEE = CHARGED * 1_000n;
const PAID = CHARGED * 10_000n - FEE;

describe("complete", () => {
  it("settles a locked job in one call and one event: worker, charge, payouts, change", async () => {
    const { world, escrow, token, treasury, worker } = await freshWorld();
    const job = await lockJob(world);
    await nextBlockAt(job.lockedAt + 7);
    const completing = sendComplete(world, job);
    const address = await escrow.getAddress();
    const told = (await (await completing).wait())?.logs.filter((log) => log.address === address);
    expect(told?.map((log) => escrow.interface.parseLog(log)?.name)).to.deep.equal(["JobSettled"]);
    await expect(completing)
      .to.emit(escrow, "JobSettled")
      .withArgs(...(await settledValues(world, job)));
    await expectTokens(completing, token, [escrow, worker.payout, treasury], [-PAID - FEE, PAID, FEE]);
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

  it("does not settle a proven job with another Completion of its worker", async () => {
    const world = await freshWorld();
    const job = await provenJob(world);
    for (const other of otherFields(job))
      await expectRevert(sendComplete(world, job, other), "Settlement_OtherCompletion", job.id);
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
