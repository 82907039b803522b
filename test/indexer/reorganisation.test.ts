import { afterAll, beforeAll, expect, test } from "vitest";
import { getAccount, getHead, listEvents, type ProtocolEventRow } from "../../api/db/index-reads.ts";
import { answerHash } from "../../protocol/answer-hash.ts";
import { Ruling } from "../../protocol/job-status.ts";
import type { Indexer } from "./support/indexer.ts";
import { Stage } from "./support/stage.ts";

let stage: Stage;
let indexer: Indexer;

beforeAll(async () => {
  stage = await Stage.open();
  indexer = await stage.startIndexer();
  await stage.world.register([5]);
  await stage.world.deposit(1_000);
});
afterAll(async () => await stage?.close());

const events = () => listEvents(stage.pool, { after: -1, toBlock: 1e9, limit: 10_000 });
const dispute = async () => await stage.sql("SELECT ruling, received_hash, votes_worker_at_fault FROM index.dispute");
const keys = (rows: ProtocolEventRow[]) => rows.map((row) => row.key).sort();

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

test("an index built anew from nothing has the same keys and the same balances", async () => {
  const before = await events();
  const account = await getAccount(stage.pool, stage.world.client.address);
  const disputes = await dispute();
  expect(disputes).toMatchObject([{ ruling: "worker_at_fault", votes_worker_at_fault: 2 }]);
  await indexer.stop();
  await stage.dropIndex();
  await expect(getHead(stage.pool)).rejects.toMatchObject({ name: "IndexUnavailable" });

  indexer = await stage.startIndexer();
  await stage.caughtUp();
  const after = await events();
  expect(after).toEqual(before);
  expect(await dispute()).toEqual(disputes);
  expect(await getAccount(stage.pool, stage.world.client.address)).toEqual(account);
});
