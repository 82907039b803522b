/** What bounds the number of disputes: eight at a time by gateways, a bond for the wallet's own. */
import { expect } from "chai";
import {
  BOND,
  disputedJob,
  Ruling,
  sendDispute,
  sendEquivocation,
  sendExpire,
  sendRuling,
  settledJob,
} from "../support/disputes.ts";
import { freshWorld } from "../support/fresh.ts";
import { lockJob, sendComplete } from "../support/jobs.ts";
import { buyCredits, type World } from "../support/world.ts";

const openDisputes = async (world: World) => Number((await world.escrow.accountOf(world.client.address)).openDisputes);

describe("Disputes opened by gateways", () => {
  it("are eight of an account at a time: the ninth waits for one to end", async () => {
    const world = await freshWorld();
    const { escrow, client, stranger } = world;
    const jobs = [];
    for (let i = 0; i < 8; i++) jobs.push(await disputedJob(world));
    expect(await openDisputes(world)).to.equal(8);
    expect(await escrow.DISPUTE_LIMIT()).to.equal(8);
    const ninth = await settledJob(world);
    await expect(sendDispute(world, ninth))
      .to.be.revertedWithCustomError(escrow, "Dispute_TooMany")
      .withArgs(client.address);

    // It is the account's count: another's is its own, and the wallet's own disputes have their bond.
    await buyCredits(world, stranger, 200);
    const other = await lockJob(world, { wallet: stranger.address });
    await sendComplete(world, other, { wallet: stranger.address });
    await expect(sendDispute(world, other)).to.emit(escrow, "JobDisputed");
    const own = await settledJob(world);
    await expect(sendDispute(world, own, { by: client })).to.emit(escrow, "JobDisputed");

    const [first] = jobs;
    if (first === undefined) throw new Error("no job");
    await sendRuling(world, first, Ruling.Rejected);
    expect(await openDisputes(world)).to.equal(7);
    await expect(sendDispute(world, ninth)).to.emit(escrow, "JobDisputed");
    expect(await openDisputes(world)).to.equal(8);
  });

  it("stop to count with each ruling", async () => {
    const world = await freshWorld();
    for (const ruling of [Ruling.GatewayAtFault, Ruling.Rejected, Ruling.WorkerAtFault]) {
      const job = await disputedJob(world);
      expect(await openDisputes(world)).to.equal(1);
      await sendRuling(world, job, ruling);
      expect(await openDisputes(world)).to.equal(0);
    }
  });

  it("stop to count when the worker equivocates and when they expire", async () => {
    const world = await freshWorld();
    const [equivocated, expired] = [await disputedJob(world), await disputedJob(world)];
    await sendEquivocation(world, equivocated);
    expect(await openDisputes(world)).to.equal(1);
    await sendExpire(world, expired);
    expect(await openDisputes(world)).to.equal(0);
  });

  it("are not counted down by the end of the wallet's own", async () => {
    const world = await freshWorld();
    const [own] = [await disputedJob(world, { by: world.client }), await disputedJob(world)];
    await sendRuling(world, own, Ruling.Rejected);
    expect(await openDisputes(world)).to.equal(1);
    const alone = await freshWorld();
    await sendRuling(alone, await disputedJob(alone, { by: alone.client }), Ruling.GatewayAtFault);
    expect(await openDisputes(alone)).to.equal(0);
  });
});

describe("The bond", () => {
  /** A settled job of a wallet that has exactly `left` free credits. */
  async function withLeft(left: number) {
    const world = await freshWorld();
    const { escrow, client } = world;
    const job = await settledJob(world);
    const { free } = await escrow.accountOf(client.address);
    await escrow.connect(client).withdraw(free - BigInt(left), client.address);
    return { world, job };
  }

  it("needs its whole amount in free credits", async () => {
    const { world, job } = await withLeft(BOND - 1);
    await expect(sendDispute(world, job, { by: world.client }))
      .to.be.revertedWithCustomError(world.escrow, "Ledger_InsufficientCredits")
      .withArgs(world.client.address, BOND - 1, BOND);
  });

  it("takes all there is, and nobody can spend or withdraw it meanwhile", async () => {
    const { world, job } = await withLeft(BOND);
    const { escrow, client } = world;
    await sendDispute(world, job, { by: client });
    const { free, escrowed } = await escrow.accountOf(client.address);
    expect([free, escrowed]).to.deep.equal([0n, BigInt(BOND)]);
    await expect(escrow.connect(client).withdraw(1, client.address))
      .to.be.revertedWithCustomError(escrow, "Ledger_InsufficientCredits")
      .withArgs(client.address, 0, 1);
    await expect(lockJob(world)).to.be.revertedWithCustomError(escrow, "Ledger_InsufficientCredits");
  });

  for (const [name, ruling, kept] of [
    ["the worker is at fault", Ruling.WorkerAtFault, false],
    ["the gateway is at fault", Ruling.GatewayAtFault, false],
    ["the dispute is rejected", Ruling.Rejected, true],
  ] as const) {
    it(`is ${kept ? "lost to the treasury" : "returned"} when ${name}`, async () => {
      const { world, job } = await withLeft(BOND);
      const { escrow, client, token, treasury } = world;
      await sendDispute(world, job, { by: client });
      await sendRuling(world, job, ruling);
      const { free, escrowed } = await escrow.accountOf(client.address);
      expect(escrowed).to.equal(0);
      // The treasury has just the fee of this job: six of the sixty credits come back at once.
      expect(free).to.equal(kept ? 0 : BOND + 6);
      expect(await token.balanceOf(treasury)).to.equal(kept ? 60_000 + BOND * 10_000 : 0);
    });
  }
});
