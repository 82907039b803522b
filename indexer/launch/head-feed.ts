/**
 * Tells Ponder the newest block, as the WebSocket it subscribes to.
 *
 * Ponder takes a block header as a mere hint and fetches what it lacks, but only when a header comes: after a start, after a
 * reorganisation, after a lost connection or when it is more than 50 blocks behind, it waits for the *next* block. A chain
 * that mines on demand may never have one. So the newest header is said again and again; Ponder drops what it knows.
 */
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import type { PublicClient } from "viem";
import { nodeAddress } from "../../shared/node-url.ts";

type Socket = { on: (event: "message", listener: (data: Buffer) => void) => void; send: (text: string) => void };
type Server = {
  on: (event: "connection", listener: (socket: Socket) => void) => void;
  once: (event: "listening", listener: () => void) => void;
  address: () => AddressInfo;
  clients: Set<Socket>;
};

// Ponder's own copy: what it speaks is what it hears.
const { WebSocketServer } = createRequire(import.meta.resolve("ponder"))("ws") as {
  WebSocketServer: new (options: { host: string; port: number }) => Server;
};

/** A block header as the node returns it. */
type Header = { hash: string; number: string };

/** Pause before the next subscription; twice as long each time, until one has told of a block. */
const RECONNECT_MS = 1_000;
const LONGEST_RECONNECT_MS = 30_000;
/** How often the indexer asks the node although its subscription is alive: a subscription can fall silent unnoticed. */
const CHECK_MS = 2_000;

/** The newest header of the chain: from the node's subscription if there is one, and by asking. */
class HeadSource {
  head: Header | null = null;
  onHead: () => void = () => {};
  readonly #chain: PublicClient;
  readonly #pollMs: number;
  #subscribed = false;
  #reconnectMs = RECONNECT_MS;
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
      const said = readFrame(String(data));
      if (said === "subscribed") this.#subscribed = true;
      else if (said !== null) {
        this.#reconnectMs = RECONNECT_MS;
        this.#set(said);
      }
      // It may say so again and again, or nothing any more: until the next subscription the node is polled.
      else socket.close();
    });
    socket.addEventListener("close", () => {
      this.#subscribed = false;
      setTimeout(() => this.#subscribe(url), this.#reconnectMs);
      this.#reconnectMs = Math.min(LONGEST_RECONNECT_MS, this.#reconnectMs * 2);
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

const REPEAT_MS = 250;
const SUBSCRIPTION = "0x1";

/**
 * Reads a message of the node's WebSocket: it took the subscription, or a header. Null for anything else, such as a provider's "rate limit
 * reached", which need not be JSON.
 */
export function readFrame(text: string): "subscribed" | Header | null {
  let message: { result?: unknown; params?: { result?: Partial<Header> } };
  try {
    message = Object(JSON.parse(text));
  } catch {
    return null;
  }
  if (typeof message.result === "string") return "subscribed";
  const { hash, number } = Object(message.params?.result) as Partial<Header>;
  return typeof hash === "string" && typeof number === "string" ? (message.params?.result as Header) : null;
}

/** A JSON-RPC request. Whoever else finds the port (a page in a browser can) must not end the indexer with what it says. */
export function parseRequest(text: string): { id?: unknown; method?: unknown } {
  try {
    return Object(JSON.parse(text));
  } catch {
    // No JSON is no request: like an unknown method it gets no answer.
    return {};
  }
}

/** Starts the feed; returns the URL that Ponder subscribes to. */
export async function startHeadFeed(chain: PublicClient, wsUrl: string | undefined, pollMs: number): Promise<string> {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  await new Promise<void>((resolve) => server.once("listening", resolve));
  const source = new HeadSource(chain, wsUrl, pollMs);

  const say = (socket: Socket): void => {
    if (source.head === null) return;
    const params = { subscription: SUBSCRIPTION, result: source.head };
    socket.send(JSON.stringify({ jsonrpc: "2.0", method: "eth_subscription", params }));
  };
  const sayToAll = (): void => {
    for (const socket of server.clients) say(socket);
  };
  server.on("connection", (socket) => {
    socket.on("message", (data) => {
      const { id, method } = parseRequest(data.toString());
      if (method !== "eth_subscribe") return;
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, result: SUBSCRIPTION }));
      say(socket);
    });
  });
  source.onHead = sayToAll;
  setInterval(sayToAll, REPEAT_MS);
  return `ws://127.0.0.1:${server.address().port}`;
}
