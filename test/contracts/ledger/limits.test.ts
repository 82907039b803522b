/** What a wallet allows its operator to lock: daily limit and freeze switch. */
import { expect } from "chai";
import { DAY, nextBlockAt, now } from "../support/chain.ts";
import { expectRevert } from "../support/expect.ts";
import { freshWorld } from "../support/fresh.ts";
import { lockJob, sendComplete, sendLock } from "../support/jobs.ts";
import { CLIENT_CREDITS, type World } from "../support/world.ts";

/** 500 tokens on a max model cost 40 credits, 4,000 cost 80. */
const FORTY = { maxTokens: 500 };
/** A request of a lite model. */
const TWO = { model: 7, maxTokens: 1 };

/** The first second of the day after tomorrow, UTC: far enough from now to act before it. */
async function midnight(): Promise<number> {
  return (Math.floor((await now()) / DAY) + 2) * DAY;
}

/** The daily limit refuses a lock of `wanted` credits (2 or 40), and says why. */
async function expectOverLimit(world: World, { spent, limit, wanted }: Record<"spent" | "limit" | "wanted", number>) {
  const refused = sendLock(world, wanted === 40 ? FORTY : TWO);
  await expectRevert(refused, "Limits_DailyLimitReached", world.client.address, spent, limit, wanted);
}

const spentToday = async (world: World) => Number((await world.escrow.accountOf(world.client.address)).spentToday);

it("setLimits is the wallet's own call, tells what it set and counts", async () => {
  const { world, escrow, client, stranger } = await freshWorld();
  const sent = escrow.connect(client).setLimits(true, 500, false);
  await expect(sent).to.emit(escrow, "LimitsSet").withArgs(1, client.address, 2, true, 500, false);
  let account = await escrow.accountOf(client.address);
  expect([account.flags, account.dailyLimit, account.sequence]).to.deep.equal([2n, 500n, 2n]);
  await expect(escrow.connect(client).setLimits(false, 500, true))
    .to.emit(escrow, "LimitsSet")
    .withArgs(1, client.address, 3, false, 0, true);
  account = await escrow.accountOf(client.address);
  expect([account.flags, account.dailyLimit, account.free]).to.deep.equal([1n, 0n, BigInt(CLIENT_CREDITS)]);
  for (const caller of [stranger, world.owner, world.guardian, world.gateway])
    await expectRevert(escrow.connect(caller).setLimits(false, 0, false), "Ledger_UnknownAccount", caller.address);
});

describe("The daily limit", () => {
  it("can be used up to the credit, and not one over", async () => {
    const { world, escrow, client } = await freshWorld();
    await escrow.connect(client).setLimits(true, 120, false);
    await lockJob(world);
    await lockJob(world, FORTY);
    await expectOverLimit(world, { spent: 120, limit: 120, wanted: 2 });
    await escrow.connect(client).setLimits(true, 159, false);
    await expectOverLimit(world, { spent: 120, limit: 159, wanted: 40 });
    await escrow.connect(client).setLimits(true, 160, false);
    await sendLock(world, FORTY);
  });

  it("of zero lets nothing through", async () => {
    const world = await freshWorld();
    await world.escrow.connect(world.client).setLimits(true, 0, false);
    await expectOverLimit(world, { spent: 0, limit: 0, wanted: 2 });
  });

  it("set at noon knows what the morning spent; taken away, it holds nothing back", async () => {
    const { world, escrow, client } = await freshWorld();
    await lockJob(world);
    await escrow.connect(client).setLimits(true, 119, false);
    await expectOverLimit(world, { spent: 80, limit: 119, wanted: 40 });
    await escrow.connect(client).setLimits(false, 119, false);
    await sendLock(world, FORTY);
  });

  it("begins anew at midnight UTC, not a second sooner", async () => {
    const { world, escrow, client } = await freshWorld();
    await escrow.connect(client).setLimits(true, 80, false);
    const day = await midnight();
    await nextBlockAt(day - 2);
    await lockJob(world);
    await nextBlockAt(day - 1);
    await expectRevert(sendLock(world, FORTY), "Limits_DailyLimitReached");
    await nextBlockAt(day);
    await lockJob(world);
    expect(await spentToday(world)).to.equal(80);
    await nextBlockAt(day + DAY - 1);
    await expectRevert(sendLock(world, FORTY), "Limits_DailyLimitReached");
  });

  it("gets back what a job of the same day returns", async () => {
    const { world, escrow, client, gateway } = await freshWorld();
    await nextBlockAt((await midnight()) + 3_600);
    await escrow.connect(client).setLimits(true, 160, false);
    const [failed, settled] = [await lockJob(world), await lockJob(world)];
    expect(await spentToday(world)).to.equal(160);
    await escrow.connect(gateway).fail(failed.id, 0);
    expect(await spentToday(world)).to.equal(80);
    await sendComplete(world, settled);
    expect(await spentToday(world)).to.equal(60);
    await sendLock(world);
    await expectOverLimit(world, { spent: 140, limit: 160, wanted: 40 });
  });

  it("gets nothing back from a job of yesterday once today has spent", async () => {
    const { world, escrow, client, gateway } = await freshWorld();
    const day = await midnight();
    await escrow.connect(client).setLimits(true, 80, false);
    await nextBlockAt(day - 1);
    const yesterday = await lockJob(world);
    await nextBlockAt(day);
    await lockJob(world);
    await escrow.connect(gateway).fail(yesterday.id, 0);
    expect((await escrow.accountOf(client.address)).free).to.equal(CLIENT_CREDITS - 80);
    expect(await spentToday(world)).to.equal(80);
    await expectRevert(sendLock(world, FORTY), "Limits_DailyLimitReached");
  });
});

it("The freeze switch refuses every signer at once, and lets go again", async () => {
  const { world, escrow, client, secondGateway } = await freshWorld();
  await escrow.connect(client).setLimits(true, 1_000, true);
  for (const gateway of [world.gateway, secondGateway])
    await expectRevert(sendLock(world, { gateway }), "Limits_Frozen", client.address);
  await escrow.connect(client).setLimits(true, 1_000, false);
  await sendLock(world);
});
