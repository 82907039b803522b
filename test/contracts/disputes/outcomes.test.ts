/** What each outcome tells: the events of rulings and expiries, the job's state after them, and who is named as payer. */

import { expect } from "chai";
import {
  BOND,
  CHARGE_UNITS,
  disputedJob,
  disputedProvenJob,
  FEE_UNITS,
  Ruling,
  sendExpire,
  sendRuling,
} from "../support/disputes.ts";
import { expectTokens } from "../support/expect.ts";
import { freshWorld, rich } from "../support/fresh.ts";
import { CLIENT_CREDITS, OPERATOR, RESERVE_CREDITS, STAKE_UNIT, type World } from "../support/world.ts";

const SLASH = 500_000_000n;
const [SETTLED, REFUNDED] = [4n, 6n];

const statusOf = async ({ escrow }: World, { id }: { id: string }) => (await escrow.jobOf(id)).status;

describe("A settled job's dispute", () => {
  it("against the worker: refund in full, the slash goes to the treasury", async () => {
    const { world, escrow, registry, svc, treasury, client, worker } = await rich(freshWorld());
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

  it("against the gateway: the wallet's bond returns with the refund, and nobody is slashed", async () => {
    const { world, escrow, registry, client } = await rich(freshWorld());
    const job = await disputedJob(world, { by: client });
    const ruling = sendRuling(world, job, Ruling.GatewayAtFault);
    await expect(ruling)
      .to.emit(escrow, "DisputeResolved")
      .withArgs(job.id, client.address, Ruling.GatewayAtFault, REFUNDED, BOND, CLIENT_CREDITS - 60, 0);
    await expect(ruling).not.to.emit(registry, "WorkerSlashed");
    expect(await statusOf(world, job)).to.equal(REFUNDED);
  });

  it("rejected: the charge stands, the wallet's bond goes to the treasury", async () => {
    const { world, escrow, client, token, treasury } = await rich(freshWorld());
    const job = await disputedJob(world, { by: client });
    const ruling = sendRuling(world, job, Ruling.Rejected);
    await expect(ruling)
      .to.emit(escrow, "DisputeResolved")
      .withArgs(job.id, client.address, Ruling.Rejected, SETTLED, 0, CLIENT_CREDITS - 60 - BOND, 0);
    await expect(ruling).not.to.emit(escrow, "Compensated");
    await expectTokens(ruling, token, treasury, 1_000_000);
  });

  it("expired: the charge stands, the client has the fee back and its bond", async () => {
    const { world, escrow, client } = await rich(freshWorld());
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
});

describe("A proven job's dispute", () => {
  it("against the worker: the escrow returns, the treasury pays nothing", async () => {
    const { world, escrow, client } = await rich(freshWorld());
    const job = await disputedProvenJob(world);
    const ruling = sendRuling(world, job, Ruling.WorkerAtFault);
    await expect(ruling)
      .to.emit(escrow, "DisputeResolved")
      .withArgs(job.id, client.address, Ruling.WorkerAtFault, REFUNDED, 80, CLIENT_CREDITS, 0);
    await expect(ruling).not.to.emit(escrow, "Compensated");
    await expect(ruling).not.to.emit(escrow, "OperatorCharged");
  });
});

describe("The operator's reserve", () => {
  it("pays while its operator is stopped and while its withdrawal is announced", async () => {
    const { world, escrow, guardian, operatorAdmin } = await freshWorld();
    const job = await disputedJob(world);
    await escrow.connect(guardian).stopOperator(OPERATOR, true);
    await escrow.connect(operatorAdmin).announceReserveWithdrawal(OPERATOR, RESERVE_CREDITS);
    await expect(sendRuling(world, job, Ruling.GatewayAtFault)).to.emit(escrow, "OperatorCharged");
  });
});
