import { expect } from "chai";
import { ethers, nextBlockAt, now } from "../support/chain.ts";
import { expectRevert, expectTokens } from "../support/expect.ts";
import { freshHostileWorld, freshWorld } from "../support/fresh.ts";
import { Behaviour, REFUSALS } from "../support/hostile.ts";
import { completeArgs, lockJob, provenJob, sendComplete, sendFinalize } from "../support/jobs.ts";
import { CLIENT_CREDITS, RESERVE_CREDITS, registerWorker } from "../support/world.ts";

const PAID = 540_000n;
const FEE = 60_000n;

describe("Payouts", () => {
  for (const [feeBps, workerUnits, feeUnits] of [
    [0, 600_000n, 0n],
    [1, 599_940n, 60n],
    [2_000, 480_000n, 120_000n],
  ] as const) {
    it(`splits 60 credits exactly at a fee of ${feeBps} hundredths of a percent`, async () => {
      const { world, escrow, token, treasury, worker } = await freshWorld();
      await escrow.scheduleFee(feeBps, 0);
      await nextBlockAt((await now()) + 86_400);
      const job = await lockJob(world);
      await expectTokens(sendComplete(world, job), token, [worker.payout, treasury], [workerUnits, feeUnits]);
    });
  }

  for (const [name, behaviour] of REFUSALS) {
    it(`defers the worker's pay when the token ${name}, and pays everyone else`, async () => {
      const { world, escrow, hostile, worker, treasury } = await freshHostileWorld();
      await hostile.setBehaviour(worker.payout, behaviour);
      const job = await lockJob(world);
      const completing = sendComplete(world, job);
      await expect(completing).to.emit(escrow, "PayoutDeferred").withArgs(job.id, worker.payout, PAID);
      await expectTokens(completing, hostile, treasury, FEE);
      expect((await escrow.jobOf(job.id)).status).to.equal(4);
      expect(await escrow.claimableOf(worker.payout)).to.equal(PAID);
      expect(await escrow.liabilities()).to.deep.equal([BigInt(RESERVE_CREDITS + CLIENT_CREDITS - 60), PAID]);
    });
  }

  it("takes a token without a return value for one that paid", async () => {
    const { world, hostile, worker } = await freshHostileWorld();
    await hostile.setBehaviour(worker.payout, Behaviour.ReturnNothing);
    const job = await lockJob(world);
    await expectTokens(sendComplete(world, job), hostile, worker.payout, PAID);
    expect(await world.escrow.claimableOf(worker.payout)).to.equal(0);
  });

  it("defers the treasury's fee in the same way, also at finalization", async () => {
    const { world, escrow, hostile, treasury, worker } = await freshHostileWorld();
    const payee = await treasury.getAddress();
    await hostile.setBehaviour(payee, Behaviour.Revert);
    const job = await provenJob(world);
    await nextBlockAt(job.finalizeFrom);
    const finalizing = sendFinalize(world, job);
    await expect(finalizing).to.emit(escrow, "PayoutDeferred").withArgs(job.id, payee, FEE);
    await expectTokens(finalizing, hostile, worker.payout, PAID);
  });

  it("asks by name for the gas of a transfer that it could not hand on", async () => {
    const { world, escrow, gateway } = await freshWorld();
    const args = await completeArgs(world, await lockJob(world));
    await expectRevert(escrow.connect(gateway).complete(...args, { gasLimit: 200_000n }), "BoundedCall_OutOfGas");
  });
});

describe("claim", () => {
  async function withDeferred() {
    const world = await freshHostileWorld();
    await world.hostile.setBehaviour(world.worker.payout, Behaviour.Revert);
    await sendComplete(world, await lockJob(world));
    return world;
  }

  it("pays the payee once the token lets it, whoever asks", async () => {
    const { escrow, hostile, worker, stranger } = await withDeferred();
    await hostile.setBehaviour(worker.payout, Behaviour.Standard);
    const claiming = escrow.connect(stranger).claim(worker.payout);
    await expect(claiming).to.emit(escrow, "PayoutClaimed").withArgs(worker.payout, worker.payout, 1, PAID);
    await expectTokens(claiming, hostile, [escrow, worker.payout, stranger], [-PAID, PAID, 0n]);
    expect(await escrow.liabilities()).to.deep.equal([BigInt(RESERVE_CREDITS + CLIENT_CREDITS - 60), 0n]);
    await expectRevert(escrow.claim(worker.payout), "Ledger_NothingToClaim", worker.payout);
  });

  it("adds up what several jobs owe and counts the claims", async () => {
    const world = await withDeferred();
    const { escrow, hostile, worker } = world;
    await sendComplete(world, await lockJob(world));
    expect(await escrow.claimableOf(worker.payout)).to.equal(2n * PAID);
    await hostile.setBehaviour(worker.payout, Behaviour.Standard);
    await expect(escrow.claim(worker.payout))
      .to.emit(escrow, "PayoutClaimed")
      .withArgs(worker.payout, worker.payout, 1, 2n * PAID);
    await hostile.setBehaviour(worker.payout, Behaviour.Revert);
    await sendComplete(world, await lockJob(world));
    await hostile.setBehaviour(worker.payout, Behaviour.Standard);
    await expect(escrow.claim(worker.payout))
      .to.emit(escrow, "PayoutClaimed")
      .withArgs(worker.payout, worker.payout, 2, PAID);
  });
});

describe("claimTo", () => {
  /** A payout of 54 credits waits for the stranger, whom the token blocks. */
  async function withBlockedPayee() {
    const world = await freshHostileWorld();
    const payee = world.stranger;
    const worker = await registerWorker(world, "blocked", { payout: payee.address });
    await world.hostile.setBehaviour(payee.address, Behaviour.Revert);
    await sendComplete(world, await lockJob(world), { worker });
    return { ...world, payee };
  }

  it("pays the caller's deferred payout to any address it names", async () => {
    const { escrow, hostile, payee, client } = await withBlockedPayee();
    await expectRevert(escrow.claim(payee.address), "Ledger_PayoutRefused", payee.address, PAID);
    const claiming = escrow.connect(payee).claimTo(client.address);
    await expect(claiming).to.emit(escrow, "PayoutClaimed").withArgs(payee.address, client.address, 1, PAID);
    await expectTokens(claiming, hostile, [escrow, client, payee], [-PAID, PAID, 0n]);
    expect(await escrow.claimableOf(payee.address)).to.equal(0);
    await expectRevert(escrow.connect(payee).claimTo(client.address), "Ledger_NothingToClaim", payee.address);
  });

  it("redirects nothing for anybody else", async () => {
    const { escrow, owner, guardian, gateway, client, workerOwner, payee } = await withBlockedPayee();
    for (const caller of [owner, guardian, gateway, client, workerOwner])
      await expectRevert(escrow.connect(caller).claimTo(caller.address), "Ledger_NothingToClaim", caller.address);
    expect(await escrow.claimableOf(payee.address)).to.equal(PAID);
  });

  it("refuses receivers that would lose the tokens", async () => {
    const { escrow, hostile, payee } = await withBlockedPayee();
    for (const receiver of [ethers.ZeroAddress, await escrow.getAddress(), await hostile.getAddress()])
      await expectRevert(escrow.connect(payee).claimTo(receiver), "Ledger_InvalidReceiver", receiver);
  });

  it("keeps the amount when the token refuses the receiver, too", async () => {
    const { escrow, hostile, payee, client } = await withBlockedPayee();
    await hostile.setBehaviour(client.address, Behaviour.ReturnFalse);
    await expectRevert(escrow.connect(payee).claimTo(client.address), "Ledger_PayoutRefused", client.address, PAID);
    expect(await escrow.claimableOf(payee.address)).to.equal(PAID);
  });

  it("counts on from the payee's other claims, and works while paused", async () => {
    const world = await withBlockedPayee();
    const { escrow, hostile, payee, client, guardian } = world;
    await hostile.setBehaviour(payee.address, Behaviour.Standard);
    await escrow.claim(payee.address);
    await hostile.setBehaviour(payee.address, Behaviour.Revert);
    const worker = await registerWorker(world, "blocked again", { payout: payee.address });
    await sendComplete(world, await lockJob(world), { worker });
    await escrow.connect(guardian).setPaused(true);
    const sent = escrow.connect(payee).claimTo(client.address);
    await expect(sent).to.emit(escrow, "PayoutClaimed").withArgs(payee.address, client.address, 2, PAID);
  });
});

// A caught transfer gets the whole gas that it may use, whoever chooses the gas of the call: at the limit, not a unit less.

/** What BoundedCall hands to one transfer. */
const CALL_GAS = 150_000;

type Step = { depth: number; gas: number | string };

/** Gas with which the first call out of the contract began. */
async function firstCallGas(hash: string): Promise<number> {
  const trace = await ethers.provider.send("debug_traceTransaction", [hash, { disableStorage: true }]);
  const inner = (trace.structLogs as Step[]).find(({ depth }) => depth === 2);
  return Number(inner?.gas);
}

it("A claim goes through with its least gas, and not with one unit less", async () => {
  const { world, escrow, hostile, worker, stranger } = await freshHostileWorld();
  await hostile.setBehaviour(worker.payout, Behaviour.Revert);
  await sendComplete(world, await lockJob(world));
  await hostile.setBehaviour(worker.payout, Behaviour.Standard);
  const claim = escrow.connect(stranger).claim;
  const suffices = (gasLimit: bigint) =>
    claim.staticCall(worker.payout, { gasLimit }).then(
      () => true,
      () => false,
    );

  let [low, high] = [100_000n, 400_000n];
  expect([await suffices(low), await suffices(high)]).to.deep.equal([false, true]);
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    if (await suffices(middle)) high = middle;
    else low = middle;
  }
  await expectRevert(claim(worker.payout, { gasLimit: low }), "BoundedCall_OutOfGas");
  const { hash } = await claim(worker.payout, { gasLimit: high });
  // EIP-150 keeps a 64th of what is left: the floor must count it in, or the token gets less than its gas.
  expect(await firstCallGas(hash)).to.equal(CALL_GAS);
  expect(await hostile.balanceOf(worker.payout)).to.equal(540_000n);
});
