import { expect } from "chai";
import { JOB_LIMIT } from "../../../protocol/pricing.ts";
import { jobId } from "../support/actors.ts";
import { nextBlockAt, now } from "../support/chain.ts";
import { accountWith, expectRevert, expectTokens, jobWith } from "../support/expect.ts";
import { freshWorld } from "../support/fresh.ts";
import { lockJob, sendComplete, sendLock, storedJob } from "../support/jobs.ts";
import {
  buyCredits,
  CLIENT_CREDITS,
  MODEL,
  OPERATOR,
  OTHER_MODEL,
  OTHER_OPERATOR,
  RESERVE_CREDITS,
} from "../support/world.ts";

/** The stored job of `sendLock`, but for its time. */
const LOCKED = {
  account: 1,
  worker: 0,
  credits: 80,
  creditsPerRequest: 40,
  creditsPer1kTokens: 20,
  model: MODEL,
  feeBps: 1_000,
  operatorShare: 0,
  deadline: 0,
  operator: OPERATOR,
  attempt: 0,
  status: 1,
} as const;

describe("lock", () => {
  it("moves credits from free to escrowed and tells everything about it", async () => {
    const { world, escrow, client } = await freshWorld();
    const id = jobId();
    await expect(sendLock(world, { id }))
      .to.emit(escrow, "JobLocked")
      .withArgs(id, client.address, 3, 80, jobWith(LOCKED), accountWith({ free: CLIENT_CREDITS - 80, escrowed: 80 }));
    const account = await escrow.accountOf(client.address);
    expect([account.free, account.escrowed, account.sequence]).to.deep.equal([BigInt(CLIENT_CREDITS - 80), 80n, 1n]);
    expect(await escrow.liabilities()).to.deep.equal([BigInt(RESERVE_CREDITS + CLIENT_CREDITS), 0n]);
    const lockedAt = await now();
    const stored = Object.entries({ ...LOCKED, lockedAt }).map(([field, value]) => [field, BigInt(value)]);
    expect(await storedJob(world, id)).to.deep.equal(Object.fromEntries(stored));
  });

  for (const [tokens, credits] of [
    [0, 40],
    [500, 40],
    [501, 40],
    [2_000, 40],
    [2_001, 41],
    [4_000, 80],
  ] as const) {
    it(`asks ${credits} credits for ${tokens} tokens of a max model`, async () => {
      const world = await freshWorld();
      const refused = sendLock(world, { maxTokens: tokens, maxCredits: credits - 1 });
      await expectRevert(refused, "Job_PriceExceedsLimit", credits, credits - 1);
      const job = await lockJob(world, { maxTokens: tokens, maxCredits: credits });
      expect((await world.escrow.jobOf(job.id)).credits).to.equal(credits);
    });
  }

  it("locks at most 5,000 credits for one job, which bounds every ruling", async () => {
    const world = await freshWorld();
    await buyCredits(world, world.client, 5_000);
    expect(await world.escrow.JOB_LIMIT()).to.equal(JOB_LIMIT);
    await expectRevert(sendLock(world, { maxTokens: 250_001 }), "Job_TooLarge", 5_001, 5_000);
    const job = await lockJob(world, { maxTokens: 250_000 });
    expect((await world.escrow.jobOf(job.id)).credits).to.equal(5_000);
  });

  it("belongs to the wallet's chosen operator, which the job keeps", async () => {
    const world = await freshWorld();
    const { escrow, stranger, client, owner, guardian, operatorAdmin, otherGateway, secondGateway } = world;
    for (const gateway of [stranger, client, owner, guardian, operatorAdmin])
      await expectRevert(sendLock(world, { gateway }), "Job_MayNotLock", gateway.address);
    const refused = sendLock(world, { gateway: otherGateway });
    await expectRevert(refused, "Job_OperatorNotChosen", client.address, OPERATOR, OTHER_OPERATOR);
    for (const gateway of [world.gateway, secondGateway]) {
      const job = await lockJob(world, { gateway });
      expect((await escrow.jobOf(job.id)).operator).to.equal(OPERATOR);
    }
    await escrow.connect(client).chooseOperator(OTHER_OPERATOR);
    const job = await lockJob(world, { gateway: otherGateway });
    expect((await escrow.jobOf(job.id)).operator).to.equal(OTHER_OPERATOR);
  });

  it("is valid before validUntil, not at it", async () => {
    const world = await freshWorld();
    const validUntil = (await now()) + 10;
    await nextBlockAt(validUntil - 1);
    await sendLock(world, { validUntil });
    await nextBlockAt(validUntil);
    await expectRevert(sendLock(world, { validUntil }), "Job_LockExpired", validUntil, validUntil);
  });

  it("never takes the id zero", async () => {
    const world = await freshWorld();
    const id = `0x${"0".repeat(32)}` as const;
    await expectRevert(sendLock(world, { id }), "Job_InvalidId");
  });

  it("needs an active model: known, and before its retirement", async () => {
    const { world, catalog } = await freshWorld();
    for (const model of [0, 9, 65_535]) await expectRevert(sendLock(world, { model }), "Job_ModelNotActive", model);
    const retiresAt = (await now()) + 15 * 86_400;
    await catalog.scheduleRetirement(MODEL, retiresAt);
    await nextBlockAt(retiresAt - 1);
    await sendLock(world);
    await nextBlockAt(retiresAt);
    await expectRevert(sendLock(world), "Job_ModelNotActive", MODEL);
    await sendLock(world, { model: OTHER_MODEL });
  });

  it("needs an account that can pay, to the credit", async () => {
    const { world, escrow, stranger } = await freshWorld();
    const wallet = stranger.address;
    await expectRevert(sendLock(world, { wallet }), "Ledger_UnknownAccount", wallet);
    await buyCredits(world, stranger, 100);
    // 5,000 tokens cost 100 credits, 5,001 cost 101.
    await expectRevert(sendLock(world, { wallet, maxTokens: 5_001 }), "Ledger_InsufficientCredits", wallet, 100, 101);
    await sendLock(world, { wallet, maxTokens: 5_000 });
    const account = await escrow.accountOf(wallet);
    expect([account.free, account.escrowed]).to.deep.equal([0n, 100n]);
  });

  it("keeps the price and the fee of its moment", async () => {
    const { world, escrow, catalog, token, worker } = await freshWorld();
    await catalog.schedulePrices(MODEL, 50, 25);
    await escrow.scheduleFee(100, 10);
    const effectiveAt = (await now()) + 86_400;
    await nextBlockAt(effectiveAt - 2);
    const before = await lockJob(world);
    await nextBlockAt(effectiveAt);
    const after = await lockJob(world);
    const old = { creditsPerRequest: 40n, creditsPer1kTokens: 20n, feeBps: 1_000n, operatorShare: 0n };
    expect(await storedJob(world, before.id)).to.include(old);
    const terms = { creditsPerRequest: 50n, creditsPer1kTokens: 25n, feeBps: 100n, operatorShare: 10n, credits: 100n };
    expect(await storedJob(world, after.id)).to.include(terms);
    await expectTokens(sendComplete(world, before), token, worker.payout, 60n * 9_000n);
  });
});
