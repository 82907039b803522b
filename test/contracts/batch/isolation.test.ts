/** What a batch keeps apart: its items from each other, its caller from everybody else. That it does what they do: Batch.t.sol. */
import { expect } from "chai";
import { type Call, expectAllOrNothing } from "../gas/sweep.ts";
import { jobId } from "../support/actors.ts";
import { executeBatch, items } from "../support/batch.ts";
import { ethers } from "../support/chain.ts";
import { Ruling, settledJob } from "../support/disputes.ts";
import { expectRevert } from "../support/expect.ts";
import { freshHostileWorld, freshWorld } from "../support/fresh.ts";
import { Behaviour } from "../support/hostile.ts";
import { lockJob, sendComplete } from "../support/jobs.ts";
import { CLIENT_CREDITS, type World } from "../support/world.ts";

describe("A batch", () => {
  it("undoes a failed item alone and says which, what and why", async () => {
    const { world, escrow, gateway } = await freshWorld();
    const job = await lockJob(world);
    const make = items(world);
    const [before, after] = [jobId(), jobId()];
    const { failures } = await executeBatch(world, gateway, [make.lock(before), make.lock(job.id), make.lock(after)]);
    expect(failures).to.deep.equal([
      {
        index: 1,
        selector: escrow.interface.getFunction("lock").selector,
        reason: escrow.interface.encodeErrorResult("Job_AlreadyExists", [job.id]),
      },
    ]);
    expect((await escrow.jobOf(before)).status).to.equal(1);
    expect((await escrow.jobOf(after)).status).to.equal(1);
  });

  it("undoes what an item did before it failed", async () => {
    const { world, escrow, client, hostile } = await freshHostileWorld();
    await hostile.setBehaviour(client.address, Behaviour.Revert);
    const make = items(world);
    const { failures } = await executeBatch(world, client, [
      make.withdraw(5, client.address),
      make.withdraw(7, world.stranger.address),
    ]);
    expect(failures.map((failure) => failure.index)).to.deep.equal([0]);
    expect((await escrow.accountOf(client.address)).free).to.equal(CLIENT_CREDITS - 7);
  });

  it("reports 256 bytes of a reason at most, and a shorter one whole", async () => {
    const { world, client, hostile } = await freshHostileWorld();
    await hostile.setBehaviour(client.address, Behaviour.ReturnBomb);
    const make = items(world);
    const { failures } = await executeBatch(world, client, [
      make.withdraw(5, client.address),
      make.withdraw(0, client.address),
    ]);
    expect(failures.map((failure) => (failure.reason.length - 2) / 2)).to.deep.equal([256, 4]);
  });

  it("survives items that are no calls at all", async () => {
    const world = await freshWorld();
    const job = await lockJob(world);
    const make = items(world);
    const { failures } = await executeBatch(world, world.gateway, [
      "0x",
      "0xab",
      "0xdeadbeef",
      make.fail(job).slice(0, 40),
      make.fail(job),
    ]);
    expect(failures.map(({ index, selector, reason }) => [index, selector, reason])).to.deep.equal([
      [0, "0x00000000", "0x"],
      [1, "0xab000000", "0x"],
      [2, "0xdeadbeef", "0x"],
      [3, world.escrow.interface.getFunction("fail").selector, "0x"],
    ]);
    expect((await world.escrow.jobOf(job.id)).status).to.equal(5);
  });

  it("may be empty", async () => {
    const world = await freshWorld();
    expect((await executeBatch(world, world.stranger, [])).failures).to.deep.equal([]);
  });

  it("takes no ether", async () => {
    const { escrow, gateway } = await freshWorld();
    const data = escrow.interface.encodeFunctionData("execute", [[]]);
    await expect(gateway.sendTransaction({ to: escrow, data, value: 1n })).to.revert(ethers);
  });
});

describe("Authority in a batch", () => {
  it("is the caller's: a stranger's batch can do no more than the stranger", async () => {
    const { world, escrow, stranger, client } = await freshWorld();
    const job = await lockJob(world);
    const make = items(world);
    const admin = escrow.interface.encodeFunctionData("admitOperator", [stranger.address]);
    const batch = [make.lock(), make.fail(job), await make.complete(job), make.withdraw(1, stranger.address), admin];
    const { failures } = await executeBatch(world, stranger, batch);
    const errors = failures.map((failure) => escrow.interface.parseError(failure.reason)?.name);
    expect(errors).to.deep.equal([
      "Job_MayNotLock",
      "Job_NotItsOperator",
      "Job_NotItsOperator",
      "Ledger_UnknownAccount",
      "OwnableUnauthorizedAccount",
    ]);
    expect((await escrow.accountOf(client.address)).free).to.equal(CLIENT_CREDITS - 80);
  });

  it("cannot be nested", async () => {
    const { world, escrow, gateway } = await freshWorld();
    const make = items(world);
    const id = jobId();
    const { failures } = await executeBatch(world, gateway, [make.execute([make.lock()]), make.lock(id)]);
    expect(failures.map(({ index, reason }) => [index, reason])).to.deep.equal([
      [0, escrow.interface.encodeErrorResult("Batch_Nested", [])],
    ]);
    expect((await escrow.jobOf(id)).status).to.equal(1);
  });

  it("cannot be nested through the token either", async () => {
    const { world, escrow, hostile, gateway } = await freshHostileWorld();
    const make = items(world);
    const job = await lockJob(world);
    await hostile.setHook(await escrow.getAddress(), make.execute([]));
    await executeBatch(world, gateway, [await make.complete(job)]);
    expect(await hostile.hookResult()).to.equal(escrow.interface.encodeErrorResult("Batch_Nested", []));
    // Outside a batch it is the guard that keeps the token out, even with nothing to do.
    const other = await lockJob(world);
    await hostile.setHook(await escrow.getAddress(), make.execute([]));
    await sendComplete(world, other);
    expect(await hostile.hookResult()).to.equal(escrow.interface.encodeErrorResult("ReentrancyGuardReentrantCall", []));
  });

  it("does not let a caller act through the escrow on registry, treasury or panel", async () => {
    const { world, registry, treasury, stranger } = await freshWorld();
    const job = await settledJob(world);
    // Items are calls of the escrow to itself: functions of other contracts are not among them.
    const foreign = [
      registry.interface.encodeFunctionData("slash", [job.id, false]),
      treasury.interface.encodeFunctionData("compensate", [job.id, 1]),
      world.panel.interface.encodeFunctionData("vote", [job.id, Ruling.WorkerAtFault]),
    ];
    const { failures } = await executeBatch(world, stranger, foreign);
    expect(failures.map(({ index, reason }) => [index, reason])).to.deep.equal([
      [0, "0x"],
      [1, "0x"],
      [2, "0x"],
    ]);
    expect((await registry.workerAt(world.worker.id)).stake).to.equal(1_000_000_000);
  });
});

// A batch with too little gas reverts whole: no item ever fails for want of gas, and no payee is deferred for it.

const sending = ({ escrow, gateway }: World, batch: string[]): Call => ({
  from: gateway,
  to: escrow,
  data: escrow.interface.encodeFunctionData("execute", [batch]),
});

describe("Gas of a batch", () => {
  it("is refused by name below the floor of the next item", async () => {
    const { world, escrow, gateway } = await freshWorld();
    const batch = [items(world).lock()];
    const floor = await escrow.ITEM_GAS();
    await expectRevert(escrow.connect(gateway).execute(batch, { gasLimit: floor }), "Batch_OutOfGas");
    await escrow.connect(gateway).execute(batch, { gasLimit: floor + 40_000n });
  });

  it("never cuts a batch in two: each limit gives all items or none", async () => {
    const { world, escrow, token, worker } = await freshWorld();
    const make = items(world);
    const [first, second] = [await lockJob(world), await lockJob(world)];
    const id = jobId();
    const batch = [await make.complete(first), make.lock(id), await make.complete(second)];
    await expectAllOrNothing(sending(world, batch), { from: 600_000, to: 1_000_000, steps: 40 });
    expect((await executeBatch(world, world.gateway, batch, 1_000_000n)).failures).to.deep.equal([]);
    expect((await escrow.jobOf(id)).status).to.equal(1);
    expect(await token.balanceOf(worker.payout)).to.equal(2n * 540_000n);
  });
});
