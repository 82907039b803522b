/**
 * Sums of workers, models and operators: of the last 24 hours and 30 days, and of all that workers ever earned. Pages that are open to
 * everybody show them.
 */

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
  /** Ended without a charge; and those of them that were refunded, because nobody answered in time or after a dispute. */
  failed: number;
  refunded: number;
  /** The jobs whose end is still to come: running ones, and those whose answer was proven and disputed before a charge. */
  open: number;
  credits: number;
  /** Stablecoin units for the worker, and what the operator earned of the fee. */
  units: number;
  earned: number;
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
    `SELECT created_at / ${BUCKET_SECONDS} AS bucket, operator, model_number AS model, worker,
       count(*) FILTER (WHERE status <> ALL('{failed,refunded}') AND completed_at IS NULL) AS open, ${SUMS}
     FROM ${view("job")} WHERE operator = ANY(ARRAY(SELECT number FROM ${view("operator")})) AND status = ANY($1) AND created_at >= $2
     GROUP BY 1, 2, 3, 4`,
    [JOB_STATES, since],
  );

export type DayTotal = Pick<DayRow, "jobs" | "settled" | "failed" | "refunded" | "credits" | "units" | "earned">;

const NOTHING: DayTotal = { jobs: 0, settled: 0, failed: 0, refunded: 0, credits: 0, units: 0, earned: 0 };

/** The rows' sums. */
export const totalOf = (rows: readonly DayTotal[]): DayTotal =>
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
export const totalsBy = <K>(rows: readonly DayRow[], key: (row: DayRow) => K): Map<K, DayTotal> =>
  new Map([...Map.groupBy(rows, key)].map(([value, group]) => [value, totalOf(group)]));

/**
 * Jobs that one operator locked within six hours of UTC, numbered since 1970, and that one worker has, or none. `span`: 0 if older than the last 30
 * days. `over`: locked before every job that can still be charged.
 */
export type SpanRow = DayTotal & { operator: number; worker: string | null; span: number; over: boolean };

/**
 * A worker's earnings: stablecoin units of settled jobs, ever and of those locked in the last seven UTC days, today's included; and the
 * rows that they are from.
 */
export type Earned = { ever: number; week: number; rows: readonly SpanRow[] };

const SPAN_SECONDS = 21_600;
const SPANS_A_DAY = DAY_SECONDS / SPAN_SECONDS;
const KEPT_DAYS = 30;

export type Past = { workers: ReadonlyMap<string, Earned>; operators: ReadonlyMap<number, readonly SpanRow[]> };

/** Reads what workers (lower case) earned, and the jobs of each operator, one row for six hours. What is over is read once and kept. */
export function jobsBySpan(reader: Reader, now: () => number = Date.now): () => Promise<Past> {
  let kept: SpanRow[] = [];
  let from = 0;
  return sharedRead(async () => {
    const today = Math.floor(now() / 1000 / DAY_SECONDS);
    const [first, week] = [(today - KEPT_DAYS + 1) * SPANS_A_DAY, (today - 6) * SPANS_A_DAY];
    // First, so that nothing before it can change after the next read.
    const until = Math.max(from, await oldestOpen(reader));
    const rows = [...kept, ...(await readSpans(reader, { from, until, first }))].map((row) => ({
      ...row,
      span: row.span < first ? 0 : row.span,
    }));
    kept = merged(
      rows.filter(({ over }) => over),
      ({ worker, operator, span }) => `${worker} ${operator} ${span}`,
    );
    from = until;
    const ofWorkers = Map.groupBy(rows, ({ worker }) => worker ?? "");
    const ofOperators = Map.groupBy(rows, ({ operator }) => operator);
    return {
      workers: new Map(
        [...ofWorkers].map(([worker, own]) => {
          const bySpan = merged(own, ({ span }) => span);
          return [
            worker,
            {
              ever: totalOf(bySpan).units,
              week: totalOf(bySpan.filter(({ span }) => span >= week)).units,
              rows: bySpan,
            },
          ];
        }),
      ),
      operators: new Map([...ofOperators].map(([operator, own]) => [operator, merged(own, ({ span }) => span)])),
    };
  }, now);
}

/** One row for all that have the same key. */
const merged = (rows: readonly SpanRow[], key: (row: SpanRow) => unknown): SpanRow[] =>
  [...Map.groupBy(rows, key).values()].map((group) => ({ ...(group[0] as SpanRow), ...totalOf(group) }));

/** `from`: Unix seconds. */
type Time = { from: number; seconds: number };

/** Sums of a part of the 24 hours of `rows`, which begins and ends at whole ten minutes. */
export const totalInDay = (rows: readonly DayRow[], { from, seconds }: Time): DayTotal =>
  totalOf(rows.filter(({ bucket }) => bucket >= from / BUCKET_SECONDS && bucket < (from + seconds) / BUCKET_SECONDS));

/** Sums of a part of the last 30 days, which begins and ends at whole six hours of UTC. */
export const totalInSpans = (rows: readonly SpanRow[], { from, seconds }: Time): DayTotal =>
  totalOf(rows.filter(({ span }) => span >= from / SPAN_SECONDS && span < (from + seconds) / SPAN_SECONDS));

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

/** Sums by operator, worker and six hours of jobs locked at `from` or later; those before `until` are over, those before the span `first` are one. */
export const readSpans = (reader: Reader, { from, until, first }: SpanRange): Promise<SpanRow[]> =>
  read<SpanRow>(
    reader,
    "jobs_by_span",
    `SELECT operator, worker, CASE WHEN created_at / ${SPAN_SECONDS} < $4 THEN 0 ELSE created_at / ${SPAN_SECONDS} END AS span,
       created_at < $3 AS over, ${SUMS}
     FROM ${view("job")} WHERE operator = ANY(ARRAY(SELECT number FROM ${view("operator")})) AND status = ANY($1) AND created_at >= $2
     GROUP BY 1, 2, 3, 4`,
    [JOB_STATES, from, until, first],
  );
