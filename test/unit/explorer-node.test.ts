/** The explorer's routes where the chain node refuses a question, or answers it at too great a length. */

import { text } from "node:stream/consumers";
import { beforeEach, expect, it } from "vitest";
import { connectRpc } from "../../api/chain/rpc.ts";
import { serve } from "./support/serve.ts";
import { serveWebApi } from "./support/web-api.ts";

const [SHORT, LONG] = ["11", "22"].map((byte) => `0x${byte.repeat(32)}`);
const JOB = `job_${"1a".repeat(16)}`;
/** What the node answers to a method and its first parameter. */
let answer: (method: string, param: unknown) => { result: unknown } | { error: object };

let url: string;
beforeEach(async () => {
  const node = await serve(async (request, response) => {
    const { id, method, params } = JSON.parse(await text(request));
    response.end(JSON.stringify({ jsonrpc: "2.0", id, ...answer(method, params[0]) }));
  });
  const index = (statement: string) =>
    statement === "index_job_transactions" ? [SHORT, LONG].map((hash) => ({ hash })) : [];
  url = await serveWebApi(index, { rpc: connectRpc(node), head: { block: { number: 9 } } });
});
const receipt = (hash: unknown) => ({
  transactionHash: hash,
  status: "0x1",
  from: `0x${"aa".repeat(20)}`,
  to: `0x${"bb".repeat(20)}`,
  blockNumber: "0x5",
  gasUsed: "0x1",
  effectiveGasPrice: "0x1",
  logs: [],
});

/** A node whose receipt of one transaction, and whose block 7, are longer than the explorer reads. */
const longWinded: typeof answer = (method, param) => {
  if (param === LONG || param === "0x7") return { result: { filler: "0".repeat(2 * 1024 * 1024) } };
  return { result: method === "eth_getTransactionReceipt" ? receipt(param) : { timestamp: "0x1" } };
};

it.each([`tx/${LONG}`, "explorer/blocks/7"])(
  "says of /%s that it is too long, not that it may be there later",
  async (path) => {
    answer = longWinded;
    const reply = await fetch(`${url}/${path}`);
    expect(reply.status).toBe(502);
    expect(await reply.json()).toEqual({ error: { code: "too_long", message: expect.stringContaining("2 MiB") } });
  },
);

it("shows a job without the transaction that is too long", async () => {
  answer = longWinded;
  const reply = await fetch(`${url}/explorer/jobs/${JOB}`);
  expect(reply.status).toBe(200);
  expect(await reply.json()).toMatchObject({ id: JOB, transactions: [{ hash: SHORT }] });
});

it.each([`tx/${SHORT}`, "explorer/blocks/7", `explorer/find/${SHORT}`])(
  "says of /%s that the node refused it",
  async (path) => {
    answer = () => ({ error: { code: -32005, message: "too many requests" } });
    const reply = await fetch(`${url}/${path}`);
    expect(reply.status).toBe(502);
    expect(await reply.json()).toMatchObject({ error: { code: "node_refused" } });
  },
);

it.each([
  ["the contract's words", { code: 3, message: "execution reverted", data: "0xc164765f" }, { data: "0xc164765f" }],
  ["that it gave no reason", { code: -32000, message: "execution reverted" }, { data: "0x" }],
  ["nothing, of a state that the node has forgotten", { code: -32000, message: "missing trie node" }, null],
])("tells of a reverted call %s", async (_, error, reverted) => {
  const escrow = `0x${"e5".repeat(20)}`;
  const sent = { hash: SHORT, from: escrow, to: escrow, input: "0x4b91ed52", value: "0x0", gas: "0x5208" };
  answer = (method, param) => {
    if (method === "eth_call") return { error };
    if (method === "eth_getTransactionByHash") return { result: sent };
    const failed = { ...receipt(param), to: escrow, status: "0x0" };
    return { result: method === "eth_getTransactionReceipt" ? failed : { timestamp: "0x1" } };
  };
  const reply = await fetch(`${url}/tx/${SHORT}`);
  expect(await reply.json()).toMatchObject({ status: "reverted", reverted });
});
