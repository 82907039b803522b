/** The gateway's settlement, what it checks, and its bounds in time, which the worker's proof has, too. */
import { expect } from "chai";
import { answerHash } from "../../../protocol/answer-hash.ts";
import { decodeUsageWord } from "../../../protocol/words.ts";
import { nextBlockAt, now } from "../support/chain.ts";
import { eventsOf, expectRevert, expectTokens } from "../support/expect.ts";
import { freshWorld } from "../support/fresh.ts";
import {
  acknowledgedJob,
  completionOf,
  type Job,
  lockJob,
  otherFields,
  provenJob,
  sendAcknowledge,
  sendComplete,
  sendProof,
  settledValues,
  storedJob,
} from "../support/jobs.ts";
import { signCompletion } from "../support/sign.ts";
import { CLIENT_CREDITS, MODEL, provide, RESERVE_CREDITS, registerWorker, type World } from "../support/world.ts";

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
    const refused = sendComplete(world, job, { worker: world.rival });
    await expectRevert(refused, "Job_NotTheWorker", job.id, world.rival.key.address);
  });
});

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
    const refused = sendComplete(world, open, { proofHash: answerHash("another"), signature: stolen });
    await expectRevert(refused, "Job_WorkerNotEligible");
  });

  it("charges the lesser of the worker's counts together and the gateway's count", async () => {
    const { world, escrow } = await freshWorld();
    const MOST = 2 ** 32 - 1;
    // Content, reasoning, the gateway's count; what is billed and charged. From 2,001 tokens on the price is above the flat one.
    const cases = [
      [3_000, 0, 700, 700, 40],
      [700, 0, 3_000, 700, 40],
      [3_000, 0, 2_999, 2_999, 60],
      [4_000, 0, 4_000, 4_000, 80],
      // Both sides of the sum.
      [1_000, 2_000, 2_999, 2_999, 60],
      [1_000, 2_000, 3_000, 3_000, 60],
      [1_000, 2_000, 3_001, 3_000, 60],
      // Nothing but reasoning; nothing that the gateway counted.
      [0, 3_001, 4_000, 3_001, 61],
      [1_000, 2_000, 0, 0, 40],
      [0, 0, 4_000, 0, 40],
      // Sums of 33 bits; at 32 bits, they would be 0 and 1.
      [MOST, 1, 2_500, 2_500, 50],
      [2, MOST, 2_500, 2_500, 50],
      [MOST, MOST, MOST, MOST, 80],
      [MOST, 0, MOST, MOST, 80],
      // The lock bounds the charge, not the count.
      [3_000, 1_001, 4_001, 4_001, 80],
    ] as const;
    for (const [completionTokens, reasoningTokens, countedTokens, billedTokens, credits] of cases) {
      const job = await lockJob(world);
      const signed = { completionTokens, reasoningTokens, textBytes: 1 };
      const [settled] = await eventsOf(sendComplete(world, job, { ...signed, countedTokens }), escrow, "JobSettled");
      expect(decodeUsageWord(settled?.args.usage)).to.include({ ...signed, billedTokens });
      expect(settled?.args.credits, `${completionTokens} + ${reasoningTokens}`).to.equal(credits);
    }
  });

  it("reasoning and content together pass the flat price from 501 tokens on", async () => {
    const world = await freshWorld();
    const { escrow, catalog } = world;
    await catalog.schedulePrices(MODEL, 1, 39);
    await nextBlockAt((await now()) + 86_400);
    for (const [completionTokens, reasoningTokens, credits] of [
      [1, 499, 1],
      [0, 500, 1],
      [1, 500, 20],
      [500, 1, 20],
    ] as const) {
      const job = await lockJob(world, { maxTokens: 600 });
      const completing = sendComplete(world, job, { completionTokens, reasoningTokens, countedTokens: 600 });
      const [settled] = await eventsOf(completing, escrow, "JobSettled");
      expect(settled?.args.credits, `${completionTokens} + ${reasoningTokens}`).to.equal(credits);
    }
  });

  it("never charges more than the lock, whatever was signed", async () => {
    const { world, escrow, token, worker } = await freshWorld();
    const job = await lockJob(world);
    const completing = sendComplete(world, job, {
      completionTokens: 4_294_967_295,
      reasoningTokens: 4_294_967_295,
      countedTokens: 4_294_967_295,
    });
    await expectTokens(completing, token, worker.payout, 80n * 9_000n);
    expect((await escrow.accountOf(world.client.address)).escrowed).to.equal(0);
  });

  it("checks the wallet it is told", async () => {
    const { world, escrow, stranger, otherGateway } = await freshWorld();
    const job = await lockJob(world);
    const refused = sendComplete(world, job, { wallet: stranger.address });
    await expectRevert(refused, "Settlement_WrongWallet", job.id, stranger.address);
    await provide(world, otherGateway, 1_000_000n);
    await escrow.connect(otherGateway).deposit(100, 0);
    await expect(sendComplete(world, job, { wallet: otherGateway.address }))
      .to.be.revertedWithCustomError(escrow, "Settlement_WrongWallet")
      .withArgs(job.id, otherGateway.address);
  });

  it("needs an eligible worker from Locked, and pays an unbonded one afterwards", async () => {
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

/** The same bounds hold on every way in: [lockedAt, +120 s) for the answer, +150 s for its transaction. */
const ways: [
  string,
  (world: World) => Promise<Job>,
  (world: World, job: Job, completedAt: number) => Promise<unknown>,
][] = [
  [
    "complete from Locked",
    (world) => lockJob(world),
    (world, job, completedAt) => sendComplete(world, job, { completedAt }),
  ],
  [
    "complete from Acknowledged",
    (world) => acknowledgedJob(world),
    (world, job, completedAt) => sendComplete(world, job, { completedAt }),
  ],
  [
    "submitProof",
    (world) => acknowledgedJob(world),
    (world, job, completedAt) => sendProof(world, job, { completedAt }),
  ],
];

for (const [name, make, send] of ways) {
  describe(`Time bounds of ${name}`, () => {
    it("refuses an answer dated before the lock's second and takes one of it", async () => {
      const world = await freshWorld();
      const job = await make(world);
      const refused = send(world, job, job.lockedAt - 1);
      await expectRevert(refused, "Settlement_CompletedOutOfTime", job.id, job.lockedAt - 1, job.lockedAt);
      await send(world, job, job.lockedAt);
    });

    it("takes an answer finished after 119 s and refuses one after 120 s", async () => {
      const world = await freshWorld();
      const job = await make(world);
      await nextBlockAt(job.lockedAt + 130);
      const refused = send(world, job, job.lockedAt + 120);
      await expectRevert(refused, "Settlement_CompletedOutOfTime", job.id, job.lockedAt + 120, job.lockedAt);
      await send(world, job, job.lockedAt + 119);
    });

    it("takes an answer of the block's own second, and none of the next one", async () => {
      const world = await freshWorld();
      const job = await make(world);
      const time = job.lockedAt + 40;
      await nextBlockAt(time);
      await expectRevert(send(world, job, time + 1), "Settlement_CompletedOutOfTime", job.id, time + 1, job.lockedAt);
      await nextBlockAt(time + 1);
      await send(world, job, time + 1);
    });

    it("is mined up to 149 s after the lock", async () => {
      const world = await freshWorld();
      const job = await make(world);
      await nextBlockAt(job.lockedAt + 149);
      await send(world, job, job.lockedAt + 119);
      expect((await world.escrow.jobOf(job.id)).worker).to.equal(world.worker.id);
    });

    it("is too late 150 s after the lock, when anyone can refund", async () => {
      const { world, escrow, stranger } = await freshWorld();
      const job = await make(world);
      await nextBlockAt(job.lockedAt + 150);
      const refused = send(world, job, job.lockedAt + 119);
      await expectRevert(refused, "Job_TooLate", job.id, job.lockedAt + 150, job.lockedAt + 150);
      await escrow.connect(stranger).refund(job.id);
    });
  });
}
