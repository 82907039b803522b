import { getAbiItem, type Hex, toFunctionSelector } from "viem";
import { inferenceEscrowAbi } from "../../../protocol/generated/abi.ts";
import { fromApiJobId } from "../../../protocol/job-id.ts";
import { rpc } from "../../../scripts/local-stack/rpc.ts";
import type { Stack } from "../../support/stack.ts";

const COMPLETE = toFunctionSelector(getAbiItem({ abi: inferenceEscrowAbi, name: "complete" })).slice(2);

/** Hashes of transactions that settle the job and wait in the node to be mined. */
export async function pendingSettlements({ info }: Stack, jobId: string): Promise<string[]> {
  type Pool = { pending: Record<string, Record<string, { hash: string; input: string }>> };
  const { pending } = await rpc<Pool>(info.rpc_url, "txpool_content", []);
  const id = (fromApiJobId(jobId) as Hex).slice(2);
  return Object.values(pending)
    .flatMap((ofSender) => Object.values(ofSender))
    .filter(({ input }) => input.includes(COMPLETE) && input.includes(id))
    .map(({ hash }) => hash);
}

/** Stops the mining of blocks, or starts it again and mines what waits. */
export async function mining({ info }: Stack, on: boolean): Promise<void> {
  await rpc(info.rpc_url, "evm_setAutomine", [on]);
  if (on) await rpc(info.rpc_url, "evm_mine", []);
}
