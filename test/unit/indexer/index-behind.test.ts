/** An index whose final blocks the node does not show: lost, or not there yet. */
import type pg from "pg";
import { BlockNotFoundError, type PublicClient } from "viem";
import { expect, it, vi } from "vitest";
import { contradiction, lostFinalBlock } from "../../../indexer/launch/schemas.ts";

const STORED = { number: 1_000, hash: `0x${"ab".repeat(32)}` };

/** A database whose newest cached block is the stored one, and no build. */
const client = {
  query: async (text: string) => {
    if (text.includes("ponder_sync.blocks'")) return { rows: [{ name: "blocks" }] };
    return { rows: text.includes("FROM ponder_sync.blocks") ? [STORED] : [] };
  },
} as unknown as pg.Client;

/** A node with this head, and this hash of the stored block. */
function node(head: () => number, hash = STORED.hash): PublicClient {
  return {
    getBlock: async ({ blockNumber }: { blockNumber: bigint }) => {
      if (blockNumber > BigInt(head())) throw new BlockNotFoundError({ blockNumber });
      return { hash, timestamp: 1n };
    },
    getBlockNumber: async () => BigInt(head()),
  } as unknown as PublicClient;
}

it("waits for a node that is behind, and keeps the index", async () => {
  vi.useFakeTimers();
  let head = 900;
  const told: string[] = [];
  const log = (line: string) => {
    told.push(line);
    head = 1_100;
  };
  const judged = contradiction(
    client,
    node(() => head),
    { chainId: 1, log },
  );
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await judged).toBeNull();
  expect(told).toEqual([expect.stringMatching(/no block 1000, .* is behind, waiting/)]);
  vi.useRealTimers();
});

it("takes a block that is not there yet for a late one, except in development", async () => {
  vi.useFakeTimers();
  const behind = node(() => 900);
  const judged = Promise.all([lostFinalBlock(client, behind, 1), lostFinalBlock(client, behind, 31_337)]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await judged).toEqual([null, "the chain has no block 1000"]);
  vi.useRealTimers();
});

it.each([
  { chain: "Ethereum", chainId: 1, blocks: 65 },
  { chain: "a chain that Ponder does not know", chainId: 987_654, blocks: 30 },
])("waits on $chain until a stored block is final, which takes $blocks blocks", async ({ chainId, blocks }) => {
  vi.useFakeTimers();
  const checkpoint = `${"1".padStart(10, "0")}${String(chainId).padStart(16, "0")}${String(STORED.number).padStart(16, "0")}`;
  const withBuild = {
    query: async (text: string) => {
      if (text.includes("FROM pg_tables")) return { rows: [{ name: "index_build" }] };
      return text.includes("finalized_checkpoint") ? { rows: [{ c: checkpoint }] } : client.query(text);
    },
  } as unknown as pg.Client;
  let head = STORED.number + blocks - 1;
  const told: string[] = [];
  const log = (line: string) => {
    told.push(line);
    head += 1;
  };
  const judged = contradiction(
    withBuild,
    node(() => head),
    { chainId, log },
  );
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await judged).toBeNull();
  expect(told).toEqual([expect.stringContaining(`ends less than ${blocks} blocks after block ${STORED.number}`)]);
  vi.useRealTimers();
});

it("takes another block at its place for the end of the index", async () => {
  const other = node(() => 1_100, `0x${"cd".repeat(32)}`);
  expect(await lostFinalBlock(client, other, 1)).toBe("block 1000 has another hash");
  expect(await contradiction(client, other, { chainId: 1, log: () => {} })).toBe("block 1000 has another hash");
});
