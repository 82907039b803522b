/** Pause and a disabled gateway stop what comes in; every way out, and every job under way, goes on. */
import { expect } from "chai";
import { ethers, nextBlockAt, now } from "../support/chain.ts";
import {
  disputedJob,
  provenJob,
  Ruling,
  sendDispute,
  sendEquivocation,
  sendExpire,
  sendRuling,
  settledJob,
} from "../support/disputes.ts";
import { freshHostileWorld, freshWorld } from "../support/fresh.ts";
import { Behaviour } from "../support/hostile.ts";
import {
  acknowledgedJob,
  lockJob,
  sendAcknowledge,
  sendComplete,
  sendFinalize,
  sendLock,
  sendProof,
} from "../support/jobs.ts";
import { buyCredits, type World } from "../support/world.ts";

/** All that a guardian can do, at once. */
async function stop({ escrow, guardian, gateway, otherGateway }: World): Promise<void> {
  const mine = escrow.connect(guardian);
  await mine.setPaused(true);
  for (const { address } of [gateway, otherGateway]) await mine.setGatewayLocking(address, false);
}

describe("A guardian at its worst", () => {
  it("stops deposits and locks", async () => {
    const world = await freshWorld();
    await stop(world);
    await expect(buyCredits(world, world.client, 100)).to.be.revertedWithCustomError(world.escrow, "Ledger_Paused");
    await expect(sendLock(world)).to.be.revertedWithCustomError(world.escrow, "Job_NotLockingGateway");
  });

  it("can do nothing else: it takes no money, names nobody and gives no lock back", async () => {
    const world = await freshWorld();
    const { escrow, catalog, registry, treasury, panel, token, guardian, gateway } = world;
    await stop(world);
    const { address } = guardian;
    for (const [contract, call] of [
      [escrow, () => escrow.connect(guardian).addGateway(address)],
      [escrow, () => escrow.connect(guardian).setGatewayLocking(gateway.address, true)],
      [escrow, () => escrow.connect(guardian).setTreasury(address)],
      [escrow, () => escrow.connect(guardian).scheduleFee(0)],
      [escrow, () => escrow.connect(guardian).setGuardian(address)],
      [treasury, () => treasury.connect(guardian).pay(token, address, 1)],
      [panel, () => panel.connect(guardian).setArbiters([address], 1)],
      [catalog, () => catalog.connect(guardian).schedulePrices(1, 1, 1)],
      [registry, () => registry.connect(guardian).scheduleStakeTerms(1, 1)],
    ] as const) {
      await expect(call())
        .to.be.revertedWithCustomError(contract as typeof escrow, "OwnableUnauthorizedAccount")
        .withArgs(address);
    }
  });

  const exits: [string, (world: World) => Promise<(world: World) => Promise<unknown>>][] = [
    ["withdraw", async () => async (w) => w.escrow.connect(w.client).withdraw(9_000, w.client.address)],
    ["setLimits", async () => async (w) => w.escrow.connect(w.client).setLimits(true, 0, true)],
    [
      "acknowledge",
      async (world) => {
        const job = await lockJob(world);
        return (w) => sendAcknowledge(w, job);
      },
    ],
    [
      "complete",
      async (world) => {
        const job = await lockJob(world);
        return (w) => sendComplete(w, job);
      },
    ],
    [
      "fail",
      async (world) => {
        const job = await lockJob(world);
        return (w) => w.escrow.connect(w.gateway).fail(job.id, 0);
      },
    ],
    [
      "refund",
      async (world) => {
        const job = await lockJob(world);
        return async (w) => {
          await nextBlockAt(job.lockedAt + 150);
          await w.escrow.connect(w.stranger).refund(job.id);
        };
      },
    ],
    [
      "submitProof",
      async (world) => {
        const job = await acknowledgedJob(world);
        return (w) => sendProof(w, job);
      },
    ],
    [
      "finalize",
      async (world) => {
        const job = await provenJob(world);
        return async (w) => {
          await nextBlockAt(job.finalizeFrom);
          await sendFinalize(w, job);
        };
      },
    ],
    [
      "openDispute by the gateway",
      async (world) => {
        const job = await settledJob(world);
        return (w) => sendDispute(w, job);
      },
    ],
    [
      "openDispute by the wallet",
      async (world) => {
        const job = await provenJob(world);
        return (w) => sendDispute(w, job, { by: w.client });
      },
    ],
    [
      "vote and rule",
      async (world) => {
        const job = await disputedJob(world);
        return (w) => sendRuling(w, job, Ruling.WorkerAtFault);
      },
    ],
    [
      "expire",
      async (world) => {
        const job = await disputedJob(world);
        return (w) => sendExpire(w, job);
      },
    ],
    [
      "proveEquivocation",
      async (world) => {
        const job = await settledJob(world);
        return (w) => sendEquivocation(w, job);
      },
    ],
    [
      "collectDebt",
      async (world) => {
        const job = await disputedJob(world);
        await sendRuling(world, job, Ruling.GatewayAtFault);
        await world.token.mint(world.treasury, 600_000n);
        return async (w) => w.escrow.connect(w.stranger).collectDebt(job.id);
      },
    ],
    [
      "startUnbonding, cancelUnbonding and withdrawStake",
      async () => async (w) => {
        const mine = w.registry.connect(w.workerOwner);
        const signer = w.worker.key.address;
        await mine.startUnbonding(signer);
        await mine.cancelUnbonding(signer);
        await mine.startUnbonding(signer);
        await nextBlockAt((await now()) + 172_800);
        await mine.withdrawStake(signer, w.workerOwner.address);
      },
    ],
  ];
  for (const [name, prepare] of exits) {
    it(`does not stop ${name}`, async () => {
      const world = await freshWorld();
      const leave = await prepare(world);
      await stop(world);
      await expect(leave(world)).not.to.revert(ethers);
    });
  }

  it("does not stop claim", async () => {
    const world = await freshHostileWorld();
    const { escrow, hostile, worker, stranger } = world;
    await hostile.setBehaviour(worker.payout, Behaviour.Revert);
    await sendComplete(world, await lockJob(world));
    await hostile.setBehaviour(worker.payout, Behaviour.Standard);
    await stop(world);
    await expect(escrow.connect(stranger).claim(worker.payout)).to.changeTokenBalance(
      ethers,
      hostile,
      worker.payout,
      540_000n,
    );
  });
});
