/** Honest calls that wait to be mined, each in the last second in which it can be, with the payout that is due. */
import type { Books } from "../support/books.ts";
import { disputedJob, disputedProvenJob, OTHER_HASH, provenJob, Ruling, settledJob } from "../support/disputes.ts";
import type { Pending } from "../support/front-running.ts";
import { acknowledgedJob, completionOf, type Job, lockJob, sendAcknowledge } from "../support/jobs.ts";
import type { World } from "../support/world.ts";
import { accusing, call, completing, disputing, proving, ruling } from "./pending.ts";

export type Scenario = {
  name: string;
  /** The worker has answered: its Completion and signature are public. */
  answered: boolean;
  prepare: (world: World) => Promise<{ job: Job; at: number; pending: Pending }>;
  /** What has moved in the end, since before the job. */
  due: Partial<Books>;
};

/** 60 of 80 credits charged, 54 to the worker, 6 to the treasury. */
const PAID = { free: -60n, worker: 540_000n, treasury: 60_000n, escrow: -600_000n };
const REFUNDED = {};
/** The charge stands and the client has the protocol fee back: nobody ruled, or nobody had to. */
const FEE_BACK = { free: -54n, worker: 540_000n, escrow: -540_000n };
const SLASHED = { stake: -500_000_000n };
/** The worker keeps its pay of 54 credits, which its slash covers; the treasury had 6. */
const COMPENSATED = { worker: 540_000n, treasury: -540_000n };

const DAY = 86_400;

export const SCENARIOS: readonly Scenario[] = [
  {
    name: "complete of a locked job",
    answered: true,
    prepare: async (world) => {
      const job = await lockJob(world);
      return { job, at: job.lockedAt + 59, pending: await completing(world, job) };
    },
    due: PAID,
  },
  {
    name: "complete that bills fewer tokens than the worker counted",
    answered: true,
    prepare: async (world) => {
      const job = await lockJob(world);
      return { job, at: job.lockedAt + 59, pending: await completing(world, job, { countedTokens: 100 }) };
    },
    due: { free: -40n, worker: 360_000n, treasury: 40_000n, escrow: -400_000n },
  },
  {
    name: "complete of an acknowledged job, in its last second",
    answered: true,
    prepare: async (world) => {
      const job = await acknowledgedJob(world);
      return { job, at: job.lockedAt + 149, pending: await completing(world, job) };
    },
    due: PAID,
  },
  {
    name: "complete of a proven job, in its last second",
    answered: true,
    prepare: async (world) => {
      const job = await provenJob(world);
      return { job, at: job.lockedAt + 149, pending: await completing(world, job) };
    },
    due: PAID,
  },
  {
    name: "complete of a second worker, acknowledged after the first one never answered",
    answered: true,
    prepare: async (world) => {
      const job = await acknowledgedJob(world);
      await sendAcknowledge(world, job, { worker: world.rival, attempt: 2 });
      return { job, at: job.lockedAt + 59, pending: await completing(world, job, { worker: world.rival }) };
    },
    // The first worker signed the same text, too late: the 54 credits went to the second one.
    due: { free: -60n, treasury: 60_000n, escrow: -600_000n },
  },
  {
    name: "submitProof in its last second",
    answered: true,
    prepare: async (world) => {
      const job = await acknowledgedJob(world);
      return { job, at: job.lockedAt + 149, pending: await proving(world, job) };
    },
    due: PAID,
  },
  {
    name: "finalize in its first second",
    answered: true,
    prepare: async (world) => {
      const job = await provenJob(world);
      const data = world.escrow.interface.encodeFunctionData("finalize", [completionOf(job)]);
      return { job, at: job.finalizeFrom, pending: await call(world, world.workerOwner, data) };
    },
    due: PAID,
  },
  {
    name: "fail of a job nobody answered",
    answered: false,
    prepare: async (world) => {
      const job = await lockJob(world);
      const data = world.escrow.interface.encodeFunctionData("fail", [job.id, 0]);
      return { job, at: job.lockedAt + 59, pending: await call(world, world.gateway, data) };
    },
    due: REFUNDED,
  },
  {
    name: "refund in its first second",
    answered: true,
    prepare: async (world) => {
      const job = await acknowledgedJob(world);
      const data = world.escrow.interface.encodeFunctionData("refund", [job.id]);
      return { job, at: job.lockedAt + 150, pending: await call(world, world.client, data) };
    },
    due: REFUNDED,
  },
  {
    name: "openDispute of a settled job by its operator, in the last second",
    answered: true,
    prepare: async (world) => {
      const job = await settledJob(world);
      return { job, at: job.settledAt + 89, pending: await disputing(world, job, world.gateway) };
    },
    due: FEE_BACK,
  },
  {
    name: "openDispute of a proven job by its operator, in the last second",
    answered: true,
    prepare: async (world) => {
      const job = await provenJob(world);
      return { job, at: job.finalizeFrom - 1, pending: await disputing(world, job, world.gateway) };
    },
    due: REFUNDED,
  },
  {
    name: "joinDispute, in the last second",
    answered: true,
    prepare: async (world) => {
      const job = await disputedJob(world);
      const data = world.escrow.interface.encodeFunctionData("joinDispute", [job.id, OTHER_HASH]);
      return { job, at: job.ruleFrom - 1, pending: await call(world, world.client, data) };
    },
    due: FEE_BACK,
  },
  {
    name: "openDispute of a proven job by its wallet, in the last second",
    answered: true,
    prepare: async (world) => {
      const job = await provenJob(world);
      return { job, at: job.finalizeFrom - 1, pending: await disputing(world, job, world.client) };
    },
    due: REFUNDED,
  },
  {
    name: "the vote that finds the worker of a settled job at fault, in the last second",
    answered: true,
    prepare: async (world) => {
      const job = await disputedJob(world);
      return { job, at: job.openedAt + DAY - 1, pending: await ruling(world, job, Ruling.WorkerAtFault) };
    },
    due: { ...COMPENSATED, ...SLASHED },
  },
  {
    name: "the vote that rejects the dispute of a proven job, in the last second",
    answered: true,
    prepare: async (world) => {
      const job = await disputedProvenJob(world);
      return { job, at: job.openedAt + DAY - 1, pending: await ruling(world, job, Ruling.Rejected) };
    },
    // And the worker has the operator's bond, which is the job's charge.
    due: { ...PAID, worker: 1_140_000n, escrow: -1_200_000n },
  },
  {
    name: "the vote that finds the gateway of a proven job at fault, in the last second",
    answered: true,
    prepare: async (world) => {
      const job = await disputedProvenJob(world, { by: world.client });
      return { job, at: job.openedAt + DAY - 1, pending: await ruling(world, job, Ruling.GatewayAtFault) };
    },
    // The operator's reserve pays worker and treasury.
    due: { worker: 540_000n, treasury: 60_000n, escrow: -600_000n },
  },
  {
    name: "expire in its first second",
    answered: true,
    prepare: async (world) => {
      const job = await disputedProvenJob(world);
      const data = world.escrow.interface.encodeFunctionData("expire", [job.id]);
      return { job, at: job.openedAt + DAY, pending: await call(world, world.client, data) };
    },
    due: REFUNDED,
  },
  {
    name: "proveEquivocation of an acknowledged job",
    answered: true,
    prepare: async (world) => {
      const job = await acknowledgedJob(world);
      return { job, at: job.lockedAt + 60, pending: await accusing(world, job) };
    },
    due: SLASHED,
  },
  {
    name: "proveEquivocation of a settled job, in the last second",
    answered: true,
    prepare: async (world) => {
      const job = await settledJob(world);
      return { job, at: job.lockedAt + DAY - 1, pending: await accusing(world, job) };
    },
    due: { ...FEE_BACK, ...SLASHED },
  },
];
