/** Every state a job can be in × every call that could move it: legal moves end where they should, all others revert. */
import { expect } from "chai";
import { jobId } from "../support/actors.ts";
import { ethers, networkHelpers, nextBlockAt } from "../support/chain.ts";
import {
  acknowledgedJob,
  type Job,
  lockJob,
  provenJob,
  sendAcknowledge,
  sendComplete,
  sendFinalize,
  sendLock,
  sendProof,
  storedJob,
} from "../support/jobs.ts";
import { deployWorld, type World } from "../support/world.ts";

const STATES = ["None", "Locked", "Acknowledged", "Proven", "Settled", "Failed", "Refunded"] as const;
type State = (typeof STATES)[number];

const enter: Record<State, (world: World) => Promise<Job>> = {
  None: async () => ({ id: jobId(), lockedAt: await networkHelpers.time.latest() }),
  Locked: (world) => lockJob(world),
  Acknowledged: (world) => acknowledgedJob(world),
  Proven: (world) => provenJob(world),
  Settled: async (world) => {
    const job = await acknowledgedJob(world);
    await sendComplete(world, job);
    return job;
  },
  Failed: async (world) => {
    const job = await acknowledgedJob(world);
    await world.escrow.connect(world.gateway).fail(job.id, 0);
    return job;
  },
  Refunded: async (world) => {
    const job = await lockJob(world);
    await nextBlockAt(job.lockedAt + 120);
    await world.escrow.connect(world.gateway).refund(job.id);
    return job;
  },
};

/** What each call does from each state: the state it ends in, "same" for a call without effect, or the error it reverts with. */
const wrong = "Job_WrongState";
const calls: {
  name: string;
  at?: number;
  send: (world: World, job: Job) => Promise<unknown>;
  from: Record<State, State | "same" | `Job_${string}`>;
}[] = [
  {
    name: "lock",
    send: (world, job) => sendLock(world, { id: job.id }),
    from: {
      None: "Locked",
      Locked: "Job_AlreadyExists",
      Acknowledged: "Job_AlreadyExists",
      Proven: "Job_AlreadyExists",
      Settled: "Job_AlreadyExists",
      Failed: "Job_AlreadyExists",
      Refunded: "Job_AlreadyExists",
    },
  },
  {
    name: "acknowledge (first attempt)",
    send: (world, job) => sendAcknowledge(world, job, { acknowledgeBy: job.lockedAt + 1_000 }),
    from: {
      None: wrong,
      Locked: "Acknowledged",
      Acknowledged: "same",
      Proven: wrong,
      Settled: wrong,
      Failed: wrong,
      Refunded: wrong,
    },
  },
  {
    name: "acknowledge (a rival's higher attempt)",
    send: (world, job) =>
      sendAcknowledge(world, job, { worker: world.rival, attempt: 2, acknowledgeBy: job.lockedAt + 1_000 }),
    from: {
      None: wrong,
      Locked: "Acknowledged",
      Acknowledged: "Acknowledged",
      Proven: wrong,
      Settled: wrong,
      Failed: wrong,
      Refunded: wrong,
    },
  },
  {
    name: "complete (same attempt)",
    send: (world, job) => sendComplete(world, job),
    // A refunded job has no worker whose signature could fit; a failed one has, and its state forbids it.
    from: {
      None: wrong,
      Locked: "Settled",
      Acknowledged: "Settled",
      Proven: "Settled",
      Settled: "same",
      Failed: wrong,
      Refunded: wrong,
    },
  },
  {
    name: "complete (a rival's higher attempt)",
    send: (world, job) => sendComplete(world, job, { worker: world.rival, attempt: 2 }),
    from: {
      None: wrong,
      Locked: "Settled",
      Acknowledged: "Settled",
      Proven: wrong,
      Settled: wrong,
      Failed: wrong,
      Refunded: wrong,
    },
  },
  {
    name: "submitProof",
    send: (world, job) => sendProof(world, job),
    from: {
      None: wrong,
      Locked: wrong,
      Acknowledged: "Proven",
      Proven: wrong,
      Settled: wrong,
      Failed: wrong,
      Refunded: wrong,
    },
  },
  {
    name: "finalize",
    at: 30 + 3_600,
    send: (world, job) => sendFinalize(world, job),
    from: {
      None: wrong,
      Locked: wrong,
      Acknowledged: wrong,
      Proven: "Settled",
      Settled: wrong,
      Failed: wrong,
      Refunded: wrong,
    },
  },
  {
    name: "fail",
    send: (world, job) => world.escrow.connect(world.gateway).fail(job.id, 0),
    from: {
      None: wrong,
      Locked: "Failed",
      Acknowledged: "Failed",
      Proven: wrong,
      Settled: wrong,
      Failed: wrong,
      Refunded: wrong,
    },
  },
  {
    name: "refund by its gateway",
    at: 121,
    send: (world, job) => world.escrow.connect(world.gateway).refund(job.id),
    // The job that does not exist is no gateway's: the time for strangers applies, which began long ago.
    from: {
      None: wrong,
      Locked: "Refunded",
      Acknowledged: "Refunded",
      Proven: wrong,
      Settled: wrong,
      Failed: wrong,
      Refunded: wrong,
    },
  },
  {
    name: "refund by a stranger",
    at: 150,
    send: (world, job) => world.escrow.connect(world.stranger).refund(job.id),
    from: {
      None: wrong,
      Locked: "Refunded",
      Acknowledged: "Refunded",
      Proven: wrong,
      Settled: wrong,
      Failed: wrong,
      Refunded: wrong,
    },
  },
];

/** Money and job of a world, to show that a refused call changed nothing. */
async function everything(world: World, job: Job) {
  const { escrow, token, client } = world;
  return [
    await storedJob(world, job.id),
    await escrow.accountOf(client.address),
    await escrow.liabilities(),
    await token.balanceOf(escrow),
  ];
}

for (const state of STATES) {
  describe(`A job that is ${state}`, () => {
    async function inState() {
      const world = await deployWorld();
      return { world, job: await enter[state](world) };
    }

    for (const { name, at, send, from } of calls) {
      const outcome = from[state];
      const legal = outcome === "same" || !outcome.startsWith("Job_");
      it(`${name}: ${outcome}`, async () => {
        const { world, job } = await networkHelpers.loadFixture(inState);
        const before = await everything(world, job);
        if (at !== undefined) await nextBlockAt(job.lockedAt + at);
        if (!legal) {
          await expect(send(world, job)).to.be.revertedWithCustomError(world.escrow, outcome);
        } else {
          await expect(send(world, job)).not.to.revert(ethers);
        }
        if (!legal || outcome === "same") {
          expect(await everything(world, job)).to.deep.equal(before);
        } else {
          expect(STATES[Number((await world.escrow.jobOf(job.id)).status)]).to.equal(outcome);
        }
      });
    }
  });
}
