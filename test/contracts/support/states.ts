/** Every state a job can be in, told apart also by how it got there; and how to get there. */
import { jobId } from "./actors.ts";
import { nextBlockAt, now } from "./chain.ts";
import {
  disputedJob,
  disputedProvenJob,
  Ruling,
  sendEquivocation,
  sendExpire,
  sendRuling,
  settledJob,
} from "./disputes.ts";
import { acknowledgedJob, type Job, lockJob, provenJob, sendFinalize } from "./jobs.ts";
import type { World } from "./world.ts";

/** Names of `JobStatus` in JobTypes.sol, by number. */
export const STATUSES = [
  "None",
  "Locked",
  "Acknowledged",
  "Proven",
  "Settled",
  "Failed",
  "Refunded",
  "Disputed",
] as const;
export type Status = (typeof STATUSES)[number];

async function ruled(world: World, ruling: number, enter = disputedJob): Promise<Job> {
  const job = await enter(world);
  await sendRuling(world, job, ruling);
  return job;
}

async function expired(world: World, enter = disputedJob): Promise<Job> {
  const job = await enter(world);
  await sendExpire(world, job);
  return job;
}

async function equivocated(world: World, enter: (world: World) => Promise<Job>): Promise<Job> {
  const job = await enter(world);
  await sendEquivocation(world, job);
  return job;
}

/** The first word of a name is the job's status. */
export const STATES = {
  None: async () => ({ id: jobId(), lockedAt: await now() }),
  Locked: (world) => lockJob(world),
  "Locked again after an equivocation": (world) => equivocated(world, (w) => acknowledgedJob(w)),
  Acknowledged: (world) => acknowledgedJob(world),
  Proven: (world) => provenJob(world),
  "Proven, its dispute rejected": (world) => ruled(world, Ruling.Rejected, disputedProvenJob),
  Settled: settledJob,
  "Settled by finalization": async (world) => {
    const job = await provenJob(world);
    await nextBlockAt(job.finalizeFrom);
    await sendFinalize(world, job);
    return job;
  },
  "Settled, its dispute rejected": (world) => ruled(world, Ruling.Rejected),
  "Settled, its dispute expired": (world) => expired(world),
  "Disputed after its settlement": (world) => disputedJob(world),
  "Disputed after its proof": (world) => disputedProvenJob(world),
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
  "Refunded, the worker at fault": (world) => ruled(world, Ruling.WorkerAtFault),
  "Refunded, the gateway at fault": (world) => ruled(world, Ruling.GatewayAtFault),
  "Refunded after its proof, the dispute expired": (world) => expired(world, disputedProvenJob),
  "Refunded after an equivocation": (world) => equivocated(world, settledJob),
} satisfies Record<string, (world: World) => Promise<Job>>;
export type State = keyof typeof STATES;

/** The stored status of a job in this state. */
export function statusOf(state: State): Status {
  return state.split(/[ ,]/)[0] as Status;
}
