/** Stakes: their terms, and when they leave. */
import { expect } from "chai";
import { DEFAULT_DURATIONS } from "../../../scripts/deploy/protocol-settings.ts";
import { ethers, freshly, mineAt, nextBlockAt, now } from "../support/chain.ts";
import { Ruling, sendDispute, sendEquivocation, sendVote, settledJob } from "../support/disputes.ts";
import { expectRevert, expectTokens } from "../support/expect.ts";
import { freshWorld } from "../support/fresh.ts";
import { acknowledgement, sendProof } from "../support/jobs.ts";
import { stakeTermsInForce } from "../support/stake.ts";
import { deployWorld, registerWorker, STAKE_UNIT, type World } from "../support/world.ts";

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
    const refused = registry.connect(stranger).addStake(worker.key.address, most - MINIMUM + 1n);
    await expectRevert(refused, "SafeCastOverflowedUintDowncast", 48, most + 1n);
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

  it("is out of work while it unbonds, and is paid out after 172,800 s", async () => {
    const { registry, worker, workerOwner, svc, stranger } = await freshWorld();
    const signer = worker.key.address;
    const mine = registry.connect(workerOwner);
    const started = (await now()) + 10;
    await nextBlockAt(started);
    const unbondsAt = started + UNBONDING;
    const sent = mine.startUnbonding(signer);
    await expect(sent).to.emit(registry, "UnbondingStarted").withArgs(worker.id, signer, 4, unbondsAt);
    expect(await registry.payeeOf(signer, 1)).to.equal(0);
    await nextBlockAt(unbondsAt - 1);
    const refused = mine.withdrawStake(signer, stranger.address);
    await expectRevert(refused, "Registry_StillBonded", signer, unbondsAt, unbondsAt - 1);
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
const SLASH = 500_000_000n;
/** Credits of 1,000 SVC at the deployment. */
const WORTH = 10_000n;

describe("The registry's stake terms", () => {
  it("are in force after the unbonding period, not a second sooner", async () => {
    const { registry, worker } = await freshWorld();
    const period = await registry.unbondingPeriod();
    const announced = (await now()) + 1;
    const effectiveAt = BigInt(announced) + period;
    await nextBlockAt(announced);
    await expect(registry.scheduleStakeTerms(MINIMUM + 1n, MINIMUM))
      .to.emit(registry, "StakeTermsScheduled")
      .withArgs(3, MINIMUM + 1n, MINIMUM, effectiveAt);
    await mineAt(effectiveAt - 1n);
    expect(await registry.minimumStake()).to.equal(MINIMUM);
    expect(await registry.slashAmount()).to.equal(SLASH);
    expect(await registry.nextStakeTerms()).to.deep.equal([MINIMUM + 1n, MINIMUM, effectiveAt]);
    expect((await registry.workerAt(worker.id)).active).to.equal(true);
    await mineAt(effectiveAt);
    expect(await registry.minimumStake()).to.equal(MINIMUM + 1n);
    expect(await registry.slashAmount()).to.equal(MINIMUM);
    expect(await registry.nextStakeTerms()).to.deep.equal([0n, 0n, 0n]);
    expect((await registry.workerAt(worker.id)).active).to.equal(false);
  });

  it("replace an announcement that is not in force, and build on one that is", async () => {
    const { registry } = await freshWorld();
    const period = await registry.unbondingPeriod();
    await registry.scheduleStakeTerms(MINIMUM * 2n, SLASH);
    await registry.scheduleStakeTerms(MINIMUM * 3n, SLASH);
    await mineAt(BigInt(await now()) + 2n * period);
    expect(await registry.minimumStake()).to.equal(MINIMUM * 3n);
    await registry.scheduleStakeTerms(MINIMUM, SLASH);
    expect(await registry.minimumStake()).to.equal(MINIMUM * 3n);
  });

  it("do not change again while a job from before the last change can be slashed", async () => {
    const { world, registry, worker } = await freshWorld();
    await registry.scheduleStakeTerms(MINIMUM, MINIMUM);
    const changeAt = (await now()) + UNBONDING;
    await nextBlockAt(changeAt - 1);
    const before = await settledJob(world);
    await nextBlockAt(changeAt + 10);
    await expectRevert(
      registry.scheduleStakeTerms(MINIMUM, SLASH - 1n),
      "Registry_TermsTooSoon",
      changeAt + UNBONDING,
      changeAt + 10,
    );
    await expect(sendEquivocation(world, before))
      .to.emit(registry, "WorkerSlashed")
      .withArgs(worker.id, worker.key.address, before.id, 4, SLASH, MINIMUM - SLASH, true);
    await nextBlockAt(changeAt + UNBONDING - 1);
    await expectRevert(registry.scheduleStakeTerms(MINIMUM, SLASH), "Registry_TermsTooSoon");
    await nextBlockAt(changeAt + UNBONDING);
    await registry.scheduleStakeTerms(MINIMUM, SLASH);
    // One that is not in force yet is replaced at any time.
    await registry.scheduleStakeTerms(MINIMUM, SLASH + 1n);
  });

  it("never slash nothing, never more than the minimum stake, and fit their slot", async () => {
    const { registry } = await freshWorld();
    const largest = 2n ** 48n - 1n;
    for (const [minimum, slash] of [
      [MINIMUM, 0n],
      [MINIMUM, MINIMUM + 1n],
      [0n, 0n],
      [largest + 1n, 1n],
    ] as const) {
      await expectRevert(registry.scheduleStakeTerms(minimum, slash), "Registry_InvalidStakeTerms", minimum, slash);
    }
    await registry.scheduleStakeTerms(largest, largest);
  });

  it("names the escrow once and for all", async () => {
    const { registry, stranger, owner, svc } = await freshWorld();
    await expectRevert(registry.setEscrow(stranger), "Registry_InvalidEscrow");
    const other = await ethers.deployContract("WorkerRegistry", [owner, svc, 1, 1, 1, 1]);
    await expectRevert(other.setEscrow(ethers.ZeroAddress), "Registry_InvalidEscrow");
    await expect(other.setEscrow(stranger)).to.emit(other, "EscrowSet").withArgs(stranger.address);
  });
});

describe("The worth of SVC", () => {
  it("falls at once, and rises after the unbonding period, not a second sooner", async () => {
    const { registry } = await freshWorld();
    const period = await registry.unbondingPeriod();
    expect(await registry.svcWorth()).to.equal(WORTH);
    const fallsAt = (await now()) + 1;
    await nextBlockAt(fallsAt);
    await expect(registry.scheduleSvcWorth(WORTH - 1n))
      .to.emit(registry, "SvcWorthScheduled")
      .withArgs(3, WORTH - 1n, fallsAt);
    expect(await registry.svcWorth()).to.equal(WORTH - 1n);
    expect(await registry.nextSvcWorth()).to.deep.equal([0n, 0n]);

    const effectiveAt = BigInt(fallsAt + 1) + period;
    await nextBlockAt(fallsAt + 1);
    await expect(registry.scheduleSvcWorth(WORTH))
      .to.emit(registry, "SvcWorthScheduled")
      .withArgs(4, WORTH, effectiveAt);
    await mineAt(effectiveAt - 1n);
    expect(await registry.svcWorth()).to.equal(WORTH - 1n);
    expect(await registry.nextSvcWorth()).to.deep.equal([WORTH, effectiveAt]);
    await mineAt(effectiveAt);
    expect(await registry.svcWorth()).to.equal(WORTH);
    expect(await registry.nextSvcWorth()).to.deep.equal([0n, 0n]);
  });

  it("falls although a rise was announced, which then never comes", async () => {
    const { registry } = await freshWorld();
    await registry.scheduleSvcWorth(WORTH * 2n);
    await registry.scheduleSvcWorth(1);
    expect(await registry.svcWorth()).to.equal(1n);
    await mineAt(BigInt(await now()) + (await registry.unbondingPeriod()));
    expect(await registry.svcWorth()).to.equal(1n);
  });

  it("takes an announced rise back at once when it is stated as it is", async () => {
    const { registry } = await freshWorld();
    await registry.scheduleSvcWorth(WORTH + 1n);
    const statedAt = (await now()) + 1;
    await nextBlockAt(statedAt);
    await expect(registry.scheduleSvcWorth(WORTH)).to.emit(registry, "SvcWorthScheduled").withArgs(4, WORTH, statedAt);
    expect(await registry.nextSvcWorth()).to.deep.equal([0n, 0n]);
    await mineAt(BigInt(statedAt) + (await registry.unbondingPeriod()));
    expect(await registry.svcWorth()).to.equal(WORTH);
  });

  it("is a rise against what is in force, not against what was announced", async () => {
    const { registry } = await freshWorld();
    await registry.scheduleSvcWorth(WORTH * 3n);
    await registry.scheduleSvcWorth(WORTH * 2n);
    expect(await registry.svcWorth()).to.equal(WORTH);
    await mineAt(BigInt(await now()) + (await registry.unbondingPeriod()));
    expect(await registry.svcWorth()).to.equal(WORTH * 2n);
  });

  it("is never nothing, and is governance's alone", async () => {
    const { registry, stranger } = await freshWorld();
    await expectRevert(registry.scheduleSvcWorth(0), "Registry_InvalidSvcWorth");
    const refused = registry.connect(stranger).scheduleSvcWorth(WORTH);
    await expectRevert(refused, "OwnableUnauthorizedAccount", stranger.address);
    await registry.scheduleSvcWorth(2n ** 32n - 1n);
  });
});

// A worker that runs: no stake leaves before the last second in which a job of it can be punished.

/** The shortest unbonding that the escrow's constructor accepts: 150 + 3,600 + 86,400 + 1. */
const SHORTEST = 90_151;
async function tightWorld() {
  return await deployWorld({ durations: { ...DEFAULT_DURATIONS, unbonding: SHORTEST } });
}

const withdraw = (world: World) =>
  world.registry.connect(world.workerOwner).withdrawStake(world.worker.key.address, world.workerOwner.address);

describe("A worker that unbonds ahead of a slash", () => {
  it("loses the slash from its unbonding stake, and gets the rest in its time", async () => {
    const { world, registry, svc, worker, workerOwner } = await freshWorld();
    const job = await settledJob(world);
    const started = (await now()) + 1;
    await nextBlockAt(started);
    await registry.connect(workerOwner).startUnbonding(worker.key.address);
    await expect(sendEquivocation(world, job))
      .to.emit(registry, "WorkerSlashed")
      .withArgs(worker.id, worker.key.address, job.id, 5, SLASH, MINIMUM - SLASH, true);
    await nextBlockAt(started + UNBONDING - 1);
    await expect(withdraw(world))
      .to.be.revertedWithCustomError(registry, "Registry_StillBonded")
      .withArgs(worker.key.address, started + UNBONDING, started + UNBONDING - 1);
    await nextBlockAt(started + UNBONDING);
    await expectTokens(withdraw(world), svc, workerOwner, (MINIMUM - SLASH) * STAKE_UNIT);
  });

  it("with nothing left after slashes is released, and can start anew", async () => {
    const { world, registry, svc, worker, workerOwner } = await freshWorld();
    await stakeTermsInForce(world, MINIMUM, MINIMUM);
    const job = await settledJob(world);
    await registry.connect(workerOwner).startUnbonding(worker.key.address);
    const { unbondsAt } = await registry.workerAt(worker.id);
    await sendEquivocation(world, job);
    await nextBlockAt(unbondsAt);
    await expectTokens(withdraw(world), svc, registry, 0);
    const refused = registry.connect(workerOwner).startUnbonding(worker.key.address);
    await expectRevert(refused, "Registry_NoStake", worker.key.address);
  });

  it("cannot leave, nor terms change, before the last second of a slash", async () => {
    const world = await freshly(tightWorld);
    const { escrow, registry, worker, workerOwner, gateway, stranger, client, arbiters } = world;
    // Lock, acknowledgement and unbonding in one block: the earliest second in which a job holder can start to leave.
    const at = (await now()) + 10;
    const job = { id: "0x018f0000000070008000000000000abc" as const, lockedAt: at };
    const acknowledging = await acknowledgement(world, job);
    const gas = { gasLimit: 1_000_000n };
    await ethers.provider.send("evm_setAutomine", [false]);
    try {
      const sent = [
        await escrow
          .connect(gateway)
          .lock(client.address, 1, job.id, 4_000, 80, 2 ** 40 - 1, { ...gas, gasPrice: 9n * 10n ** 9n }),
        await escrow.connect(stranger).acknowledge(...acknowledging, { ...gas, gasPrice: 8n * 10n ** 9n }),
        await registry.connect(workerOwner).startUnbonding(worker.key.address, { ...gas, gasPrice: 7n * 10n ** 9n }),
        await registry.scheduleStakeTerms(MINIMUM, 1n, { ...gas, gasPrice: 6n * 10n ** 9n }),
      ];
      await mineAt(at);
      for (const tx of sent) expect((await tx.wait())?.status).to.equal(1);
    } finally {
      await ethers.provider.send("evm_setAutomine", [true]);
    }
    const stored = await escrow.jobOf(job.id);
    const { unbondsAt } = await registry.workerAt(worker.id);
    expect([stored.status, stored.lockedAt, unbondsAt]).to.deep.equal([2n, BigInt(at), BigInt(at + SHORTEST)]);

    // Each step in its last second.
    await nextBlockAt(at + 149);
    await sendProof(world, job);
    await nextBlockAt(at + 149 + 3_599);
    await sendDispute(world, job);
    const last = at + 149 + 3_599 + 86_399;
    await nextBlockAt(last - 2);
    await sendVote(world, job, Ruling.WorkerAtFault, arbiters[0]);
    await nextBlockAt(last - 1);
    await expectRevert(withdraw(world), "Registry_StillBonded");
    await nextBlockAt(last);
    await expect(sendVote(world, job, Ruling.WorkerAtFault, arbiters[1]))
      .to.emit(registry, "WorkerSlashed")
      .withArgs(worker.id, worker.key.address, job.id, 5, SLASH, MINIMUM - SLASH, false);
    // The stake was still there with seconds to spare.
    expect(Number(unbondsAt)).to.be.greaterThan(last);
  });
});
