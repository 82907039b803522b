/** How disputes and equivocations end in the index, and what they cost whom. */
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  getDispute,
  getJob,
  listDisputes,
  listJobEvents,
  listJobs,
  listSlashes,
  listTreasuryDebts,
} from "../../api/db/index-reads.ts";
import { answerHash, toProofHash } from "../../protocol/answer-hash.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { type DisputeStory, disputes, OTHER_HASH, OWN_HASH } from "./support/disputes.ts";
import { Stage } from "./support/stage.ts";

let stage: Stage;
let story: DisputeStory;

beforeAll(async () => {
  stage = await Stage.open();
  await stage.startIndexer();
  await stage.world.register([5]);
  await stage.world.deposit(5_000);
  story = await disputes(stage.world);
  await stage.caughtUp();
});
afterAll(async () => await stage?.close());

const id = (name: keyof DisputeStory) => toApiJobId(story[name]);
const job = async (name: keyof DisputeStory) => await getJob(stage.pool, id(name));
const dispute = async (name: keyof DisputeStory) => await getDispute(stage.pool, id(name));
const events = async (name: keyof DisputeStory) => await listJobEvents(stage.pool, story[name]);
const kinds = async (name: keyof DisputeStory) => (await events(name)).map((event) => event.kind);
const money = async (name: keyof DisputeStory) => {
  const columns =
    "operator_paid::text, treasury_granted::text AS granted, treasury_paid::text AS paid, treasury_owes::text AS owes";
  const [row] = await stage.sql(`SELECT ${columns} FROM index.job WHERE id = $1`, [story[name]]);
  return row;
};
const data = async (name: keyof DisputeStory, kind: string) =>
  (await events(name)).find((row) => row.kind === kind)?.data;

test("a ruling against the worker refunds the charge and slashes the stake", async () => {
  expect(await kinds("guilty")).toEqual([
    "job.locked",
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
    byOperator: true,
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
    arbitration_window_hours: 200 / 3_600,
    opened_by: "operator",
  });
});

test("what the treasury owes is paid in parts, each with a key of its own", async () => {
  const rows = (await events("indebted")).filter((event) => event.kind === "job.compensated");
  // The operator's reserve had half of the charge.
  expect(await data("indebted", "job.operator_charged")).toMatchObject({ credits: 4, credits_compensated: 4 });
  expect(rows.map((row) => [row.data.credits_compensated, row.data.owed])).toEqual([
    [0, "40000"],
    [2, "20000"],
    [2, "0"],
  ]);
  // Each part says what is due in all, and what is still to come.
  const parts = (await events("indebted")).filter(({ kind }) => /operator_charged|compensated/.test(kind));
  expect(parts.map(({ data }) => [data.credits_due, data.credits_outstanding])).toEqual([
    [8, 4],
    [8, 4],
    [8, 2],
    [8, 0],
  ]);
  expect(new Set(rows.map((row) => row.key)).size).toBe(3);
  expect(await job("indebted")).toMatchObject({
    status: "refunded",
    creditsCompensated: 8,
    compensationPaid: 80_000,
    compensationOwed: 0,
  });
  expect(await money("indebted")).toEqual({ operator_paid: "4", granted: "40000", paid: "40000", owes: "0" });
  // The wallet's bond came back with the ruling.
  expect(await dispute("indebted")).toMatchObject({ byOperator: false, bond: 100, creditsReturned: 100 });
});

test("a rejected dispute of a proven job leaves it settling, and costs the bond", async () => {
  const row = await job("rejected");
  expect(row).toMatchObject({ status: "settling", creditsCharged: 0, creditsReturned: 0, endedAt: null });
  const closed = await dispute("rejected");
  expect(closed).toMatchObject({ fromProven: true, ruling: "rejected", creditsReturned: 0 });
  expect(row?.finalizeFrom).toBe(closed?.resolvedAt);
});

test("the wallet adds its own hash to its operator's dispute, and the panel need not wait any longer", async () => {
  const [row] = await stage.sql<Record<string, unknown>>(
    "SELECT joined_hash, joined_at = rule_from AS at_once, rule_from < rule_before AS in_time FROM index.dispute WHERE job_id = $1",
    [story.joined],
  );
  expect(row).toEqual({ joined_hash: OWN_HASH, at_once: true, in_time: true });
  expect(await data("joined", "job.dispute_joined")).toMatchObject({ your_hash: toProofHash(OWN_HASH) });
  expect(await job("joined")).toMatchObject({ status: "settled", creditsCharged: 8 });
});

test("an operator that doubts a proof loses its bond to the worker; one that hid an answer pays for it", async () => {
  expect(await dispute("doubted")).toMatchObject({ byOperator: true, fromProven: true, bond: 8, ruling: "rejected" });
  expect(await data("doubted", "job.dispute_resolved")).toMatchObject({ bond_returned: 0, bond_forfeited: 0 });
  const reserve = (await events("doubted")).filter(({ kind }) => kind === "operator.reserve_changed");
  expect(reserve.map((row) => [row.subject, row.data.reserve, row.data.held])).toEqual([
    ["1", 12, 8],
    ["1", 12, 0],
  ]);
  expect(await job("hidden")).toMatchObject({ status: "refunded", creditsReturned: 8, creditsCompensated: 0 });
  // That is the worker's pay.
  expect(await job("hidden")).toMatchObject({ compensationPaid: 0, compensationOwed: 0 });
  expect(await money("hidden")).toEqual({ operator_paid: "8", granted: "0", paid: "0", owes: "0" });
  expect(await data("hidden", "job.operator_charged")).toMatchObject({ credits: 8, credits_compensated: 0 });
});

test("a changed vote is counted where it is now, and each vote has a row", async () => {
  const rows = (await events("contested")).filter(({ kind }) => kind === "job.arbiter_voted");
  expect(rows.map(({ data }) => data.ruling)).toEqual(["rejected", "gateway_at_fault"]);
  expect(await dispute("contested")).toMatchObject({ votesRejected: 0, votesGatewayAtFault: 1 });
});

test("an expired dispute leaves the charge, and gives the fee back", async () => {
  expect(await job("expired")).toMatchObject({ status: "settled", creditsCharged: 8, creditsCompensated: 0 });
  expect(await dispute("expired")).toMatchObject({ ruling: "expired" });
  // 10 % of 8 credits is less than a credit: it waits as tokens.
  expect(await job("expired")).toMatchObject({ compensationPaid: 8_000, compensationOwed: 0 });
  const [payout] = await stage.sql("SELECT payee, units FROM index.payout WHERE job_id = $1", [story.expired]);
  expect(payout).toEqual({ payee: stage.world.client.address.toLowerCase(), units: "8000" });
});

test("equivocation returns a held escrow, and lets a charge be disputed again", async () => {
  expect(await job("equivocatedOpen")).toMatchObject({ status: "refunded", creditsReturned: 8 });
  expect(await kinds("equivocatedOpen")).toEqual([
    "job.locked",
    "job.acknowledged",
    "worker.slashed",
    "job.equivocated",
    "job.refunded",
  ]);
  expect(await job("equivocatedProven")).toMatchObject({ status: "refunded", creditsReturned: 8, creditsCharged: 0 });
  expect(await data("equivocatedProven", "job.refunded")).toMatchObject({ reason: "equivocation" });
  // The fee at once, the rest after the ruling: seven credits and two fractions.
  expect(await job("equivocatedSettled")).toMatchObject({
    status: "refunded",
    creditsCharged: 8,
    creditsCompensated: 7,
  });
  expect(await money("equivocatedSettled")).toMatchObject({ granted: "80000", paid: "80000" });
  const told = await events("equivocatedSettled");
  expect(told.filter(({ kind }) => kind === "job.disputed").map(({ key, data }) => [key.at(-1), data.bond])).toEqual([
    ["1", 100],
    ["2", 0],
  ]);
  const [row] = await stage.sql(
    "SELECT number, after_equivocation, ruling, bond::text FROM index.dispute WHERE job_id = $1",
    [story.equivocatedSettled],
  );
  expect(row).toEqual({ number: 2, after_equivocation: true, ruling: "worker_at_fault", bond: "0" });
  const equivocated = await data("equivocatedSettled", "job.equivocated");
  expect(equivocated).toMatchObject({ status: "settled" });
  const [{ dispute_before } = {}] = await stage.sql<{ dispute_before: string }>(
    "SELECT dispute_before::text FROM index.job WHERE id = $1",
    [story.equivocatedSettled],
  );
  expect(Number(dispute_before)).toBe(equivocated?.["dispute_before"]);
});

test("equivocation during a dispute ends it only while the escrow is held, and allows a second one otherwise", async () => {
  expect(await kinds("equivocatedDoubted")).toEqual([
    "job.locked",
    "job.acknowledged",
    "job.proven",
    "operator.reserve_changed",
    "job.disputed",
    "worker.slashed",
    "job.equivocated",
    "job.dispute_resolved",
    "operator.reserve_changed",
  ]);
  expect(await job("equivocatedDoubted")).toMatchObject({
    status: "refunded",
    creditsReturned: 8,
    creditsCharged: 0,
  });
  const ends = (await events("equivocatedDisputed")).filter(({ kind }) => kind === "job.dispute_resolved");
  expect(ends.map(({ key, data }) => [key.at(-1), data.ruling, data.bond_forfeited])).toEqual([
    ["1", "rejected", 100],
    ["2", "gateway_at_fault", 0],
  ]);
  expect(await money("equivocatedDisputed")).toEqual({
    operator_paid: "0",
    granted: "80000",
    paid: "80000",
    owes: "0",
  });
});

test("what the treasury owes a worker is listed, and what it owes a wallet is not among it", async () => {
  const { pool, world } = stage;
  // 8 credits less the protocol's tenth.
  expect(await money("unpaid")).toEqual({ operator_paid: "0", granted: "72000", paid: "0", owes: "72000" });
  expect(await listTreasuryDebts(pool, world.worker.address)).toEqual([{ jobId: id("unpaid"), units: 72_000 }]);
  expect(await listTreasuryDebts(pool, world.client.address)).toEqual([]);
});

test("disputes and slashes are listed newest first", async () => {
  const { pool, world } = stage;
  const open = await listDisputes(pool, { open: true, limit: 20 });
  expect(open.map((row) => row.jobId)).toEqual([id("contested")]);
  expect(open[0]).toMatchObject({ ruling: null, resolvedAt: null, votesGatewayAtFault: 1 });
  const all = await listDisputes(pool, { limit: 20 });
  expect(all.map((row) => row.jobId)).toEqual(
    (
      [
        "contested",
        "equivocatedSettled",
        "expired",
        "rejected",
        "equivocatedDisputed",
        "unpaid",
        "indebted",
        "hidden",
        "equivocatedDoubted",
        "doubted",
        "joined",
        "guilty",
      ] as const
    ).map(id),
  );
  expect(await listDisputes(pool, { limit: 10, before: all[3]?.position })).toEqual(all.slice(4));
  const slashes = await listSlashes(pool, [world.worker.address, world.client.address], 10);
  expect(slashes.map((row) => [row.jobId, row.amount, row.reason])).toEqual([
    [id("equivocatedSettled"), 500_000_000n, "equivocation"],
    [id("equivocatedProven"), 500_000_000n, "equivocation"],
    [id("equivocatedOpen"), 500_000_000n, "equivocation"],
    [id("equivocatedDisputed"), 500_000_000n, "equivocation"],
    [id("equivocatedDoubted"), 500_000_000n, "equivocation"],
    [id("guilty"), 500_000_000n, "fraudulent_proof"],
  ]);
  expect(await listSlashes(pool, [world.worker.address], 3)).toEqual(slashes.slice(0, 3));
  expect(await listSlashes(pool, [world.client.address], 3)).toEqual([]);
  const disputed = await listJobs(pool, { wallet: world.client.address, limit: 10, status: "disputed" });
  expect(disputed.map((row) => row.id)).toEqual([id("contested")]);
});
