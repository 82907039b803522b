/** What workers, models and operators did in the last 24 hours, and what workers ever earned, for pages that are open to everybody. */

import { getHead, read } from "../../api/db/index-reads.ts";
import { view } from "../../api/db/index-rows.ts";
import { type Reader, sharedRead } from "../../api/db/pool.ts";
import { JOB_STATES } from "../../protocol/job-status.ts";

/** Jobs that one operator locked for one model within ten minutes, and that one worker has, or none. */
export type DayRow = {
  bucket: number;
  operator: number;
  model: number;
  worker: string | null;
  jobs: number;
  /** Charged ones, also if a dispute brought the charge back later. */
  settled: number;
  /** Ended without a charge. */
  failed: number;
  /** Of which an end is still to come: running ones, and those whose answer was proven and disputed before a charge. */
  open: number;
  credits: number;
  /** Stablecoin units for the worker. */
  units: number;
};

const BUCKET_SECONDS = 600;
const DAY_SECONDS = 86_400;

/**
 * Reads the last 24 hours, to within ten minutes. Ten minutes are kept once the index is past them and all their jobs have ended:
 * a day of jobs is read once, and afterwards the newest ones.
 */
export function networkDay(reader: Reader, now: () => number = Date.now): () => Promise<DayRow[]> {
  let kept: DayRow[] = [];
  let from = 0;
  return sharedRead(async () => {
    const oldest = Math.ceil((now() / 1000 - DAY_SECONDS) / BUCKET_SECONDS);
    const begin = Math.max(from, oldest);
    // First, so that no row is missing before the block that it names.
    const indexed = (await getHead(reader))?.blockTime ?? 0;
    const rows = await readFrom(reader, begin * BUCKET_SECONDS);
    const ended = Math.floor(indexed / BUCKET_SECONDS);
    const over = rows.reduce((first, { open, bucket }) => (open > 0 ? Math.min(first, bucket) : first), ended);
    from = Math.max(begin, over);
    const all = [...kept.filter(({ bucket }) => bucket >= oldest), ...rows];
    kept = all.filter(({ bucket }) => bucket < from);
    return all;
  }, now);
}

/** A range of the index by operator, status and time for each operator and status. */
export const readFrom = (reader: Reader, since: number): Promise<DayRow[]> =>
  read<DayRow>(
    reader,
    "network_day",
    `SELECT created_at / ${BUCKET_SECONDS} AS bucket, operator, model_number AS model, worker, count(*) AS jobs,
       count(completed_at) AS settled,
       count(*) FILTER (WHERE status = ANY('{failed,refunded}') AND completed_at IS NULL) AS failed,
       count(*) FILTER (WHERE status <> ALL('{failed,refunded}') AND completed_at IS NULL) AS open,
       sum(credits_charged)::bigint AS credits, COALESCE(sum(worker_units), 0)::bigint AS units
     FROM ${view("job")} WHERE operator = ANY(ARRAY(SELECT number FROM ${view("operator")})) AND status = ANY($1) AND created_at >= $2
     GROUP BY 1, 2, 3, 4`,
    [JOB_STATES, since],
  );

export type DayTotal = Pick<DayRow, "jobs" | "settled" | "failed" | "credits" | "units">;

/** The rows' sums by one of their columns. */
export function totalsBy<K>(rows: readonly DayRow[], key: (row: DayRow) => K): Map<K, DayTotal> {
  const totals = new Map<K, DayTotal>();
  for (const row of rows) {
    const total = totals.get(key(row)) ?? { jobs: 0, settled: 0, failed: 0, credits: 0, units: 0 };
    totals.set(key(row), {
      jobs: total.jobs + row.jobs,
      settled: total.settled + row.settled,
      failed: total.failed + row.failed,
      credits: total.credits + row.credits,
      units: total.units + row.units,
    });
  }
  return totals;
}

/**
 * What a worker was paid for settled jobs, stablecoin units: ever, for those locked in the last seven UTC days, today's included, and by six hours of
 * UTC, numbered since 1970, of the last 30 days.
 */
export type Earned = { ever: number; week: number; spans: ReadonlyMap<number, number> };

const EARNED_SPAN_SECONDS = 21_600;
const SPANS_A_DAY = DAY_SECONDS / EARNED_SPAN_SECONDS;
const EARNED_DAYS = 30;

/** `span`: six hours of the lock, or 0 if older than the last 30 days. `over`: locked before every job that can still be charged. */
type EarnedRow = { worker: string; span: number; over: boolean; units: number };

/** Reads what each worker (lower case) earned. What is over is read once and kept. */
export function earningsByWorker(reader: Reader, now: () => number = Date.now): () => Promise<Map<string, Earned>> {
  let kept: EarnedRow[] = [];
  let from = 0;
  return sharedRead(async () => {
    const today = Math.floor(now() / 1000 / DAY_SECONDS);
    const [first, week] = [(today - EARNED_DAYS + 1) * SPANS_A_DAY, (today - 6) * SPANS_A_DAY];
    // First, so that nothing before it can change after the next read.
    const until = Math.max(from, await oldestOpen(reader));
    const rows = [...kept, ...(await readEarned(reader, { from, until, first }))];
    kept = sumBySpan(
      rows.filter(({ over }) => over),
      first,
    );
    from = until;
    const earned = Map.groupBy(sumBySpan(rows, first), ({ worker }) => worker);
    return new Map(
      [...earned].map(([worker, own]) => [
        worker,
        {
          ever: sumOf(own),
          week: sumOf(own.filter(({ span }) => span >= week)),
          spans: new Map(own.filter(({ span }) => span > 0).map(({ span, units }) => [span, units])),
        },
      ]),
    );
  }, now);
}

const sumOf = (rows: readonly EarnedRow[]): number => rows.reduce((sum, { units }) => sum + units, 0);

/** One row for a worker and six hours from the first on, and one for all before. */
function sumBySpan(rows: readonly EarnedRow[], first: number): EarnedRow[] {
  const dated = rows.map((row) => ({ ...row, span: row.span < first ? 0 : row.span }));
  const groups = Map.groupBy(dated, ({ worker, span }) => `${worker} ${span}`);
  return [...groups.values()].map((group) => ({ ...(group[0] as EarnedRow), units: sumOf(group) }));
}

/** Units that a worker (lower case) earned in a part of the 24 hours of `rows`, which begins and ends at whole ten minutes. */
export const earnedInDay = (rows: readonly DayRow[], worker: string, { from, seconds }: EarnedTime): number =>
  rows
    .filter(
      (row) =>
        row.worker === worker && row.bucket >= from / BUCKET_SECONDS && row.bucket < (from + seconds) / BUCKET_SECONDS,
    )
    .reduce((sum, { units }) => sum + units, 0);

/** Units that a worker earned in a part of the last 30 days, which begins and ends at whole six hours of UTC. */
export function earnedIn(earned: Earned | undefined, { from, seconds }: EarnedTime): number {
  const first = from / EARNED_SPAN_SECONDS;
  const count = seconds / EARNED_SPAN_SECONDS;
  return Array.from({ length: count }, (_, n) => earned?.spans.get(first + n) ?? 0).reduce((sum, one) => sum + one, 0);
}

/** `from`: Unix seconds. */
type EarnedTime = { from: number; seconds: number };

/** Time of the lock of the oldest job that can still be charged; of the newest block if there is none. */
async function oldestOpen(reader: Reader): Promise<number> {
  const indexed = (await getHead(reader))?.blockTime ?? 0;
  const text = `SELECT min(created_at) AS oldest FROM ${view("job")} WHERE operator = ANY(ARRAY(SELECT number FROM ${view("operator")}))
    AND status = ANY('{pending,processing,settling,disputed}') AND completed_at IS NULL`;
  const rows = await read<{ oldest: number | null }>(reader, "oldest_open_job", text, []);
  return Math.min(indexed, rows[0]?.oldest ?? indexed);
}

/** Credits that all wallets ever paid. */
export async function chargedEver(reader: Reader): Promise<number> {
  const text = `SELECT COALESCE(sum(charged), 0)::bigint AS credits FROM ${view("account")}`;
  return (await read<{ credits: number }>(reader, "network_total", text, []))[0]?.credits ?? 0;
}

type EarnedRange = { from: number; until: number; first: number };

/** Sums by worker and six hours of jobs locked at `from` or later; those before `until` are over. */
export const readEarned = (reader: Reader, { from, until, first }: EarnedRange): Promise<EarnedRow[]> =>
  read<EarnedRow>(
    reader,
    "earned_by_worker",
    `SELECT worker, CASE WHEN created_at / ${EARNED_SPAN_SECONDS} < $4 THEN 0 ELSE created_at / ${EARNED_SPAN_SECONDS} END AS span,
       created_at < $3 AS over, sum(worker_units)::bigint AS units
     FROM ${view("job")} WHERE operator = ANY(ARRAY(SELECT number FROM ${view("operator")})) AND status = ANY($1) AND created_at >= $2
       AND worker_units IS NOT NULL
     GROUP BY 1, 2, 3`,
    [JOB_STATES, from, until, first],
  );
