/**
 * Reads receipts, in the one place that tells mined transactions from promised ones. Nodes of chains whose sequencer confirms before it
 * makes a block give receipts of the block that is being built, without its hash or with another one (Base's Flashblocks,
 * docs/decisions.md, 192).
 */
import type { Hex } from "viem";
import { type Answer, unwrap } from "../../shared/json-rpc.ts";
import type { RawReceipt, Rpc } from "./rpc.ts";

const READ_MS = 5_000;

/**
 * A receipt, and where it is. `isMined`: its block is in the chain of the node; otherwise it is of a block above the newest one, and the transaction
 * can still vanish. `blockTime` in Unix seconds; of a promise that does not tell it, that of the newest block, which is never too late.
 */
type PlacedReceipt = { receipt: RawReceipt; isMined: boolean; blockTime: number };

type Block = { number: Hex; hash: Hex; timestamp: Hex };

/**
 * Receipts of these transactions, in their order, and the number of the node's newest block. Null for a transaction that the node does not show, or
 * whose receipt is of a block that its chain does not have. `given`: a receipt that the node has sent already; then none is asked for.
 */
export async function findReceipts(
  rpc: Rpc,
  hashes: readonly Hex[],
  given: RawReceipt | null,
): Promise<{ receipts: (PlacedReceipt | null)[]; newest: number }> {
  const asked = given === null ? hashes : [];
  const [head, ...answers] = (await rpc.answers(
    [
      // First, as nodes answer in this order: a block that comes meanwhile must not look as if it lacked what was promised for it.
      { method: "eth_getBlockByNumber", params: ["latest", false] },
      ...asked.map((hash) => ({ method: "eth_getTransactionReceipt", params: [hash] })),
    ],
    READ_MS,
  )) as [Answer, ...Answer[]];
  const newest = unwrap(head) as Block;
  const found =
    given === null
      ? // Geth has an error for a transaction that it does not have, while it indexes.
        answers.map((answer) => ("error" in answer ? null : (answer.result as RawReceipt | null)))
      : hashes.map((hash) => (hash === given.transactionHash ? given : null));
  const receipts = await Promise.all(found.map((receipt) => place(rpc, receipt, newest)));
  return { receipts, newest: Number(newest.number) };
}

async function place(rpc: Rpc, receipt: RawReceipt | null, newest: Block): Promise<PlacedReceipt | null> {
  if (!receipt?.blockNumber) return null;
  const height = Number(receipt.blockNumber);
  if (height > Number(newest.number)) {
    const told = receipt.logs.find(({ blockTimestamp }) => blockTimestamp)?.blockTimestamp;
    return { receipt, isMined: false, blockTime: Number(told ?? newest.timestamp) };
  }
  const block = height === Number(newest.number) ? newest : await blockAt(rpc, receipt.blockNumber);
  // A reorganisation removed its block, of which some nodes go on giving receipts; or the sequencer's block became another one.
  if (block?.hash !== receipt.blockHash) return null;
  return { receipt, isMined: true, blockTime: Number(block.timestamp) };
}

const blockAt = (rpc: Rpc, height: Hex): Promise<Block | null> =>
  rpc.request("eth_getBlockByNumber", [height, false], READ_MS);
