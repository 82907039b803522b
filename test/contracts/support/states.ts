/** Every state a job can be in, told apart also by how it got there; and how to get there. */
import { jobId } from "./actors.ts";
import { nextBlockAt, now } from "./chain.ts";
import {
  type DisputedJob,
  disputedJob,
  disputedProvenJob,
  Ruling,
  sendDispute,
  sendEquivocation,
  sendExpire,
  sendRuling,
  settledJob,
} from "./disputes.ts";
import { acknowledgedJob, type Job, lockJob, provenJob, sendFinalize } from "./jobs.ts";
import type { World } from "./world.ts";

/** Names of `JobStatus` in Types.sol, by number. */
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

type Enter = (world: World) => Promise<Job>;
type Dispute = (world: World) => Promise<DisputedJob>;

const byWallet = (world: World) => ({ by: world.client });
/** Disputes of the wallet can be ruled at once, in time for whatever else the job's own deadlines allow. */
const disputedByWallet: Dispute = (world) => disputedJob(world, byWallet(world));
const provenDisputedByWallet: Dispute = (world) => disputedProvenJob(world, byWallet(world));

async function ruled(world: World, ruling: number, enter: Enter): Promise<Job> {
  const job = await enter(world);
  await sendRuling(world, job, ruling);
  return job;
}

async function expired(world: World, enter: Dispute): Promise<Job> {
  const job = await enter(world);
  await sendExpire(world, job);
  return job;
}

async function equivocated(world: World, enter: Enter): Promise<Job> {
  const job = await enter(world);
  await sendEquivocation(world, job);
  return job;
}

/** The wallet's dispute without a bond, after its worker equivocated. */
async function disputedAfterEquivocation(world: World, enter: Enter): Promise<Job> {
  const job = await equivocated(world, enter);
  await sendDispute(world, job, byWallet(world));
  return job;
}

/** The first word of a name is the job's status. */
export const STATES = {
  None: async () => ({ id: jobId(), lockedAt: await now() }),
  Locked: (world) => lockJob(world),
  Acknowledged: (world) => acknowledgedJob(world),
  Proven: (world) => provenJob(world),
  "Proven, its dispute rejected": (world) => ruled(world, Ruling.Rejected, provenDisputedByWallet),
  Settled: settledJob,
  "Settled by finalization": async (world) => {
    const job = await provenJob(world);
    await nextBlockAt(job.finalizeFrom);
    await sendFinalize(world, job);
    return job;
  },
  "Settled, its dispute rejected": (world) => ruled(world, Ruling.Rejected, disputedJob),
  "Settled, its dispute expired": (world) => expired(world, disputedJob),
  "Settled, its worker equivocated": (world) => equivocated(world, settledJob),
  "Settled, its dispute after an equivocation rejected": (world) =>
    ruled(world, Ruling.Rejected, (w) => disputedAfterEquivocation(w, settledJob)),
  "Disputed after its settlement": (world) => disputedJob(world),
  "Disputed after its settlement by its wallet": disputedByWallet,
  "Disputed after its settlement, its worker equivocated": (world) => equivocated(world, disputedJob),
  "Disputed after an equivocation": (world) => disputedAfterEquivocation(world, settledJob),
  "Disputed again after an equivocation": (world) =>
    disputedAfterEquivocation(world, (w) => ruled(w, Ruling.Rejected, disputedJob)),
  "Disputed after its proof": (world) => disputedProvenJob(world),
  "Disputed after its proof by its wallet": provenDisputedByWallet,
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
  "Refunded, the worker at fault": (world) => ruled(world, Ruling.WorkerAtFault, disputedJob),
  "Refunded, the gateway at fault": (world) => ruled(world, Ruling.GatewayAtFault, disputedJob),
  "Refunded after its proof, the dispute expired": (world) => expired(world, disputedProvenJob),
  "Refunded after its acknowledgement, its worker equivocated": (world) =>
    equivocated(world, (w) => acknowledgedJob(w)),
  "Refunded after its proof, its worker equivocated": (world) => equivocated(world, provenJob),
  "Refunded after its proof, its worker equivocated in the dispute": (world) => equivocated(world, disputedProvenJob),
} satisfies Record<string, Enter>;
export type State = keyof typeof STATES;

/** The stored status of a job in this state. */
export function statusOf(state: State): Status {
  return state.split(/[ ,]/)[0] as Status;
}
