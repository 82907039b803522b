/** A token that refuses, cheats or calls back: settlements and rulings stand, only what arrives counts, and the books balance. */
import { expect } from "chai";
import { books, moved } from "./support/books.ts";
import { actingAs, ethers, nextBlockAt } from "./support/chain.ts";
import {
  CHARGE_UNITS,
  disputedJob,
  disputedProvenJob,
  FEE_UNITS,
  Ruling,
  sendDispute,
  sendEquivocation,
  sendExpire,
  sendRuling,
  sendVote,
  settledJob,
  WORKER_UNITS,
} from "./support/disputes.ts";
import { dayOf, PART_UNITS, sendWithdrawal, vestsAt, withShare } from "./support/earnings.ts";
import { expectRevert, expectTokens } from "./support/expect.ts";
import { freshHostileWorld, freshHostileWorldWithoutReserve, rich } from "./support/fresh.ts";
import { Behaviour, intrusions, REFUSALS } from "./support/hostile.ts";
import { acknowledgedJob, lockJob, provenJob, sendComplete, sendFinalize } from "./support/jobs.ts";
import { CLIENT_CREDITS, OPERATOR } from "./support/world.ts";

// Settlements with a token that turned hostile after the deposits: every door is shut while it pays, and the books still balance.

const PAID = 540_000n;
const FEE = 60_000n;

it("A token that begins to take a fee takes it from the payees, not the escrow", async () => {
  const { world, escrow, hostile, worker, treasury } = await freshHostileWorld();
  const job = await lockJob(world);
  await hostile.setFee(1_000);
  await expect(sendComplete(world, job)).to.changeTokenBalances(
    ethers,
    hostile,
    [escrow, worker.payout, treasury],
    [-PAID - FEE, PAID - 1_000n, FEE - 1_000n],
  );
  await books(world);
});

describe("A token that calls back", () => {
  for (const path of ["complete", "finalize"] as const) {
    it(`during ${path} finds every door shut, and everybody is paid once`, async () => {
      const { world, escrow, hostile, worker, treasury } = await freshHostileWorld();
      const target = await escrow.getAddress();
      const shut = escrow.interface.encodeErrorResult("ReentrancyGuardReentrantCall", []);
      for (const [name, data] of await intrusions(world)) {
        const job = path === "complete" ? await acknowledgedJob(world) : await provenJob(world);
        if ("finalizeFrom" in job) await nextBlockAt(Number(job.finalizeFrom));
        await hostile.setHook(target, data);
        const settling = path === "complete" ? sendComplete(world, job) : sendFinalize(world, job);
        await expect(settling, name).to.changeTokenBalances(
          ethers,
          hostile,
          [escrow, worker.payout, treasury],
          [-PAID - FEE, PAID, FEE],
        );
        expect(await hostile.hookResult(), name).to.equal(shut);
        await books(world);
      }
    });
  }
});

// Outcomes of disputes with a token that refuses, cheats or calls back: a ruling always stands, and only what arrives is counted.

/** What the treasury may pay in a day for one operator's jobs: a quarter of 20,000 credits. */
const OPERATORS_SHARE = 50_000_000n;

/** Its operator has no reserve: what a gateway is at fault for, the treasury pays. */
const richWorld = () => rich(freshHostileWorldWithoutReserve());

for (const [name, behaviour] of REFUSALS) {
  describe(`A token that ${name}`, () => {
    it("towards the escrow: the compensation is a debt, paid when it lets go", async () => {
      const world = await richWorld();
      const { escrow, hostile, client } = world;
      const job = await disputedJob(world);
      await hostile.setBehaviour(escrow, behaviour);
      await expect(sendRuling(world, job, Ruling.GatewayAtFault))
        .to.emit(escrow, "Compensated")
        .withArgs(job.id, client.address, client.address, 0, CHARGE_UNITS, true, CLIENT_CREDITS - 60, 0);
      await expectRevert(escrow.collectDebt(job.id), "Dispute_NothingPaid", job.id, CHARGE_UNITS, OPERATORS_SHARE);
      await hostile.setBehaviour(escrow, Behaviour.Standard);
      await escrow.collectDebt(job.id);
      expect((await escrow.accountOf(client.address)).free).to.equal(CLIENT_CREDITS);
      await books(world);
    });
  });
}

/** The escrow tells its own refused payments apart in one place: settlement/payouts.test.ts shows it for every refusal. */
const WORST = REFUSALS.filter(([, behaviour]) => behaviour === Behaviour.Revert || behaviour === Behaviour.BurnGas);

for (const [name, behaviour] of WORST) {
  describe(`A token that ${name} towards a payee of the escrow`, () => {
    it("towards the worker: what the treasury pays it waits for it", async () => {
      const world = await richWorld();
      const { escrow, hostile, worker, client } = world;
      const job = await disputedProvenJob(world, { by: client });
      await hostile.setBehaviour(worker.payout, behaviour);
      const sent = sendRuling(world, job, Ruling.GatewayAtFault);
      await expect(sent).to.emit(escrow, "PayoutDeferred").withArgs(job.id, worker.payout, WORKER_UNITS);
      expect(await escrow.compensationOf(job.id)).to.deep.equal([WORKER_UNITS, WORKER_UNITS, true]);
      await books(world);
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
      await books(world);
    });

    it("towards the worker: the operator's bond of a rejected dispute waits for it", async () => {
      const { world, escrow, hostile, worker } = await freshHostileWorld();
      const job = await disputedProvenJob(world);
      await hostile.setBehaviour(worker.payout, behaviour);
      const sent = sendRuling(world, job, Ruling.Rejected);
      await expect(sent).to.emit(escrow, "PayoutDeferred").withArgs(job.id, worker.payout, CHARGE_UNITS);
      await books(world);
    });

    it("towards the treasury: the bond of a rejected dispute waits for it", async () => {
      const world = await richWorld();
      const { escrow, hostile, treasury, client } = world;
      const job = await disputedJob(world, { by: client });
      await hostile.setBehaviour(treasury, behaviour);
      await expect(sendRuling(world, job, Ruling.Rejected))
        .to.emit(escrow, "PayoutDeferred")
        .withArgs(job.id, await treasury.getAddress(), 600_000);
      await books(world);
      await hostile.setBehaviour(treasury, Behaviour.Standard);
      await expectTokens(escrow.claim(treasury), hostile, treasury, 600_000n);
    });
  });
}

describe("A token that blocks the wallet", () => {
  it("cannot stop its jobs, and its credits go out to another address", async () => {
    const { world, escrow, hostile, client, gateway, stranger } = await freshHostileWorld();
    await hostile.setBehaviour(client.address, Behaviour.Revert);
    const jobs = [await lockJob(world), await lockJob(world), await lockJob(world)] as const;
    await sendComplete(world, jobs[0]);
    await escrow.connect(gateway).fail(jobs[1].id, 0);
    await nextBlockAt(jobs[2].lockedAt + 150);
    await escrow.connect(stranger).refund(jobs[2].id);
    const { free, escrowed } = await escrow.accountOf(client.address);
    expect([free, escrowed]).to.deep.equal([BigInt(CLIENT_CREDITS - 60), 0n]);
    await expect(escrow.connect(client).withdraw(1, client.address)).to.revert(ethers);
    await expectTokens(escrow.connect(client).withdraw(free, stranger.address), hostile, stranger, free * 10_000n);
  });

  it("cannot keep compensation from it: it withdraws to another address", async () => {
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

it("A token that takes a fee on transfer credits what arrived; the rest is owed", async () => {
  const world = await richWorld();
  const { escrow, hostile, client } = world;
  const job = await disputedJob(world);
  await hostile.setFee(1_000);
  await expect(sendRuling(world, job, Ruling.GatewayAtFault))
    .to.emit(escrow, "Compensated")
    .withArgs(job.id, client.address, client.address, CHARGE_UNITS - 1_000n, 1_000, true, CLIENT_CREDITS - 1, 0);
  expect(await escrow.claimableOf(client.address)).to.equal(9_000);
  await books(world);
});

it("A compensation that brings more than is owed credits what is owed", async () => {
  const { world, escrow, hostile, treasury, client } = await freshHostileWorldWithoutReserve();
  const job = await disputedJob(world);
  await hostile.mint(treasury, 10_000_000n);
  const gift = hostile.interface.encodeFunctionData("mint", [await escrow.getAddress(), 1_000_000n]);
  await hostile.setHook(hostile, gift);
  await expect(sendRuling(world, job, Ruling.GatewayAtFault))
    .to.emit(escrow, "Compensated")
    .withArgs(job.id, client.address, client.address, CHARGE_UNITS, 0, true, CLIENT_CREDITS, 0);
  expect(await escrow.compensationOf(job.id)).to.deep.equal([CHARGE_UNITS, CHARGE_UNITS, false]);
  const { credits, units } = await escrow.liabilities();
  expect(await hostile.balanceOf(escrow)).to.equal(credits * 10_000n + units + 1_000_000n);
});

// A token that calls back in the middle of a ruling: nothing that moves money can be entered, nothing is paid twice.

describe("A token that calls back during a compensation", () => {
  it("finds every door that moves money closed, and the compensation is paid once", async () => {
    const { world, escrow, hostile, client } = await freshHostileWorldWithoutReserve();
    await hostile.mint(world.treasury, 100_000_000n);
    const target = await escrow.getAddress();
    for (const [name, data] of await intrusions(world)) {
      const job = await disputedJob(world, { by: client });
      const before = await books(world);
      await hostile.setHook(target, data);
      await sendRuling(world, job, Ruling.GatewayAtFault);
      expect(await hostile.hookResult(), name).to.equal(
        escrow.interface.encodeErrorResult("ReentrancyGuardReentrantCall", []),
      );
      expect(moved(before, await books(world)), name).to.deep.equal({
        free: 120n,
        escrowed: -60n,
        treasury: -600_000n,
        escrow: 600_000n,
      });
    }
  });

  it("finds them closed during an equivocation and a collected debt, too", async () => {
    const { world, escrow, hostile, client, treasury } = await freshHostileWorldWithoutReserve();
    const target = await escrow.getAddress();
    const guarded = escrow.interface.encodeErrorResult("ReentrancyGuardReentrantCall", []);
    const collect = (id: string) => escrow.interface.encodeFunctionData("collectDebt", [id]);
    const [first, second] = [await settledJob(world), await settledJob(world)];
    await sendDispute(world, second);
    await hostile.setHook(target, collect(first.id));
    await sendEquivocation(world, first);
    expect(await hostile.hookResult()).to.equal(guarded);
    // The fee of the other job is all the treasury has left.
    await sendRuling(world, second, Ruling.GatewayAtFault);
    const { granted, paid } = await escrow.compensationOf(second.id);
    expect(paid).to.equal(FEE_UNITS);
    await hostile.mint(treasury, granted - paid);
    await hostile.setHook(target, collect(second.id));
    await escrow.collectDebt(second.id);
    expect(await hostile.hookResult()).to.equal(guarded);
    expect((await escrow.compensationOf(second.id)).paid).to.equal(granted);
    await books(world);
    expect((await escrow.accountOf(client.address)).free).to.equal(CLIENT_CREDITS - 54);
  });

  it("can end another job of the same wallet meanwhile, and both amounts arrive", async () => {
    const { world, escrow, hostile, client } = await rich(freshHostileWorldWithoutReserve());
    const waiting = await lockJob(world);
    const job = await disputedJob(world);
    await nextBlockAt(waiting.lockedAt + 150);
    await sendVote(world, job, Ruling.GatewayAtFault);
    await hostile.setHook(await escrow.getAddress(), escrow.interface.encodeFunctionData("refund", [waiting.id]));
    await sendVote(world, job, Ruling.GatewayAtFault, world.arbiters[1]);
    expect(await hostile.hookSucceeded()).to.equal(true);
    const { free, escrowed } = await escrow.accountOf(client.address);
    expect([free, escrowed]).to.deep.equal([BigInt(CLIENT_CREDITS), 0n]);
    await books(world);
  });
});

describe("A token that calls back while an operator's part of a fee moves", () => {
  it("to the treasury finds every door that moves money closed, and each is paid once", async () => {
    const world = await withShare(freshHostileWorld());
    const { escrow, hostile, client } = world;
    const target = await escrow.getAddress();
    const shut = escrow.interface.encodeErrorResult("ReentrancyGuardReentrantCall", []);
    for (const [name, data] of await intrusions(world)) {
      const job = await disputedJob(world, { by: client });
      const before = await books(world);
      await hostile.setHook(target, data);
      // The part is what is transferred: the reserve pays the client in credits.
      await sendRuling(world, job, Ruling.GatewayAtFault);
      expect(await hostile.hookResult(), name).to.equal(shut);
      expect(moved(before, await books(world)), name).to.deep.equal({
        free: 120n,
        escrowed: -60n,
        treasury: PART_UNITS,
        escrow: -PART_UNITS,
        unitsOwed: -PART_UNITS,
      });
    }
  });

  it("can end another job of the same wallet meanwhile, and both amounts arrive", async () => {
    const world = await withShare(freshHostileWorld());
    const { escrow, hostile, client } = world;
    const waiting = await lockJob(world);
    const job = await disputedJob(world);
    await nextBlockAt(waiting.lockedAt + 150);
    await sendVote(world, job, Ruling.GatewayAtFault);
    await hostile.setHook(escrow, escrow.interface.encodeFunctionData("refund", [waiting.id]));
    await sendVote(world, job, Ruling.GatewayAtFault, world.arbiters[1]);
    expect(await hostile.hookSucceeded()).to.equal(true);
    const { free, escrowed } = await escrow.accountOf(client.address);
    expect([free, escrowed]).to.deep.equal([BigInt(CLIENT_CREDITS), 0n]);
    await books(world);
  });

  it("to the operator's admin cannot have it paid twice", async () => {
    const world = await withShare(freshHostileWorld());
    const { escrow, hostile, operatorAdmin } = world;
    const job = await settledJob(world);
    const days = [dayOf(job), dayOf(job)] as const;
    await nextBlockAt(vestsAt(job));
    // The token itself is the admin, so that only the guard stands in its way.
    await escrow.connect(operatorAdmin).setOperatorAdmin(OPERATOR, hostile);
    const args = [OPERATOR, ...days, operatorAdmin.address] as const;
    await hostile.setHook(escrow, escrow.interface.encodeFunctionData("withdrawEarnings", [...args]));
    const withdrawing = sendWithdrawal(world, days, { by: await actingAs(hostile), receiver: operatorAdmin.address });
    await expectTokens(withdrawing, hostile, operatorAdmin, PART_UNITS);
    const shut = escrow.interface.encodeErrorResult("ReentrancyGuardReentrantCall", []);
    expect(await hostile.hookResult()).to.equal(shut);
    await books(world);
  });
});
