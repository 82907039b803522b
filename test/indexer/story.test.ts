/** What the index tells of a chain on which everything happened, seen live; and that the same is told of it from the past. */
import type { Abi } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  getAccount,
  getHead,
  getJob,
  listJobEvents,
  listJobs,
  listModels,
  listWorkers,
} from "../../api/db/index-reads.ts";
import * as abis from "../../protocol/generated/abi.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { chainEvents } from "./support/chain-events.ts";
import { listEvents } from "./support/events.ts";
import { everything, type Story } from "./support/everything.ts";
import type { Indexer } from "./support/indexer.ts";
import { Stage } from "./support/stage.ts";

let stage: Stage;
let story: Story;
let indexer: Indexer;

beforeAll(async () => {
  stage = await Stage.open();
  indexer = await stage.startIndexer();
  story = await everything(stage.world);
  await stage.caughtUp();
});
afterAll(async () => await stage?.close());

const job = async (name: keyof Story) => {
  const row = await getJob(stage.pool, toApiJobId(story[name]));
  if (row === null) throw new Error(`${name} is not indexed`);
  return row;
};
const kindsOf = async (name: keyof Story) => (await listJobEvents(stage.pool, story[name])).map((event) => event.kind);

test("the story makes every event of the contracts happen", async () => {
  const contracts = [
    abis.inferenceEscrowAbi,
    abis.modelCatalogAbi,
    abis.workerRegistryAbi,
    abis.protocolTreasuryAbi,
    abis.arbitrationPanelAbi,
  ];
  const declared = contracts.flatMap((abi) =>
    (abi as Abi).flatMap((item) => (item.type === "event" ? [item.name] : [])),
  );
  const seen = new Set((await chainEvents(stage.world)).map((event) => event.name));
  // OpenZeppelin declares this one for domains that change; ours never does.
  const missing = declared.filter((name) => !seen.has(name) && name !== "EIP712DomainChanged");
  expect(missing).toEqual([]);
});

test("each event of the chain has one row, in its place", async () => {
  const onChain = await chainEvents(stage.world);
  const rows = await listEvents(stage.pool);
  const failures = await stage.sql<{ position: string }>("SELECT position FROM index.batch_item_failure");
  const indexed = [...rows.map((row) => row.position), ...failures.map((row) => Number(row.position))];
  expect(indexed.sort((a, b) => a - b)).toEqual(onChain.map((event) => event.position).sort((a, b) => a - b));
  expect(new Set(rows.map((row) => row.key)).size).toBe(rows.length);
  const hashes = new Map(onChain.map((event) => [event.position, event.txHash]));
  for (const row of rows) expect(row.txHash).toBe(hashes.get(row.position));
});

test("a job settled from pending has its worker from its settlement, which says so", async () => {
  expect(await kindsOf("fused")).toEqual(["job.locked", "job.settled"]);
  const row = await job("fused");
  expect(row).toMatchObject({
    status: "settled",
    operator: 1,
    wallet: stage.world.client.address.toLowerCase(),
    model: "qwen3-8b",
    tier: "standard",
    creditsLocked: 8,
    creditsCharged: 8,
    creditsReturned: 0,
    worker: stage.world.worker.address.toLowerCase(),
    attempt: 1,
    promptTokens: 10,
    completionTokens: 120,
    billedTokens: 120,
    workerUnits: 72_000,
    feeUnits: 8_000,
    failureReason: null,
    acknowledgeTx: row.settlementTx,
    acknowledgedAt: row.completedAt,
  });
  expect(row.answeredAt).toBeLessThanOrEqual(row.completedAt ?? 0);
  const receipt = await stage.world.reader.getTransactionReceipt({ hash: row.settlementTx ?? "0x" });
  expect(row.settlementBlock).toBe(Number(receipt.blockNumber));
  const block = await stage.world.reader.getBlock({ blockNumber: receipt.blockNumber });
  expect(row.completedAt).toBe(Number(block.timestamp));
  const [locked, settled] = await listJobEvents(stage.pool, story.fused);
  expect(locked?.data).toMatchObject({
    account: 1,
    operator: 1,
    credits_per_request: 8,
    credits_per_1k_tokens: 4,
    fee_bps: 1_000,
    free: 5_142,
    escrowed: 8,
  });
  expect(Object.keys(locked?.data ?? {})).not.toContain("job");
  expect(settled?.data).toMatchObject({
    job_id: toApiJobId(story.fused),
    model: "qwen3-8b",
    tier: "standard",
    credits_charged: 8,
    usdg_value: 0.08,
    prompt_tokens: 10,
    completion_tokens: 120,
    worker_units: 72_000,
    fee_units: 8_000,
    credits_returned: 0,
    account: 1,
    free: 5_142,
    escrowed: 0,
    attempt: 1,
    fused: true,
    completed_at: row.answeredAt,
  });
  const { signature } = await stage.world.completion(story.fused);
  expect(settled?.data).toMatchObject(signature);
  expect(settled?.data["proof_hash"]).toBe(`sha256:${row.proofHash?.slice(2)}`);
});

test("the slow path, a failure, a refund, a second worker and an open job are told apart", async () => {
  expect(await kindsOf("slow")).toEqual(["job.locked", "job.acknowledged", "job.proven", "job.settled"]);
  expect(await job("slow")).toMatchObject({ status: "settled", creditsCharged: 8 });
  expect((await listJobEvents(stage.pool, story.slow)).at(-1)?.data).toMatchObject({ fused: false, attempt: 1 });
  expect(await job("failed")).toMatchObject({
    status: "failed",
    failureReason: "worker_failed",
    creditsCharged: 0,
    creditsReturned: 8,
    settlementTx: null,
  });
  expect((await job("failed")).returnTx).not.toBeNull();
  expect(await job("refunded")).toMatchObject({ status: "refunded", creditsCharged: 0, creditsReturned: 8 });
  expect((await listJobEvents(stage.pool, story.refunded)).at(-1)?.data).toMatchObject({ reason: "timeout" });
  expect(await job("reassigned")).toMatchObject({ status: "settled", attempt: 3 });
  expect(await kindsOf("reassigned")).toEqual(["job.locked", "job.acknowledged", "job.acknowledged", "job.settled"]);
  expect(await job("open")).toMatchObject({ status: "pending", worker: null, creditsCharged: 0, completedAt: null });
});

test("an authorized job has its key and the hash of its request", async () => {
  expect(await kindsOf("authorized")).toEqual(["job.locked", "job.authorized", "job.settled"]);
  const [, authorized] = await listJobEvents(stage.pool, story.authorized);
  const [row] = await stage.sql("SELECT authorization_key, request_hash FROM index.job WHERE id = $1", [
    story.authorized,
  ]);
  expect(row).toEqual({ authorization_key: authorized?.data["key"], request_hash: authorized?.data["request_hash"] });
  expect(authorized).toMatchObject({ subject: story.authorized, data: { job_id: toApiJobId(story.authorized) } });
});

test("refused payouts are kept apart from their claims", async () => {
  const rows = await stage.sql("SELECT kind, payee, receiver, units, job_id FROM index.payout ORDER BY position");
  const { world } = stage;
  const worker = world.workerOwner.address.toLowerCase();
  const client = world.client.address.toLowerCase();
  const treasury = world.deployment.contracts.ProtocolTreasury.toLowerCase();
  const deferred = (payee: string, units: number, job_id: string | null) => ({
    kind: "deferred",
    payee,
    receiver: null,
    units: String(units),
    job_id,
  });
  expect(rows).toEqual([
    deferred(worker, 72_000, story.deferred),
    deferred(treasury, 8_000, story.deferred),
    deferred(worker, 72_000, story.batchedFirst),
    deferred(worker, 72_000, story.batchedSecond),
    // The treasury's share of the whole batch.
    deferred(treasury, 16_000, null),
    { kind: "claimed", payee: worker, receiver: worker, units: "216000", job_id: null },
    // What compensations leave over whole credits.
    deferred(client, 8_000, story.equivocatedDisputed),
    deferred(client, 2_000, story.equivocatedDisputed),
    deferred(client, 8_000, story.expired),
    deferred(client, 8_000, story.equivocatedSettled),
    deferred(client, 2_000, story.equivocatedSettled),
    { kind: "claimed", payee: client, receiver: world.owner.address.toLowerCase(), units: "28000", job_id: null },
  ]);
  const failures = await stage.sql("SELECT call, error, item FROM index.batch_item_failure");
  expect(failures).toEqual([{ call: "refund", error: "Job_TooEarly", item: 1 }]);
});

describe("accounts", () => {
  test("the account is the chain's: balance, limits, open disputes, and its books add up", async () => {
    const { pool, world } = stage;
    const account = await getAccount(pool, world.client.address);
    if (account === null) throw new Error("no account");
    const onChain = await world.read<Record<string, number>>("InferenceEscrow", "accountOf", world.client.address);
    expect(account).toMatchObject({
      free: onChain.free,
      escrowed: onChain.escrowed,
      sequence: onChain.sequence,
      dailyLimit: onChain.dailyLimit,
      openDisputes: onChain.openDisputes,
      operator: onChain.operator,
    });
    expect(account).toMatchObject({ number: onChain.id, operator: 1, deposited: 5_200, withdrawn: 50, charged: 112 });
    expect(account).toMatchObject({ dailyLimit: 4_000, frozen: false, disputes: 14, openDisputes: 1, forfeited: 300 });
    const { deposited, compensated, withdrawn, charged, forfeited } = account;
    expect(account.free + account.escrowed).toBe(deposited + compensated - withdrawn - charged - forfeited);
    expect(await getAccount(pool, world.gateway.address)).toBeNull();
    const events = await listEvents(pool, world.client.address);
    expect(events.at(-1)?.kind).toBe("job.arbiter_voted");
    const limits = events.findLast((event) => event.kind === "account.limits_set");
    expect(limits?.data).toMatchObject({ daily_limit: 4_000, frozen: false });
  });

  test("what the wallet chose is told", async () => {
    const { pool, world } = stage;
    const rows = await listEvents(pool, world.client.address);
    const told = rows.filter(({ kind }) => /operator_chosen|authorization_key_set/.test(kind));
    expect(told.map(({ kind, data }) => [kind, data.operator ?? data.key !== null])).toEqual([
      ["account.operator_chosen", 0],
      ["account.operator_chosen", 1],
      ["account.authorization_key_set", true],
      ["account.authorization_key_set", false],
    ]);
    const [row] = await stage.sql("SELECT operator, authorization_key FROM index.account WHERE wallet = $1", [
      world.client.address.toLowerCase(),
    ]);
    expect(row).toEqual({ operator: 1, authorization_key: null });
  });

  test("operators are as the contract has them: admin, signers, reserve", async () => {
    const { world } = stage;
    const columns = "admin, stopped, reserve::int, held::int, leaving::int, leaves_at::int, sequence::int";
    const rows = await stage.sql(`SELECT ${columns} FROM index.operator ORDER BY number`);
    const stopped = await world.read<bigint>("InferenceEscrow", "stoppedOperators");
    for (const [i, row] of rows.entries()) {
      const onChain = await world.read<Record<string, unknown>>("InferenceEscrow", "operatorOf", i + 1);
      const { admin, leaving, leavesAt: leaves_at, ...rest } = onChain;
      expect(row).toEqual({
        ...rest,
        stopped: ((stopped >> BigInt(i)) & 1n) === 1n,
        admin: String(admin).toLowerCase(),
        leaving: leaving || null,
        leaves_at: leaves_at || null,
      });
    }
    expect(rows).toMatchObject([
      { stopped: false, held: 0, leaving: 3 },
      { stopped: true, reserve: 0, leaving: null },
    ]);
    const [first] = await stage.sql<{ signers: { signer: string; addedAt: number; removedAt: number | null }[] }>(
      "SELECT signers FROM index.operator WHERE number = 1",
    );
    expect(first?.signers).toMatchObject([{ signer: world.gateway.address.toLowerCase(), removedAt: null }, {}]);
    for (const { signer, removedAt } of first?.signers ?? []) {
      const [operator, removed] = await world.read<[number, number]>("InferenceEscrow", "signerOf", signer);
      expect([operator, removed]).toEqual([1, removedAt ?? 0]);
    }
    expect(first?.signers[1]?.removedAt).toBeGreaterThanOrEqual(first?.signers[1]?.addedAt ?? Number.NaN);
  });

  test("every balance an event tells of is what the one before left and the event changed", async () => {
    const rows = await listEvents(stage.pool, stage.world.client.address);
    const told = rows.filter((row) => "total_after" in row.data || "escrowed" in row.data);
    let total = 0;
    for (const { kind, data } of told) {
      const after = Number(data.free) + Number(data.escrowed);
      if ("total_after" in data) {
        expect([kind, data.total_after]).toEqual([kind, after]);
        expect([kind, data.total_before]).toEqual([kind, total]);
      } else expect([kind, after]).toEqual([kind, total]);
      total = after;
    }
    expect(total).toBeGreaterThan(0);
  });

  test("the stake of the worker is the registry's", async () => {
    const { pool, world } = stage;
    const onChain = await world.read<{ stake: bigint }>("WorkerRegistry", "workerAt", 1);
    expect((await listWorkers(pool))[0]?.stake).toBe(onChain.stake);
    const [config] = await stage.sql("SELECT arbiter_set::text, arbiter_quorum FROM index.protocol_config");
    expect(config).toEqual({ arbiter_set: "2", arbiter_quorum: 1 });
  });
});

test("models and workers are as the contracts have them now", async () => {
  const { world, pool } = stage;
  const now = new Date((await world.now()) * 1000);
  const [worker] = await listWorkers(pool, now);
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
  expect((await listWorkers(pool, new Date(0)))[0]?.active).toBe(false);
  const model = async (name: string, at: Date) => (await listModels(pool, at)).find(({ id }) => id === name);
  expect(await model("qwen3-14b", now)).toMatchObject({
    creditsPerRequest: 20,
    creditsPer1kTokens: 10,
    pricesChangeAt: null,
  });
  expect(await model("qwen3-14b", new Date(0))).toMatchObject({
    creditsPerRequest: 18,
    nextCreditsPerRequest: 20,
  });
  expect(await model("qwen3-1.7b", now)).toMatchObject({ retired: true });
  expect(await model("unknown", now)).toBeUndefined();
  // As text: how a driver reads 64 bits depends on who else set it up in this process.
  const amounts = ["minimum_stake", "next_minimum_stake", "slash_amount", "next_slash_amount"];
  const pauses = ["paused_by_guardian", "paused_by_governance", "compensation_cap::text"];
  const columns = ["fee_bps", "next_fee_bps", ...pauses, ...amounts.map((name) => `${name}::text`)].join(", ");
  const [config] = await stage.sql(`SELECT ${columns} FROM index.protocol_config`);
  expect(config).toEqual({
    fee_bps: 1_000,
    next_fee_bps: 500,
    paused_by_guardian: false,
    paused_by_governance: false,
    compensation_cap: "10000",
    minimum_stake: "1000000000",
    next_minimum_stake: "900000000",
    slash_amount: "500000000",
    next_slash_amount: "400000000",
  });
});

/** Every row of the index, by table. */
async function tables(): Promise<Record<string, string[]>> {
  const names = await stage.sql<{ name: string }>(
    "SELECT table_name AS name FROM information_schema.views WHERE table_schema = 'index'",
  );
  const rows: Record<string, string[]> = {};
  for (const { name } of names.filter((one) => !one.name.startsWith("_"))) {
    rows[name] = (await stage.sql<{ row: string }>(`SELECT t::text AS row FROM index."${name}" AS t`))
      .map(({ row }) => row)
      .sort();
  }
  return rows;
}

test("an index built anew, all but the last 30 blocks from the past, has the same rows", async () => {
  const live = await tables();
  expect(Object.keys(live)).toEqual(expect.arrayContaining(["account", "job", "dispute", "protocol_event"]));
  await indexer.stop();
  await stage.dropIndex();
  indexer = await stage.startIndexer();
  await stage.caughtUp();
  expect(await tables()).toEqual(live);
});

// Last: it adds a job to the story.
describe("lists", () => {
  test("lists are newest first and their cursors meet", async () => {
    const { pool, world } = stage;
    const wallet = world.client.address;
    const all = await listJobs(pool, { wallet, limit: 100 });
    expect(all).toHaveLength(Object.keys(story).length);
    const ids = all.map((row) => row.id);
    expect(ids).toEqual(ids.toSorted().reverse());
    const first = await listJobs(pool, { wallet, limit: 3 });
    const second = await listJobs(pool, { wallet, limit: 100, before: first.at(-1)?.id });
    expect([...first, ...second].map((row) => row.id)).toEqual(ids);
    const newer = await listJobs(pool, { wallet, limit: 1, after: ids[2] });
    expect(newer.map((row) => row.id)).toEqual([ids[1]]);
    expect(await listJobs(pool, { wallet, limit: 10, status: "settled" })).toHaveLength(9);
    expect(
      (await listJobs(pool, { wallet, limit: 10, model: "mistral-7b-instruct-v0.3", status: "pending" })).map(
        (row) => row.id,
      ),
    ).toEqual([toApiJobId(story.open)]);
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
    const events = (await listEvents(pool)).filter(({ blockNumber }) => blockNumber === head?.blockNumber);
    expect(events.map((event) => event.kind)).toEqual(["job.locked"]);
  });
});
