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
import { expectRevert, expectTokens } from "../support/expect.ts";
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

  const nothing = async () => undefined;
  const afterwards = async (time: number, leave: () => Promise<unknown>) => {
    await nextBlockAt(time);
    return await leave();
  };
  /** `enter` comes before the stop, `leave` after it. */
  const exit = <T>(
    name: string,
    enter: (world: World) => Promise<T>,
    leave: (world: World, job: T) => Promise<unknown>,
  ) => ({ name, prepare: async (world: World) => enter(world).then((job) => () => leave(world, job)) });

  const exits = [
    exit("withdraw", nothing, (w) => w.escrow.connect(w.client).withdraw(9_000, w.client.address)),
    exit("setLimits", nothing, (w) => w.escrow.connect(w.client).setLimits(true, 0, true)),
    exit("chooseOperator", nothing, (w) => w.escrow.connect(w.client).chooseOperator(0)),
    exit("setAuthorizationKey", nothing, (w) => w.escrow.connect(w.client).setAuthorizationKey(w.stranger)),
    exit("rotateSigners", nothing, (w) =>
      w.escrow.connect(w.operatorAdmin).rotateSigners(OPERATOR, [], [], [w.gateway]),
    ),
    exit("acknowledge", lockJob, sendAcknowledge),
    exit("complete", lockJob, sendComplete),
    exit("fail", lockJob, (w, job) => w.escrow.connect(w.gateway).fail(job.id, 0)),
    exit("refund", lockJob, (w, job) =>
      afterwards(job.lockedAt + 150, () => w.escrow.connect(w.stranger).refund(job.id)),
    ),
    exit("submitProof", acknowledgedJob, sendProof),
    exit("finalize", provenJob, (w, job) => afterwards(job.finalizeFrom, () => sendFinalize(w, job))),
    exit("openDispute by the gateway", settledJob, sendDispute),
    exit("openDispute by the wallet", provenJob, (w, job) => sendDispute(w, job, { by: w.client })),
    exit(
      "openDispute by a wallet whose bond comes from its stablecoin",
      async (world) => {
        const job = await settledJob(world);
        const { free } = await world.escrow.accountOf(world.client);
        await world.escrow.connect(world.client).withdraw(free, world.client);
        await world.token.connect(world.client).approve(world.escrow, 1_000_000n);
        return job;
      },
      (w, job) => sendDispute(w, job, { by: w.client }),
    ),
    exit("joinDispute", disputedJob, (w, job) => sendJoin(w, job)),
    exit("vote and rule", disputedJob, (w, job) => sendRuling(w, job, Ruling.WorkerAtFault)),
    exit("expire", disputedJob, sendExpire),
    exit("proveEquivocation", settledJob, (w, job) => sendEquivocation(w, job)),
    exit(
      "collectDebt",
      async (world) => {
        const job = await disputedJob(world);
        await sendRuling(world, job, Ruling.WorkerAtFault);
        await world.token.mint(world.treasury, 600_000n);
        return job;
      },
      (w, job) => w.escrow.connect(w.stranger).collectDebt(job.id),
    ),
    exit("startUnbonding, cancelUnbonding and withdrawStake", nothing, async (w) => {
      const mine = w.registry.connect(w.workerOwner);
      const signer = w.worker.key.address;
      await mine.startUnbonding(signer);
      await mine.cancelUnbonding(signer);
      await mine.startUnbonding(signer);
      await nextBlockAt((await now()) + 172_800);
      await mine.withdrawStake(signer, w.workerOwner.address);
    }),
  ];
  for (const { name, prepare } of exits) {
    it(`does not stop ${name}`, async () => {
      const world = await freshWorld();
      const leave = await prepare(world);
      await stop(world);
      await expect(leave()).not.to.revert(ethers);
    });
  }

  it("does not stop claim", async () => {
    const { world, escrow, hostile, worker, stranger } = await freshHostileWorld();
    await hostile.setBehaviour(worker.payout, Behaviour.Revert);
    await sendComplete(world, await lockJob(world));
    await hostile.setBehaviour(worker.payout, Behaviour.Standard);
    await stop(world);
    await expectTokens(escrow.connect(stranger).claim(worker.payout), hostile, worker.payout, 540_000n);
  });
});
