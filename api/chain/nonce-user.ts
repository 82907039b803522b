import { type Address, type Hex, numberToHex } from "viem";
import { type Rpc, RpcError } from "./rpc.ts";

/**
 * The block in which a nonce was used, and the transaction that used it; null if none of the sender's transactions there has the nonce (a
 * delegated account can use one up).
 */
export type NonceUser = { hash: Hex | null; block: number };

type Transaction = { from: Address; nonce: Hex; hash: Hex };

/** Looks back at most so far; nodes keep the state of 128 blocks. */
const FARTHEST = 4_096;

/**
 * The transaction that used a nonce of the sender's, found in the block in which the sender's count passed it. Null where the node has no state of
 * that time. Everything is asked at numbered blocks, so a node of one address that is behind another cannot mislead.
 */
export async function userOfNonce(rpc: Rpc, sender: Address, nonce: number): Promise<NonceUser | null> {
  const isUsedAt = async (block: number): Promise<boolean> =>
    Number(await rpc.request<Hex>("eth_getTransactionCount", [sender, numberToHex(block)], 5_000)) > nonce;
  try {
    const newest = Number(await rpc.request<Hex>("eth_blockNumber", [], 5_000));
    if (!(await isUsedAt(newest))) return null;
    let [unused, used] = [-1, newest];
    for (let back = 1; back <= FARTHEST; back *= 2) {
      const block = Math.max(0, newest - back);
      if (!(await isUsedAt(block))) {
        unused = block;
        break;
      }
      used = block;
      if (block === 0) break;
    }
    if (unused === -1 && used > 0) return null;
    while (used - unused > 1) {
      const middle = Math.floor((used + unused) / 2);
      if (await isUsedAt(middle)) used = middle;
      else unused = middle;
    }
    const block = await rpc.request<{ transactions: Transaction[] } | null>(
      "eth_getBlockByNumber",
      [numberToHex(used), true],
      10_000,
    );
    if (block === null) return null;
    const isIt = ({ from, nonce: its }: Transaction) =>
      from.toLowerCase() === sender.toLowerCase() && Number(its) === nonce;
    return { hash: block.transactions.find(isIt)?.hash ?? null, block: used };
  } catch (error) {
    // It has no state of that block any more, or not yet.
    if (error instanceof RpcError) return null;
    throw error;
  }
}

/** True if two looks found the same use of the nonce. A look is null if the node could not show it. */
export const isSameUser = (one: NonceUser | null, other: NonceUser | null): boolean =>
  one?.hash === other?.hash && one?.block === other?.block;
