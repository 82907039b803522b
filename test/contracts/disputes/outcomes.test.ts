/** Who pays what, by outcome and by where the money was. The table of docs: who is at fault pays. */
import { expect } from "chai";
import { ethers, mineAt, now } from "../support/chain.ts";
import {
  BOND,
  CHARGE_UNITS,
  disputedJob,
  disputedProvenJob,
  FEE_UNITS,
  Ruling,
  sendExpire,
  sendRuling,
  WORKER_UNITS,
} from "../support/disputes.ts";
import { freshWorld } from "../support/fresh.ts";
import { completionOf } from "../support/jobs.ts";
import { CLIENT_CREDITS, STAKE_UNIT, type World } from "../support/world.ts";

const SLASH = 500_000_000n;
const [SETTLED, REFUNDED, PROVEN] = [4n, 6n, 3n];

/** The treasury's reserves: what earlier jobs brought in. */
async function rich(world: World, units = 10_000_000n): Promise<World> {
  await world.token.mint(world.treasury, units);
  return world;
}

async function balances(world: World) {
  const { escrow, token, client, worker, treasury } = world;
  const { free, escrowed, openDisputes } = await escrow.accountOf(client.address);
  const [stored, held] = [await escrow.liabilities(), await token.balanceOf(escrow)];
  expect(held, "solvency").to.equal(stored.credits * 10_000n + stored.claimable);
  return {
    free,
    escrowed,
    openDisputes,
    worker: await token.balanceOf(worker.payout),
    treasury: await token.balanceOf(treasury),
  };
}

describe("A settled job's dispute", () => {
  it("against the worker: refund in full, the slash goes to the treasury", async () => {
    const world = await rich(await freshWorld());
    const { escrow, registry, svc, treasury, client, worker } = world;
    const job = await disputedJob(world);
    const ruling = sendRuling(world, job, Ruling.WorkerAtFault);
    await expect(ruling)
      .to.emit(escrow, "DisputeResolved")
      .withArgs(job.id, client.address, Ruling.WorkerAtFault, REFUNDED, 0, CLIENT_CREDITS - 60, 0);
    await expect(ruling)
      .to.emit(escrow, "Compensated")
      .withArgs(job.id, client.address, client.address, CHARGE_UNITS, 0, CLIENT_CREDITS, 0);
    await expect(ruling)
      .to.emit(registry, "WorkerSlashed")
      .withArgs(worker.id, worker.key.address, job.id, 4, SLASH, SLASH, false);
    expect(await svc.balanceOf(treasury)).to.equal(SLASH * STAKE_UNIT);
    expect(await balances(world)).to.deep.include({
      free: 10_000n,
      escrowed: 0n,
      openDisputes: 0n,
      worker: WORKER_UNITS,
      treasury: 10_000_000n + FEE_UNITS - CHARGE_UNITS,
    });
    expect((await escrow.jobOf(job.id)).status).to.equal(REFUNDED);
  });

  it("against the gateway: refund in full, no slash", async () => {
    const world = await rich(await freshWorld());
    const { escrow, registry, worker } = world;
    const job = await disputedJob(world, { by: world.client });
    const ruling = await sendRuling(world, job, Ruling.GatewayAtFault);
    await expect(ruling).not.to.emit(registry, "WorkerSlashed");
    expect((await registry.workerAt(worker.id)).stake).to.equal(2n * SLASH);
    expect(await balances(world)).to.deep.include({ free: 10_000n, escrowed: 0n, worker: WORKER_UNITS });
    expect((await escrow.jobOf(job.id)).status).to.equal(REFUNDED);
  });

  it("rejected: the charge stands, the wallet's bond goes to the treasury", async () => {
    const world = await rich(await freshWorld());
    const { escrow, client } = world;
    const job = await disputedJob(world, { by: client });
    expect(await balances(world)).to.deep.include({ free: BigInt(CLIENT_CREDITS - 60 - BOND), escrowed: BigInt(BOND) });
    const ruling = await sendRuling(world, job, Ruling.Rejected);
    await expect(ruling)
      .to.emit(escrow, "DisputeResolved")
      .withArgs(job.id, client.address, Ruling.Rejected, SETTLED, 0, CLIENT_CREDITS - 60 - BOND, 0);
    await expect(ruling).not.to.emit(escrow, "Compensated");
    expect(await balances(world)).to.deep.include({
      free: BigInt(CLIENT_CREDITS - 60 - BOND),
      escrowed: 0n,
      treasury: 10_000_000n + FEE_UNITS + 1_000_000n,
    });
  });

  it("expired: the charge stands, the client has the fee back and its bond", async () => {
    const world = await rich(await freshWorld());
    const { escrow, client } = world;
    const job = await disputedJob(world, { by: client });
    await expect(sendExpire(world, job))
      .to.emit(escrow, "Compensated")
      .withArgs(job.id, client.address, client.address, FEE_UNITS, 0, CLIENT_CREDITS - 54, 0);
    expect(await balances(world)).to.deep.include({
      free: BigInt(CLIENT_CREDITS - 54),
      escrowed: 0n,
      treasury: 10_000_000n,
    });
    expect((await escrow.jobOf(job.id)).status).to.equal(SETTLED);
  });

  it("against a worker whose stake is gone: the job's fee is all the treasury pays", async () => {
    const world = await rich(await freshWorld());
    const { escrow, registry, client, worker } = world;
    await registry.scheduleStakeTerms(2n * SLASH, 2n * SLASH);
    await mineAt(BigInt(await now()) + (await registry.unbondingPeriod()));
    const [first, second] = [await disputedJob(world), await disputedJob(world, { by: client })];
    await sendRuling(world, first, Ruling.WorkerAtFault);
    expect((await registry.workerAt(worker.id)).stake).to.equal(0);
    const before = (await escrow.accountOf(client.address)).free;
    const ruling = sendRuling(world, second, Ruling.WorkerAtFault);
    await expect(ruling)
      .to.emit(registry, "WorkerSlashed")
      .withArgs(worker.id, worker.key.address, second.id, 5, 0, 0, false);
    await expect(ruling)
      .to.emit(escrow, "Compensated")
      .withArgs(second.id, client.address, client.address, FEE_UNITS, 0, before + 106n, 0);
  });
});

describe("A proven job's dispute", () => {
  it("against the worker: the escrow returns, the treasury pays nothing", async () => {
    const world = await rich(await freshWorld());
    const { escrow } = world;
    const job = await disputedProvenJob(world);
    const ruling = await sendRuling(world, job, Ruling.WorkerAtFault);
    await expect(ruling).not.to.emit(escrow, "Compensated");
    expect(await balances(world)).to.deep.include({ free: 10_000n, escrowed: 0n, worker: 0n, treasury: 10_000_000n });
  });

  it("against the gateway: the escrow returns and the treasury pays the worker", async () => {
    const world = await rich(await freshWorld());
    const { escrow, worker, client } = world;
    const job = await disputedProvenJob(world, { by: world.client });
    const ruling = await sendRuling(world, job, Ruling.GatewayAtFault);
    await expect(ruling)
      .to.emit(escrow, "Compensated")
      .withArgs(job.id, client.address, worker.payout, WORKER_UNITS, 0, CLIENT_CREDITS, 0);
    expect(await balances(world)).to.deep.include({
      free: 10_000n,
      escrowed: 0n,
      worker: WORKER_UNITS,
      treasury: 10_000_000n - WORKER_UNITS,
    });
  });

  it("rejected: anyone finalizes it at once, and it is not disputed again", async () => {
    const world = await freshWorld();
    const { escrow, stranger, client } = world;
    const job = await disputedProvenJob(world, { by: client });
    await sendRuling(world, job, Ruling.Rejected);
    expect((await escrow.jobOf(job.id)).status).to.equal(PROVEN);
    await escrow.connect(stranger).finalize(completionOf(job));
    expect((await escrow.jobOf(job.id)).status).to.equal(SETTLED);
    expect(await balances(world)).to.deep.include({
      free: BigInt(CLIENT_CREDITS - 60 - BOND),
      escrowed: 0n,
      worker: WORKER_UNITS,
    });
  });

  it("expired: the escrow returns in full", async () => {
    const world = await freshWorld();
    const job = await disputedProvenJob(world);
    const expiring = await sendExpire(world, job);
    await expect(expiring).not.to.emit(world.escrow, "Compensated");
    expect(await balances(world)).to.deep.include({ free: 10_000n, escrowed: 0n, openDisputes: 0n, worker: 0n });
    await expect(expiring).to.changeTokenBalance(ethers, world.token, world.escrow, 0);
  });
});
