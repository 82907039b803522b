/**
 * Sums of workers, models and operators: of the last 24 hours and 30 days, and of all that workers ever earned. Pages that are open to
 * everybody show them.
 */

import { getHead, read } from "../../api/db/index-reads.ts";
import { view } from "../../api/db/index-rows.ts";
import { type Reader, sharedRead } from "../../api/db/pool.ts";
import { JOB_STATES } from "../../protocol/job-status.ts";

/** Sums over jobs. */
export type JobSums = {
  jobs: number;
  /** Charged ones, also if a dispute brought the charge back later. */
  settled: number;
  /** Ended without a charge; and those of them that were refunded, because nobody answered in time or after a dispute. */
  failed: number;
  refunded: number;
  credits: number;
  /** Stablecoin units for the worker, and what the operator earned of the fee. */
  units: number;
  earned: number;
};

/** The jobs that one operator locked from `start` on (Unix seconds), for ten minutes or for six hours of UTC, and that one worker has, or none. */
type LockedJobs = JobSums & { start: number; operator: number; worker: string | null };

/**
 * Jobs of ten minutes, for one model. `open`: those whose end is still to come, which are running ones, and those whose answer was proven and
 * disputed before a charge.
 */
export type DayRow = LockedJobs & { model: number; open: number };

const DAY_ROW_SECONDS = 600;
const DAY_SECONDS = 86_400;

/**
 * Reads the last 24 hours, to within ten minutes. Ten minutes are kept once the index is past them and all their jobs have ended:
 * a day of jobs is read once, and afterwards the newest ones.
 */
export function networkDay(reader: Reader, now: () => number = Date.now): () => Promise<DayRow[]> {
  let kept: DayRow[] = [];
  let from = 0;
  return sharedRead(async () => {
    const oldest = Math.ceil((now() / 1000 - DAY_SECONDS) / DAY_ROW_SECONDS) * DAY_ROW_SECONDS;
    const begin = Math.max(from, oldest);
    // First, so that no row is missing before the block that it names.
    const indexed = (await getHead(reader))?.blockTime ?? 0;
    const rows = await readFrom(reader, begin);
    const ended = Math.floor(indexed / DAY_ROW_SECONDS) * DAY_ROW_SECONDS;
    const over = rows.reduce((first, { open, start }) => (open > 0 ? Math.min(first, start) : first), ended);
    from = Math.max(begin, over);
    const all = [...kept.filter(({ start }) => start >= oldest), ...rows];
    kept = all.filter(({ start }) => start < from);
    return all;
  }, now);
}

/** SQL columns: the sums over the jobs of a group. */
const SUMS = `count(*) AS jobs, count(completed_at) AS settled,
  count(*) FILTER (WHERE status = ANY('{failed,refunded}') AND completed_at IS NULL) AS failed,
  count(*) FILTER (WHERE status = 'refunded' AND completed_at IS NULL) AS refunded,
  sum(credits_charged)::bigint AS credits, COALESCE(sum(worker_units), 0)::bigint AS units,
  COALESCE(sum(operator_units), 0)::bigint AS earned`;

/** A range of the index by operator, status and time for each operator and status. */
export const readFrom = (reader: Reader, since: number): Promise<DayRow[]> =>
  read<DayRow>(
    reader,
    "network_day",
    `SELECT created_at / ${DAY_ROW_SECONDS} * ${DAY_ROW_SECONDS} AS start, operator, model_number AS model, worker,
       count(*) FILTER (WHERE status <> ALL('{failed,refunded}') AND completed_at IS NULL) AS open, ${SUMS}
     FROM ${view("job")} WHERE operator = ANY(ARRAY(SELECT number FROM ${view("operator")})) AND status = ANY($1) AND created_at >= $2
     GROUP BY 1, 2, 3, 4`,
    [JOB_STATES, since],
  );

const NOTHING: JobSums = { jobs: 0, settled: 0, failed: 0, refunded: 0, credits: 0, units: 0, earned: 0 };

/** The rows' sums. */
export const totalOf = (rows: readonly JobSums[]): JobSums =>
  rows.reduce(
    (total, row) => ({
      jobs: total.jobs + row.jobs,
      settled: total.settled + row.settled,
      failed: total.failed + row.failed,
      refunded: total.refunded + row.refunded,
      credits: total.credits + row.credits,
      units: total.units + row.units,
      earned: total.earned + row.earned,
    }),
    NOTHING,
  );

/** The rows' sums by one of their columns. */
export const totalsBy = <Row extends JobSums, K>(rows: readonly Row[], key: (row: Row) => K): Map<K, JobSums> =>
  new Map([...Map.groupBy(rows, key)].map(([value, group]) => [value, totalOf(group)]));

/** The rows' sums by spans of so many seconds of UTC, by the begin of the span. A span has whole rows in it. */
export const totalsIn = (rows: readonly LockedJobs[], seconds: number): Map<number, JobSums> =>
  totalsBy(rows, ({ start }) => Math.floor(start / seconds) * seconds);

/** Jobs of six hours. `start`: 0 of all that are older than the last 30 days. `over`: locked before every job that can still be charged. */
export type SpanRow = LockedJobs & { over: boolean };

const SPAN_SECONDS = 21_600;
const KEPT_DAYS = 30;

/** All jobs by six hours; and the sums of each worker (lower case), ever and of the last seven UTC days, today's included. */
export type Past = Record<"ever" | "week", ReadonlyMap<string | null, JobSums>> & { rows: readonly SpanRow[] };

/** Reads the jobs of all time. What is over is read once and kept. */
export function jobsBySpan(reader: Reader, now: () => number = Date.now): () => Promise<Past> {
  let kept: SpanRow[] = [];
  let from = 0;
  return sharedRead(async () => {
    const today = Math.floor(now() / 1000 / DAY_SECONDS) * DAY_SECONDS;
    const [first, week] = [today - (KEPT_DAYS - 1) * DAY_SECONDS, today - 6 * DAY_SECONDS];
    // First, so that nothing before it can change after the next read.
    const until = Math.max(from, await oldestOpen(reader));
    const rows = [...kept, ...(await readSpans(reader, { from, until, first }))].map((row) => ({
      ...row,
      start: row.start < first ? 0 : row.start,
    }));
    kept = merged(rows.filter(({ over }) => over));
    from = until;
    const ofWorker = ({ worker }: SpanRow) => worker;
    const ofWeek = rows.filter(({ start }) => start >= week);
    return { rows, ever: totalsBy(rows, ofWorker), week: totalsBy(ofWeek, ofWorker) };
  }, now);
}

/** One row for all of one operator, one worker and the same six hours. */
const merged = (rows: readonly SpanRow[]): SpanRow[] =>
  [...Map.groupBy(rows, ({ worker, operator, start }) => `${worker} ${operator} ${start}`).values()].map((group) => ({
    ...(group[0] as SpanRow),
    ...totalOf(group),
  }));

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

type SpanRange = { from: number; until: number; first: number };

/** Sums by operator, worker and six hours of jobs locked at `from` or later; those before `until` are over, those before `first` are one row. */
export const readSpans = (reader: Reader, { from, until, first }: SpanRange): Promise<SpanRow[]> =>
  read<SpanRow>(
    reader,
    "jobs_by_span",
    `SELECT operator, worker, CASE WHEN created_at < $4 THEN 0 ELSE created_at / ${SPAN_SECONDS} * ${SPAN_SECONDS} END AS start,
       created_at < $3 AS over, ${SUMS}
     FROM ${view("job")} WHERE operator = ANY(ARRAY(SELECT number FROM ${view("operator")})) AND status = ANY($1) AND created_at >= $2
     GROUP BY 1, 2, 3, 4`,
    [JOB_STATES, from, until, first],
  );
