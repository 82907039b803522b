import type { PublicClient } from "viem";
import { nodeAddress } from "../../protocol/node-url.ts";

/** A block header as the node returns it. */
export type Header = { hash: string; number: string };

const RECONNECT_MS = 1_000;
/** How often the node is asked although its subscription is alive: a subscription can fall silent unnoticed. */
const CHECK_MS = 2_000;

/** The newest header of the chain: from the node's subscription if there is one, and by asking. */
export class HeadSource {
  head: Header | null = null;
  onHead: () => void = () => {};
  readonly #chain: PublicClient;
  readonly #pollMs: number;
  #subscribed = false;
  #suspect: string | null = null;

  constructor(chain: PublicClient, wsUrl: string | undefined, pollMs: number) {
    this.#chain = chain;
    this.#pollMs = pollMs;
    if (wsUrl !== undefined) this.#subscribe(wsUrl);
    void this.#poll();
  }

  #set(header: Header): void {
    this.#suspect = null;
    if (header.hash === this.head?.hash) return;
    this.head = header;
    this.onHead();
  }

  #subscribe(url: string): void {
    const node = nodeAddress(url, "WS_URL");
    // Node's WebSocket takes them where the standard's has protocols only.
    const options = Object.keys(node.headers).length === 0 ? undefined : ({ headers: node.headers } as never);
    const socket = new WebSocket(node.url, options);
    socket.addEventListener("open", () => {
      socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_subscribe", params: ["newHeads"] }));
    });
    socket.addEventListener("message", ({ data }) => {
      const message = JSON.parse(String(data)) as { result?: string; params?: { result?: Header } };
      if (message.result !== undefined) this.#subscribed = true;
      else if (message.params?.result !== undefined) this.#set(message.params.result);
    });
    socket.addEventListener("close", () => {
      this.#subscribed = false;
      setTimeout(() => this.#subscribe(url), RECONNECT_MS);
    });
    // A close follows; without a listener an error would end the process.
    socket.addEventListener("error", () => {});
  }

  async #poll(): Promise<void> {
    const block = await this.#latest();
    if (block !== null) this.#hear(block);
    setTimeout(() => void this.#poll(), this.#subscribed ? CHECK_MS : this.#pollMs);
  }

  /** An answer may be older than what the subscription said meanwhile: a step back counts when it is seen twice. */
  #hear(block: Header): void {
    const forward = this.head === null || BigInt(block.number) > BigInt(this.head.number);
    if (forward || block.hash === this.head?.hash || block.hash === this.#suspect) this.#set(block);
    else this.#suspect = block.hash;
  }

  async #latest(): Promise<Header | null> {
    try {
      const block = await this.#chain.request({ method: "eth_getBlockByNumber", params: ["latest", false] });
      if (block === null) return null;
      // Without transactions it is a header, and Ponder fetches the block if it needs it.
      const { transactions: _, ...header } = block;
      return header as unknown as Header;
    } catch {
      // The node is away for a moment; Ponder's own requests say so.
      return null;
    }
  }
}
