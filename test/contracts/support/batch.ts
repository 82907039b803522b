/** Batches and what they report. */
import type { HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";
import type { Completion } from "../../../protocol/messages.ts";
import { jobId } from "./actors.ts";
import { nextBlockAt, now } from "./chain.ts";
import { type DisputeOptions, disputeArgs, equivocationArgs, OTHER_HASH } from "./disputes.ts";
import {
  type AcknowledgeOptions,
  acknowledgement,
  type CompleteOptions,
  completeArgs,
  completionOf,
  type Job,
  LOCK_TOKENS,
  type ProofOptions,
  signedCompletion,
} from "./jobs.ts";
import { signCompletion } from "./sign.ts";
import { MODEL, type World } from "./world.ts";

/** ABI-encoded calls of the escrow: as items of a batch, or to be sent by whom and when a test says. */
export function items(world: World) {
  const code = world.escrow.interface;
  return {
    lock: (id = jobId()) =>
      code.encodeFunctionData("lock", [world.client.address, MODEL, id, LOCK_TOKENS, 80, 2 ** 40 - 1]),
    acknowledge: async (job: Job, options: AcknowledgeOptions = {}) =>
      code.encodeFunctionData("acknowledge", [...(await acknowledgement(world, job, options))]),
    complete: async (job: Job, options: CompleteOptions = {}) =>
      code.encodeFunctionData("complete", [...(await completeArgs(world, job, options))]),
    fail: (job: Job, reason = 0) => code.encodeFunctionData("fail", [job.id, reason]),
    submitProof: async (job: Job, options: ProofOptions = {}) =>
      code.encodeFunctionData("submitProof", [...(await signedCompletion(world, job, options))]),
    finalize: (job: Job) => code.encodeFunctionData("finalize", [completionOf(job)]),
    openDispute: async (job: Job, options: DisputeOptions = {}) =>
      code.encodeFunctionData("openDispute", [...(await disputeArgs(world, job, options))]),
    joinDispute: (job: Job) => code.encodeFunctionData("joinDispute", [job.id, OTHER_HASH]),
    proveEquivocation: async (job: Job, second?: Partial<Completion>) =>
      code.encodeFunctionData("proveEquivocation", [...(await equivocationArgs(world, job, second))]),
    claim: (payee: string) => code.encodeFunctionData("claim", [payee]),
    refund: (job: Job) => code.encodeFunctionData("refund", [job.id]),
    expire: (job: Job) => code.encodeFunctionData("expire", [job.id]),
    collectDebt: (job: Job) => code.encodeFunctionData("collectDebt", [job.id]),
    withdraw: (credits: number, receiver: string) => code.encodeFunctionData("withdraw", [credits, receiver]),
    execute: (inner: string[]) => code.encodeFunctionData("execute", [inner]),
  };
}

type BatchResult = { gasUsed: bigint; failures: { index: number; selector: string; reason: string }[] };

/** Sends a batch and collects what failed in it. */
export async function executeBatch(
  world: World,
  sender: HardhatEthersSigner,
  batch: string[],
  gasLimit = 16_000_000n,
): Promise<BatchResult> {
  const receipt = await (await world.escrow.connect(sender).execute(batch, { gasLimit })).wait();
  const failures = (receipt?.logs ?? []).flatMap((log) => {
    const parsed = world.escrow.interface.parseLog(log);
    if (parsed?.name !== "BatchItemFailed") return [];
    return [
      {
        index: Number(parsed.args.index),
        selector: parsed.args.selector as string,
        reason: parsed.args.reason as string,
      },
    ];
  });
  return { gasUsed: receipt?.gasUsed ?? 0n, failures };
}

// A gateway and a worker who work together: what they can sign and send without any client.

/** Items that lock and settle `jobs` jobs of the client's in one transaction, `credits` each. The next block must take the batch. */
export async function answerAtOnce(world: World, jobs: number, credits = 5_000): Promise<string[]> {
  const { escrow, client, worker } = world;
  const time = (await now()) + 5;
  // 20 credits per 1,000 tokens.
  const completionTokens = credits * 50;
  const batch: string[] = [];
  for (let i = 0; i < jobs; i++) {
    const id = jobId();
    const completion = completionOf({ id, lockedAt: time }, { completionTokens, completedAt: time });
    const signature = await signCompletion(escrow, worker.key, completion);
    const lock = [client.address, MODEL, id, completionTokens, credits, 2 ** 40 - 1] as const;
    batch.push(
      escrow.interface.encodeFunctionData("lock", [...lock]),
      escrow.interface.encodeFunctionData("complete", [completion, completionTokens, signature, client.address]),
    );
  }
  await nextBlockAt(time);
  return batch;
}
