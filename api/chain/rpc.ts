/** The chain node: calls, and its newest block. */
import type { Logger } from "pino";
import { createPublicClient, type Hex, type PublicClient, type RpcTransactionReceipt } from "viem";
import { type Call, JsonRpc } from "../../shared/json-rpc.ts";
import { nodeTransport } from "../../shared/node-transport.ts";

export { RpcError, RpcTooLong, RpcUnreachable, twice } from "../../shared/json-rpc.ts";

/** The node as the gateway uses it. Typed reads through viem; the hot calls are plain JSON-RPC. */
export type Rpc = {
  client: PublicClient;
  request<T>(method: string, params: readonly unknown[], timeoutMs?: number, maxBytes?: number): Promise<T>;
  /** Several calls in one HTTP request; results in their order. */
  batch<T extends readonly unknown[]>(calls: readonly Call[], timeoutMs?: number): Promise<T>;
};

/** A client of the JSON-RPC node at `url`. */
export function connectRpc(url: string): Rpc {
  const client = createPublicClient({
    transport: nodeTransport(url, { retryCount: 2, retryDelay: 100, timeout: 10_000 }),
  });
  const plain = new JsonRpc(url);
  return {
    client,
    request: (method, params, timeoutMs, maxBytes) => plain.request(method, params, timeoutMs, maxBytes),
    batch: (calls, timeoutMs) => plain.batch(calls, timeoutMs),
  };
}

/** A receipt as nodes send it. Some add `blockTimestamp` to logs. `l1Fee`: what rollups of the OP stack take for the data, wei. */
export type RawReceipt = RpcTransactionReceipt & { l1Fee?: Hex; logs: { blockTimestamp?: Hex }[] };

type Block = { number: number; hash: Hex; timestamp: number; baseFee: bigint };

/** Follows the chain's newest block: chain time, base fee, and whether the node answers at all. */
export class Head {
  readonly #rpc: Rpc;
  readonly #logger: Logger;
  #block: Block = { number: 0, hash: "0x", timestamp: 0, baseFee: 0n };
  #seenAt = 0;
  /** Number of the last question, and of the newest one that was answered. */
  #asked = 0;
  #answered = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(rpc: Rpc, logger: Logger) {
    this.#rpc = rpc;
    this.#logger = logger;
  }

  /** Reads the head once, then every `intervalMs`. Rejects if the node is out of reach now. */
  async start(intervalMs = 500): Promise<void> {
    await this.refresh();
    this.#timer = setInterval(() => {
      this.refresh().catch((error) => this.#logger.warn({ err: error }, "the chain node does not answer"));
    }, intervalMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  get block(): Block {
    return this.#block;
  }

  /** Milliseconds since the node last answered. */
  get silentMs(): number {
    return Date.now() - this.#seenAt;
  }

  /** Best estimate of the next block's time, Unix seconds: a chain may run a little ahead of this machine's clock. */
  get time(): number {
    return Math.max(Math.floor(Date.now() / 1000), this.#block.timestamp);
  }

  /** Takes note of a block seen in a receipt. */
  observe(number: number, timestamp: number): void {
    if (number <= this.#block.number) return;
    this.#block = { ...this.#block, number, timestamp };
    this.#seenAt = Date.now();
  }

  async refresh(): Promise<Block> {
    this.#asked += 1;
    const asked = this.#asked;
    const raw = await this.#rpc.request<{ number: Hex; hash: Hex; timestamp: Hex; baseFeePerGas?: Hex }>(
      "eth_getBlockByNumber",
      ["latest", false],
      5_000,
    );
    // A slow node can answer an earlier question later: its block would take the chain's time back.
    if (asked < this.#answered) return this.#block;
    this.#answered = asked;
    this.#block = {
      number: Number(raw.number),
      hash: raw.hash,
      timestamp: Number(raw.timestamp),
      baseFee: BigInt(raw.baseFeePerGas ?? "0x0"),
    };
    this.#seenAt = Date.now();
    return this.#block;
  }
}
