/** Outcomes of disputes with a token that refuses, cheats or calls back: a ruling always stands, and only what arrives is counted. */
import { expect } from "chai";
import { ethers } from "../support/chain.ts";
import {
  CHARGE_UNITS,
  disputedJob,
  disputedProvenJob,
  FEE_UNITS,
  Ruling,
  sendEquivocation,
  sendExpire,
  sendRuling,
  settledJob,
  WORKER_UNITS,
} from "../support/disputes.ts";
import { expectRevert, expectTokens } from "../support/expect.ts";
import { freshHostileWorld, freshHostileWorldWithoutReserve, rich } from "../support/fresh.ts";
import { Behaviour, type HostileWorld, REFUSALS } from "../support/hostile.ts";
import { CLIENT_CREDITS } from "../support/world.ts";

/** What the treasury may pay in a day for one operator's jobs: a quarter of 20,000 credits. */
const OPERATORS_SHARE = 50_000_000n;

/** Its operator has no reserve: what a gateway is at fault for, the treasury pays. */
const richWorld = () => rich(freshHostileWorldWithoutReserve());

async function expectSolvent({ escrow, hostile }: HostileWorld): Promise<void> {
  const { credits, claimable } = await escrow.liabilities();
  expect(await hostile.balanceOf(escrow)).to.be.at.least(credits * 10_000n + claimable);
}

for (const [name, behaviour] of REFUSALS) {
  describe(`A token that ${name}`, () => {
    it("towards the escrow: the compensation is a debt, paid when it lets go", async () => {
      const world = await richWorld();
      const { escrow, hostile, client } = world;
      const job = await disputedJob(world);
      await hostile.setBehaviour(escrow, behaviour);
      await expect(sendRuling(world, job, Ruling.GatewayAtFault))
        .to.emit(escrow, "Compensated")
        .withArgs(job.id, client.address, client.address, 0, CHARGE_UNITS, CLIENT_CREDITS - 60, 0);
      await expectRevert(escrow.collectDebt(job.id), "Dispute_NothingPaid", job.id, CHARGE_UNITS, OPERATORS_SHARE);
      await hostile.setBehaviour(escrow, Behaviour.Standard);
      await escrow.collectDebt(job.id);
      expect((await escrow.accountOf(client.address)).free).to.equal(CLIENT_CREDITS);
      await expectSolvent(world);
    });

    it("towards the worker: what the treasury pays it waits for it", async () => {
      const world = await richWorld();
      const { escrow, hostile, worker, client } = world;
      const job = await disputedProvenJob(world, { by: client });
      await hostile.setBehaviour(worker.payout, behaviour);
      await expect(sendRuling(world, job, Ruling.GatewayAtFault))
        .to.emit(escrow, "PayoutDeferred")
        .withArgs(job.id, worker.payout, WORKER_UNITS);
      expect(await escrow.compensationOf(job.id)).to.deep.equal([WORKER_UNITS, WORKER_UNITS, true]);
      await expectSolvent(world);
      await hostile.setBehaviour(worker.payout, Behaviour.Standard);
      await expectTokens(escrow.claim(worker.payout), hostile, worker.payout, WORKER_UNITS);
    });

    it("towards worker and treasury: what the operator pays them waits for each", async () => {
      const { world, escrow, hostile, worker, treasury } = await freshHostileWorld();
      const treasuryAddress = await treasury.getAddress();
      const job = await disputedProvenJob(world);
      await hostile.setBehaviour(worker.payout, behaviour);
      await hostile.setBehaviour(treasury, behaviour);
      const ruling = sendRuling(world, job, Ruling.GatewayAtFault);
      await expect(ruling).to.emit(escrow, "PayoutDeferred").withArgs(job.id, worker.payout, WORKER_UNITS);
      await expect(ruling).to.emit(escrow, "PayoutDeferred").withArgs(job.id, treasuryAddress, FEE_UNITS);
      await expectSolvent(world);
    });

    it("towards the worker: the operator's bond of a rejected dispute waits for it", async () => {
      const { world, escrow, hostile, worker } = await freshHostileWorld();
      const job = await disputedProvenJob(world);
      await hostile.setBehaviour(worker.payout, behaviour);
      await expect(sendRuling(world, job, Ruling.Rejected))
        .to.emit(escrow, "PayoutDeferred")
        .withArgs(job.id, worker.payout, CHARGE_UNITS);
      await expectSolvent(world);
    });

    it("towards the treasury: the bond of a rejected dispute waits for it", async () => {
      const world = await richWorld();
      const { escrow, hostile, treasury, client } = world;
      const job = await disputedJob(world, { by: client });
      await hostile.setBehaviour(treasury, behaviour);
      await expect(sendRuling(world, job, Ruling.Rejected))
        .to.emit(escrow, "PayoutDeferred")
        .withArgs(job.id, await treasury.getAddress(), 1_000_000);
      await expectSolvent(world);
      await hostile.setBehaviour(treasury, Behaviour.Standard);
      await expectTokens(escrow.claim(treasury), hostile, treasury, 1_000_000n);
    });
  });
}

describe("A token that blocks the wallet", () => {
  it("cannot keep its credits from it: it is compensated, and withdraws to another address", async () => {
    const world = await richWorld();
    const { escrow, hostile, client, stranger } = world;
    await hostile.setBehaviour(client.address, Behaviour.Revert);
    const [ruled, equivocated, silent] = [
      await disputedJob(world, { by: client }),
      await settledJob(world),
      await disputedJob(world),
    ];
    await sendRuling(world, ruled, Ruling.GatewayAtFault);
    await sendEquivocation(world, equivocated);
    await sendExpire(world, silent);
    const { free, escrowed } = await escrow.accountOf(client.address);
    // Two of the three charges stand, without their fees.
    expect([free, escrowed]).to.deep.equal([BigInt(CLIENT_CREDITS - 2 * 54), 0n]);
    await expect(escrow.connect(client).withdraw(free, client.address)).to.revert(ethers);
    await expectTokens(escrow.connect(client).withdraw(free, stranger.address), hostile, stranger, free * 10_000n);
  });

  it("keeps the fraction of a credit waiting until it lets go", async () => {
    const { world, escrow, hostile, client } = await freshHostileWorldWithoutReserve();
    const job = await disputedJob(world);
    // 60,000 units of fee are in the treasury: six credits and this much.
    await hostile.mint(world.treasury, 3_456n);
    await hostile.setBehaviour(client.address, Behaviour.ReturnFalse);
    await sendRuling(world, job, Ruling.GatewayAtFault);
    await expectRevert(escrow.claim(client.address), "Ledger_PayoutRefused", client.address, 3_456);
    await hostile.setBehaviour(client.address, Behaviour.Standard);
    await escrow.claim(client.address);
    expect(await hostile.balanceOf(client.address)).to.equal(3_456);
  });
});

describe("A token that takes a fee on transfer", () => {
  it("has credited what arrived; the rest is owed", async () => {
    const world = await richWorld();
    const { escrow, hostile, client } = world;
    const job = await disputedJob(world);
    await hostile.setFee(1_000);
    await expect(sendRuling(world, job, Ruling.GatewayAtFault))
      .to.emit(escrow, "Compensated")
      .withArgs(job.id, client.address, client.address, CHARGE_UNITS - 1_000n, 1_000, CLIENT_CREDITS - 1, 0);
    expect(await escrow.claimableOf(client.address)).to.equal(9_000);
    await expectSolvent(world);
  });
});

describe("A compensation with which more arrives than is owed", () => {
  it("credits what is owed; the rest is nobody's, and no debt is below zero", async () => {
    const { world, escrow, hostile, treasury, client } = await freshHostileWorldWithoutReserve();
    const job = await disputedJob(world);
    await hostile.mint(treasury, 10_000_000n);
    const gift = hostile.interface.encodeFunctionData("mint", [await escrow.getAddress(), 1_000_000n]);
    await hostile.setHook(hostile, gift);
    await expect(sendRuling(world, job, Ruling.GatewayAtFault))
      .to.emit(escrow, "Compensated")
      .withArgs(job.id, client.address, client.address, CHARGE_UNITS, 0, CLIENT_CREDITS, 0);
    expect(await escrow.compensationOf(job.id)).to.deep.equal([CHARGE_UNITS, CHARGE_UNITS, false]);
    const { credits, claimable } = await escrow.liabilities();
    expect(await hostile.balanceOf(escrow)).to.equal(credits * 10_000n + claimable + 1_000_000n);
  });
});
