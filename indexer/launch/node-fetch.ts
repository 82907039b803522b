/** Ponder's requests to the chain, answered by the nodes of RPC_URL and RPC_URLS as gateway and worker read them. */
import type { ChainNode } from "../../shared/chain-node.ts";
import { RpcError, RpcLimited } from "../../shared/json-rpc.ts";

type Body = { id: number; method: string; params?: unknown[] };

/** As long as Ponder waits for one. */
const TIMEOUT_MS = 10_000;
/** A block with all its transactions and receipts, or the logs of a range; more is asked for in smaller ranges. */
const REPLY_BYTES = 64 * 1024 * 1024;
const TOO_MANY_REQUESTS = 429;

/** A `fetch` that asks `nodes` where Ponder asks the node at `url`; everything else as `plain` does. */
export function throughNodes(url: string, nodes: Pick<ChainNode, "request">, plain: typeof fetch): typeof fetch {
  const node = new URL(url).href;
  return async (input, init) => {
    if (!(input instanceof Request) || input.url !== node || input.method !== "POST") return plain(input, init);
    const { id, method, params = [] } = (await input.json()) as Body;
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    input.signal.addEventListener("abort", () => reject(input.signal.reason), { once: true });
    try {
      input.signal.throwIfAborted();
      const result = await Promise.race([nodes.request(method, params, TIMEOUT_MS, REPLY_BYTES), aborted]);
      // Some nodes say null where there are no logs.
      return Response.json({ jsonrpc: "2.0", id, result: method === "eth_getLogs" ? (result ?? []) : result });
    } catch (error) {
      // Ponder then asks less often.
      if (error instanceof RpcLimited) return new Response(error.message, { status: TOO_MANY_REQUESTS });
      if (!(error instanceof RpcError)) throw error;
      const { code, message, data } = error;
      return Response.json({ jsonrpc: "2.0", id, error: { code, message, data } });
    }
  };
}
