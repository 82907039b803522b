/** The explorer's routes where the chain node refuses a question, or answers it at too great a length. */

import { text } from "node:stream/consumers";
import { beforeEach, expect, it } from "vitest";
import { connectRpc } from "../../../../api/chain/rpc.ts";
import { serve } from "../../support/serve.ts";
import { serveWebApi } from "../../support/web-api.ts";

const [SHORT, LONG] = ["11", "22"].map((byte) => `0x${byte.repeat(32)}`);
const JOB = `job_${"1a".repeat(16)}`;
/** What the node answers to a method and its first parameter. */
let answer: (method: string, param: unknown) => { result: unknown } | { error: object };

/** The index's row of the job. */
let found: object[];

let url: string;
beforeEach(async () => {
  found = [];
  const node = await serve(async (request, response) => {
    const { id, method, params } = JSON.parse(await text(request));
    response.end(JSON.stringify({ jsonrpc: "2.0", id, ...answer(method, params[0]) }));
  });
  const index = (statement: string) => {
    if (statement === "index_job") return found;
    return statement === "index_job_transactions" ? [SHORT, LONG].map((hash) => ({ hash })) : [];
  };
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

const ESCROW = `0x${"e5".repeat(20)}`;
const sent = (hash: unknown, to = `0x${"bb".repeat(20)}`) => ({
  hash,
  from: to,
  to,
  input: "0x",
  value: "0x0",
  gas: "0x1",
});

/** A node whose receipt of one transaction, and whose block 7, are longer than the explorer reads. `calls`: contract that it calls. */
const longWinded =
  (calls?: string): typeof answer =>
  (method, param) => {
    if (method === "eth_getTransactionByHash") return { result: sent(param, calls) };
    const filler = param === LONG || param === "0x7" ? { filler: "0".repeat(1024 * 1024) } : {};
    return {
      result: { ...(method === "eth_getTransactionReceipt" ? receipt(param) : { timestamp: "0x1" }), ...filler },
    };
  };

it.each([`tx/${LONG}`, "explorer/blocks/7"])(
  "says of /%s that it is too long, not that it may be there later",
  async (path) => {
    answer = longWinded();
    const reply = await fetch(`${url}/${path}`);
    expect(reply.status).toBe(502);
    expect(await reply.json()).toEqual({ error: { code: "too_long", message: expect.stringContaining("longer") } });
  },
);

it("reads a long receipt of a call of our contracts: a batch can be long", async () => {
  answer = longWinded(ESCROW);
  const reply = await fetch(`${url}/tx/${LONG}`);
  expect(reply.status).toBe(200);
  expect(await reply.json()).toMatchObject({ hash: LONG, status: "success" });
});

it.each([
  ["shown", ESCROW],
  ["too long", undefined],
])("asks the node once for a transaction that many want to see, whether it is %s", async (_, calls) => {
  let asked = 0;
  answer = (method, param) => {
    if (method === "eth_getTransactionReceipt") asked += 1;
    return longWinded(calls)(method, param);
  };
  const replies = await Promise.all(Array.from({ length: 10 }, () => fetch(`${url}/tx/${LONG}`)));
  replies.push(await fetch(`${url}/tx/${LONG}`));
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([calls === undefined ? 502 : 200]));
  expect(asked).toBe(1);
});

it("asks the node again for a transaction that waits to be mined", async () => {
  let mined = false;
  answer = (method, param) => {
    if (method === "eth_getTransactionReceipt") return { result: mined ? receipt(param) : null };
    return longWinded()(method, param);
  };
  const status = async () => ((await (await fetch(`${url}/tx/${SHORT}`)).json()) as { status: string }).status;
  expect(await status()).toBe("pending");
  mined = true;
  expect(await status()).toBe("success");
});

it("shows a job and its operator without the transaction that is too long", async () => {
  answer = longWinded();
  found = [{ operator: 2 }];
  const reply = await fetch(`${url}/explorer/jobs/${JOB}`);
  expect(reply.status).toBe(200);
  expect(await reply.json()).toMatchObject({ id: JOB, operator: 2, transactions: [{ hash: SHORT }] });
});

it.each([
  [{ status: "failed", failureReason: "hash_mismatch" }, { failure_reason: "hash_mismatch" }],
  [{ status: "refunded" }, { refund_reason: "timeout" }],
  [{ status: "refunded", disputeTx: SHORT }, { refund_reason: "dispute" }],
  [{ status: "refunded", equivocated: true }, { refund_reason: "equivocation" }],
  [{ status: "settled", failureReason: "hash_mismatch" }, {}],
])("tells everybody why a job has no charge: %j", async (row, reasons) => {
  answer = longWinded();
  found = [row];
  const reply = (await (await fetch(`${url}/explorer/jobs/${JOB}`)).json()) as object;
  expect(Object.entries(reply).filter(([name]) => name.endsWith("_reason"))).toEqual(Object.entries(reasons));
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
  answer = (method, param) => {
    if (method === "eth_call") return { error };
    if (method === "eth_getTransactionByHash") return { result: sent(param, ESCROW) };
    const failed = { ...receipt(param), to: ESCROW, status: "0x0" };
    return { result: method === "eth_getTransactionReceipt" ? failed : { timestamp: "0x1" } };
  };
  const reply = await fetch(`${url}/tx/${SHORT}`);
  expect(await reply.json()).toMatchObject({ status: "reverted", reverted });
});
