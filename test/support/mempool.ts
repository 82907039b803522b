import { rpc } from "../../scripts/dev/chain.ts";
import type { KnownStack } from "./api-client.ts";

/** Mines what waits in the node, while mining is stopped. */
export async function mineBlock({ info }: KnownStack): Promise<void> {
  await rpc(info.rpc_url, "evm_mine", []);
}

/** Stops the mining of blocks, or starts it again and mines what waits. */
export async function mining(stack: KnownStack, on: boolean): Promise<void> {
  await rpc(stack.info.rpc_url, "evm_setAutomine", [on]);
  if (on) await mineBlock(stack);
}
