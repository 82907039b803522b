/**
 * An index behind nodes that limit the logs of one call, and whose WebSocket says what is no JSON: ponder-sh/ponder#833 and #1940,
 * enviodev/hyperindex#605, wevm/viem#3383.
 */
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { NODE_PROFILES, type NodeProfile } from "../support/node-profiles.ts";
import { NodeProxy } from "../support/node-proxy.ts";
import { listEvents } from "./support/rows.ts";
import { Stage } from "./support/stage.ts";

type Socket = { on: (event: "message", listener: (data: Buffer) => void) => void; send: (text: string) => void };
type Server = {
  on: (event: "connection", listener: (socket: Socket) => void) => void;
  once: (event: "listening", listener: () => void) => void;
  address: () => AddressInfo;
  clients: Set<{ terminate: () => void }>;
  close: () => void;
};
const { WebSocketServer } = createRequire(import.meta.resolve("ponder"))("ws") as {
  WebSocketServer: new (options: { host: string; port: number }) => Server;
};

const { geth, infura, besu } = NODE_PROFILES;
const refused = (message: string, code: number) => ({ code, message });
const profiles: NodeProfile[] = [
  { ...infura, logs: { blocks: 20, results: 10_000, refused: refused("range 21 exceeds limit of 20", -32_602) } },
  { ...besu, logs: { blocks: 1_000, results: 3, refused: refused("too much of everything", -32_000) } },
];

let stage: Stage;
let proxy: NodeProxy | undefined;
let other: NodeProxy | undefined;
let server: Server;

beforeAll(async () => {
  stage = await Stage.open();
  await stage.world.register([5]);
  await stage.world.deposit(1_000);
  for (let n = 0; n < 3; n++) {
    await stage.world.settledJob();
    await stage.chain.rpc("anvil_mine", ["0x41"]);
  }
  server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  await new Promise<void>((resolve) => server.once("listening", resolve));
  server.on("connection", (socket) => {
    socket.on("message", (data) => {
      socket.send(JSON.stringify({ jsonrpc: "2.0", id: JSON.parse(data.toString()).id, result: "0x1" }));
      setTimeout(() => socket.send("rate limit reached"), 500);
    });
  });
});
afterAll(async () => {
  await stage?.close();
  proxy?.close();
  other?.close();
  for (const client of server.clients) client.terminate();
  server.close();
});

it.each(profiles)("is ready behind a node like $name, whatever that says, and stays current", async (profile) => {
  proxy = await NodeProxy.open(stage.chain.url, { ...profile, limited: null });
  proxy.faults = { nullLogs: true };
  const wsUrl = `ws://127.0.0.1:${server.address().port}`;
  const indexer = await stage.launchIndexer({ rpcUrl: proxy.url, wsUrl });
  await indexer.ready();
  await stage.caughtUp();
  expect(proxy.count("refused range")).toBeGreaterThan(0);
  expect(proxy.count("nullLogs")).toBeGreaterThan(0);
  const before = (await listEvents(stage.pool)).length;
  expect(before).toBeGreaterThan(5);
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  await stage.world.deposit(500);
  await stage.caughtUp();
  expect((await listEvents(stage.pool)).length).toBeGreaterThan(before);
  await indexer.stop("SIGINT");
  await stage.dropIndex();
});

function syncs(node: NodeProxy): void {
  node.profile = { ...geth, behind: { share: 1, blocks: 100 } };
}

it.each([
  ["is away", (node: NodeProxy) => node.close()],
  ["syncs, far behind", syncs],
])("goes on with the other node while the first %s", async (_, fault) => {
  proxy = await NodeProxy.open(stage.chain.url, geth);
  other = await NodeProxy.open(stage.chain.url, geth);
  // A third one: of two the first decides, unless its newest block is over a minute old.
  const indexer = await stage.launchIndexer({ rpcUrl: proxy.url, rpcUrls: [other.url, stage.chain.url], wsUrl: "" });
  await indexer.ready();
  await stage.caughtUp();
  const before = (await listEvents(stage.pool)).length;
  fault(proxy);
  await stage.world.deposit(500);
  await stage.caughtUp();
  expect((await listEvents(stage.pool)).length).toBeGreaterThan(before);
  expect(other.count("eth_getLogs")).toBeGreaterThan(0);
  await indexer.part.until(async () => indexer.log.includes("it is left out"));
  await indexer.stop("SIGINT");
  await stage.dropIndex();
});
