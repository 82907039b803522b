import { afterAll, beforeAll, expect, test, vi } from "vitest";
import {
  getAccount,
  getDispute,
  getJob,
  getWorker,
  listDisputes,
  listJobEvents,
  listJobs,
  listSlashes,
  listWalletEvents,
} from "../../api/index/index.ts";
import { answerHash, toProofHash } from "../../protocol/answer-hash.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { OTHER_HASH } from "./support/disputes.ts";
import { everything, type Story } from "./support/everything.ts";
import { Stage } from "./support/stage.ts";

vi.setConfig({ testTimeout: 30_000, hookTimeout: 90_000 });
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

const id = (name: keyof Story) => toApiJobId(story[name]);
const job = async (name: keyof Story) => await getJob(stage.pool, id(name));
const dispute = async (name: keyof Story) => await getDispute(stage.pool, id(name));
const events = async (name: keyof Story) => await listJobEvents(stage.pool, story[name]);
const kinds = async (name: keyof Story) => (await events(name)).map((event) => event.kind);
const data = async (name: keyof Story, kind: string) => (await events(name)).find((row) => row.kind === kind)?.data;

test("a ruling against the worker refunds the charge and slashes the stake", async () => {
  expect(await kinds("guilty")).toEqual([
    "job.locked",
    "job.acknowledged",
    "job.settled",
    "job.disputed",
    "job.arbiter_voted",
    "job.arbiter_voted",
    "job.arbiter_voted",
    "worker.slashed",
    "job.dispute_resolved",
    "treasury.compensation_paid",
    "job.compensated",
  ]);
  expect(await job("guilty")).toMatchObject({
    status: "refunded",
    creditsCharged: 8,
    creditsReturned: 0,
    creditsCompensated: 8,
  });
  const row = await job("guilty");
  expect(await dispute("guilty")).toMatchObject({
    receivedHash: OTHER_HASH,
    workerHash: row?.proofHash,
    byGateway: true,
    fromProven: false,
    credits: 8,
    bond: 0,
    arbiterSet: 1,
    votesWorkerAtFault: 2,
    votesGatewayAtFault: 0,
    votesRejected: 1,
    ruling: "worker_at_fault",
    openedTx: row?.disputeTx,
    resolvedTx: row?.returnTx,
  });
  const [slashed] = (await events("guilty")).filter((event) => event.kind === "worker.slashed");
  expect(slashed?.data).toMatchObject({
    worker_address: stage.world.worker.address.toLowerCase(),
    slash_amount_svc: 500,
    slash_tx: row?.returnTx,
    reason: "fraudulent_proof",
    related_job_id: id("guilty"),
  });
  expect(await data("guilty", "job.disputed")).toMatchObject({
    job_id: id("guilty"),
    your_hash: toProofHash(OTHER_HASH),
    worker_hash: toProofHash(answerHash(`answer to ${story.guilty}`)),
    dispute_tx: row?.disputeTx,
    arbitration_window_hours: 60 / 3_600,
    opened_by: "gateway",
  });
});

test("what the treasury owes is paid in parts, each with a key of its own", async () => {
  const rows = (await events("indebted")).filter((event) => event.kind === "job.compensated");
  expect(rows.map((row) => [row.data.credits_compensated, row.data.owed])).toEqual([
    [0, "80000"],
    [4, "40000"],
    [4, "0"],
  ]);
  expect(new Set(rows.map((row) => row.key)).size).toBe(3);
  expect(await job("indebted")).toMatchObject({ status: "refunded", creditsCompensated: 8 });
  // The wallet's bond came back with the ruling.
  expect(await dispute("indebted")).toMatchObject({ byGateway: false, bond: 100, creditsReturned: 100 });
});

test("a rejected dispute of a proven job leaves it settling, and costs the bond", async () => {
  const row = await job("rejected");
  expect(row).toMatchObject({ status: "settling", creditsCharged: 0, creditsReturned: 0, endedAt: null });
  const closed = await dispute("rejected");
  expect(closed).toMatchObject({ fromProven: true, ruling: "rejected", creditsReturned: 0 });
  expect(row?.finalizeFrom).toBe(closed?.resolvedAt);
});

test("an expired dispute leaves the charge, and gives the fee back", async () => {
  expect(await job("expired")).toMatchObject({ status: "settled", creditsCharged: 8, creditsCompensated: 0 });
  expect(await dispute("expired")).toMatchObject({ ruling: "expired" });
  // 10 % of 8 credits is less than a credit: it waits as tokens.
  const [payout] = await stage.sql("SELECT payee, units FROM index.payout WHERE job_id = $1", [story.expired]);
  expect(payout).toEqual({ payee: stage.world.client.address.toLowerCase(), units: "8000" });
});

test("equivocation sends an open job back, returns a held escrow and refunds a charge", async () => {
  expect(await job("equivocatedOpen")).toMatchObject({ status: "pending", worker: null, acknowledgedAt: null });
  expect(await kinds("equivocatedOpen")).toEqual([
    "job.locked",
    "job.acknowledged",
    "worker.slashed",
    "job.equivocated",
  ]);
  expect(await job("equivocatedProven")).toMatchObject({ status: "refunded", creditsReturned: 8, creditsCharged: 0 });
  expect(await data("equivocatedProven", "job.refunded")).toMatchObject({ reason: "equivocation" });
  expect(await data("refunded", "job.refunded")).toMatchObject({ reason: "timeout" });
  expect(await job("equivocatedSettled")).toMatchObject({
    status: "refunded",
    creditsCharged: 8,
    creditsCompensated: 8,
  });
});

test("disputes and slashes are listed newest first", async () => {
  const { pool, world } = stage;
  const open = await listDisputes(pool, { open: true, limit: 10 });
  expect(open.map((row) => row.jobId)).toEqual([id("contested")]);
  expect(open[0]).toMatchObject({ ruling: null, resolvedAt: null, votesGatewayAtFault: 1 });
  const all = await listDisputes(pool, { limit: 10 });
  expect(all.map((row) => row.jobId)).toEqual(
    (["contested", "expired", "rejected", "indebted", "guilty"] as const).map(id),
  );
  expect(await listDisputes(pool, { limit: 10, before: all[3]?.position })).toEqual(all.slice(4));
  expect((await listSlashes(pool, world.worker.address, 10)).map((row) => [row.jobId, row.amount, row.reason])).toEqual(
    [
      [id("equivocatedSettled"), 500_000_000n, "equivocation"],
      [id("equivocatedProven"), 500_000_000n, "equivocation"],
      [id("equivocatedOpen"), 500_000_000n, "equivocation"],
      [id("guilty"), 500_000_000n, "fraudulent_proof"],
    ],
  );
  const disputed = await listJobs(pool, { wallet: world.client.address, limit: 10, status: "disputed" });
  expect(disputed.rows.map((row) => row.id)).toEqual([id("contested")]);
});

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
  });
  expect(account).toMatchObject({ dailyLimit: 4_000, frozen: false, disputes: 5, openDisputes: 1, forfeited: 100 });
  const { deposited, compensated, withdrawn, charged, forfeited } = account;
  expect(account.free + account.escrowed).toBe(deposited + compensated - withdrawn - charged - forfeited);
  const limits = (await listWalletEvents(pool, { wallet: world.client.address, limit: 100 })).find(
    (event) => event.kind === "account.limits_set",
  );
  expect(limits?.data).toMatchObject({ daily_limit: 4_000, frozen: false });
});

test("every balance an event tells of is what the one before left and the event changed", async () => {
  const rows = (await listWalletEvents(stage.pool, { wallet: stage.world.client.address, limit: 1_000 })).reverse();
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
  expect((await getWorker(pool, world.worker.address))?.stake).toBe(onChain.stake);
  const [config] = await stage.sql("SELECT arbiter_set, arbiter_quorum FROM index.protocol_config");
  expect(config).toEqual({ arbiter_set: "2", arbiter_quorum: 1 });
});
