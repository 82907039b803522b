import { BlockNotFoundError, type Hex, type PublicClient, TransactionReceiptNotFoundError } from "viem";
import { describe, expect, it } from "vitest";
import { NotMined } from "../../../../protocol/receipt.ts";
import { mined, Replaced } from "../../../../web/src/wallet/mined.ts";

const FROM = "0x00000000000000000000000000000000000000aa";
const TO = "0x00000000000000000000000000000000000000bb";
const HASH = `0x${"01".repeat(32)}` as Hex;
const OTHER = `0x${"02".repeat(32)}` as Hex;
/** The call as it was sent, under another fee. */
const SAME: Call = { to: TO, input: "0x1234", value: 0n };
const sent = { hash: HASH, from: FROM, to: TO, data: "0x1234" } as const;

type Call = { to: Hex | null; input: Hex; value: bigint };
type Settings = {
  newest?: bigint;
  /** The block of the transaction that has the nonce. */
  at?: bigint;
  /** The blocks of which the node has the state; without others it fails as nodes do. */
  knows?: (block: bigint) => boolean;
  /** What is asked of one block, in order. */
  asked?: bigint[];
};

/** A chain on which another transaction has the nonce; null: no block has it. */
function chain(by: Call | null, settings: Settings = {}): PublicClient {
  const { newest = 20n, at = 17n, knows = () => true, asked = [] } = settings;
  const mine = { hash: OTHER, from: FROM, nonce: 7, ...by };
  const stranger = { ...mine, hash: HASH, from: TO };
  const look = (blockNumber: bigint): void => {
    asked.push(blockNumber);
    if (!knows(blockNumber)) throw new BlockNotFoundError({ blockNumber });
  };
  return {
    pollingInterval: 1,
    getTransaction: async () => ({ from: FROM, nonce: 7 }),
    getTransactionCount: async ({ blockNumber }: { blockNumber?: bigint }) => {
      if (blockNumber === undefined) return 8;
      look(blockNumber);
      return blockNumber >= at ? 8 : 7;
    },
    getTransactionReceipt: async ({ hash }: { hash: Hex }) => {
      if (hash === HASH) throw new TransactionReceiptNotFoundError({ hash });
      return { status: "success", transactionHash: hash };
    },
    getBlockNumber: async () => newest,
    getBlock: async ({ blockNumber }: { blockNumber: bigint }) => {
      look(blockNumber);
      return { transactions: blockNumber === at && by !== null ? [stranger, mine] : [stranger] };
    },
  } as unknown as PublicClient;
}

describe("a transaction whose nonce another one has used", () => {
  it("is done when that is the same call, under its hash", async () => {
    expect(await mined(chain(SAME), sent)).toMatchObject({ transactionHash: OTHER });
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
    const wait = mined(chain(by as Call), sent);
    await expect(wait).rejects.toMatchObject({ name: "Replaced", by: OTHER, cancelled: false });
  });

  it("is told as not mined when nobody knows by what it was replaced", async () => {
    await expect(mined(chain(null), sent)).rejects.toBeInstanceOf(NotMined);
  });

  it.each([
    ["in the newest block", { newest: 30_000_000n, at: 30_000_000n }],
    ["a block earlier", { newest: 30_000_000n, at: 29_999_999n }],
    ["500 blocks earlier", { newest: 30_000_000n, at: 29_999_500n }],
    ["in the first blocks of a new chain", { newest: 1n, at: 1n }],
    ["in a chain's very first block", { newest: 9n, at: 0n }],
  ])("is found %s, with few questions", async (_where, where) => {
    const asked: bigint[] = [];
    const wait = mined(chain(SAME, { ...where, asked }), sent);
    expect(await wait).toMatchObject({ transactionHash: OTHER });
    expect(asked.length).toBeLessThanOrEqual(22);
  });

  it("is found through nodes of which one does not have the newest block yet", async () => {
    expect(await mined(chain(SAME, { knows: (block) => block < 20n }), sent)).toMatchObject({ transactionHash: OTHER });
  });

  it("is found at a node that keeps the state of few blocks only", async () => {
    const young = { newest: 1_000n, at: 930n, knows: (block: bigint) => block > 1_000n - 128n };
    expect(await mined(chain(SAME, young), sent)).toMatchObject({ transactionHash: OTHER });
  });

  it.each([
    ["has forgotten the block", (block: bigint) => block > 18n],
    ["fails to read any", () => false],
  ])("is told as not mined, and not as an error of the node, when that %s", async (_what, knows) => {
    const wait = mined(chain(SAME, { knows }), sent);
    await expect(wait).rejects.toBeInstanceOf(NotMined);
    await expect(wait).rejects.toMatchObject({ hash: HASH, replaced: { from: FROM, nonce: 7 } });
  });
});
