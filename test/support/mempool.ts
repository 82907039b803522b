import { getAbiItem, type Hex, toFunctionSelector } from "viem";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { fromApiJobId } from "../../protocol/job-id.ts";
import { rpc } from "../../scripts/dev/chain.ts";
import type { KnownStack } from "./api-client.ts";

const COMPLETE = toFunctionSelector(getAbiItem({ abi: inferenceEscrowAbi, name: "complete" })).slice(2);

const LOCK = toFunctionSelector(getAbiItem({ abi: inferenceEscrowAbi, name: "lock" })).slice(2);

type Waiting = { hash: string; input: string };

async function pending({ info }: KnownStack): Promise<Waiting[]> {
  type Pool = { pending: Record<string, Record<string, Waiting>> };
  const pool = await rpc<Pool>(info.rpc_url, "txpool_content", []);
  return Object.values(pool.pending).flatMap((ofSender) => Object.values(ofSender));
}

/** Hashes of transactions that settle the job and wait in the node to be mined. */
export async function pendingSettlements(stack: KnownStack, jobId: string): Promise<string[]> {
  const id = (fromApiJobId(jobId) as Hex).slice(2);
  return (await pending(stack))
    .filter(({ input }) => input.includes(COMPLETE) && input.includes(id))
    .map(({ hash }) => hash);
}

/** Locks of jobs that wait in the node to be mined. */
export async function pendingLocks(stack: KnownStack): Promise<number> {
  return (await pending(stack)).reduce((sum, { input }) => sum + input.split(LOCK).length - 1, 0);
}

/** Mines what waits in the node, while mining is stopped. */
export async function mineBlock({ info }: KnownStack): Promise<void> {
  await rpc(info.rpc_url, "evm_mine", []);
}

/** Stops the mining of blocks, or starts it again and mines what waits. */
export async function mining(stack: KnownStack, on: boolean): Promise<void> {
  await rpc(stack.info.rpc_url, "evm_setAutomine", [on]);
  if (on) await mineBlock(stack);
}
