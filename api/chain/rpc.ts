import { createPublicClient, type Hex, type PublicClient, type RpcTransactionReceipt } from "viem";
import { JsonRpc } from "../../protocol/json-rpc.ts";
import { nodeTransport } from "../../protocol/node-url.ts";

export { RpcError, RpcUnreachable, twice } from "../../protocol/json-rpc.ts";

/** The node as the gateway uses it. Typed reads through viem; the hot calls are plain JSON-RPC. */
export type Rpc = {
  client: PublicClient;
  request<T>(method: string, params: unknown[], timeoutMs?: number): Promise<T>;
};

/** A client of the JSON-RPC node at `url`. */
export function connectRpc(url: string): Rpc {
  const client = createPublicClient({
    transport: nodeTransport(url, { retryCount: 2, retryDelay: 100, timeout: 10_000 }),
  });
  const plain = new JsonRpc(url);
  return { client, request: (method, params, timeoutMs) => plain.request(method, params, timeoutMs) };
}

/** A receipt as nodes send it; `blockTimestamp` on logs where the node has it. */
export type RawReceipt = RpcTransactionReceipt & { logs: { blockTimestamp?: Hex }[] };
