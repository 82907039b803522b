/** Pause and a stopped operator stop what comes in; every way out, and every job under way, goes on. */

import { expect } from "chai";
import { ethers, nextBlockAt, now } from "../support/chain.ts";
import {
  disputedJob,
  provenJob,
  Ruling,
  sendDispute,
  sendEquivocation,
  sendExpire,
  sendJoin,
  sendRuling,
  settledJob,
} from "../support/disputes.ts";
import { expectRevert } from "../support/expect.ts";
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
import { buyCredits, OPERATOR, OTHER_OPERATOR, type World } from "../support/world.ts";

/** All that a guardian can do, at once. */
async function stop({ escrow, guardian }: World): Promise<void> {
  const mine = escrow.connect(guardian);
  await mine.setPaused(true);
  for (const operator of [OPERATOR, OTHER_OPERATOR]) await mine.stopOperator(operator, true);
}

describe("A guardian at its worst", () => {
  it("stops deposits and locks", async () => {
    const world = await freshWorld();
    await stop(world);
    await expectRevert(buyCredits(world, world.client, 100), "Ledger_Paused");
    await expectRevert(sendLock(world), "Job_MayNotLock", world.gateway.address);
  });

  const exits: [string, (world: World) => Promise<(world: World) => Promise<unknown>>][] = [
    ["withdraw", async () => async (w) => w.escrow.connect(w.client).withdraw(9_000, w.client.address)],
    ["setLimits", async () => async (w) => w.escrow.connect(w.client).setLimits(true, 0, true)],
    ["chooseOperator", async () => async (w) => w.escrow.connect(w.client).chooseOperator(0)],
    ["setAuthorizationKey", async () => async (w) => w.escrow.connect(w.client).setAuthorizationKey(w.stranger)],
    [
      "rotateSigners",
      async () => async (w) => w.escrow.connect(w.operatorAdmin).rotateSigners(OPERATOR, [], [], [w.gateway]),
    ],
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
      "openDispute by a wallet whose bond comes from its stablecoin",
      async (world) => {
        const job = await settledJob(world);
        const { free } = await world.escrow.accountOf(world.client);
        await world.escrow.connect(world.client).withdraw(free, world.client);
        await world.token.connect(world.client).approve(world.escrow, 1_000_000n);
        return (w) => sendDispute(w, job, { by: w.client });
      },
    ],
    [
      "joinDispute",
      async (world) => {
        const job = await disputedJob(world);
        return (w) => sendJoin(w, job);
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
        await sendRuling(world, job, Ruling.WorkerAtFault);
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
