/** Pause, stopped operators, a freeze, a key and another choice stop what comes in; every way out, and every job under way, goes on. */
import { expect } from "chai";
import { DAY, ethers, nextBlockAt, now } from "../support/chain.ts";
import { nameDisputeKey, sendDisputeByKey } from "../support/dispute-keys.ts";
import {
  disputedJob,
  disputedProvenJob,
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
  provenJob,
  sendAcknowledge,
  sendComplete,
  sendFinalize,
  sendLock,
  sendProof,
} from "../support/jobs.ts";
import { buyCredits, fundReserve, OPERATOR, OTHER_OPERATOR, type World } from "../support/world.ts";

/** All that a guardian can do, at once. */
async function stop({ escrow, guardian }: World): Promise<void> {
  const mine = escrow.connect(guardian);
  await mine.setPaused(true);
  for (const operator of [OPERATOR, OTHER_OPERATOR]) await mine.stopOperator(operator, true);
}

/** All that a wallet can forbid its operator, at once. */
async function leave({ escrow, client, guardian }: World): Promise<void> {
  await escrow.connect(client).setLimits(true, 0, true);
  await escrow.connect(client).setAuthorizationKey(guardian);
  await escrow.connect(client).chooseOperator(OTHER_OPERATOR);
}

describe("A hostile guardian and a wallet that froze its spending", () => {
  it("stop deposits and locks", async () => {
    const world = await freshWorld();
    await stop(world);
    await expectRevert(buyCredits(world, world.client, 100), "Ledger_Paused");
    await expectRevert(sendLock(world), "Job_MayNotLock", world.gateway.address);
  });

  const nothing = async () => undefined;
  const afterwards = async (time: number, act: () => Promise<unknown>) => {
    await nextBlockAt(time);
    return await act();
  };
  /** `enter` comes before the stop, `act` after it. */
  const exit = <T>(
    name: string,
    enter: (world: World) => Promise<T>,
    act: (world: World, job: T) => Promise<unknown>,
  ) => ({ name, prepare: async (world: World) => enter(world).then((job) => () => act(world, job)) });

  const exits = [
    exit("withdraw", nothing, (w) => w.escrow.connect(w.client).withdraw(9_000, w.client.address)),
    exit("setLimits", nothing, (w) => w.escrow.connect(w.client).setLimits(true, 0, true)),
    exit("chooseOperator", nothing, (w) => w.escrow.connect(w.client).chooseOperator(0)),
    exit("setAuthorizationKey", nothing, (w) => w.escrow.connect(w.client).setAuthorizationKey(w.stranger)),
    exit("setDisputeKey", nothing, (w) => w.escrow.connect(w.client).setDisputeKey(w.stranger, 1)),
    exit("rotateSigners", nothing, (w) =>
      w.escrow.connect(w.operatorAdmin).rotateSigners(OPERATOR, [], [], [w.gateway]),
    ),
    exit("fundReserve", nothing, (w) => fundReserve(w, 5)),
    exit(
      "withdrawReserve by a new admin",
      async ({ escrow, operatorAdmin, stranger }) => {
        await escrow.connect(operatorAdmin).announceReserveWithdrawal(OPERATOR, 500);
        await escrow.connect(operatorAdmin).setOperatorAdmin(OPERATOR, stranger);
        return Number((await escrow.operatorOf(OPERATOR)).leavesAt);
      },
      (w, due) => afterwards(due, () => w.escrow.connect(w.stranger).withdrawReserve(OPERATOR, w.stranger)),
    ),
    exit("acknowledge", lockJob, sendAcknowledge),
    exit("complete", lockJob, sendComplete),
    exit("fail, however late", lockJob, (w, job) =>
      afterwards(job.lockedAt + 1_000_000, () => w.escrow.connect(w.gateway).fail(job.id, 0)),
    ),
    exit("refund", lockJob, (w, job) =>
      afterwards(job.lockedAt + 150, () => w.escrow.connect(w.stranger).refund(job.id)),
    ),
    exit("submitProof", acknowledgedJob, sendProof),
    exit("finalize", provenJob, (w, job) => afterwards(job.finalizeFrom, () => sendFinalize(w, job))),
    exit("openDispute by the gateway", settledJob, sendDispute),
    exit("openDispute by the wallet", provenJob, (w, job) => sendDispute(w, job, { by: w.client })),
    exit("joinDispute", disputedJob, (w, job) => sendJoin(w, job)),
    exit(
      "disputeByKey",
      async (world) => {
        await nameDisputeKey(world);
        return await settledJob(world);
      },
      (w, job) => sendDisputeByKey(w, job),
    ),
    exit("vote and rule", disputedJob, (w, job) => sendRuling(w, job, Ruling.WorkerAtFault)),
    exit("expire of a settled job's dispute, however late", disputedJob, (w, job) =>
      afterwards(job.openedAt + 1_000 * DAY, () => w.escrow.connect(w.stranger).expire(job.id)),
    ),
    exit("expire of a proven job's dispute", disputedProvenJob, sendExpire),
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
    it(`do not stop ${name}`, async () => {
      const world = await freshWorld();
      const exiting = await prepare(world);
      await stop(world);
      await leave(world);
      await expect(exiting()).not.to.revert(ethers);
    });
  }

  it("do not stop claim", async () => {
    const { world, escrow, hostile, worker, stranger } = await freshHostileWorld();
    await hostile.setBehaviour(worker.payout, Behaviour.Revert);
    await sendComplete(world, await lockJob(world));
    await hostile.setBehaviour(worker.payout, Behaviour.Standard);
    await stop(world);
    await expectTokens(escrow.connect(stranger).claim(worker.payout), hostile, worker.payout, 540_000n);
  });
});
