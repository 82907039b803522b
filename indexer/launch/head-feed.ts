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
import { HeadSource } from "./head-source.ts";

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

const REPEAT_MS = 250;
const SUBSCRIPTION = "0x1";

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
