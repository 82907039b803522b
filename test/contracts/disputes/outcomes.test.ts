/** What each outcome tells: the events of rulings and expiries, the job's state after them, and who is named as payer. */
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
import { freshWorld, freshWorldWithoutReserve } from "../support/fresh.ts";
import { completionOf } from "../support/jobs.ts";
import { CLIENT_CREDITS, fundReserve, OPERATOR, RESERVE_CREDITS, STAKE_UNIT, type World } from "../support/world.ts";

const SLASH = 500_000_000n;
const [SETTLED, REFUNDED, PROVEN] = [4n, 6n, 3n];

/** The treasury's own: what earlier jobs brought in. */
async function rich(world: World, units = 10_000_000n): Promise<World> {
  await world.token.mint(world.treasury, units);
  return world;
}

const statusOf = async ({ escrow }: World, { id }: { id: string }) => (await escrow.jobOf(id)).status;

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
    await expect(ruling).not.to.emit(escrow, "OperatorCharged");
    expect(await svc.balanceOf(treasury)).to.equal(SLASH * STAKE_UNIT);
    expect(await statusOf(world, job)).to.equal(REFUNDED);
    expect(await escrow.compensationOf(job.id)).to.deep.equal([CHARGE_UNITS, CHARGE_UNITS, false]);
  });

  it("against the gateway: its operator refunds in full, no slash, and the treasury is not asked", async () => {
    const world = await rich(await freshWorld());
    const { escrow, registry, client, worker, token, treasury } = world;
    const job = await disputedJob(world, { by: client });
    const ruling = sendRuling(world, job, Ruling.GatewayAtFault);
    await expect(ruling)
      .to.emit(escrow, "DisputeResolved")
      .withArgs(job.id, client.address, Ruling.GatewayAtFault, REFUNDED, BOND, CLIENT_CREDITS - 60, 0);
    await expect(ruling)
      .to.emit(escrow, "OperatorCharged")
      .withArgs(job.id, client.address, client.address, 60, CLIENT_CREDITS, 0);
    await expect(ruling)
      .to.emit(escrow, "ReserveChanged")
      .withArgs(OPERATOR, job.id, 4, RESERVE_CREDITS - 60, 0);
    await expect(ruling).not.to.emit(registry, "WorkerSlashed");
    await expect(ruling).not.to.emit(escrow, "Compensated");
    await expect(ruling).to.changeTokenBalances(ethers, token, [treasury, escrow], [0, 0]);
    expect((await registry.workerAt(worker.id)).stake).to.equal(2n * SLASH);
    expect(await statusOf(world, job)).to.equal(REFUNDED);
    expect(await escrow.compensationOf(job.id)).to.deep.equal([0n, 0n, false]);
  });

  it("against a gateway whose operator has 25 credits: those first, the rest from the treasury", async () => {
    const world = await rich(await freshWorldWithoutReserve());
    const { escrow, client } = world;
    await fundReserve(world, 25);
    const job = await disputedJob(world);
    const ruling = sendRuling(world, job, Ruling.GatewayAtFault);
    await expect(ruling)
      .to.emit(escrow, "OperatorCharged")
      .withArgs(job.id, client.address, client.address, 25, CLIENT_CREDITS - 35, 0);
    await expect(ruling)
      .to.emit(escrow, "Compensated")
      .withArgs(job.id, client.address, client.address, 350_000, 0, CLIENT_CREDITS, 0);
    expect(await escrow.compensationOf(job.id)).to.deep.equal([350_000n, 350_000n, false]);
  });

  it("rejected: the charge stands, the wallet's bond goes to the treasury", async () => {
    const world = await rich(await freshWorld());
    const { escrow, client, token, treasury } = world;
    const job = await disputedJob(world, { by: client });
    const ruling = sendRuling(world, job, Ruling.Rejected);
    await expect(ruling)
      .to.emit(escrow, "DisputeResolved")
      .withArgs(job.id, client.address, Ruling.Rejected, SETTLED, 0, CLIENT_CREDITS - 60 - BOND, 0);
    await expect(ruling).not.to.emit(escrow, "Compensated");
    await expect(ruling).to.changeTokenBalance(ethers, token, treasury, 1_000_000);
  });

  it("expired: the charge stands, the client has the fee back and its bond", async () => {
    const world = await rich(await freshWorld());
    const { escrow, client } = world;
    const job = await disputedJob(world, { by: client });
    const expiring = sendExpire(world, job);
    await expect(expiring)
      .to.emit(escrow, "DisputeResolved")
      .withArgs(job.id, client.address, Ruling.None, SETTLED, BOND, CLIENT_CREDITS - 60, 0);
    await expect(expiring)
      .to.emit(escrow, "Compensated")
      .withArgs(job.id, client.address, client.address, FEE_UNITS, 0, CLIENT_CREDITS - 54, 0);
    expect(await statusOf(world, job)).to.equal(SETTLED);
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
    const { escrow, client } = world;
    const job = await disputedProvenJob(world);
    const ruling = sendRuling(world, job, Ruling.WorkerAtFault);
    await expect(ruling)
      .to.emit(escrow, "DisputeResolved")
      .withArgs(job.id, client.address, Ruling.WorkerAtFault, REFUNDED, 80, CLIENT_CREDITS, 0);
    await expect(ruling).not.to.emit(escrow, "Compensated");
    await expect(ruling).not.to.emit(escrow, "OperatorCharged");
  });

  it("against the gateway: the escrow returns, its operator pays the worker and the protocol's fee", async () => {
    const world = await rich(await freshWorld());
    const { escrow, worker, client, token, treasury } = world;
    const job = await disputedProvenJob(world, { by: client });
    const ruling = sendRuling(world, job, Ruling.GatewayAtFault);
    await expect(ruling)
      .to.emit(escrow, "OperatorCharged")
      .withArgs(job.id, client.address, worker.payout, 60, CLIENT_CREDITS, 0);
    await expect(ruling).not.to.emit(escrow, "Compensated");
    await expect(ruling).to.changeTokenBalances(
      ethers,
      token,
      [worker.payout, treasury, escrow],
      [WORKER_UNITS, FEE_UNITS, -CHARGE_UNITS],
    );
  });

  it("against a gateway whose operator has 25 credits: the treasury pays the worker's share of the rest", async () => {
    const world = await rich(await freshWorldWithoutReserve());
    const { escrow, worker, client } = world;
    await fundReserve(world, 25);
    const job = await disputedProvenJob(world, { by: client });
    const ruling = sendRuling(world, job, Ruling.GatewayAtFault);
    await expect(ruling)
      .to.emit(escrow, "OperatorCharged")
      .withArgs(job.id, client.address, worker.payout, 25, CLIENT_CREDITS, 0);
    await expect(ruling)
      .to.emit(escrow, "Compensated")
      .withArgs(job.id, client.address, worker.payout, 315_000, 0, CLIENT_CREDITS, 0);
    expect(await escrow.compensationOf(job.id)).to.deep.equal([315_000n, 315_000n, true]);
  });

  it("rejected: anyone finalizes it at once, and it is not disputed again", async () => {
    const world = await freshWorld();
    const { escrow, stranger, client, token, worker } = world;
    const job = await disputedProvenJob(world, { by: client });
    await sendRuling(world, job, Ruling.Rejected);
    expect(await statusOf(world, job)).to.equal(PROVEN);
    await expect(escrow.connect(stranger).finalize(completionOf(job))).to.changeTokenBalance(
      ethers,
      token,
      worker.payout,
      WORKER_UNITS,
    );
    expect(await statusOf(world, job)).to.equal(SETTLED);
  });

  it("expired: the escrow returns in full", async () => {
    const world = await freshWorld();
    const job = await disputedProvenJob(world);
    const expiring = sendExpire(world, job);
    await expect(expiring)
      .to.emit(world.escrow, "DisputeResolved")
      .withArgs(job.id, world.client.address, Ruling.None, REFUNDED, 80, CLIENT_CREDITS, 0);
    await expect(expiring).not.to.emit(world.escrow, "Compensated");
    await expect(expiring).to.changeTokenBalance(ethers, world.token, world.escrow, 0);
  });
});

describe("The operator's reserve", () => {
  it("pays for the faults of the operator that locked the job, whoever else has a reserve", async () => {
    const world = await rich(await freshWorldWithoutReserve());
    const { escrow } = world;
    await fundReserve(world, 1_000, 2);
    const job = await disputedJob(world);
    const ruling = await sendRuling(world, job, Ruling.GatewayAtFault);
    await expect(ruling).not.to.emit(escrow, "OperatorCharged");
    await expect(ruling).to.emit(escrow, "Compensated");
    expect((await escrow.operatorOf(2)).reserve).to.equal(1_000);
  });

  it("is not a bond of another dispute: what is held pays for no fault", async () => {
    const world = await rich(await freshWorldWithoutReserve());
    const { escrow } = world;
    await fundReserve(world, 60);
    const bonded = await disputedProvenJob(world);
    const job = await disputedJob(world, { by: world.client });
    const ruling = await sendRuling(world, job, Ruling.GatewayAtFault);
    await expect(ruling).not.to.emit(escrow, "OperatorCharged");
    const { reserve, held } = await escrow.operatorOf(OPERATOR);
    expect([reserve, held]).to.deep.equal([0n, 60n]);
    // Its own bond returns to it before it pays for the same job's fault.
    await expect(sendRuling(world, bonded, Ruling.GatewayAtFault)).to.emit(escrow, "OperatorCharged");
  });

  it("pays while its operator is stopped and while its withdrawal is announced", async () => {
    const world = await freshWorld();
    const { escrow, guardian, operatorAdmin } = world;
    const job = await disputedJob(world);
    await escrow.connect(guardian).stopOperator(OPERATOR, true);
    await escrow.connect(operatorAdmin).announceReserveWithdrawal(OPERATOR, RESERVE_CREDITS);
    await expect(sendRuling(world, job, Ruling.GatewayAtFault)).to.emit(escrow, "OperatorCharged");
  });
});
