import { type Hex, type PublicClient, TransactionReceiptNotFoundError } from "viem";
import { describe, expect, it } from "vitest";
import { NotMined } from "../../protocol/receipt.ts";
import { mined, Replaced } from "../../web/src/wallet/mined.ts";

const FROM = "0x00000000000000000000000000000000000000aa";
const TO = "0x00000000000000000000000000000000000000bb";
const HASH = `0x${"01".repeat(32)}` as Hex;
const OTHER = `0x${"02".repeat(32)}` as Hex;
const sent = { hash: HASH, from: FROM, to: TO, data: "0x1234" } as const;

/** A chain on which another transaction has the nonce, three blocks below the newest; null: no block has it. */
function chain(by: { to: Hex | null; input: Hex; value: bigint } | null): PublicClient {
  const mine = { hash: OTHER, from: FROM, nonce: 7, ...by };
  const stranger = { ...mine, hash: HASH, from: TO };
  return {
    pollingInterval: 1,
    getTransaction: async () => ({ from: FROM, nonce: 7 }),
    getTransactionCount: async () => 8,
    getTransactionReceipt: async ({ hash }: { hash: Hex }) => {
      if (hash === HASH) throw new TransactionReceiptNotFoundError({ hash });
      return { status: "success", transactionHash: hash };
    },
    getBlockNumber: async () => 20n,
    getBlock: async ({ blockNumber }: { blockNumber: bigint }) => ({
      transactions: blockNumber === 17n && by !== null ? [stranger, mine] : [stranger],
    }),
  } as unknown as PublicClient;
}

describe("a transaction whose nonce another one has used", () => {
  it("is done when that is the same call, under its hash", async () => {
    expect(await mined(chain({ to: TO, input: "0x1234", value: 0n }), sent)).toMatchObject({ transactionHash: OTHER });
  });

  it("is cancelled when that one sends nothing to its sender", async () => {
    const wait = mined(chain({ to: FROM, input: "0x", value: 0n }), sent);
    await expect(wait).rejects.toBeInstanceOf(Replaced);
    await expect(wait).rejects.toMatchObject({ by: OTHER, cancelled: true });
  });

  it.each([
    ["with other data", { to: TO, input: "0x1235", value: 0n }],
    ["of another contract", { to: HASH.slice(0, 42), input: "0x1234", value: 0n }],
    ["with a value", { to: TO, input: "0x1234", value: 1n }],
    ["that creates a contract", { to: null, input: "0x1234", value: 0n }],
  ] as const)("is replaced by a call %s", async (_how, by) => {
    const wait = mined(chain(by as { to: Hex | null; input: Hex; value: bigint }), sent);
    await expect(wait).rejects.toMatchObject({ name: "Replaced", by: OTHER, cancelled: false });
  });

  it("is told as not mined when nobody knows by what it was replaced", async () => {
    await expect(mined(chain(null), sent)).rejects.toBeInstanceOf(NotMined);
  });
});
