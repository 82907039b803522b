/** Batches and what they report. */
import type { HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";
import { jobId } from "./actors.ts";
import { acknowledgement, type CompleteOptions, completeArgs, type Job, LOCK_TOKENS } from "./jobs.ts";
import { MODEL, type World } from "./world.ts";

/** ABI-encoded calls of the escrow, as items of a batch. */
export function items(world: World) {
  const code = world.escrow.interface;
  return {
    lock: (id = jobId()) =>
      code.encodeFunctionData("lock", [world.client.address, MODEL, id, LOCK_TOKENS, 80, 2 ** 40 - 1]),
    acknowledge: async (job: Job) => code.encodeFunctionData("acknowledge", [...(await acknowledgement(world, job))]),
    complete: async (job: Job, options: CompleteOptions = {}) =>
      code.encodeFunctionData("complete", [...(await completeArgs(world, job, options))]),
    fail: (job: Job) => code.encodeFunctionData("fail", [job.id, 0]),
    withdraw: (credits: number, receiver: string) => code.encodeFunctionData("withdraw", [credits, receiver]),
    execute: (inner: string[]) => code.encodeFunctionData("execute", [inner]),
  };
}

export type BatchResult = { gasUsed: bigint; failures: { index: number; selector: string; reason: string }[] };

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
