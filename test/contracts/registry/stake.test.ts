import { expect } from "chai";
import { ethers, nextBlockAt, now } from "../support/chain.ts";
import { expectRevert, expectTokens } from "../support/expect.ts";
import { freshWorld } from "../support/fresh.ts";
import { registerWorker, STAKE_UNIT, type World } from "../support/world.ts";

const MINIMUM = 1_000_000_000n;
const UNBONDING = 172_800;

async function giveStake(world: World, stake: bigint) {
  await world.svc.transfer(world.stranger.address, stake * STAKE_UNIT);
  await world.svc.connect(world.stranger).approve(world.registry, stake * STAKE_UNIT);
}

describe("Stake", () => {
  it("makes a worker active at the minimum, not a millionth below", async () => {
    const { world, registry, stranger, svc } = await freshWorld();
    const worker = await registerWorker(world, "poor", { stake: MINIMUM - 1n });
    expect((await registry.workerAt(worker.id)).active).to.equal(false);
    await giveStake(world, 1n);
    const adding = registry.connect(stranger).addStake(worker.key.address, 1);
    await expect(adding).to.emit(registry, "StakeAdded").withArgs(worker.id, worker.key.address, 4, 1, MINIMUM);
    await expectTokens(adding, svc, [stranger, registry], [-STAKE_UNIT, STAKE_UNIT]);
    expect((await registry.workerAt(worker.id)).active).to.equal(true);
  });

  it("cannot be zero, nor more than was approved", async () => {
    const { registry, worker, stranger } = await freshWorld();
    await expectRevert(registry.addStake(worker.key.address, 0), "Registry_ZeroStake");
    await expectRevert(registry.connect(stranger).addStake(worker.key.address, 1), "ERC20InsufficientAllowance");
  });

  it("fits 48 bits, and more is refused instead of cut", async () => {
    const { world, registry, worker, stranger } = await freshWorld();
    const most = 2n ** 48n - 1n;
    await giveStake(world, most);
    await expect(registry.connect(stranger).addStake(worker.key.address, most - MINIMUM + 1n))
      .to.be.revertedWithCustomError(registry, "SafeCastOverflowedUintDowncast")
      .withArgs(48, most + 1n);
    await registry.connect(stranger).addStake(worker.key.address, most - MINIMUM);
    expect((await registry.workerAt(worker.id)).stake).to.equal(most);
  });

  it("keeps what the worker hosts through unbonding and back", async () => {
    const { registry, worker, workerOwner } = await freshWorld();
    const mine = registry.connect(workerOwner);
    const before = [...(await registry.workerAt(worker.id)).models];
    await mine.startUnbonding(worker.key.address);
    expect([...(await registry.workerAt(worker.id)).models]).to.deep.equal(before);
    await mine.setHosting(worker.key.address, [1], false);
    expect((await registry.workerAt(worker.id)).unbondsAt).to.not.equal(0);
    await mine.cancelUnbonding(worker.key.address);
    expect([...(await registry.workerAt(worker.id)).models]).to.deep.equal(before.slice(1));
  });

  it("is out of work from the start of unbonding, and pays out 172,800 s later, not a second sooner", async () => {
    const { registry, worker, workerOwner, svc, stranger } = await freshWorld();
    const signer = worker.key.address;
    const mine = registry.connect(workerOwner);
    const started = (await now()) + 10;
    await nextBlockAt(started);
    const unbondsAt = started + UNBONDING;
    await expect(mine.startUnbonding(signer))
      .to.emit(registry, "UnbondingStarted")
      .withArgs(worker.id, signer, 4, unbondsAt);
    expect(await registry.payeeOf(signer, 1)).to.equal(0);
    await nextBlockAt(unbondsAt - 1);
    await expect(mine.withdrawStake(signer, stranger.address))
      .to.be.revertedWithCustomError(registry, "Registry_StillBonded")
      .withArgs(signer, unbondsAt, unbondsAt - 1);
    await nextBlockAt(unbondsAt);
    const withdrawing = mine.withdrawStake(signer, stranger.address);
    await expect(withdrawing)
      .to.emit(registry, "StakeWithdrawn")
      .withArgs(worker.id, signer, 5, MINIMUM, stranger.address);
    await expectTokens(withdrawing, svc, stranger, MINIMUM * STAKE_UNIT);
    const view = await registry.workerAt(worker.id);
    expect([view.stake, view.unbondsAt, view.active]).to.deep.equal([0n, 0n, false]);
    await expectRevert(mine.withdrawStake(signer, stranger.address), "Registry_NotUnbonding");
    await expectRevert(mine.startUnbonding(signer), "Registry_NoStake", signer);
  });

  it("is not withdrawable without unbonding", async () => {
    const { registry, worker, workerOwner } = await freshWorld();
    await expect(registry.connect(workerOwner).withdrawStake(worker.key.address, workerOwner.address))
      .to.be.revertedWithCustomError(registry, "Registry_NotUnbonding")
      .withArgs(worker.key.address);
  });

  it("waits the whole time again after a cancellation", async () => {
    const { registry, worker, workerOwner } = await freshWorld();
    const signer = worker.key.address;
    const mine = registry.connect(workerOwner);
    await expectRevert(mine.cancelUnbonding(signer), "Registry_NotUnbonding", signer);
    await mine.startUnbonding(signer);
    await expectRevert(mine.startUnbonding(signer), "Registry_Unbonding", signer);
    await nextBlockAt((await now()) + UNBONDING - 1);
    await expect(mine.cancelUnbonding(signer)).to.emit(registry, "UnbondingCancelled").withArgs(worker.id, signer, 5);
    expect((await registry.workerAt(worker.id)).active).to.equal(true);
    const restarted = (await now()) + 1;
    await nextBlockAt(restarted);
    await mine.startUnbonding(signer);
    await nextBlockAt(restarted + UNBONDING - 1);
    await expectRevert(mine.withdrawStake(signer, workerOwner.address), "Registry_StillBonded");
  });

  it("takes no addition while unbonding, and works again after a withdrawal", async () => {
    const { world, registry, worker, workerOwner, svc } = await freshWorld();
    const signer = worker.key.address;
    const mine = registry.connect(workerOwner);
    await giveStake(world, MINIMUM);
    await mine.startUnbonding(signer);
    await expectRevert(registry.connect(world.stranger).addStake(signer, 1), "Registry_Unbonding", signer);
    await nextBlockAt((await now()) + UNBONDING);
    await mine.withdrawStake(signer, workerOwner.address);
    await registry.connect(world.stranger).addStake(signer, MINIMUM);
    const view = await registry.workerAt(worker.id);
    expect([view.active, view.stake, view.unbondsAt]).to.deep.equal([true, MINIMUM, 0n]);
    expect(await svc.balanceOf(registry)).to.equal(2n * MINIMUM * STAKE_UNIT);
  });

  it("does not go where it would be lost", async () => {
    const { registry, worker, workerOwner } = await freshWorld();
    const mine = registry.connect(workerOwner);
    await mine.startUnbonding(worker.key.address);
    await nextBlockAt((await now()) + UNBONDING);
    for (const receiver of [ethers.ZeroAddress, await registry.getAddress()])
      await expectRevert(mine.withdrawStake(worker.key.address, receiver), "Registry_InvalidReceiver", receiver);
  });
});
