/** Honest calls that wait to be mined, each in the last second in which it can be, with the payout that is due. */
import { items } from "../support/batch.ts";
import type { Books } from "../support/books.ts";
import { disputedJob, disputedProvenJob, Ruling, sendVote, settledJob, waitForVotes } from "../support/disputes.ts";
import type { Pending } from "../support/front-running.ts";
import {
  acknowledgedJob,
  type CompleteOptions,
  type Job,
  lockJob,
  provenJob,
  sendAcknowledge,
} from "../support/jobs.ts";
import type { World } from "../support/world.ts";

// Honest calls, not sent yet.

/** A call of the escrow. */
export async function call(world: World, from: Pending["from"], data: string | Promise<string>): Promise<Pending> {
  return { from, to: await world.escrow.getAddress(), data: await data };
}

/** The fast path, by the job's gateway. */
export const completing = (world: World, job: Job, options: CompleteOptions = {}) =>
  call(world, world.gateway, items(world).complete(job, options));

/** The slow path, by the worker's owner. */
export const proving = (world: World, job: Job) => call(world, world.workerOwner, items(world).submitProof(job));

/** A dispute of the default job. */
const disputing = (world: World, job: Job, by: Pending["from"]) => call(world, by, items(world).openDispute(job));

/** The deciding vote of an arbiter; the one before it is cast, as soon as votes count. */
export const ruling = (ruling: number) => async (world: World, job: Job) => {
  const { panel, arbiters } = world;
  const [first, second] = arbiters;
  if (first === undefined || second === undefined) throw new Error("no arbiters");
  await waitForVotes(world, job);
  await sendVote(world, job, ruling, first);
  const data = panel.interface.encodeFunctionData("vote", [job.id, ruling]);
  return { from: second, to: await panel.getAddress(), data };
};

/** Two Completions of the worker, shown by the client. */
const accusing = (world: World, job: Job) => call(world, world.client, items(world).proveEquivocation(job));

/** A call about a job; by default its worker has answered, so that its Completion and signature are public. */
type Waiting<J extends Job> = {
  name: string;
  answered?: boolean;
  enter: (world: World) => Promise<J>;
  at: (job: J) => number;
  pending: (world: World, job: J) => Promise<Pending>;
  /** What has moved in the end, since before the job. */
  due: Partial<Books>;
};

function scenario<J extends Job>({ name, answered = true, enter, at, pending, due }: Waiting<J>) {
  const prepare = async (world: World) => {
    const job = await enter(world);
    return { job, at: at(job), pending: await pending(world, job) };
  };
  return { name, answered, prepare, due };
}

/** 60 of 80 credits charged, 54 to the worker, 6 to the treasury. */
const PAID = { free: -60n, worker: 540_000n, treasury: 60_000n, escrow: -600_000n };
const REFUNDED = {};
/** The charge stands and the client has the protocol fee back: nobody ruled, or nobody had to. */
const FEE_BACK = { free: -54n, worker: 540_000n, escrow: -540_000n };
const SLASHED = { stake: -500_000_000n };
/** The worker keeps its pay of 54 credits, which its slash covers; the treasury had 6. */
const COMPENSATED = { worker: 540_000n, treasury: -540_000n };

const DAY = 86_400;

export const SCENARIOS = [
  scenario({
    name: "complete of a locked job",
    enter: lockJob,
    at: (job) => job.lockedAt + 59,
    pending: completing,
    due: PAID,
  }),
  scenario({
    name: "complete that bills fewer tokens than the worker counted",
    enter: lockJob,
    at: (job) => job.lockedAt + 59,
    pending: (world, job) => completing(world, job, { countedTokens: 100 }),
    due: { free: -40n, worker: 360_000n, treasury: 40_000n, escrow: -400_000n },
  }),
  scenario({
    name: "complete of an acknowledged job, in its last second",
    enter: acknowledgedJob,
    at: (job) => job.lockedAt + 149,
    pending: completing,
    due: PAID,
  }),
  scenario({
    name: "complete of a proven job, in its last second",
    enter: provenJob,
    at: (job) => job.lockedAt + 149,
    pending: completing,
    due: PAID,
  }),
  scenario({
    name: "complete of a second worker, acknowledged after the first one never answered",
    enter: async (world) => {
      const job = await acknowledgedJob(world);
      await sendAcknowledge(world, job, { worker: world.rival, attempt: 2 });
      return job;
    },
    at: (job) => job.lockedAt + 59,
    pending: (world, job) => completing(world, job, { worker: world.rival }),
    // The first worker signed the same text, too late: the 54 credits went to the second one.
    due: { free: -60n, treasury: 60_000n, escrow: -600_000n },
  }),
  scenario({
    name: "submitProof in its last second",
    enter: acknowledgedJob,
    at: (job) => job.lockedAt + 149,
    pending: proving,
    due: PAID,
  }),
  scenario({
    name: "finalize in its first second",
    enter: provenJob,
    at: (job) => job.finalizeFrom,
    pending: (world, job) => call(world, world.workerOwner, items(world).finalize(job)),
    due: PAID,
  }),
  scenario({
    name: "fail of a job nobody answered",
    answered: false,
    enter: lockJob,
    at: (job) => job.lockedAt + 59,
    pending: (world, job) => call(world, world.gateway, items(world).fail(job)),
    due: REFUNDED,
  }),
  scenario({
    name: "refund in its first second",
    enter: acknowledgedJob,
    at: (job) => job.lockedAt + 150,
    pending: (world, job) => call(world, world.client, items(world).refund(job)),
    due: REFUNDED,
  }),
  scenario({
    name: "openDispute of a settled job by its operator, in the last second",
    enter: settledJob,
    at: (job) => job.settledAt + 89,
    pending: (world, job) => disputing(world, job, world.gateway),
    due: FEE_BACK,
  }),
  scenario({
    name: "openDispute of a proven job by its operator, in the last second",
    enter: provenJob,
    at: (job) => job.finalizeFrom - 1,
    pending: (world, job) => disputing(world, job, world.gateway),
    due: REFUNDED,
  }),
  scenario({
    name: "joinDispute, in the last second",
    enter: disputedJob,
    at: (job) => job.ruleFrom - 1,
    pending: (world, job) => call(world, world.client, items(world).joinDispute(job)),
    due: FEE_BACK,
  }),
  scenario({
    name: "openDispute of a proven job by its wallet, in the last second",
    enter: provenJob,
    at: (job) => job.finalizeFrom - 1,
    pending: (world, job) => disputing(world, job, world.client),
    due: REFUNDED,
  }),
  scenario({
    name: "the vote that finds the worker of a settled job at fault, in the last second",
    enter: disputedJob,
    at: (job) => job.openedAt + DAY - 1,
    pending: ruling(Ruling.WorkerAtFault),
    due: { ...COMPENSATED, ...SLASHED },
  }),
  scenario({
    name: "the vote that rejects the dispute of a proven job, in the last second",
    enter: disputedProvenJob,
    at: (job) => job.openedAt + DAY - 1,
    pending: ruling(Ruling.Rejected),
    // And the worker has the operator's bond, which is the job's charge.
    due: { ...PAID, worker: 1_140_000n, escrow: -1_200_000n },
  }),
  scenario({
    name: "the vote that finds the gateway of a proven job at fault, in the last second",
    enter: (world) => disputedProvenJob(world, { by: world.client }),
    at: (job) => job.openedAt + DAY - 1,
    pending: ruling(Ruling.GatewayAtFault),
    // The operator's reserve pays worker and treasury.
    due: { worker: 540_000n, treasury: 60_000n, escrow: -600_000n },
  }),
  scenario({
    name: "expire in its first second",
    enter: disputedProvenJob,
    at: (job) => job.openedAt + DAY,
    pending: (world, job) => call(world, world.client, items(world).expire(job)),
    due: REFUNDED,
  }),
  scenario({
    name: "proveEquivocation of an acknowledged job",
    enter: acknowledgedJob,
    at: (job) => job.lockedAt + 60,
    pending: accusing,
    due: SLASHED,
  }),
  scenario({
    name: "proveEquivocation of a settled job, in the last second",
    enter: settledJob,
    at: (job) => job.lockedAt + DAY - 1,
    pending: accusing,
    due: { ...FEE_BACK, ...SLASHED },
  }),
];
