/** Steps of a dispute with everything defaulted to a good case. */
import type { HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";
import type { Hex } from "viem";
import { answerHash } from "../../../protocol/answer-hash.ts";
import type { Completion } from "../../../protocol/messages.ts";
import { nextBlockAt, now } from "./chain.ts";
import { acknowledgedJob, completionOf, type Job, lockJob, provenJob, sendComplete } from "./jobs.ts";
import { signCompletion } from "./sign.ts";
import type { Worker, World } from "./world.ts";

/** Numbers of `Ruling` in JobTypes.sol. */
export const Ruling = { None: 0, WorkerAtFault: 1, GatewayAtFault: 2, Rejected: 3 } as const;
/** What the client says it received. */
export const OTHER_HASH = answerHash("something else");
/** Charge of the default job: 60 credits at 10 %: 540,000 units for the worker, 60,000 for the treasury. */
export const CHARGE_UNITS = 600_000n;
export const FEE_UNITS = 60_000n;
export const WORKER_UNITS = 540_000n;
export const BOND = 100;
export const ARBITRATION = 86_400;

export type SettledJob = Job & { settledAt: number };

/** Locked and completed by its gateway. */
export async function settledJob(world: World): Promise<SettledJob> {
  const job = await lockJob(world);
  await sendComplete(world, job);
  return { ...job, settledAt: await now() };
}

export type DisputeOptions = Partial<Completion> & { by?: HardhatEthersSigner; receivedHash?: Hex; worker?: Worker };

/** Opens a dispute, by default by the gateway. */
export async function sendDispute(world: World, job: Job, options: DisputeOptions = {}) {
  const completion = completionOf(job, options);
  const signature = await signCompletion(world.escrow, (options.worker ?? world.worker).key, completion);
  return await world.escrow
    .connect(options.by ?? world.gateway)
    .openDispute(options.receivedHash ?? OTHER_HASH, completion, signature);
}

export type DisputedJob = Job & { openedAt: number };

/** Settled, then disputed. */
export async function disputedJob(world: World, options: DisputeOptions = {}): Promise<DisputedJob> {
  const job = await settledJob(world);
  await sendDispute(world, job, options);
  return { ...job, openedAt: await now() };
}

/** Proven by the slow path, then disputed. */
export async function disputedProvenJob(world: World, options: DisputeOptions = {}): Promise<DisputedJob> {
  const job = await provenJob(world);
  await sendDispute(world, job, options);
  return { ...job, openedAt: await now() };
}

/** One arbiter's vote. */
export async function sendVote(world: World, job: Job, ruling: number, arbiter = world.arbiters[0]) {
  return await world.panel.connect(arbiter).vote(job.id, ruling);
}

/** Two votes of three: the second one rules. Returns the ruling transaction. */
export async function sendRuling(world: World, job: Job, ruling: number) {
  await sendVote(world, job, ruling, world.arbiters[0]);
  return await sendVote(world, job, ruling, world.arbiters[1]);
}

/** Ends a dispute in the first second in which anyone can. */
export async function sendExpire(world: World, job: DisputedJob) {
  await nextBlockAt(job.openedAt + ARBITRATION);
  return await world.escrow.connect(world.stranger).expire(job.id);
}

/** Shows two Completions of one worker for the job. */
export async function sendEquivocation(
  world: World,
  job: Job,
  second: Partial<Completion> = { proofHash: OTHER_HASH },
  worker = world.worker,
) {
  const completions = [completionOf(job), completionOf(job, second)] as const;
  const signatures = await Promise.all(
    completions.map((completion) => signCompletion(world.escrow, worker.key, completion)),
  );
  const [first, other] = signatures as [
    Awaited<ReturnType<typeof signCompletion>>,
    Awaited<ReturnType<typeof signCompletion>>,
  ];
  return await world.escrow.connect(world.stranger).proveEquivocation(completions[0], first, completions[1], other);
}

export { acknowledgedJob, provenJob };

/** The stored dispute, by field name. */
export async function storedDispute(world: World, job: Job): Promise<Record<string, unknown>> {
  const dispute = await world.escrow.disputeOf(job.id);
  return (dispute as unknown as { toObject(): Record<string, unknown> }).toObject();
}
