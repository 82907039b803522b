/**
 * What nodes do by public reports, beside the refusals and limits of nodes.test.ts. Each kind is tried with the transaction pipeline behind a node
 * that does so; two are the indexer's (test/indexer/nodes.test.ts) and one the reader's (test/unit/shared/chain-node.test.ts).
 *
 *   what the node does                                        report                                          before            now
 *   --------------------------------------------------------  ----------------------------------------------  ----------------  -------------------
 *   an error, not null, for a transaction it does not have    ethereum/go-ethereum#29956, ethers.js#4999      nothing that is   each answer counts
 *                                                                                                             stuck is replaced for itself
 *   the receipt of a removed block, for ever                  ethereum/go-ethereum#28992                      a new "lost" each  its block is asked
 *                                                                                                             six seconds       for
 *   a method blocked with 403 and no JSON                     wevm/viem#4381 (400 and no code)                sends nothing     the plain method
 *   "internal error" to a share of all requests               MetaMask/metamask-extension#13327,              reads fail        asked again
 *                                                             matter-labs/zksync-os-server#496
 *   200 with a text that is no JSON                           INFURA/infura#82, #85                           holds             holds
 *   an error for a transaction that it has taken              ethereum/go-ethereum#30341                      holds             holds
 *   one transaction of a delegated account                    verdikta/verdikta-arbiter#29, base/base#2347    holds             holds
 *   answers of a batch in another order                       emeraldpay/dshackle#148, ethers.js#3431         holds             holds
 *   ids as text                                               (the same)                                      one by one        holds
 *   a receipt before its block is sealed                      ithacaxyz/relay#1007                            counts as mined   its block is awaited
 *   no tag `finalized`                                        (docs/decisions.md, 156)                        holds             holds
 *   "0x" for a call of a contract                             INFURA/infura#157                               reads fail        asked again
 *   null for no logs                                          smartbch/smartbch#67, flow-evm-gateway#695      never ready       no logs
 *   a much lower height while it syncs                        ponder-sh/ponder#2221                           (RPC_URLS)        left out
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { Hex } from "viem";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import type { Operation, Outcome } from "../../../api/chain/operations.ts";
import { inferenceEscrowAbi } from "../../../protocol/generated/abi.ts";
import { type Repeated, repeat } from "../../../shared/repeat.ts";
import { eventually } from "../../support/api-client.ts";
import { NODE_PROFILES, type NodeProfile } from "../../support/node-profiles.ts";
import { type NodeFaults, NodeProxy } from "../../support/node-proxy.ts";
import { lock, World } from "../../support/pipeline-world.ts";

const BLOCK_MS = 250;
const { geth, nethermind, erigon, besu, infura } = NODE_PROFILES;
/** Its receipts are asked for. */
const plainGeth = { ...geth, sync: false };
const world = new World();
let proxy: NodeProxy;
let mining: Repeated | undefined;

beforeAll(() => world.open());
afterEach(async () => {
  await mining?.stop();
  await world.endPipelines();
  proxy.close();
});
afterAll(() => world.close());

/** Mines a block each 250 ms, one at a time: after `stop` none is on its way that a test has not counted. */
const mineBlocks = (mine: () => Promise<void> = () => world.node.mine({ blocks: 1 })) =>
  repeat(() => mine().catch(() => {}), BLOCK_MS);

/** A pipeline behind such a node, and a block each 250 ms, in which alone transactions are mined. */
async function behind(profile: NodeProfile, faults: NodeFaults, options: { replaceAfterMs?: number } = {}) {
  proxy = await NodeProxy.open(world.stack.info.rpc_url, profile);
  const started = await world.start({ rpcUrl: proxy.url, ...options });
  proxy.faults = faults;
  await world.node.setAutomine(false);
  mining = mineBlocks();
  return started;
}

/** Locks of these jobs, by the transactions in which the chain has them. */
async function locksOf(operations: readonly Operation[]): Promise<Hex[]> {
  const address = world.stack.info.contracts.InferenceEscrow as Hex;
  const filter = { address, abi: inferenceEscrowAbi, eventName: "JobLocked", fromBlock: 0n } as const;
  const ids = new Set(operations.map(({ jobId }) => jobId));
  const events = await world.node.getContractEvents(filter);
  return events.filter(({ args }) => ids.has(args.jobId as Hex)).map(({ transactionHash }) => transactionHash);
}

/** Where the outbox has seen a transaction mined. */
async function seenIn(hash: Hex): Promise<Hex | undefined> {
  const text = "SELECT mined_block_hash AS hash FROM chain_transaction WHERE mined_hash = $1";
  const { rows } = await world.pool.query<{ hash: Hex }>(text, [hash]);
  return rows[0]?.hash;
}

const KINDS: { does: string; profile: NodeProfile; faults?: NodeFaults; seen: string }[] = [
  {
    does: "has an error for a transaction it lacks",
    profile: plainGeth,
    faults: { indexing: true },
    seen: "refused indexing",
  },
  {
    does: "blocks the synchronous sending",
    profile: geth,
    faults: { blocked: ["eth_sendRawTransactionSync"] },
    seen: "refused blocked",
  },
  {
    does: "often has an internal error",
    profile: { ...nethermind, limited: { share: 0.1, form: "internal" } },
    seen: "refused as too many",
  },
  {
    does: "often says no JSON",
    profile: { ...infura, limited: { share: 0.1, form: "text" } },
    seen: "refused as too many",
  },
  { does: "refuses what it has taken", profile: erigon, faults: { refuseTaken: 3 }, seen: "refuseTaken" },
  { does: "keeps one transaction of the sender", profile: { ...geth, mostPending: 1 }, seen: "refused pending ones" },
  {
    does: "answers batches in another order",
    profile: nethermind,
    faults: { looseBatches: true, refuseTaken: 3 },
    seen: "eth_getBalance",
  },
];

it.each(KINDS)("a node that $does has each operation mined once", async ({ profile, faults = {}, seen }) => {
  const { pipeline, head } = await behind(profile, faults);
  // No block before the node has done so: on a slow machine it would come before the first look at a receipt.
  await mining?.stop();
  const operations: Operation[] = [];
  const outcomes: Promise<Outcome>[] = [];
  for (let batch = 0; batch < 4; batch++) {
    const submitted = Array.from({ length: 5 }, () => lock(head)).map((operation) => {
      operations.push(operation);
      return pipeline.submit(operation);
    });
    outcomes.push(...submitted.map(({ mined }) => mined));
    await Promise.all(submitted.map(({ signed }) => signed));
  }
  await eventually(
    async () => proxy.count(seen),
    (count) => count > 0,
  );
  mining = mineBlocks();
  const mined = (await Promise.all(outcomes)).filter(({ status }) => status === "mined");
  expect(mined).toHaveLength(20);
  expect(await locksOf(operations)).toHaveLength(20);
});

it("a node with an error for a missing transaction gets another offer", async () => {
  const { pipeline, head } = await behind(plainGeth, { indexing: true }, { replaceAfterMs: 1_000 });
  await mining?.stop();
  const operation = lock(head, { validUntil: head.time + 600 });
  const { signed, mined } = pipeline.submit(operation);
  const first = await signed;
  mining = mineBlocks(() => world.raiseBaseFee(20_000_000_000n));
  const { status, hash } = await mined;
  expect(status).toBe("mined");
  expect(hash).not.toBe(first);
  expect(await locksOf([operation])).toEqual([hash]);
  await world.raiseBaseFee(7n);
});

it("a receipt of a block that a reorganisation removed is not believed for ever", async () => {
  const { pipeline, head } = await behind(besu, { staleReceipts: true });
  const operation = lock(head);
  const { hash } = await pipeline.submit(operation).mined;
  const takenBack = () => world.takenBack.filter((jobId) => jobId === operation.jobId);
  const removed = await eventually(
    () => seenIn(hash),
    (block) => block !== undefined,
  );
  await mining?.stop();
  world.takenBack = [];
  const { blockNumber } = await world.node.getTransactionReceipt({ hash });
  const depth = Number((await world.node.getBlockNumber()) - blockNumber) + 1;
  const raw = await world.rpc<Hex>("eth_getRawTransactionByHash", hash);
  await world.reorganise(depth + 1, [[raw, 0]]);
  mining = mineBlocks();
  await eventually(
    async () => takenBack().length,
    (count) => count > 0,
  );
  // Looks are two seconds apart, and three of them must miss it.
  await sleep(8_000);
  expect(takenBack()).toHaveLength(1);
  proxy.faults = {};
  const { blockHash } = await world.node.getTransactionReceipt({ hash });
  expect(blockHash).not.toBe(removed);
  await eventually(
    () => seenIn(hash),
    (block) => block === blockHash,
  );
});

it("a receipt with another hash than its block's does not count as mined", async () => {
  const { pipeline, head } = await behind(plainGeth, { preconfirmed: 3 });
  const operation = lock(head);
  const { hash } = await pipeline.submit(operation).mined;
  expect(proxy.count("preconfirmed")).toBe(3);
  const { blockHash } = await world.node.getTransactionReceipt({ hash });
  await eventually(
    () => seenIn(hash),
    (block) => block !== undefined,
  );
  expect(await seenIn(hash)).toBe(blockHash);
  expect(await locksOf([operation])).toEqual([hash]);
});
