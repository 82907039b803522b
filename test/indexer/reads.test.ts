import { afterAll, beforeAll, expect, test, vi } from "vitest";
import {
  beforeBlock,
  getHead,
  getJob,
  getModel,
  getWorker,
  listEvents,
  listJobs,
  listModels,
} from "../../api/index/index.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { everything, type Story } from "./support/everything.ts";
import { Stage } from "./support/stage.ts";

vi.setConfig({ testTimeout: 30_000, hookTimeout: 60_000 });
let stage: Stage;
let story: Story;

beforeAll(async () => {
  stage = await Stage.open();
  // Live from the first event on; events.test.ts reads the same story from the past.
  await stage.startIndexer();
  story = await everything(stage.world);
  await stage.caughtUp();
});
afterAll(async () => await stage?.close());

test("models and workers are as the contracts have them now", async () => {
  const { world, pool } = stage;
  const now = new Date((await world.now()) * 1000);
  const worker = await getWorker(pool, world.worker.address, now);
  const onChain = await world.read<{ stake: bigint; active: boolean; endpoint: string; models: number[] }>(
    "WorkerRegistry",
    "workerAt",
    1,
  );
  expect(worker).toMatchObject({
    stake: onChain.stake,
    active: onChain.active,
    endpoint: onChain.endpoint,
    models: onChain.models,
    unbondsAt: null,
  });
  expect(worker?.active).toBe(true);
  // The announced minimum is below the first one: before its time the stake does not suffice.
  expect((await getWorker(pool, world.worker.address, new Date(0)))?.active).toBe(false);
  const models = await listModels(pool, now);
  expect(models.map((model) => [model.id, model.activeWorkers])).toContainEqual(["qwen3-8b", 1]);
  expect(models.map((model) => [model.id, model.activeWorkers])).toContainEqual(["mistral-7b-instruct-v0.3", 0]);
  expect(await getModel(pool, "qwen3-14b", now)).toMatchObject({
    creditsPerRequest: 20,
    creditsPer1kTokens: 10,
    pricesChangeAt: null,
  });
  expect(await getModel(pool, "qwen3-14b", new Date(0))).toMatchObject({
    creditsPerRequest: 18,
    nextCreditsPerRequest: 20,
  });
  expect(await getModel(pool, "qwen3-1.7b", now)).toMatchObject({ retired: true });
  expect(await getModel(pool, "unknown", now)).toBeNull();
  const columns = "fee_bps, next_fee_bps, paused, minimum_stake, next_minimum_stake, slash_amount, next_slash_amount";
  const [config] = await stage.sql(`SELECT ${columns} FROM index.protocol_config`);
  expect(config).toEqual({
    fee_bps: 1_000,
    next_fee_bps: 500,
    paused: false,
    minimum_stake: "1000000000",
    next_minimum_stake: "900000000",
    slash_amount: "500000000",
    next_slash_amount: "400000000",
  });
});

test("lists are newest first and their cursors meet", async () => {
  const { pool, world } = stage;
  const wallet = world.client.address;
  const all = await listJobs(pool, { wallet, limit: 100 });
  expect(all.hasMore).toBe(false);
  expect(all.rows).toHaveLength(15);
  const ids = all.rows.map((row) => row.id);
  const first = await listJobs(pool, { wallet, limit: 3 });
  expect(first.hasMore).toBe(true);
  const second = await listJobs(pool, { wallet, limit: 20, before: first.rows.at(-1)?.id });
  expect([...first.rows, ...second.rows].map((row) => row.id)).toEqual(ids);
  const newer = await listJobs(pool, { wallet, limit: 10, after: ids[2] });
  expect(newer.rows.map((row) => row.id)).toEqual(ids.slice(0, 2));
  expect((await listJobs(pool, { wallet, limit: 10, status: "settled" })).rows).toHaveLength(5);
  expect(
    (await listJobs(pool, { wallet, limit: 10, model: "mistral-7b-instruct-v0.3", status: "pending" })).rows.map(
      (row) => row.id,
    ),
  ).toEqual([toApiJobId(story.open)]);
  await expect(listJobs(pool, { wallet: world.gateway.address, limit: 10, before: ids[0] })).rejects.toMatchObject({
    param: "before",
  });
});

test("what happens while the indexer runs is there at once, and the head says how far it is", async () => {
  const { pool, world } = stage;
  const before = await getHead(pool);
  const { id, call } = await world.lock();
  await world.send(world.gateway, call);
  await stage.caughtUp();
  expect(await getJob(pool, toApiJobId(id))).toMatchObject({ status: "pending" });
  const head = await getHead(pool);
  expect(head).toMatchObject({ blockNumber: (before?.blockNumber ?? 0) + 1, ready: true });
  const events = await listEvents(pool, {
    after: beforeBlock(head?.blockNumber ?? 0),
    toBlock: head?.blockNumber ?? 0,
    limit: 10,
  });
  expect(events.map((event) => event.kind)).toEqual(["job.locked"]);
});
