import { Agent, request as send } from "undici";
import { createPublicClient, type Hex, http, type PublicClient, type RpcTransactionReceipt } from "viem";

/** The node as the gateway uses it. Typed reads through viem; the hot calls are plain JSON-RPC. */
export type Rpc = {
  client: PublicClient;
  request<T>(method: string, params: unknown[], timeoutMs?: number): Promise<T>;
};

/** An answer of the node that is an error: the request arrived and was refused. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;
  constructor(method: string, code: number, message: string, data: unknown) {
    super(`${method}: ${message} (${code})`);
    this.name = "RpcError";
    this.code = code;
    this.data = data;
  }
}

/** No usable answer: the node is out of reach, slow or broken. Whether the request took effect is unknown. */
export class RpcUnreachable extends Error {
  constructor(method: string, cause: unknown) {
    super(`${method}: no answer from the chain node (${cause instanceof Error ? cause.message : String(cause)})`, {
      cause,
    });
    this.name = "RpcUnreachable";
  }
}

let nextId = 1;

/** A client of the JSON-RPC node at `url`. */
export function connectRpc(url: string): Rpc {
  // A synchronous sending holds its connection until it is mined: reads must not wait for those.
  const agent = new Agent({ connections: 128 });
  const client = createPublicClient({ transport: http(url, { retryCount: 2, retryDelay: 100, timeout: 10_000 }) });
  return {
    client,
    async request<T>(method: string, params: unknown[], timeoutMs = 10_000): Promise<T> {
      let body: { result?: T; error?: { code: number; message: string; data?: unknown } };
      try {
        const response = await send(url, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ jsonrpc: "2.0", id: nextId++, method, params }),
          dispatcher: agent,
          signal: AbortSignal.timeout(timeoutMs),
        });
        body = (await response.body.json()) as typeof body;
      } catch (error) {
        throw new RpcUnreachable(method, error);
      }
      if (body.error) throw new RpcError(method, body.error.code, body.error.message, body.error.data);
      return body.result as T;
    },
  };
}

/** A receipt as nodes send it; `blockTimestamp` on logs where the node has it. */
export type RawReceipt = RpcTransactionReceipt & { logs: { blockTimestamp?: Hex }[] };
