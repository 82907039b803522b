import type { Address, Hex } from "viem";
import { type RawReceipt, type Rpc, RpcError, RpcUnreachable } from "./rpc.ts";

/** What the node said to a broadcast. `unknown` is not `refused`: the same bytes go out again. */
export type BroadcastResult =
  | { status: "mined"; receipt: RawReceipt }
  | { status: "pending" }
  | { status: "nonce-used" }
  | { status: "underpriced" }
  | { status: "no-funds"; message: string }
  | { status: "unknown"; error: Error };

/** How long the node may hold a synchronous sending open; after that receipts are asked for. */
const SYNC_WAIT_MS = 5_000;
// EIP-7966: the transaction was taken, but not mined within the node's own time limit.
const SYNC_TIMEOUT = 4;

// Nodes have no codes for these answers; every client library matches these words. Only the reaction's speed depends on
// them: an answer that is not recognised is "unknown", and receipts decide.
const WORDS = {
  known: /already known|already imported|known transaction|already exists/i,
  nonce: /nonce too low|nonce is too low|nonce.*lower/i,
  price: /underpriced|fee too low|max fee per gas less than block base fee|fee cap less than/i,
  funds: /insufficient funds|insufficient balance/i,
};

/** Sends signed bytes, synchronously where the node has EIP-7966. */
export class Broadcaster {
  readonly #rpc: Rpc;
  #synchronous = true;

  constructor(rpc: Rpc) {
    this.#rpc = rpc;
  }

  async send(raw: Hex): Promise<BroadcastResult> {
    try {
      if (!this.#synchronous) {
        await this.#rpc.request("eth_sendRawTransaction", [raw]);
        return { status: "pending" };
      }
      const receipt = await this.#rpc.request<RawReceipt | null>("eth_sendRawTransactionSync", [raw], SYNC_WAIT_MS);
      return receipt ? { status: "mined", receipt } : { status: "pending" };
    } catch (error) {
      const result = classify(error);
      // Nodes that lack the method say so in many ways. The plain one with the same bytes can do no harm.
      if (this.#synchronous && error instanceof RpcError && result.status === "unknown") {
        this.#synchronous = false;
        return this.send(raw);
      }
      return result;
    }
  }

  /** How many transactions of this sender the chain has: the lowest nonce that is free. */
  async transactionCount(sender: Address): Promise<number> {
    return Number(await this.#rpc.request<Hex>("eth_getTransactionCount", [sender, "latest"], 5_000));
  }

  /** The receipt of whichever of these transactions was mined, null if none is. */
  async receipt(hashes: readonly Hex[]): Promise<RawReceipt | null> {
    for (const hash of hashes) {
      const receipt = await this.#rpc.request<RawReceipt | null>("eth_getTransactionReceipt", [hash], 5_000);
      if (receipt) return receipt;
    }
    return null;
  }
}

function classify(error: unknown): BroadcastResult {
  if (error instanceof RpcUnreachable) return { status: "unknown", error };
  if (!(error instanceof RpcError)) throw error;
  if (error.code === SYNC_TIMEOUT || WORDS.known.test(error.message)) return { status: "pending" };
  if (WORDS.nonce.test(error.message)) return { status: "nonce-used" };
  if (WORDS.price.test(error.message)) return { status: "underpriced" };
  if (WORDS.funds.test(error.message)) return { status: "no-funds", message: error.message };
  return { status: "unknown", error };
}
