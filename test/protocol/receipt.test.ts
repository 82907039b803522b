import type { Hex, PublicClient } from "viem";
import { TransactionNotFoundError, TransactionReceiptNotFoundError } from "viem";
import { describe, expect, it } from "vitest";
import { NotMined, receiptOf } from "../../protocol/receipt.ts";

const HASH = `0x${"ab".repeat(32)}` as Hex;
const FROM = "0x00000000000000000000000000000000000000aa";

/** A chain as a wait sees it: each question is answered from a script, the last answer again and again. */
function chain({ receipts, count = [0] }: { receipts: ("none" | "mined" | "down")[]; count?: number[] }): PublicClient {
  const next = <T>(list: T[]): T => (list.length > 1 ? list.shift() : list[0]) as T;
  return {
    getTransaction: async () => {
      if (next(receipts.slice(0, 1)) === "down") throw new TransactionNotFoundError({ hash: HASH });
      return { from: FROM, nonce: 7 };
    },
    getTransactionCount: async () => next(count),
    getTransactionReceipt: async () => {
      const answer = next(receipts);
      if (answer === "down") throw new Error("connection refused");
      if (answer === "none") throw new TransactionReceiptNotFoundError({ hash: HASH });
      return { status: "success", blockNumber: 9n };
    },
  } as unknown as PublicClient;
}

describe("receiptOf", () => {
  it("asks until the receipt is there, without any new block", async () => {
    const client = chain({ receipts: ["none", "none", "none", "mined"], count: [7] });
    expect(await receiptOf(client, HASH, { interval: 1 })).toMatchObject({ status: "success", blockNumber: 9n });
  });

  it("outlives a node that does not answer for a while", async () => {
    const client = chain({ receipts: ["down", "down", "none", "mined"], count: [7] });
    expect(await receiptOf(client, HASH, { interval: 1 })).toMatchObject({ blockNumber: 9n });
  });

  it("tells a transaction whose nonce another one used from one that is late", async () => {
    const client = chain({ receipts: ["none"], count: [7, 8] });
    const wait = receiptOf(client, HASH, { interval: 1 });
    await expect(wait).rejects.toThrow(NotMined);
    await expect(wait).rejects.toThrow(`transaction ${HASH} was replaced: another transaction of ${FROM}`);
  });

  it("is not misled by one node that is ahead of the others", async () => {
    const client = chain({ receipts: ["none", "none", "none", "none", "none", "mined"], count: [7, 8] });
    expect(await receiptOf(client, HASH, { interval: 1 })).toMatchObject({ blockNumber: 9n });
  });

  it("gives up at the end of its time, with the node's last words as the cause", async () => {
    const wait = receiptOf(chain({ receipts: ["down"] }), HASH, { timeout: 20, interval: 1 });
    await expect(wait).rejects.toMatchObject({ name: "NotMined", hash: HASH, cause: new Error("connection refused") });
    await expect(
      receiptOf(chain({ receipts: ["none"], count: [7] }), HASH, { timeout: 20, interval: 1 }),
    ).rejects.toThrow("is not mined after 0 s");
  });
});
