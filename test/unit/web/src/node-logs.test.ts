/** How far back, and in how many questions, a page asks the visitor's node for logs. */
import { text } from "node:stream/consumers";
import { expect, it, vi } from "vitest";
import { serve } from "../../support/serve.ts";

const START = 1_000;
const HEAD = 100_000;
vi.mock("../../../../web/src/data/app.ts", () => ({ app: { chain_id: 1, start_block: 1_000 } }));
// Types of the browser are not those of the tests.
const NODE_LOGS: string = "../../../../web/src/explorer/node-logs.ts";
const { logsBefore } = await import(NODE_LOGS);

type Question = { id: number; method: string; params: [{ fromBlock: string; toBlock: string; topics?: string[] }] };
type Range = { from: number; to: number };

/** A node with one log in each of `blocks`, which answers ranges of at most `most` blocks; and the ranges that it was asked for. */
async function openNode(blocks: readonly number[], most = Number.POSITIVE_INFINITY, chainId = 1) {
  const ranges: Range[] = [];
  const answer = ({ method, params }: Question): object => {
    if (method === "eth_chainId") return { result: `0x${chainId.toString(16)}` };
    if (method === "eth_blockNumber") return { result: `0x${HEAD.toString(16)}` };
    const [from, to] = [Number(params[0].fromBlock), Number(params[0].toBlock)];
    ranges.push({ from, to });
    if (to - from + 1 > most) return { error: { code: -32602, message: "block range is too wide" } };
    const found = blocks.filter((block) => block >= from && block <= to);
    return {
      result: found.map((block) => ({
        address: `0x${"e5".repeat(20)}`,
        topics: [],
        data: "0x",
        blockNumber: `0x${block.toString(16)}`,
        logIndex: "0x0",
        transactionHash: `0x${block.toString(16).padStart(64, "0")}`,
      })),
    };
  };
  const authorizations: (string | undefined)[] = [];
  const url = await serve(async (request, response) => {
    authorizations.push(request.headers.authorization);
    const asked = JSON.parse(await text(request)) as Question | Question[];
    const answers = [asked].flat().map((one) => ({ jsonrpc: "2.0", id: one.id, ...answer(one) }));
    response
      .setHeader("content-type", "application/json")
      .end(JSON.stringify(Array.isArray(asked) ? answers : answers[0]));
  });
  return { url, ranges, authorizations };
}

const FILTER = { address: `0x${"e5".repeat(20)}` };
const count = (length: number, block: (index: number) => number) => Array.from({ length }, (_, index) => block(index));
const blocksOf = (page: { logs: { block: number }[] }) => page.logs.map(({ block }) => block);

it("ends a step of a busy contract after 25 logs, and goes on where it ended", async () => {
  const { url, ranges } = await openNode(count(200, (index) => HEAD - index));
  const first = await logsBefore(url, [FILTER], null);
  expect(blocksOf(first)).toEqual(count(25, (index) => HEAD - index));
  expect(first).toMatchObject({ from: HEAD - 24, next: HEAD - 25 });
  expect(ranges).toEqual([{ from: HEAD - 49, to: HEAD }]);
  expect(blocksOf(await logsBefore(url, [FILTER], first.next))).toEqual(count(25, (index) => HEAD - 25 - index));
});

it("looks further back for a quiet one: eight ranges of at most 5,000 blocks", async () => {
  const { url, ranges } = await openNode([START]);
  const { logs, from, next } = await logsBefore(url, [FILTER], null);
  expect(ranges.map((range) => range.to - range.from + 1)).toEqual([50, 500, ...count(6, () => 5_000)]);
  expect([logs, from, next]).toEqual([[], HEAD - 30_549, HEAD - 30_550]);
});

it("ends at the block where the contracts began, and shows each log once", async () => {
  const { url } = await openNode([START, START + 7]);
  const page = await logsBefore(url, [FILTER, { ...FILTER, topics: [] }], START + 20);
  expect(blocksOf(page)).toEqual([START + 7, START]);
  expect(page).toMatchObject({ from: START, next: null });
});

it("asks a node that refuses long ranges for shorter ones", async () => {
  const { url } = await openNode([HEAD - 20_000], 2_000);
  expect(blocksOf(await logsBefore(url, [FILTER], null))).toEqual([HEAD - 20_000]);
});

it("sends a node's user and password as every part of the project does", async () => {
  const { url, authorizations } = await openNode([]);
  await logsBefore(url.replace("http://", "http://me:secret@"), [FILTER], START);
  expect(new Set(authorizations)).toEqual(new Set([`Basic ${btoa("me:secret")}`]));
});

it("refuses a node of another chain", async () => {
  const { url } = await openNode([HEAD], Number.POSITIVE_INFINITY, 5);
  await expect(logsBefore(url, [FILTER], null)).rejects.toThrow("The node is of chain 5, and not of chain 1.");
});
