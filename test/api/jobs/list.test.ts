/** Pages of a wallet's jobs while the index is behind the gateway: a client reads its own writes, each job once, newest first. */
import type { Hex } from "viem";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import type { Operation } from "../../../api/chain/operations.ts";
import { Outbox } from "../../../api/chain/outbox.ts";
import type { JobQuery } from "../../../api/db/index-reads.ts";
import type { StoredState } from "../../../api/db/jobs.ts";
import { answerSeconds, JobReader } from "../../../api/jobs/job-reader.ts";
import { newJobId, toApiJobId } from "../../../protocol/job-id.ts";
import { ownDatabase } from "../../support/database.ts";

const wallet = `0x${"11".repeat(20)}`;
const hash = `0x${"ab".repeat(32)}`;
/** When the n-th job's id was made, ms. */
const madeAt = (n: number): number => 1_800_000_000_000 + n * 1000;

/** The index's view, with the columns that pages read. */
const VIEW = `CREATE SCHEMA index; CREATE TABLE index.job (
  id text PRIMARY KEY, wallet text, model text, tier text, status text, created_at bigint, escrow_tx text,
  ${["worker", "failure_reason", "acknowledge_tx", "proof_tx", "settlement_tx", "return_tx", "dispute_tx", "proof_hash"].join(" text, ")} text,
  ${["model_number", "operator", "credits_locked", "credits_charged", "credits_returned", "credits_compensated", "compensation_paid", "compensation_owed", "attempt"].join(" bigint, ")} bigint,
  ${["credits_per_request", "credits_per_thousand_tokens", "fee_bps", "worker_units", "fee_units", "lock_block"].join(" bigint, ")} bigint,
  ${["acknowledged_at", "answered_at", "proven_at", "finalize_from", "completed_at", "ended_at", "disputed_at"].join(" bigint, ")} bigint,
  ${["settlement_block", "prompt_tokens", "completion_tokens", "billed_tokens"].join(" bigint, ")} bigint, equivocated boolean)`;

const { pool } = await ownDatabase();
await pool.query(VIEW);
const reader = new JobReader(pool, wallet);
beforeEach(() => pool.query("TRUNCATE job, index.job"));
afterAll(() => pool.end());

/** The wallet's n-th job as the gateway knows it, and as the index does; null: not at all. */
async function add(n: number, own: StoredState | null, indexed: string | null, model = "m"): Promise<Hex> {
  const id = newJobId(madeAt(n));
  if (own !== null) {
    await pool.query(
      `INSERT INTO job (job_id, wallet, gateway, operator, owner, model, tier, state, valid_until, credits_locked, locked_at, escrow_tx)
       VALUES ($1, $2, $2, 1, gen_random_uuid(), $4, 'lite', $3, 1900000000, 8, 1800000000, $5)`,
      [toApiJobId(id), wallet, own, model, hash],
    );
  }
  if (indexed !== null) {
    await pool.query(
      `INSERT INTO index.job (id, wallet, model, tier, status, created_at, credits_charged, credits_compensated)
       VALUES ($1, $2, $4, 'lite', $3, 1800000000, 0, 0)`,
      [id, wallet, indexed, model],
    );
  }
  return id;
}

describe("a job that settles", () => {
  const tx = (n: number): Hex => `0x${String(n).padStart(64, "0")}`;
  const settlement = (jobId: Hex): Operation => ({ kind: "complete", jobId, data: "0x", deadline: 0 });
  /** With its first operations, all of them by default. */
  const variant = (n: number, operations = 2) => ({
    hash: tx(n),
    raw: "0x" as Hex,
    operations,
    gas: 1n,
    maxFee: 1n,
    priorityFee: 1n,
  });
  beforeEach(() => pool.query("TRUNCATE chain_transaction CASCADE"));

  it("shows the settlement on its way, alone and in the list, with each new fee", async () => {
    const [id, other] = [await add(1, "settling", null), await add(2, "settling", "pending")];
    const outbox = new Outbox(pool, wallet as Hex);
    await outbox.insert({ nonce: 1, items: [settlement(other), settlement(id)], variants: [variant(1)] }, []);
    const shown = async () => (await reader.get(toApiJobId(id), wallet)).job.on_chain;
    expect(await shown()).toMatchObject({ settlement_tx: tx(1), block_number: null });
    const listed = (await reader.list({ wallet, limit: 10 })).data.map(({ job }) => job.on_chain.settlement_tx);
    expect(listed).toEqual([tx(1), tx(1)]);
    await outbox.addVariant(1, variant(2, 2));
    expect((await shown()).settlement_tx).toBe(tx(2));
    // One that holds the other job only: this one is still in the newest that has it.
    await outbox.addVariant(1, variant(3, 1));
    expect((await shown()).settlement_tx).toBe(tx(2));
    expect((await reader.get(toApiJobId(other), wallet)).job.on_chain.settlement_tx).toBe(tx(3));
    // Mined with its first fee, and not in the job's row yet.
    await outbox.markMined(1, tx(1), 7, tx(70));
    expect((await shown()).settlement_tx).toBe(tx(1));
    await pool.query("UPDATE job SET state = 'settled', settlement_tx = $2 WHERE job_id = $1", [toApiJobId(id), tx(1)]);
    expect((await shown()).settlement_tx).toBe(tx(1));
  });

  it("shows no transaction that its settlement is not in", async () => {
    const [id, other] = [await add(1, "settling", null), await add(2, "settling", "pending")];
    const outbox = new Outbox(pool, wallet as Hex);
    await outbox.insert({ nonce: 1, items: [settlement(other), settlement(id)], variants: [variant(1, 2)] }, []);
    await outbox.addVariant(1, variant(2, 1));
    const shown = async (job: Hex) => (await reader.get(toApiJobId(job), wallet)).job.on_chain.settlement_tx;
    expect([await shown(other), await shown(id)]).toEqual([tx(2), tx(1)]);
    await outbox.markMined(1, tx(2), 7, tx(70));
    expect([await shown(other), await shown(id)]).toEqual([tx(2), null]);
  });

  it("shows none before it is sent, and none of a nonce that another transaction used", async () => {
    const id = await add(1, "settling", null);
    const outbox = new Outbox(pool, wallet as Hex);
    const shown = async () => (await reader.get(toApiJobId(id), wallet)).job.on_chain.settlement_tx;
    await outbox.insert({ nonce: 1, items: [{ ...settlement(id), kind: "acknowledge" }], variants: [variant(1)] }, []);
    expect(await shown()).toBeNull();
    await outbox.insert({ nonce: 2, items: [settlement(id)], variants: [variant(2)] }, []);
    await outbox.markMined(2, "0x", 7, null);
    expect(await shown()).toBeNull();
  });
});

it.each([
  ["a timeout", {}, "timeout"],
  ["a dispute", { dispute_tx: hash }, "dispute"],
  ["two answers of its worker", { equivocated: true }, "equivocation"],
])("a job that was refunded after %s says so", async (_, columns, reason) => {
  const id = await add(1, "settled", "refunded");
  for (const [name, value] of Object.entries(columns))
    await pool.query(`UPDATE index.job SET ${name} = $2 WHERE id = $1`, [id, value]);
  expect((await reader.get(toApiJobId(id), wallet)).job).toMatchObject({ status: "refunded", refund_reason: reason });
  await pool.query("UPDATE index.job SET status = 'settled' WHERE id = $1", [id]);
  expect((await reader.get(toApiJobId(id), wallet)).job).not.toHaveProperty("refund_reason");
});

type Filters = Omit<JobQuery, "wallet" | "limit">;
async function page(query: Filters, limit = 10) {
  const { data, cursor } = await reader.list({ wallet, limit, ...query });
  return { ids: data.map(({ id }) => id), states: data.map(({ job }) => job.status), cursor };
}

/** All pages of this size, one after the other, downwards from the newest or upwards from `after`. */
async function walk(query: Filters, limit: number): Promise<Hex[]> {
  const seen: Hex[] = [];
  const up = query.after !== undefined;
  let cursor = query.after;
  do {
    const { ids, cursor: next } = await page({ ...query, [up ? "after" : "before"]: cursor }, limit);
    if (up) seen.unshift(...ids);
    else seen.push(...ids);
    cursor = next ?? undefined;
  } while (cursor !== undefined);
  return seen;
}

describe("a page of jobs", () => {
  it("begins with the newest, also where the index has not seen their lock", async () => {
    const first = await add(1, "settled", "settled");
    const second = await add(2, null, "settled");
    const third = await add(3, "settled", null);
    const fourth = await add(4, "processing", null);
    await add(5, "unlocked", null);
    expect((await page({})).ids).toEqual([fourth, third, second, first]);
    expect(await page({}, 3)).toMatchObject({ ids: [fourth, third, second], cursor: second });
    expect(await page({ before: third }, 3)).toMatchObject({ ids: [second, first], cursor: null });
  });

  it("shows the state that the gateway knows already, in its place", async () => {
    const slow = await add(1, "settled", "processing");
    const quick = await add(2, "settled", "settled");
    expect(await page({ status: "settled" })).toMatchObject({ ids: [quick, slow], states: ["settled", "settled"] });
    expect(await page({ status: "processing" })).toMatchObject({ ids: [], cursor: null });
    expect(await page({ status: "disputed" })).toMatchObject({ ids: [] });
  });

  it("walked by status shows each job once in both directions, with an index behind", async () => {
    const oldest = await add(0, "failed", "failed");
    const ids: Hex[] = [];
    for (let n = 1; n <= 9; n++) ids.unshift(await add(n, "settled", n % 3 === 0 ? "processing" : "settled"));
    for (const limit of [1, 2, 3, 4, 10]) {
      expect(await walk({ status: "settled" }, limit), `pages of ${limit}`).toEqual(ids);
      expect(await walk({ status: "settled", after: oldest }, limit), `pages of ${limit}, upwards`).toEqual(ids);
    }
  });

  it("by model shows what the index lacks of it, and nothing else", async () => {
    const old = await add(1, "settled", "settled", "rare");
    await add(2, "settled", "settled");
    const fresh = await add(3, "settled", null, "rare");
    await add(4, "settled", null);
    for (const limit of [1, 2]) expect(await walk({ model: "rare" }, limit)).toEqual([fresh, old]);
  });

  it("with `after` alone has the oldest above it, and its cursor is the next `after`", async () => {
    const ids: Hex[] = [];
    for (let n = 1; n <= 5; n++) ids.push(await add(n, "settled", n === 4 ? null : "settled"));
    const [first, second, third, fourth, fifth] = ids;
    expect(await page({ after: first }, 2)).toMatchObject({ ids: [third, second], cursor: third });
    expect(await page({ after: third }, 2)).toMatchObject({ ids: [fifth, fourth], cursor: null });
    expect(await page({ after: fifth }, 2)).toMatchObject({ ids: [], cursor: null });
    // Between two ids a page begins at the newest, and `before` goes on.
    expect(await page({ after: first, before: fifth }, 2)).toMatchObject({ ids: [fourth, third], cursor: third });
    expect(await page({ after: first, before: third }, 2)).toMatchObject({ ids: [second], cursor: null });
  });

  it("goes beyond the rows of its own only where the index has the jobs behind them", async () => {
    const rare = await add(0, "failed", "failed");
    await pool.query(
      `INSERT INTO job (job_id, wallet, gateway, operator, owner, model, tier, state, valid_until, credits_locked, locked_at, escrow_tx)
       SELECT 'job_' || lpad(to_hex($3::bigint + n), 12, '0') || '7000' || lpad('', 16, '8'), $1, $1, 1, gen_random_uuid(), 'm', 'lite',
         'settled', 1, 8, 1, $2 FROM generate_series(1, 250) AS n`,
      [wallet, hash, madeAt(1)],
    );
    expect(await page({ status: "failed" })).toMatchObject({ ids: [], cursor: expect.stringMatching(/^0x/) });
    expect(await walk({ status: "failed" }, 10)).toEqual([rare]);
    await pool.query(
      `INSERT INTO index.job (id, wallet, model, tier, status, created_at, credits_charged, credits_compensated)
       SELECT '0x' || substr(job_id, 5), wallet, model, tier, state, 1, 0, 0 FROM job ON CONFLICT DO NOTHING`,
    );
    expect(await page({ status: "failed" })).toMatchObject({ ids: [rare], cursor: null });
  });

  it("is whole where the index has nothing at all, page by page", async () => {
    const ids: Hex[] = [];
    for (let n = 1; n <= 5; n++) ids.unshift(await add(n, "settled", null));
    expect(await page({}, 2)).toMatchObject({ ids: ids.slice(0, 2), cursor: ids[1] });
    expect(await page({ before: ids[1] }, 4)).toMatchObject({ ids: ids.slice(2), cursor: null });
  });

  it("with clocks 30 s apart a job can appear behind newer ids, and stays there", async () => {
    const ahead = await add(30, "settled", "settled");
    expect((await page({})).ids).toEqual([ahead]);
    const behind = await add(0, "processing", null);
    expect((await page({})).ids).toEqual([ahead, behind]);
    expect((await page({ after: ahead })).ids).toEqual([]);
  });
});

it("says why a failed job failed, once the index knows", async () => {
  const [failed, settled, unindexed] = [
    await add(3, "failed", "failed"),
    await add(2, null, "settled"),
    await add(1, "failed", null),
  ];
  await pool.query("UPDATE index.job SET failure_reason = 'worker_failed' WHERE id = $1", [failed]);
  const { data } = await reader.list({ wallet, limit: 10 });
  expect(data.map(({ id, job }) => [id, job.failure_reason])).toEqual([
    [failed, "worker_failed"],
    [settled, undefined],
    [unindexed, undefined],
  ]);
});

it("says how soon a job was answered, by the index or by the service's own row", async () => {
  const [indexed, own, open] = [
    await add(3, null, "settled"),
    await add(2, "settling", null),
    await add(1, "pending", null),
  ];
  await pool.query("UPDATE index.job SET answered_at = created_at + 4 WHERE id = $1", [indexed]);
  await pool.query(
    `UPDATE job SET locked_at = 1800000000, completion = '{"completion": {"completedAt": 1800000007}}' WHERE job_id = $1`,
    [toApiJobId(own)],
  );
  const { data } = await reader.list({ wallet, limit: 10 });
  expect(data.map((found) => [found.id, answerSeconds(found)])).toEqual([
    [indexed, 4],
    [own, 7],
    [open, null],
  ]);
});
