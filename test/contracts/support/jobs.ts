/** Steps of a job with everything defaulted to a good case; a test names only what it is about. */
import type { HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";
import type { Hex } from "viem";
import { answerHash } from "../../../protocol/answer-hash.ts";
import type { Completion } from "../../../protocol/messages.ts";
import { jobId } from "./actors.ts";
import { nextBlockAt, now } from "./chain.ts";
import { accountWith, fieldsOf, usageWith } from "./expect.ts";
import { type Signature, signAcknowledgement, signAssignment, signCompletion } from "./sign.ts";
import { CLIENT_CREDITS, MODEL, type Worker, type World } from "./world.ts";

export const PROOF_HASH = answerHash("an answer");
/** 4,000 tokens on a max model: 80 credits. */
export const LOCK_TOKENS = 4_000;
export const LOCK_CREDITS = 80;
const FOREVER = 2 ** 40 - 1;

export type Job = { id: Hex; lockedAt: number };

type LockOptions = {
  id?: Hex;
  model?: number;
  maxTokens?: number;
  maxCredits?: number;
  validUntil?: number;
  wallet?: string;
  gateway?: HardhatEthersSigner;
};

/** Sends a lock. */
export function sendLock(world: World, options: LockOptions = {}) {
  const {
    id = jobId(),
    model = MODEL,
    maxTokens = LOCK_TOKENS,
    maxCredits = 1_000_000,
    validUntil = FOREVER,
  } = options;
  const wallet = options.wallet ?? world.client.address;
  return world.escrow
    .connect(options.gateway ?? world.gateway)
    .lock(wallet, model, id, maxTokens, maxCredits, validUntil);
}

/** A locked job: 80 credits of the client on a max model. */
export async function lockJob(world: World, options: LockOptions = {}): Promise<Job> {
  const id = options.id ?? jobId();
  await sendLock(world, { ...options, id });
  return { id, lockedAt: await now() };
}

export type AcknowledgeOptions = {
  worker?: Worker;
  attempt?: number;
  acknowledgeBy?: number;
  assignedBy?: HardhatEthersSigner;
  sender?: HardhatEthersSigner;
};

/** The arguments of `acknowledge`. */
export async function acknowledgement(world: World, job: Job, options: AcknowledgeOptions = {}) {
  const { worker = world.worker, attempt = 1, acknowledgeBy = job.lockedAt + 60 } = options;
  const assignment = { jobId: job.id, worker: worker.key.address, attempt, acknowledgeBy };
  const byGateway = await signAssignment(world.escrow, options.assignedBy ?? world.gateway, assignment);
  const byWorker = await signAcknowledgement(world.escrow, worker.key, { jobId: job.id, attempt });
  return [assignment, byGateway, byWorker] as const;
}

/** Sends an acknowledgement, by default from a stranger: anyone may. */
export async function sendAcknowledge(world: World, job: Job, options: AcknowledgeOptions = {}) {
  const args = await acknowledgement(world, job, options);
  return await world.escrow.connect(options.sender ?? world.stranger).acknowledge(...args);
}

export type CompleteOptions = Partial<Completion> & {
  worker?: Worker;
  countedTokens?: number;
  wallet?: string;
  gateway?: HardhatEthersSigner;
  signature?: Signature;
};

/** A Completion of 3,000 tokens (60 credits on a max model) in a long text, without reasoning, finished a second after the lock. */
export function completionOf(job: Job, overrides: Partial<Completion> = {}): Completion {
  const {
    jobId: id = job.id,
    proofHash = PROOF_HASH,
    promptTokens = 12,
    completionTokens = 3_000,
    reasoningTokens = 0,
    textBytes = 2_000_000,
    completedAt = job.lockedAt + 1,
  } = overrides;
  return { jobId: id, proofHash, promptTokens, completionTokens, reasoningTokens, textBytes, completedAt };
}

/** Changes of `completionOf`, each of one field. */
export const otherFields = ({ lockedAt }: Job): Partial<Completion>[] => [
  { proofHash: answerHash("a third text") },
  { promptTokens: 13 },
  { completionTokens: 3_001 },
  { reasoningTokens: 1 },
  { textBytes: 2_000_001 },
  { completedAt: lockedAt + 2 },
];

/** The arguments of `complete`. */
export async function completeArgs(world: World, job: Job, options: CompleteOptions = {}) {
  const [completion, byWorker] = await signedCompletion(world, job, options);
  const { countedTokens = completion.completionTokens, signature = byWorker, wallet = world.client.address } = options;
  return [completion, countedTokens, signature, wallet] as const;
}

/** The gateway's fast path: from Locked it is the whole settlement. */
export async function sendComplete(world: World, job: Job, options: CompleteOptions = {}) {
  const args = await completeArgs(world, job, options);
  return await world.escrow.connect(options.gateway ?? world.gateway).complete(...args);
}

/** A Completion, and its worker's signature. */
export async function signedCompletion(
  world: World,
  job: Job,
  options: Partial<Completion> & { worker?: Worker } = {},
) {
  const completion = completionOf(job, options);
  return [completion, await signCompletion(world.escrow, (options.worker ?? world.worker).key, completion)] as const;
}

export type ProofOptions = Partial<Completion> & { worker?: Worker; sender?: HardhatEthersSigner };

/** The slow path's first half, by default from a stranger. */
export async function sendProof(world: World, job: Job, options: ProofOptions = {}) {
  const args = await signedCompletion(world, job, options);
  return await world.escrow.connect(options.sender ?? world.stranger).submitProof(...args);
}

/** The slow path's second half. */
export async function sendFinalize(world: World, job: Job, overrides: Partial<Completion> = {}) {
  return await world.escrow.connect(world.stranger).finalize(completionOf(job, overrides));
}

/** What `JobSettled` says of a `lockJob` job charged for `completionOf`: 60 of 80 credits. */
export async function settledValues(world: World, job: Job, signature?: Signature) {
  const { escrow, client, worker } = world;
  const completion = completionOf(job);
  const { jobId: _, proofHash: __, ...signed } = completion;
  const { r, vs } = signature ?? (await signCompletion(escrow, worker.key, completion));
  const usage = usageWith({ ...signed, billedTokens: completion.completionTokens });
  const account = accountWith({ free: CLIENT_CREDITS - 60, escrowed: 0 });
  return [job.id, client.address, worker.key.address, PROOF_HASH, 60, usage, r, vs, account] as const;
}

/** Locked and acknowledged. */
export async function acknowledgedJob(world: World, options: AcknowledgeOptions & LockOptions = {}): Promise<Job> {
  const job = await lockJob(world, options);
  await sendAcknowledge(world, job, options);
  return job;
}

/** Locked, acknowledged and proven; finalizable from the returned time. */
export async function provenJob(world: World, options: ProofOptions = {}): Promise<Job & { finalizeFrom: number }> {
  const job = await acknowledgedJob(world);
  await nextBlockAt(job.lockedAt + 30);
  await sendProof(world, job, options);
  return { ...job, finalizeFrom: job.lockedAt + 30 + 3_600 };
}

/** The stored job, by field name. */
export async function storedJob(world: World, id: Hex): Promise<Record<string, bigint>> {
  return fieldsOf(await world.escrow.jobOf(id));
}
