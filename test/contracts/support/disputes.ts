/** Steps of a dispute with everything defaulted to a good case. */
import type { HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";
import type { Hex } from "viem";
import { answerHash } from "../../../protocol/answer-hash.ts";
import type { Completion } from "../../../protocol/messages.ts";
import { nextBlockAt, now } from "./chain.ts";
import { fieldsOf } from "./expect.ts";
import { type Job, lockJob, provenJob, sendComplete, signedCompletion } from "./jobs.ts";
import type { Signature } from "./sign.ts";
import type { Worker, World } from "./world.ts";

/** Numbers of `Ruling` in Types.sol. */
export const Ruling = { None: 0, WorkerAtFault: 1, GatewayAtFault: 2, Rejected: 3 } as const;
/** What the client says it received. */
export const OTHER_HASH = answerHash("something else");
/** Charge of the default job: 60 credits at 10 %: 540,000 units for the worker, 60,000 for the treasury. */
export const CHARGE_UNITS = 600_000n;
export const FEE_UNITS = 60_000n;
export const WORKER_UNITS = 540_000n;
export const BOND = 60;
export const ARBITRATION = 86_400;

type SettledJob = Job & { settledAt: number };

/** Locked and completed by its gateway. */
export async function settledJob(world: World): Promise<SettledJob> {
  const job = await lockJob(world);
  await sendComplete(world, job);
  return { ...job, settledAt: await now() };
}

export type DisputeOptions = Partial<Completion> & {
  by?: HardhatEthersSigner;
  receivedHash?: Hex;
  worker?: Worker;
  signature?: Signature;
};

/** The arguments of `openDispute`. */
export async function disputeArgs(world: World, job: Job, options: DisputeOptions = {}) {
  const [completion, byWorker] = await signedCompletion(world, job, options);
  const { receivedHash = OTHER_HASH, signature = byWorker } = options;
  return [receivedHash, completion, signature] as const;
}

/** Opens a dispute, by default by the gateway. */
export async function sendDispute(world: World, job: Job, options: DisputeOptions = {}) {
  const args = await disputeArgs(world, job, options);
  return await world.escrow.connect(options.by ?? world.gateway).openDispute(...args);
}

export type DisputedJob = Job & { openedAt: number; ruleFrom: number };

/** Settled, then disputed. */
export async function disputedJob(world: World, options: DisputeOptions = {}): Promise<DisputedJob> {
  return await disputed(world, await settledJob(world), options);
}

/** Proven by the slow path, then disputed; by the gateway for a bond of 60 credits of the reserve. */
export async function disputedProvenJob(world: World, options: DisputeOptions = {}): Promise<DisputedJob> {
  return await disputed(world, await provenJob(world), options);
}

async function disputed(world: World, job: Job, options: DisputeOptions): Promise<DisputedJob> {
  await sendDispute(world, job, options);
  const { openedAt, ruleFrom } = await world.escrow.disputeOf(job.id);
  return { ...job, openedAt: Number(openedAt), ruleFrom: Number(ruleFrom) };
}

/** The wallet adds its hash to the gateway's dispute. */
export async function sendJoin(world: World, job: Job, receivedHash: Hex = OTHER_HASH) {
  return await world.escrow.connect(world.client).joinDispute(job.id, receivedHash);
}

/** One arbiter's vote. */
export async function sendVote(world: World, job: Job, ruling: number, arbiter = world.arbiters[0]) {
  return await world.panel.connect(arbiter).vote(job.id, ruling);
}

/** The next block is the first one in which votes on the job's dispute count, if that is still to come. */
export async function waitForVotes(world: World, job: Job): Promise<void> {
  const ruleFrom = Number((await world.escrow.disputeOf(job.id)).ruleFrom);
  if (ruleFrom > (await now()) + 1) await nextBlockAt(ruleFrom);
}

/** Two votes of three as soon as they count: the second one rules. Returns the ruling transaction. */
export async function sendRuling(world: World, job: Job, ruling: number) {
  await waitForVotes(world, job);
  await sendVote(world, job, ruling, world.arbiters[0]);
  return await sendVote(world, job, ruling, world.arbiters[1]);
}

/** Ends a dispute in the first second in which anyone can. */
export async function sendExpire(world: World, job: DisputedJob) {
  await nextBlockAt(job.openedAt + ARBITRATION);
  return await world.escrow.connect(world.stranger).expire(job.id);
}

/** The arguments of `proveEquivocation`: two Completions of one worker for the job. */
export async function equivocationArgs(
  world: World,
  job: Job,
  second: Partial<Completion> = { proofHash: OTHER_HASH },
) {
  return [...(await signedCompletion(world, job)), ...(await signedCompletion(world, job, second))] as const;
}

/** Shows two Completions of one worker for the job. */
export async function sendEquivocation(world: World, job: Job, second?: Partial<Completion>) {
  const args = await equivocationArgs(world, job, second);
  return await world.escrow.connect(world.stranger).proveEquivocation(...args);
}

/** The stored dispute, by field name. */
export async function storedDispute(world: World, job: Job): Promise<Record<string, unknown>> {
  return fieldsOf(await world.escrow.disputeOf(job.id));
}
