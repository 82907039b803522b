/** Pages of a wallet's jobs while the index is behind the gateway: a client reads its own writes, each job once, newest first. */
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { JobQuery } from "../../../api/index/index.ts";
import { JobReader } from "../../../api/jobs/read.ts";
import { migrate, openDatabase } from "../../../api/store/database.ts";
import { JobStore } from "../../../api/store/jobs.ts";
import type { StoredState } from "../../../api/store/stored-job.ts";
import { fromApiJobId, newJobId, toApiJobId } from "../../../protocol/job-id.ts";
import { startTestStack, type TestStack } from "../../support/stack.ts";

const logger = pino({ level: "silent" });
const wallet = `0x${"11".repeat(20)}`;
const hash = `0x${"ab".repeat(32)}`;
/** Chain time of the n-th job's lock. */
const lockedAt = (n: number): number => 1_800_000_000 + n;

/** The index's view, with the columns that pages read. */
const VIEW = `CREATE SCHEMA index; CREATE TABLE index.job (
  id text PRIMARY KEY, wallet text, model text, tier text, status text, position bigint, created_at bigint, escrow_tx text,
  ${["worker", "failure_reason", "acknowledge_tx", "proof_tx", "settlement_tx", "return_tx", "dispute_tx", "proof_hash"].join(" text, ")} text,
  ${["model_number", "operator", "credits_locked", "credits_charged", "credits_returned", "credits_compensated", "attempt"].join(" bigint, ")} bigint,
  ${["credits_per_request", "credits_per_thousand_tokens", "fee_bps", "worker_units", "fee_units", "lock_block"].join(" bigint, ")} bigint,
  ${["acknowledged_at", "answered_at", "proven_at", "finalize_from", "completed_at", "ended_at", "disputed_at"].join(" bigint, ")} bigint,
  ${["settlement_block", "prompt_tokens", "completion_tokens", "billed_tokens"].join(" bigint, ")} bigint)`;

let stack: TestStack;
let pool: pg.Pool;
let reader: JobReader;
beforeAll(async () => {
  stack = await startTestStack({ parts: ["database"], workers: [] });
  await migrate(stack.info.database_url, logger);
  pool = openDatabase(stack.info.database_url, logger, 3);
  await pool.query(VIEW);
  reader = new JobReader(pool, new JobStore(pool), wallet);
});
beforeEach(() => pool.query("TRUNCATE job, index.job"));
afterAll(async () => {
  await pool?.end();
  await stack?.remove();
});

/** The wallet's n-th job as the gateway knows it, and as the index does; null: not at all. Its last write there was with its lock. */
async function add(n: number, own: StoredState | null, indexed: string | null, model = "m"): Promise<string> {
  // Ids of one millisecond have no order.
  await sleep(2);
  const id = toApiJobId(newJobId());
  if (own !== null) {
    await pool.query(
      `INSERT INTO job (job_id, wallet, gateway, model, tier, state, valid_until, credits_locked, locked_at, escrow_tx, updated_at)
       VALUES ($1, $2, $2, $6, 'lite', $3, 1900000000, 8, $4::bigint, $5, to_timestamp($4::bigint))`,
      [id, wallet, own, lockedAt(n), hash, model],
    );
  }
  if (indexed !== null) {
    await pool.query(
      `INSERT INTO index.job (id, wallet, model, tier, status, position, created_at, credits_charged, credits_compensated)
       VALUES ($1, $2, $6, 'lite', $3, $4, $5, 0, 0)`,
      [fromApiJobId(id), wallet, indexed, n, lockedAt(n), model],
    );
  }
  return id;
}

/** A write of the gateway after the lock of the n-th job. */
const written = (id: string, n: number) =>
  pool.query("UPDATE job SET updated_at = to_timestamp($2::bigint) WHERE job_id = $1", [id, lockedAt(n)]);

async function page(query: Omit<JobQuery, "wallet" | "limit">, limit = 10) {
  const { data, cursor } = await reader.list({ wallet, limit, ...query });
  return { ids: data.map((job) => job.id), states: data.map((job) => job.status), cursor };
}

/** All pages of this size, one after the other. */
async function walk(query: Omit<JobQuery, "wallet" | "limit" | "before">, limit: number): Promise<string[]> {
  const seen: string[] = [];
  let before: string | undefined;
  do {
    const { ids, cursor } = await page({ ...query, before }, limit);
    seen.push(...ids);
    before = cursor ?? undefined;
  } while (before !== undefined);
  return seen;
}

describe("a page of jobs", () => {
  it("begins with those whose lock the index has not seen", async () => {
    const first = await add(1, "settled", "settled");
    const second = await add(2, "settled", "settled");
    const third = await add(3, "settled", null);
    const fourth = await add(4, "processing", null);
    expect((await page({})).ids).toEqual([fourth, third, second, first]);
    expect(await page({}, 3)).toMatchObject({ ids: [fourth, third, second], cursor: second });
    expect(await page({ before: third }, 3)).toMatchObject({ ids: [second, first], cursor: null });
  });

  it("shows the state that the gateway knows already, in the chain's order", async () => {
    const slow = await add(1, "settled", "processing");
    const quick = await add(2, "settled", "settled");
    await written(slow, 3);
    expect(await page({ status: "settled" })).toMatchObject({ ids: [quick, slow], states: ["settled", "settled"] });
    expect(await page({ status: "processing" })).toMatchObject({ ids: [], cursor: null });
    expect(await page({ status: "disputed" })).toMatchObject({ ids: [] });
  });

  it("walked by status shows each job once, whichever of them the index is behind with", async () => {
    const ids: string[] = [];
    for (let n = 1; n <= 9; n++) ids.unshift(await add(n, "settled", n % 3 === 0 ? "processing" : "settled"));
    for (const id of ids) await written(id, 20);
    for (const limit of [1, 2, 3, 4, 10]) {
      expect(await walk({ status: "settled" }, limit), `pages of ${limit}`).toEqual(ids);
    }
  });

  it("has the chain's order where that of the ids is another, each job once", async () => {
    const oldest = await add(1, "settled", "settled");
    const later = await add(12, "settled", "settled");
    const earlier = await add(11, "settled", "processing");
    const newest = await add(13, "settled", "settled");
    await written(earlier, 20);
    for (const limit of [1, 2, 3, 4]) {
      expect(await walk({ status: "settled" }, limit), `pages of ${limit}`).toEqual([newest, later, earlier, oldest]);
    }
    // A job that the index lacks is newer than all that it has, whatever its id says.
    const lacked = await add(15, "settled", null);
    const last = await add(14, "settled", "settled");
    // (A page that ends with such a job leaves what comes after it to ids: whether the next has been shown, a cursor does not say.)
    for (const limit of [2, 3, 5]) {
      expect(await walk({}, limit), `pages of ${limit}`).toEqual([lacked, last, newest, later, earlier, oldest]);
    }
    expect((await page({ after: later, status: "settled" })).ids).toEqual([lacked, last, newest]);
    expect((await page({ after: earlier, status: "settled" })).ids).toEqual([lacked, last, newest, later]);
  });

  it("by model shows what the index lacks of it, and nothing else", async () => {
    const old = await add(1, "settled", "settled", "rare");
    await add(2, "settled", "settled");
    const fresh = await add(3, "settled", null, "rare");
    await add(4, "settled", null);
    for (const limit of [1, 2]) expect(await walk({ model: "rare" }, limit)).toEqual([fresh, old]);
  });

  it("by a cursor `after` has only what is newer", async () => {
    const first = await add(1, "settled", "processing");
    const second = await add(2, "settled", "settled");
    const third = await add(3, "settled", "processing");
    for (const id of [first, third]) await written(id, 9);
    expect((await page({ status: "settled", after: first })).ids).toEqual([third, second]);
    expect((await page({ status: "settled", after: second })).ids).toEqual([third]);
  });

  it("after a reorganisation shows a job that the index lost, wherever its newest block is", async () => {
    const lost = await add(3, "settling", null);
    const other = await add(2, "settled", "settled");
    await written(lost, 9);
    expect((await page({})).ids).toEqual([lost, other]);
  });

  it("is whole where the index has nothing at all, page by page", async () => {
    const ids: string[] = [];
    for (let n = 1; n <= 5; n++) ids.unshift(await add(n, "settled", null));
    expect(await page({}, 2)).toMatchObject({ ids: ids.slice(0, 2), cursor: ids[1] });
    expect(await page({ before: ids[1] }, 4)).toMatchObject({ ids: ids.slice(2), cursor: null });
  });
});
