/** What the index tells of a chain on which everything happened, seen live; and that the same is told of it from the past. */
import type { Abi } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  disputesByOperator,
  getAccount,
  getDispute,
  getHead,
  getJob,
  listDisputes,
  listDisputesLostBy,
  listJobs,
  listModels,
  listSlashes,
  listTreasuryDebts,
  listWorkers,
} from "../../api/db/index-reads.ts";
import { answerHash, toProofHash } from "../../protocol/answer-hash.ts";
import * as abis from "../../protocol/generated/abi.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { readStatement } from "../../web/server/statement.ts";
import { chainEvents } from "./support/chain-events.ts";
import { OTHER_HASH, OWN_HASH } from "./support/disputes.ts";
import { everything, type Story } from "./support/everything.ts";
import type { Indexer } from "./support/indexer.ts";
import { eventsOfJob, listEvents, wholeAccount, wholeJob } from "./support/rows.ts";
import { Stage } from "./support/stage.ts";

/** After everything that happens here, Unix seconds. */
const FAR = 100_000_000_000;

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
  const row = await wholeJob(stage.pool, story[name]);
  if (row === null) throw new Error(`${name} is not indexed`);
  return row;
};
const kindsOf = async (name: keyof Story) => (await eventsOfJob(stage.pool, story[name])).map((event) => event.kind);

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
    reasoningTokens: 0,
    textBytes: 480,
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
  const [locked, settled] = await eventsOfJob(stage.pool, story.fused);
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

test("tells apart the slow path, a failure, a refund and a second worker", async () => {
  expect(await kindsOf("slow")).toEqual(["job.locked", "job.acknowledged", "job.proven", "job.settled"]);
  expect(await job("slow")).toMatchObject({ status: "settled", creditsCharged: 8 });
  expect((await eventsOfJob(stage.pool, story.slow)).at(-1)?.data).toMatchObject({ fused: false, attempt: 1 });
  expect(await job("failed")).toMatchObject({
    status: "failed",
    failureReason: "worker_failed",
    creditsCharged: 0,
    creditsReturned: 8,
    settlementTx: null,
  });
  expect((await job("failed")).returnTx).not.toBeNull();
  expect(await job("refunded")).toMatchObject({ status: "refunded", creditsCharged: 0, creditsReturned: 8 });
  expect((await eventsOfJob(stage.pool, story.refunded)).at(-1)?.data).toMatchObject({ reason: "timeout" });
  expect(await job("reassigned")).toMatchObject({ status: "settled", attempt: 3 });
  expect(await kindsOf("reassigned")).toEqual(["job.locked", "job.acknowledged", "job.acknowledged", "job.settled"]);
  expect(await job("open")).toMatchObject({ status: "pending", worker: null, creditsCharged: 0, completedAt: null });
});

test("an authorized job has its key and the hash of its request", async () => {
  expect(await kindsOf("authorized")).toEqual(["job.locked", "job.authorized", "job.settled"]);
  const [, authorized] = await eventsOfJob(stage.pool, story.authorized);
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
    // A fee of 5 % of 8 credits.
    deferred(client, 4_000, story.earningExpired),
    deferred(client, 4_000, story.earningEquivocated),
  ]);
  const failures = await stage.sql("SELECT call, error, item FROM index.batch_item_failure");
  expect(failures).toEqual([{ call: "refund", error: "Job_TooEarly", item: 1 }]);
});

describe("accounts", () => {
  test("the account is the chain's: balance, limits, open disputes; its books add up", async () => {
    const { pool, world } = stage;
    const account = await wholeAccount(pool, world.client.address);
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
    expect(account).toMatchObject({ number: onChain.id, operator: 1, deposited: 5_200, withdrawn: 50, charged: 144 });
    expect(account).toMatchObject({ dailyLimit: 4_000, frozen: false, disputes: 16, openDisputes: 1, forfeited: 32 });
    const { deposited, compensated, withdrawn, charged, forfeited } = account;
    expect(account.free + account.escrowed).toBe(deposited + compensated - withdrawn - charged - forfeited);
    expect(await getAccount(pool, world.gateway.address)).toBeNull();
    const events = await listEvents(pool, world.client.address);
    expect(events.at(-1)?.kind).toBe("job.payout_deferred");
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
    const keys = rows.filter(({ kind }) => kind === "account.dispute_key_set");
    expect(keys.map(({ data }) => [data.key !== null, data.most_open])).toEqual([
      [true, 1],
      [false, 0],
    ]);
    const [row] = await stage.sql(
      "SELECT operator, authorization_key, dispute_key FROM index.account WHERE wallet = $1",
      [world.client.address.toLowerCase()],
    );
    expect(row).toEqual({ operator: 1, authorization_key: null, dispute_key: null });
  });

  test("an operator's earnings follow its jobs, their disputes and its withdrawals", async () => {
    const part = async (name: keyof Story) => {
      const text = "SELECT fee_bps, operator_share, operator_units::int FROM index.job WHERE id = $1";
      const [row] = await stage.sql(text, [story[name]]);
      return Object.values(row ?? {});
    };
    // Half of 5 % of 8 credits; the first jobs were locked without a share.
    expect(await part("fused")).toEqual([1_000, 0, 0]);
    expect(await part("earning")).toEqual([500, 10, 2_000]);
    expect(await part("earningRejected")).toEqual([500, 10, 2_000]);
    expect(await part("earningExpired")).toEqual([500, 10, 0]);
    expect(await part("earningEquivocated")).toEqual([500, 10, 0]);
    const changes = async (name: keyof Story) =>
      (await eventsOfJob(stage.pool, story[name]))
        .filter(({ kind }) => kind === "operator.earnings_changed")
        .map(({ subject, data }) => [subject, data.units, data.disputed]);
    expect(await changes("earningRejected")).toEqual([
      ["1", "2000", "2000"],
      ["1", "4000", "0"],
    ]);
    expect((await changes("earningExpired")).map(([, , disputed]) => disputed)).toEqual(["2000", "0"]);
    expect(await changes("earningEquivocated")).toEqual([["1", "4000", "0"]]);
    // All was withdrawn.
    expect(await stage.sql("SELECT * FROM index.earnings")).toEqual([]);
    const [withdrawn] = await stage.sql(
      "SELECT subject, data->>'units' AS units FROM index.protocol_event WHERE kind = 'operator.earnings_withdrawn'",
    );
    expect(withdrawn).toEqual({ subject: "1", units: "4000" });
    const [config] = await stage.sql(
      "SELECT fee_bps, operator_share, next_fee_bps, next_operator_share FROM index.protocol_config",
    );
    expect(config).toEqual({ fee_bps: 1_000, operator_share: 0, next_fee_bps: 500, next_operator_share: 10 });
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

  test("every balance in an event is what the one before left", async () => {
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

  test("a statement of everything has what the account has", async () => {
    const { pool, world } = stage;
    const account = await wholeAccount(pool, world.client.address);
    const { days, models, ...all } = await readStatement(pool, world.client.address, { from: 0, until: FAR });
    const sums = { deposits: 5_200, withdrawals: 50, charges: 144, forfeited_bonds: 32, refunds: account?.compensated };
    expect(all.sums).toEqual({ ...sums, jobs: 18 });
    expect(all).toMatchObject({ opening: 0, closing: Number(account?.free) + Number(account?.escrowed) });
    expect(days.at(-1)?.closing).toBe(all.closing);
    expect(days.reduce((sum, day) => sum + day.charges, 0)).toBe(144);
    expect(models).toEqual([{ model: "qwen3-8b", jobs: 18, credits: 144, tokens: 18 * 130 }]);
  });

  test("a statement adds up wherever it is cut, and the next one begins where it ends", async () => {
    const { pool, world } = stage;
    const wallet = world.client.address;
    const times = [...new Set((await listEvents(pool, wallet)).map(({ blockTime }) => blockTime))];
    // Each cut is at an event, and a second after it: what happens at the boundary is of the later statement.
    const cuts = [0, ...times.flatMap((time) => [time, time + 1]), FAR];
    let left = 0;
    let refunds = 0;
    for (const [index, from] of cuts.slice(0, -1).entries()) {
      const { opening, closing, sums } = await readStatement(pool, wallet, { from, until: cuts[index + 1] ?? FAR });
      expect(opening).toBe(left);
      left = opening + sums.deposits + sums.refunds - sums.charges - sums.withdrawals - sums.forfeited_bonds;
      expect(closing).toBe(left);
      refunds += sums.refunds;
    }
    expect(refunds).toBeGreaterThan(0);
    expect(left).toBe((await readStatement(pool, wallet, { from: 0, until: FAR })).closing);
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
    models: onChain.models.filter((number) => number !== 60_000),
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

/** How disputes and equivocations end in the index, and what they cost whom. */
describe("disputes", () => {
  const dispute = async (name: keyof Story) => await getDispute(stage.pool, story[name]);
  const events = async (name: keyof Story) => await eventsOfJob(stage.pool, story[name]);
  const money = async (name: keyof Story) => {
    const columns =
      "operator_paid::text, treasury_granted::text AS granted, treasury_paid::text AS paid, treasury_owes::text AS owes";
    const [row] = await stage.sql(`SELECT ${columns} FROM index.job WHERE id = $1`, [story[name]]);
    return row;
  };
  const data = async (name: keyof Story, kind: string) => (await events(name)).find((row) => row.kind === kind)?.data;

  test("a ruling against the worker refunds the charge and slashes the stake", async () => {
    expect(await kindsOf("guilty")).toEqual([
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
      related_job_id: toApiJobId(story.guilty),
    });
    expect(await data("guilty", "job.disputed")).toMatchObject({
      job_id: toApiJobId(story.guilty),
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
    expect(await dispute("indebted")).toMatchObject({ byOperator: false, bond: 8, creditsReturned: 8 });
  });

  test("a rejected dispute of a proven job leaves it settling, and costs the bond", async () => {
    const row = await job("rejected");
    expect(row).toMatchObject({ status: "settling", creditsCharged: 0, creditsReturned: 0, endedAt: null });
    const closed = await dispute("rejected");
    expect(closed).toMatchObject({ fromProven: true, ruling: "rejected", creditsReturned: 0 });
    expect(row?.finalizeFrom).toBe(closed?.resolvedAt);
  });

  test("a wallet joins its operator's dispute, and the panel need not wait longer", async () => {
    const [row] = await stage.sql<Record<string, unknown>>(
      "SELECT joined_hash, joined_at = rule_from AS at_once, rule_from < rule_before AS in_time FROM index.dispute WHERE job_id = $1",
      [story.joined],
    );
    expect(row).toEqual({ joined_hash: OWN_HASH, at_once: true, in_time: true });
    expect(await data("joined", "job.dispute_joined")).toMatchObject({ your_hash: toProofHash(OWN_HASH) });
    expect(await job("joined")).toMatchObject({ status: "settled", creditsCharged: 8 });
  });

  test("a dispute key signs for what it opens and for what it joins", async () => {
    const signed = "SELECT by_operator, signed_by IS NOT NULL AS signed FROM index.dispute WHERE job_id = $1";
    for (const [name, byOperator] of [
      ["rejected", false],
      ["expired", true],
    ] as const) {
      const [row] = await stage.sql(signed, [story[name]]);
      expect([name, row]).toEqual([name, { by_operator: byOperator, signed: true }]);
      expect(await data(name, "job.dispute_signed")).toHaveProperty("key");
    }
    const [unsigned] = await stage.sql(signed, [story.joined]);
    expect(unsigned).toMatchObject({ signed: false });
  });

  test("an operator that doubts a good proof pays, as does one that hid an answer", async () => {
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
    expect(await kindsOf("equivocatedOpen")).toEqual([
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
      ["1", 8],
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

  test("equivocation ends an open dispute only while the escrow is held", async () => {
    expect(await kindsOf("equivocatedDoubted")).toEqual([
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
      ["1", "rejected", 8],
      ["2", "gateway_at_fault", 0],
    ]);
    expect(await money("equivocatedDisputed")).toEqual({
      operator_paid: "0",
      granted: "80000",
      paid: "80000",
      owes: "0",
    });
  });

  test("lists what the treasury owes a worker, without what it owes a wallet", async () => {
    const { pool, world } = stage;
    // 8 credits less the protocol's tenth.
    expect(await money("unpaid")).toEqual({ operator_paid: "0", granted: "72000", paid: "0", owes: "72000" });
    expect(await listTreasuryDebts(pool, world.worker.address)).toEqual([{ jobId: story.unpaid, units: 72_000 }]);
    expect(await listTreasuryDebts(pool, world.client.address)).toEqual([]);
  });

  test("an operator's disputes are counted by their end; those that it lost are listed", async () => {
    const rows = await stage.sql<{ ruling: string | null; paid: number }>(
      "SELECT d.ruling, j.operator_paid::int AS paid FROM index.dispute d JOIN index.job j ON j.id = d.job_id WHERE j.operator = 1",
    );
    const totals = (await disputesByOperator(stage.pool)).get(1) ?? [];
    expect(totals.map(({ ruling }) => ruling).sort()).toEqual(
      [...new Set(rows.map((row) => row.ruling ?? "open"))].sort(),
    );
    for (const { ruling, disputes, paid } of totals) {
      const own = rows.filter((row) => (row.ruling ?? "open") === ruling);
      expect([disputes, paid]).toEqual([own.length, own.reduce((sum, row) => sum + row.paid, 0)]);
    }
    const lost = await listDisputesLostBy(stage.pool, 1, 10);
    expect(lost.map(({ jobId }) => jobId).sort()).toEqual(
      [story.hidden, story.indebted, story.unpaid, story.equivocatedDisputed].sort(),
    );
    expect(lost.map(({ position }) => position)).toEqual(
      lost.map(({ position }) => position).toSorted((a, b) => b - a),
    );
    expect(await listDisputesLostBy(stage.pool, 2, 10)).toEqual([]);
  });

  test("disputes and slashes are listed newest first", async () => {
    const { pool, world } = stage;
    const open = await listDisputes(pool, { open: true, limit: 20 });
    expect(open.map((row) => row.jobId)).toEqual([story.contested]);
    expect(open[0]).toMatchObject({ ruling: null, resolvedAt: null, votesGatewayAtFault: 1 });
    const all = await listDisputes(pool, { limit: 20 });
    expect(all.map((row) => row.jobId)).toEqual(
      (
        [
          "earningExpired",
          "earningRejected",
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
      ).map((name) => story[name]),
    );
    expect(await listDisputes(pool, { limit: 10, before: all[3]?.position })).toEqual(all.slice(4));
    const slashes = await listSlashes(pool, [world.worker.address, world.client.address], 10);
    expect(slashes.map((row) => [row.jobId, row.amount, row.reason])).toEqual([
      [story.earningEquivocated, 400_000_000n, "equivocation"],
      [story.equivocatedSettled, 500_000_000n, "equivocation"],
      [story.equivocatedProven, 500_000_000n, "equivocation"],
      [story.equivocatedOpen, 500_000_000n, "equivocation"],
      [story.equivocatedDisputed, 500_000_000n, "equivocation"],
      [story.equivocatedDoubted, 500_000_000n, "equivocation"],
      [story.guilty, 500_000_000n, "fraudulent_proof"],
    ]);
    expect(await listSlashes(pool, [world.worker.address], 3)).toEqual(slashes.slice(0, 3));
    expect(await listSlashes(pool, [world.client.address], 3)).toEqual([]);
    const disputed = await listJobs(pool, { wallet: world.client.address, limit: 10, status: "disputed" });
    expect(disputed.map((row) => row.id)).toEqual([story.contested]);
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

test("an index built anew has the same rows, all but 30 blocks from the past", async () => {
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
    expect(await listJobs(pool, { wallet, limit: 20, status: "settled" })).toHaveLength(13);
    expect(
      (await listJobs(pool, { wallet, limit: 10, model: "mistral-7b-instruct-v0.3", status: "pending" })).map(
        (row) => row.id,
      ),
    ).toEqual([story.open]);
  });

  test("shows what happens while it runs at once, and how far it is", async () => {
    const { pool, world } = stage;
    const before = await getHead(pool);
    const { id, call } = await world.lock();
    await world.send(world.gateway, call);
    await stage.caughtUp();
    expect(await getJob(pool, id)).toMatchObject({ status: "pending" });
    const head = await getHead(pool);
    expect(head).toMatchObject({ blockNumber: (before?.blockNumber ?? 0) + 1, ready: true });
    const events = (await listEvents(pool)).filter(({ blockNumber }) => blockNumber === head?.blockNumber);
    expect(events.map((event) => event.kind)).toEqual(["job.locked"]);
  });
});
