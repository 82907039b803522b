/** A node behind a user and a password is asked with them, by whatever asks it. */
import { createPublicClient } from "viem";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connectRpc } from "../../../api/chain/rpc.ts";
import { throughNodes } from "../../../indexer/launch/node-fetch.ts";
import { ChainNode } from "../../../shared/chain-node.ts";
import { JsonRpc } from "../../../shared/json-rpc.ts";
import { nodeTransport } from "../../../shared/node-transport.ts";
import { nodeAddress } from "../../../shared/node-url.ts";
import { type GuardedNode, startGuardedNode } from "../../support/guarded-node.ts";

let node: GuardedNode;
beforeEach(async () => {
  node = await startGuardedNode(async (body) => {
    const call = JSON.parse(body) as { id: number } | { id: number }[];
    const reply = ({ id }: { id: number }) => ({ jsonrpc: "2.0", id, result: "0x7a69" });
    return JSON.stringify(Array.isArray(call) ? call.map(reply) : reply(call));
  });
});
afterEach(() => node.stop());

describe("a node behind a user and a password answers", () => {
  it("the calls of every job", async () => {
    const rpc = new JsonRpc(node.url);
    expect(await rpc.request("eth_chainId", [])).toBe("0x7a69");
    expect(await rpc.answers([{ method: "eth_chainId", params: [] }])).toEqual([{ result: "0x7a69" }]);
  });

  it("viem, also with batches", async () => {
    for (const options of [{}, { batch: { wait: 0 } }]) {
      const client = createPublicClient({ transport: nodeTransport(node.url, options) });
      expect(await client.getChainId()).toBe(31_337);
    }
  });

  it("the gateway", async () => {
    const rpc = connectRpc(node.url);
    expect([await rpc.client.getChainId(), await rpc.request("eth_chainId", [])]).toEqual([31_337, "0x7a69"]);
  });

  it("the indexer's requests, and nobody else gets the password", async () => {
    const other = await startGuardedNode(async () => "null");
    const { url } = nodeAddress(node.url);
    const through = throughNodes(url, new ChainNode([node.url]), fetch);
    const body = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "eth_chainId", params: [] });
    const ask = (where: string) => through(new Request(where, { method: "POST", body }));
    expect(await (await ask(url)).json()).toEqual({ jsonrpc: "2.0", id: 7, result: "0x7a69" });
    expect((await ask(url.replace(new URL(url).port, new URL(other.url).port))).status).toBe(401);
    await other.stop();
  });
});

describe("a node's URL", () => {
  it("without user and password stays as it is", () => {
    for (const url of ["http://127.0.0.1:8545", "https://node.example.com/v3/key?a=b"])
      expect(nodeAddress(url)).toEqual({ url, headers: {} });
  });

  it("may name a user only, or a password only", () => {
    const of = (login: string) => Buffer.from(login).toString("base64");
    expect(nodeAddress("https://key@h/").headers).toEqual({ authorization: `Basic ${of("key:")}` });
    expect(nodeAddress("https://:key@h/").headers).toEqual({ authorization: `Basic ${of(":key")}` });
  });

  it.each([
    ["with a bare '%' in its password", "https://user:100%secret@h/", /^RPC_URL: a '%' .*write each '%' as %25/],
    ["that is none", "//user:secret@h", /^RPC_URL is not a URL/],
  ])("%s is refused by name, and is not shown", (_, url, message) => {
    const read = () => new JsonRpc(url);
    expect(read).toThrow(message);
    expect(read).not.toThrow("secret");
  });

  it("of a WebSocket is refused by its own name", () => {
    expect(() => nodeAddress("wss://a:%@h/", "WS_URL")).toThrow(/^WS_URL: /);
  });
});
