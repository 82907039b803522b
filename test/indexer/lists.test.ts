import { randomBytes } from "node:crypto";
import type { Hex } from "viem";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import {
  chargedAtWorkers,
  type JobQuery,
  listJobs,
  listOverdueJobs,
  provenAtWorkers,
  type Reader,
} from "../../api/db/index-reads.ts";
import {
  listBlockEvents,
  listEventsOfJobs,
  listHistory,
  listJobsBy,
  listJobsOfOperator,
  listLatestEvents,
} from "../../web/server/explorer-reads.ts";
import { readFrom, readSpans } from "../../web/server/network-day.ts";
import { readStatement } from "../../web/server/statement.ts";
import { usageSince, usedIn } from "../../web/server/usage.ts";
import { Stage } from "./support/stage.ts";

const WALLETS = 20;
const JOBS = 20_000;
let stage: Stage;

beforeAll(async () => {
  stage = await Stage.open();
  const indexer = await stage.startIndexer();
  await stage.caughtUp();
  await indexer.stop();
  // Rows by the thousand, past Ponder's triggers, which only work inside its own transactions.
  const client = await stage.pool.connect();
  await client.query("SET session_replication_role = replica");
  await client.query(
    `INSERT INTO index.job (id, wallet, model, model_number, tier, status, operator, credits_locked, credits_charged, credits_returned,
       credits_per_request, credits_per_thousand_tokens, fee_bps, operator_share, attempt, created_at, escrow_tx, lock_block, deferred_payouts,
       equivocated, credits_compensated, operator_paid, treasury_granted, treasury_paid, treasury_owes,
       compensation_paid, compensation_owed, compensations, worker, worker_units, proof_hash)
     SELECT '0x' || lpad(to_hex(n), 32, '0'), '0x' || lpad(to_hex(n % $1), 40, '0'), 'model-' || n % 7, n % 7, 'lite',
       (ARRAY['settled','settled','settled','settled','failed','refunded','pending'])[1 + (n / 140) % 7], 1, 2, 2, 0, 2, 1, 1000, 0, 1,
       1700000000 + n, $2, n, 0, false, 0, 0, 0, 0, 0, 0, 0, 0,
       CASE WHEN n % 3 > 0 THEN '0x' || lpad(to_hex(n % 50), 40, '0') END, CASE WHEN n % 3 > 0 THEN 1 END, CASE WHEN n % 3 > 0 THEN '0x' || lpad(to_hex(n / 4), 64, '0') END
     FROM generate_series(1, $3) AS n`,
    [WALLETS, `0x${randomBytes(32).toString("hex")}`, JOBS],
  );
  await client.query(
    `INSERT INTO index.protocol_event (key, kind, subject, wallet, block_number, position, block_time, tx_hash, data)
     SELECT 'key' || n, 'job.locked', 'x', '0x' || lpad(to_hex(n % $1), 40, '0'), n, n::bigint * 1000000, 0, '0x', '{}'
     FROM generate_series(1, $2) AS n`,
    [WALLETS, JOBS],
  );
  client.release(true);
  const [build] = await stage.sql<{ name: string }>(
    "SELECT nspname AS name FROM pg_namespace WHERE starts_with(nspname, 'index_')",
  );
  await stage.sql(`ANALYZE "${build?.name}".job, "${build?.name}".protocol_event`);
});
afterAll(async () => await stage?.close());

/** Runs a list and returns the plans of its statements. */
async function plansOf(list: (reader: Reader) => Promise<unknown>): Promise<string[]> {
  const plans: string[] = [];
  const query = async (config: { text: string; values: unknown[] }) => {
    const { rows } = await stage.pool.query({
      text: `EXPLAIN (ANALYZE, FORMAT TEXT) ${config.text}`,
      values: config.values,
    });
    plans.push(rows.map((row) => row["QUERY PLAN"]).join("\n"));
    return await stage.pool.query(config);
  };
  await list({ query } as unknown as Reader);
  return plans;
}

const wallet = `0x${"3".padStart(40, "0")}`;
const id = (n: number): Hex => `0x${n.toString(16).padStart(32, "0")}`;
const queries: [string, Omit<JobQuery, "wallet" | "limit">][] = [
  ["no filter", {}],
  ["a status", { status: "failed" }],
  ["a model", { model: "model-3" }],
  ["status and model", { status: "settled", model: "model-3" }],
  ["a cursor", { before: id(10_003) }],
  ["both cursors and all filters", { before: id(10_003), after: id(2_003), status: "settled", model: "model-3" }],
];

test.each(queries)("jobs with %s: one walk along one index, no sort, no row too many", async (_, filters) => {
  const limit = 20;
  const plans = await plansOf((reader) => listJobs(reader, { wallet, limit, ...filters }));
  const plan = plans.at(-1) ?? "";
  expect(plan).toMatch(/Index Scan Backward using/);
  expect(plan).not.toMatch(/Seq Scan|Sort|Bitmap|Filter:/);
  const rows = await listJobs(stage.pool, { wallet, limit, ...filters });
  expect(rows.length).toBeGreaterThan(0);
  for (const row of rows)
    expect(row).toMatchObject({
      wallet,
      ...(filters.status && { status: filters.status }),
      ...(filters.model && { model: filters.model }),
    });
  expect(rows.map((row) => row.id)).toEqual(
    rows
      .map((row) => row.id)
      .sort()
      .reverse(),
  );
});

test("from a lone cursor upwards, the oldest come first", async () => {
  const [plan = ""] = await plansOf((reader) => listJobs(reader, { wallet, limit: 2, after: id(10_003) }));
  expect(plan).toMatch(/Index Scan using/);
  expect(plan).not.toMatch(/Seq Scan|Sort|Bitmap|Filter:/);
  const rows = await listJobs(stage.pool, { wallet, limit: 2, after: id(10_003) });
  expect(rows.map((row) => row.id)).toEqual([id(10_023), id(10_043)]);
});

test("jobs that are overdue are found by the time of their lock", async () => {
  const [plan = ""] = await plansOf((reader) => listOverdueJobs(reader, 1, 1_700_000_900));
  expect(plan).toMatch(/Index/);
  expect(plan).not.toMatch(/Seq Scan/);
  expect((await listOverdueJobs(stage.pool, 1, 1_700_000_900)).length).toBeGreaterThan(0);
  expect(await listOverdueJobs(stage.pool, 2, 1_700_000_900)).toEqual([]);
});

test("the numbers of a day are read by the time of the lock, of each operator", async () => {
  const since = 1_700_000_000 + JOBS - 600;
  const [plan = ""] = await plansOf((reader) => readFrom(reader, since));
  expect(plan).toMatch(/Index.* on job/);
  expect(plan).not.toMatch(/Seq Scan on job/);
  const rows = await readFrom(stage.pool, since);
  expect(rows.reduce((sum, { jobs }) => sum + jobs, 0)).toBe(601);
});

test("reads jobs since the oldest open one by lock, operator, worker and six hours", async () => {
  const from = 1_700_000_000 + JOBS - 600;
  const range = { from, until: from + 600, first: 0 };
  const [plan = ""] = await plansOf((reader) => readSpans(reader, range));
  expect(plan).toMatch(/Index.* on job/);
  expect(plan).not.toMatch(/Seq Scan on job/);
  const rows = await readSpans(stage.pool, range);
  const jobs = Array.from({ length: 601 }, (_, n) => JOBS - 600 + n).filter((n) => n % 3 > 0);
  expect(rows.reduce((sum, { units }) => sum + units, 0)).toBe(jobs.length);
  expect(rows.reduce((sum, row) => sum + row.jobs, 0)).toBe(601);
  const last = jobs.filter((n) => n % 50 === JOBS % 50).length;
  const worker = `0x${(JOBS % 50).toString(16).padStart(40, "0")}`;
  const start = Math.floor(from / 21_600) * 21_600;
  const ofOne = rows.filter((row) => row.worker === worker).toSorted((a, b) => a.units - b.units);
  expect(ofOne).toMatchObject([
    { operator: 1, worker, start, over: false, units: 1 },
    { operator: 1, worker, start, over: true, units: last - 1 },
  ]);
});

/** Some more jobs of one wallet, until the test's end; what is not given is as in any settled job. */
async function addJobs(wallet: string, jobs: readonly Record<string, unknown>[]): Promise<void> {
  const client = await stage.pool.connect();
  await client.query("SET session_replication_role = replica");
  for (const [n, given] of jobs.entries()) {
    const [like] = await stage.sql<Record<string, unknown>>("SELECT * FROM index.job LIMIT 1");
    const row = {
      ...like,
      id: `${wallet.slice(0, 30)}${n.toString(16).padStart(4, "0")}`,
      wallet,
      status: "settled",
      ...given,
    };
    await client.query("INSERT INTO index.job SELECT * FROM json_populate_record(NULL::index.job, $1)", [row]);
  }
  onTestFinished(async () => {
    await client.query("DELETE FROM index.job WHERE wallet = $1", [wallet]);
    client.release(true);
  });
}

const DAY = 1_800_000_000 - (1_800_000_000 % 86_400);

test("a job disputed before its charge is neither settled nor failed", async () => {
  const created_at = DAY;
  await addJobs(`0x${"d1".repeat(20)}`, [
    { created_at, completed_at: DAY + 1 },
    { created_at, completed_at: DAY + 1, status: "disputed" },
    { created_at, completed_at: null, status: "disputed" },
    { created_at, completed_at: null, status: "refunded" },
    { created_at, completed_at: null, status: "processing" },
  ]);
  const [row] = (await readFrom(stage.pool, DAY)).filter(({ start }) => start === DAY);
  expect(row).toMatchObject({ jobs: 5, settled: 2, failed: 1, open: 2 });
});

test("a wallet's usage counts what jobs cost after disputes, and their speed", async () => {
  const wallet = `0x${"d2".repeat(20)}`;
  await addJobs(wallet, [
    {
      created_at: DAY,
      answered_at: DAY + 2,
      credits_charged: 10,
      credits_compensated: 4,
      prompt_tokens: 5,
      billed_tokens: 7,
    },
    { created_at: DAY + 9, answered_at: DAY + 12, credits_charged: 20 },
    { created_at: DAY + 9, answered_at: DAY + 30, credits_charged: 1, model: "other" },
    { created_at: DAY + 86_400, answered_at: null, status: "failed", credits_charged: 0 },
    // The worker's clock may be behind the lock's block.
    { created_at: DAY + 86_400, answered_at: DAY + 86_399, credits_charged: 3 },
    { created_at: DAY + 2 * 86_400, answered_at: null, status: "refunded", credits_charged: 0 },
  ]);
  const [plan = ""] = await plansOf((reader) => usageSince(reader, wallet, { first: DAY, seconds: 86_400 }));
  expect(plan).toMatch(/Index Scan using job_by_wallet/);
  expect(plan).not.toMatch(/Seq Scan/);
  const rows = await usageSince(stage.pool, wallet, { first: DAY, seconds: 86_400 });
  const of = (start: number) => usedIn(rows.filter((row) => row.start === start));
  expect(of(DAY)).toEqual({ jobs: 3, uncharged: 0, credits: 27, tokens: 12, answer_seconds: { median: 3, p95: 21 } });
  expect(of(DAY + 86_400)).toMatchObject({ jobs: 2, uncharged: 1, credits: 3, answer_seconds: { median: 0, p95: 0 } });
  expect(of(DAY + 2 * 86_400)).toMatchObject({ jobs: 1, uncharged: 1, answer_seconds: null });
  expect(usedIn([]).answer_seconds).toBeNull();
});

const ofWorker = `0x${"7".padStart(40, "0")}`;

test("the explorer's lists of jobs are each one walk along one index", async () => {
  const proof = `0x${(5_000).toString(16).padStart(64, "0")}`;
  const lists: [(reader: Reader) => Promise<{ id: string }[]>, number[]][] = [
    [(reader) => listJobsBy(reader, "wallet", { value: wallet, limit: 2 }), [19_983, 19_963]],
    [(reader) => listJobsBy(reader, "worker", { value: ofWorker, limit: 2 }), [19_957, 19_907]],
    [(reader) => listJobsBy(reader, "worker", { value: ofWorker, before: id(19_957), limit: 1 }), [19_907]],
    [(reader) => listJobsBy(reader, "proof_hash", { value: proof, limit: 9 }), [20_000]],
    [(reader) => listJobsOfOperator(reader, 1, 1), [20_000]],
  ];
  for (const [list, numbers] of lists) {
    const [plan = ""] = await plansOf(list);
    expect(plan).toMatch(/Index Scan Backward using/);
    expect(plan).not.toMatch(/Seq Scan|Sort|Bitmap/);
    expect((await list(stage.pool)).map((job) => job.id)).toEqual(numbers.map(id));
  }
});

test("the newest events, those of a block and a history are each a range of an index", async () => {
  const [latest = ""] = await plansOf((reader) => listLatestEvents(reader, { limit: 50 }));
  const [ofBlock = ""] = await plansOf((reader) => listBlockEvents(reader, 9_000, 50));
  const [history = ""] = await plansOf((reader) => listHistory(reader, "operator", { subject: "1", limit: 50 }));
  const [older = ""] = await plansOf((reader) => listLatestEvents(reader, { limit: 50, before: 1_000 }));
  const [ofJobs = ""] = await plansOf((reader) => listEventsOfJobs(reader, ["0x1", "0x2"], 50));
  expect(ofJobs).toContain("protocol_event_by_job_id");
  for (const plan of [latest, older, ofBlock, history]) {
    expect(plan).toMatch(/Index Scan/);
    expect(plan).not.toMatch(/Seq Scan/);
  }
  expect(history).toContain("protocol_event_by_subject_position");
  expect(await listBlockEvents(stage.pool, 9_000, 50)).toHaveLength(1);
  const kinds = (await listHistory(stage.pool, "operator", { subject: "1", limit: 50 })).map(({ kind }) => kind);
  expect(kinds).toContain("operator.signer_added");
  expect(kinds.every((kind) => kind.startsWith("operator."))).toBe(true);
});

test("a month of a wallet is read by an index that has only changes of balances", async () => {
  const plans = await plansOf((reader) =>
    readStatement(reader, wallet as `0x${string}`, { from: 0, until: 3_000_000_000 }),
  );
  expect(plans).toHaveLength(1);
  expect(plans[0]).not.toContain("Seq Scan");
  expect(plans[0]?.match(/protocol_event_by_wallet_block_time/g)).toHaveLength(4);
});

test("what workers proved by themselves counts as long as it can be disputed", async () => {
  const [since, worker] = [1_700_000_000 + JOBS - 5, `0x${"f".repeat(40)}`];
  const client = await stage.pool.connect();
  onTestFinished(() => client.release(true));
  await client.query("BEGIN; SET LOCAL session_replication_role = replica");
  for (const [n, status, ended, compensated] of [
    [JOBS - 6, "settled", true, 0], // 1: it was locked too early
    [JOBS - 5, "settled", true, 0], // 2
    [JOBS - 4, "settled", true, 2], // 4: its client was compensated
    [JOBS - 3, "settling", false, 0], // 8
    [1, "disputed", false, 0], // 16
    [JOBS - 2, "disputed", true, 0], // 32: it was charged before
    [JOBS - 1, "refunded", true, 0], // 64
  ] as const) {
    await client.query(
      `UPDATE index.job SET status = $2, worker = $3, proven_at = 1, ended_at = CASE WHEN $4 THEN 1 END, credits_compensated = $5
       WHERE id = $1`,
      [id(n), status, worker, ended, compensated],
    );
  }
  await client.query(
    `UPDATE index.job SET credits_locked = 100 * size.credits, credits_charged = size.credits
     FROM unnest($1::text[]) WITH ORDINALITY AS one(id, n), LATERAL (SELECT (2 ^ (n - 1))::int AS credits) size WHERE job.id = one.id`,
    [[6, 5, 4, 3].map((n) => id(JOBS - n)).concat(id(1), id(JOBS - 2), id(JOBS - 1))],
  );
  expect(await provenAtWorkers(client, 1, since)).toEqual(new Map([[worker, 2 + 800 + 1_600]]));
  const charged = await chargedAtWorkers(client, 1, { from: since - 1, until: since + 2 });
  expect(charged.has(worker)).toBe(false);
  const [plan = ""] = await plansOf((reader) => provenAtWorkers(reader, 1, since));
  expect(plan).not.toMatch(/Seq Scan/);
});
