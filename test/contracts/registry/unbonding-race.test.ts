/** A worker that runs: no stake leaves before the last second in which a job of it can be punished. */

import { expect } from "chai";
import { DEFAULT_DURATIONS } from "../../../scripts/deploy/protocol-settings.ts";
import { ethers, freshly, mineAt, nextBlockAt, now } from "../support/chain.ts";
import { Ruling, sendDispute, sendEquivocation, sendVote, settledJob } from "../support/disputes.ts";
import { expectRevert, expectTokens } from "../support/expect.ts";
import { freshWorld } from "../support/fresh.ts";
import { acknowledgement, sendProof } from "../support/jobs.ts";
import { stakeTermsInForce } from "../support/stake.ts";
import { deployWorld, STAKE_UNIT, type World } from "../support/world.ts";

const MINIMUM = 1_000_000_000n;
const SLASH = 500_000_000n;
const UNBONDING = 172_800;

/** The shortest unbonding that the escrow's constructor accepts: 150 + 3,600 + 86,400 + 1. */
const SHORTEST = 90_151;
async function tightWorld() {
  return await deployWorld({ durations: { ...DEFAULT_DURATIONS, unbonding: SHORTEST } });
}

const withdraw = (world: World) =>
  world.registry.connect(world.workerOwner).withdrawStake(world.worker.key.address, world.workerOwner.address);

describe("A worker that unbonds ahead of a slash", () => {
  it("loses the slash out of its unbonding stake and gets the rest at its time, to the second", async () => {
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

  it("with nothing left after the slashes is released without a payment, and can start anew", async () => {
    const { world, registry, svc, worker, workerOwner } = await freshWorld();
    await stakeTermsInForce(world, MINIMUM, MINIMUM);
    const job = await settledJob(world);
    await registry.connect(workerOwner).startUnbonding(worker.key.address);
    const { unbondsAt } = await registry.workerAt(worker.id);
    await sendEquivocation(world, job);
    await nextBlockAt(unbondsAt);
    await expectTokens(withdraw(world), svc, registry, 0);
    await expect(registry.connect(workerOwner).startUnbonding(worker.key.address))
      .to.be.revertedWithCustomError(registry, "Registry_NoStake")
      .withArgs(worker.key.address);
  });

  it("cannot leave, and no new terms of stake arrive, before the last slashable second even where unbonding is as short as it can be", async () => {
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
