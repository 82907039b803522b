/** Which receipts are of mined transactions, which are promises, and which say nothing. */
import { type Hex, numberToHex, zeroHash } from "viem";
import { expect, it } from "vitest";
import { findReceipts } from "../../../../api/chain/receipts.ts";
import type { RawReceipt, Rpc } from "../../../../api/chain/rpc.ts";
import type { Call } from "../../../../shared/json-rpc.ts";

const HASH: Hex = `0x${"aa".repeat(32)}`;
const hashOf = (height: number): Hex => numberToHex(height, { size: 32 });
const block = (height: number) => ({
  number: numberToHex(height),
  hash: hashOf(height),
  timestamp: numberToHex(height * 2),
});

/** A node whose newest block is 100, with a receipt for `HASH`. `asked`: what it was asked for. */
function node(receipt: object | null) {
  const asked: string[] = [];
  const answer = ({ method, params }: Call) => {
    asked.push(method);
    if (method === "eth_getTransactionReceipt") return receipt;
    return block(params[0] === "latest" ? 100 : Number(params[0]));
  };
  const rpc = {
    answers: async (calls: Call[]) => calls.map((call) => ({ result: answer(call) })),
    request: async (method: string, params: unknown[]) => answer({ method, params }),
  } as unknown as Rpc;
  return { rpc, asked };
}

const receiptAt = (height: number, blockHash: Hex = hashOf(height), logs: object[] = []) =>
  ({ transactionHash: HASH, blockNumber: numberToHex(height), blockHash, logs }) as unknown as RawReceipt;
const other: Hex = `0x${"bb".repeat(32)}`;

it.each([
  ["in the newest block", receiptAt(100), { isMined: true, blockTime: 200 }],
  ["in an earlier block", receiptAt(99), { isMined: true, blockTime: 198 }],
  ["above the newest block, without a hash", receiptAt(101, zeroHash), { isMined: false, blockTime: 200 }],
  [
    "above the newest block, with a time",
    receiptAt(101, other, [{ blockTimestamp: "0xca" }]),
    { isMined: false, blockTime: 202 },
  ],
  ["at the newest height with another hash", receiptAt(100, other), null],
  ["at an earlier height with another hash", receiptAt(99, other), null],
  ["without a block", { transactionHash: HASH, blockNumber: null, logs: [] }, null],
  ["that the node lacks", null, null],
] as const)("a receipt %s", async (_where, receipt, placed) => {
  const { receipts, newest } = await findReceipts(node(receipt).rpc, [HASH], null);
  expect(newest).toBe(100);
  expect(receipts).toEqual([placed === null ? null : { receipt, ...placed }]);
});

it("a receipt that the node has sent is not asked for again", async () => {
  const { rpc, asked } = node(null);
  const given = receiptAt(100);
  const { receipts } = await findReceipts(rpc, [other, HASH], given);
  expect(receipts).toEqual([null, { receipt: given, isMined: true, blockTime: 200 }]);
  expect(asked).toEqual(["eth_getBlockByNumber"]);
});

it("a block that comes between the two reads does not lack what was promised for it", async () => {
  let height = 100;
  const answer = ({ method }: Call) => {
    const result =
      method === "eth_getTransactionReceipt" ? receiptAt(101, height > 100 ? hashOf(101) : zeroHash) : block(height);
    height = 101;
    return { result };
  };
  const rpc = { answers: async (calls: Call[]) => calls.map(answer) } as unknown as Rpc;
  const { receipts, newest } = await findReceipts(rpc, [HASH], null);
  expect([receipts[0]?.isMined, newest]).toEqual([false, 100]);
});
