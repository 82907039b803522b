/** Signed bytes on their way to the node, and what became of them. */
import type { Hex } from "viem";
import { type RawReceipt, type Rpc, RpcError, RpcUnreachable } from "./rpc.ts";

/**
 * `taken`: the node has the transaction. `receipt`: null unless it answered with one at once. `refused`: it answered with an error, from which the
 * reason cannot be told. `unclear`: it did not answer, and may have the transaction all the same.
 */
type BroadcastResult =
  | { status: "taken"; receipt: RawReceipt | null }
  | { status: "refused"; error: RpcError }
  | { status: "unclear"; error: Error };

/** How long the node may hold a synchronous sending open; after that the gateway asks for receipts. */
const SYNC_WAIT_MS = 5_000;
/** For this long after a synchronous sending without an answer the plain method is used: a proxy before the node may drop the other one silently. */
const PLAIN_MS = 60_000;
/** EIP-7966: the transaction was taken, but not mined within the node's own time limit. */
const SYNC_TIMEOUT = 4;

/** Sends signed bytes, synchronously where the node has EIP-7966. */
export class Broadcaster {
  readonly #rpc: Rpc;
  /** Until when the plain sending is used, `performance.now()`. */
  #plainUntil = Number.NEGATIVE_INFINITY;

  constructor(rpc: Rpc) {
    this.#rpc = rpc;
  }

  async send(raw: Hex): Promise<BroadcastResult> {
    if (performance.now() < this.#plainUntil) return this.#try("eth_sendRawTransaction", raw);
    const result = await this.#try("eth_sendRawTransactionSync", raw);
    if (result.status === "unclear") this.#plainUntil = performance.now() + PLAIN_MS;
    if (result.status !== "refused") return result;
    // Nodes that lack the method say so in many ways. The plain one with the same bytes can do no harm.
    const plain = await this.#try("eth_sendRawTransaction", raw);
    if (plain.status === "taken") this.#plainUntil = Number.POSITIVE_INFINITY;
    return plain;
  }

  async #try(method: string, raw: Hex): Promise<BroadcastResult> {
    try {
      const answer = await this.#rpc.request<RawReceipt | Hex | null>(method, [raw], SYNC_WAIT_MS);
      return { status: "taken", receipt: typeof answer === "object" ? answer : null };
    } catch (error) {
      if (error instanceof RpcUnreachable) return { status: "unclear", error };
      if (!(error instanceof RpcError)) throw error;
      return error.code === SYNC_TIMEOUT ? { status: "taken", receipt: null } : { status: "refused", error };
    }
  }
}
