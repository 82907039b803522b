/** The chain node: calls, and its newest block. */
import type { Logger } from "pino";
import { createPublicClient, type Hex, type PublicClient, type RpcTransactionReceipt } from "viem";
import { ChainNode, transportOf } from "../../shared/chain-node.ts";
import { type Answer, type Call, RpcUnreachable } from "../../shared/json-rpc.ts";

export { RpcError, RpcTooLong, RpcUnreachable } from "../../shared/json-rpc.ts";

/** The nodes as the gateway uses them. Typed reads through viem; the hot calls are plain JSON-RPC. */
export type Rpc = {
  client: PublicClient;
  request<T>(method: string, params: readonly unknown[], timeoutMs?: number, maxBytes?: number): Promise<T>;
  /** Several calls of one node; results in their order. */
  batch<T extends readonly unknown[]>(calls: readonly Call[], timeoutMs?: number): Promise<T>;
  /** The same, with what the node says to each call. */
  answers(calls: readonly Call[], timeoutMs?: number): Promise<Answer[]>;
  /** Compares several nodes from now on, and leaves out those that are behind or of another chain. */
  watch(chainId: number): void;
  stop(): void;
};

/** The JSON-RPC nodes at `urls`, the preferred one first. */
export function connectRpc(urls: string | readonly string[], logger: Logger | null = null): Rpc {
  const node = new ChainNode([urls].flat(), logger);
  return {
    client: createPublicClient({ transport: transportOf(node) }),
    request: (method, params, timeoutMs, maxBytes) => node.request(method, params, timeoutMs, maxBytes),
    batch: (calls, timeoutMs) => node.batch(calls, timeoutMs),
    answers: (calls, timeoutMs) => node.answers(calls, timeoutMs),
    watch: (chainId) => node.watch(chainId),
    stop: () => node.stop(),
  };
}

/** A receipt as nodes send it. Some add `blockTimestamp` to logs. `l1Fee`: what rollups of the OP stack take for the data, wei. */
export type RawReceipt = RpcTransactionReceipt & { l1Fee?: Hex; logs: { blockTimestamp?: Hex }[] };

type Block = { number: number; hash: Hex; timestamp: number; baseFee: bigint };
type RawBlock = { number: Hex; hash: Hex; timestamp: Hex; baseFeePerGas?: Hex };

/** So many looks in a row must tell of a lower block: nodes of one address can be some blocks apart. */
const LOWER_LOOKS = 6;

/** A node that is silent for longer takes no lock: requests are refused before anything is written, and `/readyz` says so. */
const SILENT_MS = 5_000;

/** Follows the chain's newest block: chain time, base fee, and whether the node answers at all. */
export class Head {
  readonly #rpc: Rpc;
  readonly #logger: Logger;
  #block: Block = { number: 0, hash: "0x", timestamp: 0, baseFee: 0n };
  #seenAt = 0;
  /** Number of the last question, and of the newest one that was answered. */
  #asked = 0;
  #answered = 0;
  #lowerLooks = 0;
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

  /** True if the node has been silent for so long that no request may be taken. */
  get isSilent(): boolean {
    return this.silentMs > SILENT_MS;
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
    const raw = await this.#rpc.request<RawBlock | null>("eth_getBlockByNumber", ["latest", false], 5_000);
    if (raw === null) throw new RpcUnreachable("eth_getBlockByNumber", new Error("the node has no newest block"));
    // A slow node can answer an earlier question later: its block would take the chain's time back.
    if (asked < this.#answered) return this.#block;
    this.#answered = asked;
    this.#seenAt = Date.now();
    this.#lowerLooks = Number(raw.number) < this.#block.number ? this.#lowerLooks + 1 : 0;
    if (this.#lowerLooks > 0 && this.#lowerLooks < LOWER_LOOKS) return this.#block;
    this.#block = {
      number: Number(raw.number),
      hash: raw.hash,
      timestamp: Number(raw.timestamp),
      baseFee: BigInt(raw.baseFeePerGas ?? "0x0"),
    };
    return this.#block;
  }
}
