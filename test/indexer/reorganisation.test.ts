/** What a reorganisation does to the index; and an indexer whose node is behind a user, a password and a key. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { getAccount, getHead } from "../../api/db/index-reads.ts";
import { answerHash } from "../../protocol/answer-hash.ts";
import { Ruling } from "../../protocol/job-status.ts";
import { type GuardedNode, passTo, startGuardedNode } from "../support/guarded-node.ts";
import type { Indexer } from "./support/indexer.ts";
import { listEvents, type WholeEvent } from "./support/rows.ts";
import { Stage } from "./support/stage.ts";

let stage: Stage;
let indexer: Indexer;
let node: GuardedNode;
/** What happens before the node's next answer with a block's logs. */
let beforeLogs: () => Promise<void> = async () => {};

beforeAll(async () => {
  stage = await Stage.open();
  node = await startGuardedNode(async (body) => {
    if (body.includes('"blockHash"') && body.includes("eth_getLogs")) await beforeLogs();
    return passTo(stage.chain.url)(body);
  });
  indexer = await stage.startIndexer();
  await stage.world.register([5]);
  await stage.world.deposit(1_000);
});
afterAll(async () => {
  await stage?.close();
  await node?.stop();
});

const events = () => listEvents(stage.pool);
const dispute = async () => await stage.sql("SELECT ruling, received_hash, votes_worker_at_fault FROM index.dispute");
const keys = (rows: WholeEvent[]) => rows.map((row) => row.key).sort();

test("keys survive a reorganisation that mines the same transactions elsewhere", async () => {
  const { world } = stage;
  // A worker signs a time between lock and settlement; both get one block below, and so one time.
  await stage.chain.rpc("anvil_setBlockTimestampInterval", [0]);
  for (let i = 0; i < 3; i += 1) await world.settledJob();
  const { id, call } = await world.lock();
  await world.send(world.gateway, call);
  await world.send(world.gateway, world.call("InferenceEscrow", "fail", id, 0));
  await world.send(world.client, world.call("InferenceEscrow", "setLimits", true, 500, false));
  const disputed = await world.settledJob();
  await world.dispute(disputed, answerHash("another text"), world.client);
  await world.vote(disputed, Ruling.Rejected, 0);
  await world.rule(disputed, Ruling.WorkerAtFault);
  await stage.caughtUp();
  const before = await events();
  expect(before.map((row) => row.kind)).toEqual(expect.arrayContaining(["worker.slashed", "job.compensated"]));

  // Blocks with a transaction each become blocks of which the last but one holds all of them.
  const depth = 15;
  const raw = await stage.lastTransactions(depth);
  expect(raw).toHaveLength(depth);
  await stage.chain.rpc("anvil_reorg", [depth, raw.map((transaction) => [transaction, depth - 2])]);
  await stage.agreed();

  const after = await events();
  expect(keys(after)).toEqual(keys(before));
  const positions = new Map(before.map((row) => [row.key, row.position]));
  expect(after.filter((row) => row.position !== positions.get(row.key)).length).toBeGreaterThanOrEqual(17);
});

test("what a reorganisation drops is gone, and comes back under its old key", async () => {
  const { world } = stage;
  const before = await events();
  const { call } = await world.lock();
  await world.send(world.gateway, call);
  await stage.caughtUp();
  const with_ = await events();
  expect(with_).toHaveLength(before.length + 1);
  const raw = await stage.lastTransactions(1);
  const account = await getAccount(stage.pool, world.client.address);

  await stage.chain.rpc("anvil_reorg", [1, []]);
  await stage.agreed();
  expect(keys(await events())).toEqual(keys(before));
  expect((await getAccount(stage.pool, world.client.address))?.escrowed).toBe(0);

  await stage.mineAgain(raw);
  await stage.agreed();
  expect(keys(await events())).toEqual(keys(with_));
  expect(await getAccount(stage.pool, world.client.address)).toEqual(account);
});

test("an index built anew through a node with a password is the same", async () => {
  const before = await events();
  const account = await getAccount(stage.pool, stage.world.client.address);
  const disputes = await dispute();
  expect(disputes).toMatchObject([{ ruling: "worker_at_fault", votes_worker_at_fault: 2 }]);
  await indexer.stop();
  await stage.dropIndex();
  await expect(getHead(stage.pool)).rejects.toMatchObject({ name: "IndexUnavailable" });

  indexer = await stage.launchIndexer({ rpcUrl: node.url, wsUrl: "" });
  await indexer.ready();
  await stage.caughtUp();
  const after = await events();
  expect(after).toEqual(before);
  expect(await dispute()).toEqual(disputes);
  expect(await getAccount(stage.pool, stage.world.client.address)).toEqual(account);
});

test("hides its secrets when the node refuses it, and reads replaced blocks again", async () => {
  const before = node.served;
  await stage.world.deposit(1_000);
  await stage.caughtUp();
  expect(node.served).toBeGreaterThan(before);

  // The block is replaced after it was fetched, and before its logs are. No further block follows.
  const replaced = Promise.withResolvers<void>();
  const deposited = stage.world.deposit(1_000);
  beforeLogs = async () => {
    await deposited;
    beforeLogs = async () => {};
    const last = await stage.lastTransactions(1);
    await stage.chain.rpc("anvil_reorg", [1, []]);
    replaced.resolve(stage.agreed().then(() => stage.mineAgain(last)));
  };
  await replaced.promise;
  await stage.agreed();
  expect(indexer.log).toContain("unknown block");

  // The head is told still, so Ponder asks what happened there, and logs what it hears.
  node.refuse("eth_getLogs");
  await stage.world.deposit(1_000);
  await expect.poll(() => indexer.log, { timeout: 60_000 }).toMatch(/Received JSON-RPC error[\s\S]*not yours: /);
  await indexer.stop("SIGINT");
  for (const secret of node.secrets) expect(indexer.log).not.toContain(secret);

  node.refuse();
  const again = await stage.launchIndexer({ rpcUrl: node.url, wsUrl: "" });
  expect(await again.part.exited).toBe(1);
  expect(again.log).toContain("no node answers at RPC_URL (127.0.0.1");
  for (const secret of node.secrets) expect(again.log).not.toContain(secret);
});
