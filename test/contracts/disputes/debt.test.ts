/** A treasury that is short: what arrives is credited, the rest is a debt that anyone can have paid. */

import { expect } from "chai";
import { someAddress } from "../support/actors.ts";
import { books } from "../support/books.ts";
import { ethers } from "../support/chain.ts";
import {
  CHARGE_UNITS,
  disputedJob,
  disputedProvenJob,
  FEE_UNITS,
  Ruling,
  sendExpire,
  sendRuling,
  WORKER_UNITS,
} from "../support/disputes.ts";
import { expectRevert, expectTokens } from "../support/expect.ts";
import { freshWorld, freshWorldWithoutReserve } from "../support/fresh.ts";
import { CLIENT_CREDITS, fundReserve, type World } from "../support/world.ts";

/** 50 stablecoin units: a quarter of the cap of a day, for the jobs of one operator. */
const ALLOWANCE = 50_000_000n;

/** Governance spent all the treasury had. */
async function drain({ treasury, token }: World): Promise<void> {
  await treasury.pay(token, someAddress("elsewhere"), await token.balanceOf(treasury));
}

/** A client that is owed 60 credits by a treasury with `units`. */
async function owed(units: bigint) {
  const world = await freshWorldWithoutReserve();
  const job = await disputedJob(world);
  await drain(world);
  if (units !== 0n) await world.token.mint(world.treasury, units);
  return { world, job, ruling: sendRuling(world, job, Ruling.GatewayAtFault) };
}

const debtOf = async ({ escrow }: World, { id }: { id: string }) => {
  const { granted, paid } = await escrow.compensationOf(id);
  return granted - paid;
};

describe("A treasury without money", () => {
  it("does not stop the ruling: all of it is a debt, and nothing is credited", async () => {
    const { world, job, ruling } = await owed(0n);
    const { escrow, client, stranger } = world;
    await expect(ruling)
      .to.emit(escrow, "Compensated")
      .withArgs(job.id, client.address, client.address, 0, CHARGE_UNITS, CLIENT_CREDITS - 60, 0);
    expect((await escrow.jobOf(job.id)).status).to.equal(6);
    expect(await escrow.compensationOf(job.id)).to.deep.equal([CHARGE_UNITS, 0n, false]);
    await books(world);
    await expect(escrow.connect(stranger).collectDebt(job.id))
      .to.be.revertedWithCustomError(escrow, "Dispute_NothingPaid")
      .withArgs(job.id, CHARGE_UNITS, ALLOWANCE);
    expect(await escrow.compensationOf(job.id)).to.deep.equal([CHARGE_UNITS, 0n, false]);
  });

  it("pays later, in parts, whoever asks, until nothing is owed", async () => {
    const { world, job, ruling } = await owed(0n);
    await ruling;
    const { escrow, client, stranger, token, treasury, guardian } = world;
    await escrow.connect(guardian).setPaused(true);
    await token.mint(treasury, 250_000n);
    await expect(escrow.connect(stranger).collectDebt(job.id))
      .to.emit(escrow, "Compensated")
      .withArgs(job.id, client.address, client.address, 250_000, 350_000, CLIENT_CREDITS - 35, 0);
    expect(await escrow.compensationOf(job.id)).to.deep.equal([CHARGE_UNITS, 250_000n, false]);
    await token.mint(treasury, 1_000_000n);
    await expect(escrow.connect(stranger).collectDebt(job.id))
      .to.emit(escrow, "Compensated")
      .withArgs(job.id, client.address, client.address, 350_000, 0, CLIENT_CREDITS, 0);
    expect((await books(world)).treasury).to.equal(650_000n);
    expect(await escrow.compensationOf(job.id)).to.deep.equal([CHARGE_UNITS, CHARGE_UNITS, false]);
    await expectRevert(escrow.collectDebt(job.id), "Dispute_NoDebt", job.id);
  });

  it("is never paid by the operator afterwards: a ruling charges the reserve, a debt does not", async () => {
    const { world, job, ruling } = await owed(0n);
    await ruling;
    await fundReserve(world, 1_000);
    await expectRevert(world.escrow.collectDebt(job.id), "Dispute_NothingPaid");
    expect((await world.escrow.operatorOf(1)).reserve).to.equal(1_000);
  });

  it("owes the fee of an expired dispute too", async () => {
    const { world, escrow, token, treasury } = await freshWorld();
    const job = await disputedJob(world);
    await drain(world);
    await sendExpire(world, job);
    expect(await escrow.compensationOf(job.id)).to.deep.equal([FEE_UNITS, 0n, false]);
    await token.mint(treasury, FEE_UNITS);
    await escrow.collectDebt(job.id);
    expect((await escrow.accountOf(world.client.address)).free).to.equal(CLIENT_CREDITS - 54);
  });

  it("owes a worker whose answer its gateway hid, and pays it as tokens", async () => {
    const { world, escrow, token, treasury, worker, client, stranger } = await freshWorldWithoutReserve();
    const job = await disputedProvenJob(world, { by: client });
    await expect(sendRuling(world, job, Ruling.GatewayAtFault))
      .to.emit(escrow, "Compensated")
      .withArgs(job.id, client.address, worker.payout, 0, WORKER_UNITS, CLIENT_CREDITS, 0);
    expect(await escrow.compensationOf(job.id)).to.deep.equal([WORKER_UNITS, 0n, true]);
    await token.mint(treasury, WORKER_UNITS);
    await expect(escrow.connect(stranger).collectDebt(job.id)).to.changeTokenBalances(
      ethers,
      token,
      [treasury, worker.payout, escrow],
      [-WORKER_UNITS, WORKER_UNITS, 0n],
    );
    expect(await escrow.compensationOf(job.id)).to.deep.equal([WORKER_UNITS, WORKER_UNITS, true]);
  });
});

describe("A treasury that is short", () => {
  it("pays what it has at once; a fraction of a credit waits as tokens", async () => {
    const { world, job, ruling } = await owed(123_456n);
    const { escrow, client, token, treasury } = world;
    await expect(ruling)
      .to.emit(escrow, "Compensated")
      .withArgs(job.id, client.address, client.address, 123_456, CHARGE_UNITS - 123_456n, CLIENT_CREDITS - 48, 0);
    await expect(ruling).to.emit(escrow, "PayoutDeferred").withArgs(job.id, client.address, 3_456);
    expect(await escrow.claimableOf(client.address)).to.equal(3_456);
    await token.mint(treasury, 476_544n);
    await escrow.collectDebt(job.id);
    // 476,544 units are 47 credits and 6,544 units: together with the 3,456 exactly the sixtieth credit.
    expect((await escrow.accountOf(client.address)).free).to.equal(CLIENT_CREDITS - 1);
    await expectTokens(escrow.claim(client.address), token, client, 10_000n);
    await books(world);
  });

  it("owes each job for itself", async () => {
    const { world, escrow, token, treasury } = await freshWorldWithoutReserve();
    const jobs = [await disputedJob(world), await disputedJob(world)] as const;
    await drain(world);
    for (const job of jobs) await sendRuling(world, job, Ruling.GatewayAtFault);
    await token.mint(treasury, CHARGE_UNITS);
    await escrow.collectDebt(jobs[1].id);
    expect([await debtOf(world, jobs[0]), await debtOf(world, jobs[1])]).to.deep.equal([CHARGE_UNITS, 0n]);
  });
});

describe("Compensation", () => {
  it("is a debt when governance put something that pays nothing in the treasury's place, and the next treasury pays", async () => {
    const { world, escrow, treasury, token, panel } = await freshWorldWithoutReserve();
    await token.mint(treasury, CHARGE_UNITS);
    const [job, other] = [await disputedJob(world), await disputedJob(world)];
    await escrow.setTreasury(someAddress("no contract"));
    await sendRuling(world, job, Ruling.GatewayAtFault);
    // A contract that does not know the call, and reverts.
    await escrow.setTreasury(await panel.getAddress());
    await sendRuling(world, other, Ruling.GatewayAtFault);
    expect([await debtOf(world, job), await debtOf(world, other)]).to.deep.equal([CHARGE_UNITS, CHARGE_UNITS]);
    await escrow.setTreasury(await treasury.getAddress());
    await escrow.collectDebt(job.id);
    expect((await escrow.accountOf(world.client.address)).free).to.equal(CLIENT_CREDITS - 60);
  });
});
