import type { Hex, PublicClient, TransactionReceipt } from "viem";
import { receiptOf } from "../../protocol/receipt.ts";

/** Waits until a transaction that a test sent is mined; throws when it reverted. A test that goes on without it races with the node. */
export async function mined(client: PublicClient, hash: Hex): Promise<TransactionReceipt> {
  const receipt = await receiptOf(client, hash, { timeout: 60_000, interval: 50 });
  if (receipt.status !== "success")
    throw new Error(`transaction ${hash} of the test reverted in block ${receipt.blockNumber}`);
  return receipt;
}
