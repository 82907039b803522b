/**
 * The chain through nodes that limit what they are asked: wevm/viem#3383, INFURA/infura#237 (429), hemilabs/ui-monorepo#887 (three calls a batch),
 * besu-eth/besu#4951 (a limit by default), erigontech/erigon#18074 (a dropped connection).
 */
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { createPublicClient } from "viem";
import { describe, expect, it } from "vitest";
import { ChainNode, transportOf } from "../../../shared/chain-node.ts";
import { RpcError, RpcUnreachable } from "../../../shared/json-rpc.ts";
import { serve } from "../support/serve.ts";

type Call = { id: number; method: string; params: unknown[] };
type Reply = { status?: number; body?: unknown } | "drop";

/** A node with a number of blocks; `refuse` answers instead of it, where it returns something. */
async function startNode({
  block = 10 as number | string,
  chainId = 1,
  /** How old its blocks are, ms. */
  age = 0,
  hashAt = (number: number, _asked: number): string | null => `0x${number}`,
  refuse = (_calls: Call[], _asked: number): Reply | null | Promise<Reply> => null,
} = {}) {
  const node = { url: "", block, chainId, age, hashAt, refuse, asked: [] as Call[][] };
  const result = ({ id, method, params }: Call) => {
    if (method === "eth_chainId") return { id, result: `0x${node.chainId.toString(16)}` };
    if (method === "eth_getBlockByNumber") {
      const hash = node.hashAt(Number(params[0]), node.asked.length);
      const timestamp = `0x${Math.floor((Date.now() - node.age) / 1_000).toString(16)}`;
      return { id, result: hash === null ? null : { hash, timestamp } };
    }
    return { id, result: method === "eth_blockNumber" ? `0x${node.block.toString(16)}` : [method, ...params] };
  };
  const server = createServer(async (request, response) => {
    const body = JSON.parse(await text(request)) as Call | Call[];
    const calls = [body].flat();
    node.asked.push(calls);
    const reply = await node.refuse(calls, node.asked.length);
    if (reply === "drop") return void response.destroy();
    const { status = 200, body: said } = reply ?? { body: Array.isArray(body) ? calls.map(result) : result(body) };
    response.writeHead(status).end(JSON.stringify(said));
  });
  node.url = await serve(server);
  return node;
}

const calls = (count: number) => Array.from({ length: count }, (_, n) => ({ method: "eth_call", params: [n] }));
const results = (count: number) => Array.from({ length: count }, (_, n) => ["eth_call", n]);
const limitOf = (most: number, reply: Reply) => (asked: Call[]) => (asked.length > most ? reply : null);

describe("a batch", () => {
  it.each([
    ["one error", { body: { error: { code: -32_600, message: "batch too large" } } }],
    ["413", { status: 413, body: "Request Entity Too Large" }],
    ["a closed connection", "drop" as const],
  ])("becomes as small as the node takes, which refuses more with %s", async (_, reply) => {
    const node = await startNode({ refuse: limitOf(3, reply) });
    const chain = new ChainNode([node.url]);
    expect(await chain.batch(calls(25))).toEqual(results(25));
    node.asked = [];
    expect(await chain.batch(calls(9))).toEqual(results(9));
    // What was learned is remembered: no request is refused again.
    expect(node.asked.every((one) => one.length <= 3)).toBe(true);
  });

  it("of one call is no batch: some nodes take none", async () => {
    const node = await startNode({ refuse: limitOf(1, { body: { error: { code: -32_600, message: "no batches" } } }) });
    expect(await new ChainNode([node.url]).batch(calls(4))).toEqual(results(4));
  });

  it("has its refused calls asked again, one by one", async () => {
    const tooMany = { code: -32_005, message: "daily request count exceeded, request rate limited" };
    const node = await startNode({
      refuse: (asked, count) =>
        count === 1
          ? { body: asked.map(({ id }, n) => (n === 1 ? { id, error: tooMany } : { id, result: ["eth_call", n] })) }
          : null,
    });
    expect(await new ChainNode([node.url]).batch(calls(3))).toEqual(results(3));
  });

  it("in which a call fails, fails with its error", async () => {
    const error = { code: 3, message: "execution reverted", data: "0x12" };
    const node = await startNode({ refuse: (asked) => ({ body: asked.map(({ id }) => ({ id, error })) }) });
    await expect(new ChainNode([node.url]).batch(calls(3))).rejects.toMatchObject({ code: 3, data: "0x12" });
  });
});

describe("a batch's time", () => {
  /** Replies after so many milliseconds. */
  const late = (ms: number) => (asked: Call[]) =>
    new Promise<Reply>((resolve) => {
      setTimeout(() => resolve({ body: asked.map(({ id }) => ({ id, result: "0x" })) }), ms);
    });

  it("is that of all its requests together, however many the node's limit makes of it", async () => {
    const node = await startNode({
      refuse: (asked) =>
        asked.length > 1 ? { body: { error: { code: -32_600, message: "no batches" } } } : late(200)(asked),
    });
    const started = performance.now();
    await expect(new ChainNode([node.url]).batch(calls(50), 500)).rejects.toBeInstanceOf(RpcUnreachable);
    expect(node.asked.length).toBeLessThan(15);
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  it("also ends the calls that are asked again one by one", async () => {
    const tooMany = { code: -32_005, message: "Too Many Requests" };
    const node = await startNode({
      refuse: async (asked) => {
        if (asked.length === 1) return { body: { id: asked[0]?.id, error: tooMany } };
        await new Promise((resolve) => setTimeout(resolve, 450));
        return { body: asked.map(({ id }) => ({ id, error: tooMany })) };
      },
    });
    await expect(new ChainNode([node.url]).batch(calls(2), 500)).rejects.toBeInstanceOf(Error);
    // No time is left for the pause before a second try of a call.
    expect(node.asked.length).toBeLessThanOrEqual(3);
  });
});

describe("a call", () => {
  it.each([
    ["429", { status: 429, body: { error: "rate limit exceeded" } }],
    ["503", { status: 503, body: "<html>" }],
    ["the code for it", { body: { id: 1, error: { code: -32_005, message: "Too Many Requests" } } }],
    ["an internal error", { body: { id: 1, error: { code: -32_603, message: "Internal error" } } }],
    ["a text for an error", { body: { id: 1, error: "upstream timed out" } }],
    ["a closed connection", "drop" as const],
  ])("that is refused with %s is asked again", async (_, reply) => {
    const node = await startNode({ refuse: (_calls, asked) => (asked <= 2 ? reply : null) });
    expect(await new ChainNode([node.url]).request("eth_call", [7])).toEqual(["eth_call", 7]);
    expect(node.asked).toHaveLength(3);
  });

  it("asks a contract again, once, after an answer of nothing", async () => {
    const empty = ([call]: Call[]) => ({ body: { id: call?.id, result: "0x" } });
    const node = await startNode({ refuse: (asked, count) => (count === 1 ? empty(asked) : null) });
    expect(await new ChainNode([node.url]).request("eth_call", [7])).toEqual(["eth_call", 7]);
    const codeless = await startNode({ refuse: empty });
    expect(await new ChainNode([codeless.url]).request("eth_call", [7])).toBe("0x");
    expect(codeless.asked).toHaveLength(2);
  });

  it("that takes effect is asked once: its caller decides", async () => {
    const node = await startNode({ refuse: () => ({ status: 429, body: {} }) });
    const sent = new ChainNode([node.url]).request("eth_sendRawTransaction", ["0x"]);
    await expect(sent).rejects.toBeInstanceOf(RpcUnreachable);
    expect(node.asked).toHaveLength(1);
  });

  it("through viem has the node's error, and is asked once for it", async () => {
    const node = await startNode({
      refuse: () => ({ body: { id: 1, error: { code: 3, message: "execution reverted", data: "0x12" } } }),
    });
    const client = createPublicClient({ transport: transportOf(new ChainNode([node.url])) });
    const failure = await client.call({ data: "0x" }).catch((error) => error);
    expect(failure.walk((cause: unknown) => cause instanceof RpcError)).toMatchObject({ data: "0x12" });
    expect(node.asked).toHaveLength(1);
  });
});

describe("several nodes", () => {
  it("one that does not answer is asked last for a while", async () => {
    const [away, there] = [await startNode({ refuse: () => "drop" }), await startNode()];
    const chain = new ChainNode([away.url, there.url]);
    expect(await chain.request("eth_call", [1])).toEqual(["eth_call", 1]);
    expect(await chain.request("eth_call", [2])).toEqual(["eth_call", 2]);
    expect([away.asked.length, there.asked.length]).toEqual([1, 2]);
  });

  it.each([
    ["behind the others", { block: 5 }],
    ["of another chain", { chainId: 2 }],
    ["syncing, and far behind", { block: 0 }],
    ["on another fork", { hashAt: (number: number) => `0xf${number}` }],
    ["at an invented height", { block: 0xfffffff }],
    ["at a height that no majority has", { block: 75 }],
    ["at a height that is no number", { block: "none" }],
    ["ahead on another fork", { block: 40, hashAt: (number: number) => `0xf${number}` }],
  ])("one that is %s is left out, which is said, until it is not", async (_, fault) => {
    const [bad, good, other] = [await startNode(fault), await startNode(), await startNode()];
    const said: string[] = [];
    const note = (_fields: object, message: string) => void said.push(message);
    const chain = new ChainNode([bad.url, good.url, other.url], { warn: note, info: note });
    await chain.compare(1);
    await chain.compare(1);
    bad.asked = [];
    await chain.request("eth_call", [1]);
    expect(bad.asked).toEqual([]);
    Object.assign(bad, { block: 10, chainId: 1, hashAt: good.hashAt });
    await chain.compare(1);
    await chain.request("eth_call", [1]);
    expect(bad.asked.flat().map(({ method }) => method)).toContain("eth_call");
    expect(said).toEqual([expect.stringContaining("left out"), expect.stringContaining("asked again")]);
  });

  it("one that is ahead by less than a syncing node is behind stays", async () => {
    const [ahead, good, other] = [await startNode({ block: 74 }), await startNode(), await startNode()];
    const chain = new ChainNode([ahead.url, good.url, other.url]);
    for (let looks = 0; looks < 3; looks++) await chain.compare(1);
    ahead.asked = [];
    await chain.request("eth_call", [1]);
    expect(ahead.asked).toHaveLength(1);
  });

  it.each([
    ["the first is believed", 0, 1_000, [1, 0]],
    ["the first is believed while its newest block may be the newest", 0, 50_000, [1, 0]],
    ["the second is asked once the first has stopped", 0, 70_000, [0, 1]],
    ["the second is asked while the first syncs", 1, 3_600_000, [0, 1]],
  ])("of two, where the second is ahead, %s", async (_, step, age, asked) => {
    const [first, second] = [await startNode({ age }), await startNode({ block: 0xfffffff })];
    const chain = new ChainNode([first.url, second.url]);
    for (let looks = 0; looks < 3; looks++) {
      await chain.compare(1);
      first.block = Number(first.block) + step;
    }
    for (const node of [first, second]) node.asked = [];
    await chain.request("eth_call", [1]);
    expect([first.asked.length, second.asked.length]).toEqual(asked);
  });

  it("leaves out a node that has two blocks of one height by turns", async () => {
    const byTurns = (number: number, asked: number) => `0x${asked % 3 === 0 ? "f" : ""}${number}`;
    const [bad, good] = [await startNode({ hashAt: byTurns }), await startNode()];
    const said: object[] = [];
    const chain = new ChainNode([bad.url, good.url], { warn: (fields) => void said.push(fields), info: () => {} });
    // Its own fork may be taken for the chain for some looks.
    for (let looks = 0; looks < 8; looks++) await chain.compare(1);
    expect(said).toContainEqual(expect.objectContaining({ contradictsItself: true }));
    bad.asked = [];
    await chain.request("eth_call", [1]);
    expect(bad.asked).toEqual([]);
  });

  it.each([
    [
      "a reorganisation, which does not go back",
      (number: number, asked: number) => `0x${asked < 4 ? "a" : "b"}${number}`,
    ],
    ["a machine that lacks the newest block", (number: number, asked: number) => (asked % 2 ? null : `0x${number}`)],
  ])("%s is no contradiction", async (_, hashAt) => {
    const [node, other] = [await startNode({ hashAt }), await startNode({ block: 0 })];
    const said: object[] = [];
    const chain = new ChainNode([node.url, other.url], { warn: (fields) => void said.push(fields), info: () => {} });
    for (let looks = 0; looks < 4; looks++) await chain.compare(1);
    expect(said).toEqual([expect.objectContaining({ block: 0, contradictsItself: false })]);
  });

  it("asks a late node where the only current one is of another chain", async () => {
    const [behind, other] = [await startNode({ block: 0 }), await startNode({ chainId: 2 })];
    const chain = new ChainNode([behind.url, other.url]);
    await chain.compare(1);
    expect(await chain.request("eth_call", [1])).toEqual(["eth_call", 1]);
  });

  it("a node of another chain is not asked while the others are silent", async () => {
    const [other, silent] = [await startNode({ chainId: 2 }), await startNode()];
    const chain = new ChainNode([other.url, silent.url]);
    await chain.compare(1);
    silent.refuse = () => "drop";
    for (let looks = 0; looks < 3; looks++) await chain.compare(1);
    other.asked = [];
    await expect(chain.request("eth_call", [1])).rejects.toBeInstanceOf(RpcUnreachable);
    expect(other.asked).toEqual([]);
    // Its silence says nothing of its chain.
    other.refuse = () => "drop";
    await chain.compare(1);
    other.refuse = () => null;
    await expect(chain.request("eth_call", [1])).rejects.toBeInstanceOf(RpcUnreachable);
    other.chainId = 1;
    await chain.compare(1);
    expect(await chain.request("eth_call", [1])).toEqual(["eth_call", 1]);
  });

  it("that are all of another chain are not asked: the error says so", async () => {
    const node = await startNode({ chainId: 2 });
    const chain = new ChainNode([node.url, node.url]);
    await chain.compare(1);
    await expect(chain.request("eth_call", [1])).rejects.toThrow(/another chain/);
  });
});
