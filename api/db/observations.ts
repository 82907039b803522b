/** What gateways see of models and workers: whether they can be asked, how fast and how well they answer. Counted in memory, kept by hour and day. */
import type pg from "pg";
import { type Reader, sharedRead } from "./pool.ts";

/** Sums of one model and worker; see the table's columns (migrations/0009_observation.sql). */
export type Sums = {
  looks: number;
  up: number;
  requests: number;
  failures: number;
  firstTokens: number;
  firstTokenMs: number;
  tokens: number;
  tokenMs: number;
};

type Counted = Sums & { model: number; worker: string };

const NOTHING: Sums = {
  looks: 0,
  up: 0,
  requests: 0,
  failures: 0,
  firstTokens: 0,
  firstTokenMs: 0,
  tokens: 0,
  tokenMs: 0,
};

/** In the place of a worker's address: the model as clients meet it. */
export const ANY_WORKER = "";

/** Counts what one process sees until it is stored. */
export class Observations {
  #counts = new Map<string, Counted>();

  /** Adds to what was seen of a worker's model; `ANY_WORKER` for the model as clients meet it. */
  add(model: number, worker: string, seen: Partial<Sums>): void {
    const address = worker.toLowerCase();
    const key = `${model} ${address}`;
    const before = this.#counts.get(key) ?? { ...NOTHING, model, worker: address };
    const sums = Object.keys(NOTHING).map((name) => [
      name,
      before[name as keyof Sums] + (seen[name as keyof Sums] ?? 0),
    ]);
    this.#counts.set(key, { ...before, ...Object.fromEntries(sums) });
  }

  /** All that was counted since the last call. */
  take(): Counted[] {
    const counts = [...this.#counts.values()];
    this.#counts = new Map();
    return counts;
  }

  /** Stores what was counted, in the hour and the day of `now`. What could not be stored is counted on. */
  async store(pool: Pick<pg.Pool, "query">, now = new Date()): Promise<void> {
    const counts = this.take();
    if (counts.length === 0) return;
    const column = (name: keyof Counted) =>
      counts.map((one) => (typeof one[name] === "number" ? Math.round(one[name]) : one[name]));
    try {
      await pool.query({ name: "observe", text: STORE, values: [now, ...COLUMNS.map(column)] });
    } catch (error) {
      for (const { model, worker, ...sums } of counts) this.add(model, worker, sums);
      throw error;
    }
  }
}

const COLUMNS = ["model", "worker", ...Object.keys(NOTHING)] as (keyof Counted)[];
const STORE = `
  INSERT INTO observation (span, start, model, worker, looks, up, requests, failures, first_tokens, first_token_ms, tokens, token_ms)
  SELECT span, date_trunc(span, $1::timestamptz, 'UTC'), seen.*
  FROM unnest('{hour,day}'::text[]) AS span, unnest($2::int[], $3::text[], $4::int[], $5::int[], $6::int[], $7::int[], $8::int[], $9::bigint[],
    $10::bigint[], $11::bigint[]) AS seen
  ON CONFLICT (span, model, start, worker) DO UPDATE SET looks = observation.looks + excluded.looks, up = observation.up + excluded.up,
    requests = observation.requests + excluded.requests, failures = observation.failures + excluded.failures,
    first_tokens = observation.first_tokens + excluded.first_tokens, first_token_ms = observation.first_token_ms + excluded.first_token_ms,
    tokens = observation.tokens + excluded.tokens, token_ms = observation.token_ms + excluded.token_ms`;

const KEEP_DAYS = { hour: 8, day: 400 } as const;

/** Erases what is older than it is kept. */
export async function pruneObservations(pool: Pick<pg.Pool, "query">): Promise<void> {
  for (const [span, days] of Object.entries(KEEP_DAYS)) {
    const text = "DELETE FROM observation WHERE span = $1 AND start < now() - make_interval(days => $2)";
    await pool.query(text, [span, days]);
  }
}

// ---------------------------------------------------------------- reading

const HOUR_SECONDS = 3_600;

/** The times that charts show: bars of so many seconds, the running one included, of the hours or days that are kept. */
export const OBSERVED_RANGES = {
  "24h": { span: "hour", seconds: HOUR_SECONDS, count: 24 },
  "7d": { span: "hour", seconds: 6 * HOUR_SECONDS, count: 28 },
  "30d": { span: "day", seconds: 24 * HOUR_SECONDS, count: 30 },
} as const;
export type ObservedRange = keyof typeof OBSERVED_RANGES;

/** The observations of one bar's time; shares between 0 and 1; null where there was no observation of that kind. */
export type Observed = {
  requests: number;
  failures: number;
  uptime: number | null;
  first_token_ms: number | null;
  tokens_per_second: number | null;
};
export type ObservedSpan = Observed & { from: string };

/** The averages and shares that a chart shows, from the sums of its observations. */
export function observed(sums: Sums): Observed {
  const ratio = (part: number, whole: number) => (whole === 0 ? null : part / whole);
  const firstToken = ratio(sums.firstTokenMs, sums.firstTokens);
  const perMs = ratio(sums.tokens, sums.tokenMs);
  return {
    requests: sums.requests,
    failures: sums.failures,
    uptime: ratio(sums.up, sums.looks),
    first_token_ms: firstToken === null ? null : Math.round(firstToken),
    tokens_per_second: perMs === null ? null : Math.round(perMs * 10_000) / 10,
  };
}

const SUMS = `sum(looks)::int AS looks, sum(up)::int AS up, sum(requests)::int AS requests, sum(failures)::int AS failures,
  sum(first_tokens)::int AS "firstTokens", sum(first_token_ms)::bigint AS "firstTokenMs", sum(tokens)::bigint AS tokens,
  sum(token_ms)::bigint AS "tokenMs"`;

/** Workers of one model that are charted: those with the most requests. */
const MOST_WORKERS = 12;

/** All spans of the range, oldest first: of the model as clients met it, and of each worker (lower case). */
type ObservedModel = { spans: ObservedSpan[]; workers: { worker: string; spans: ObservedSpan[] }[] };

/** A model and its workers, those with most requests first. At most 30 × 13 sums are read. */
export async function observedOfModel(
  reader: Reader,
  model: number,
  range: ObservedRange,
  now = Date.now(),
): Promise<ObservedModel> {
  const { span, seconds } = OBSERVED_RANGES[range];
  const { rows } = await reader.query<Sums & { worker: string; start: number }>({
    name: "observed-model",
    text: `WITH seen AS (SELECT * FROM observation WHERE span = $1 AND model = $2 AND start >= to_timestamp($3)),
        shown AS (SELECT worker FROM seen GROUP BY worker ORDER BY worker <> '', sum(requests) DESC, sum(up) DESC LIMIT ${MOST_WORKERS + 1})
      SELECT worker, (extract(epoch FROM start)::bigint / $4) * $4 AS start, ${SUMS}
      FROM seen JOIN shown USING (worker) GROUP BY 1, 2`,
    values: [span, model, firstOf(range, now), seconds],
  });
  const byWorker = Map.groupBy(rows, ({ worker }) => worker);
  const total = (worker: string) => (byWorker.get(worker) ?? []).reduce((sum, { requests }) => sum + requests, 0);
  const workers = [...byWorker.keys()].filter((one) => one !== ANY_WORKER).sort((a, b) => total(b) - total(a));
  const seenOf = (worker: string) => spansOf(byWorker.get(worker) ?? [], range, now);
  return { spans: seenOf(ANY_WORKER), workers: workers.map((worker) => ({ worker, spans: seenOf(worker) })) };
}

/** The service as its clients met it: all models together that a worker served at some time of the range. What nobody ever served is no outage. */
export async function observedOfService(
  reader: Reader,
  range: ObservedRange,
  now = Date.now(),
): Promise<ObservedSpan[]> {
  const { span, seconds } = OBSERVED_RANGES[range];
  const { rows } = await reader.query<Sums & { start: number }>({
    name: "observed-service",
    text: `WITH seen AS (SELECT * FROM observation WHERE worker = $1 AND span = $2 AND start >= to_timestamp($3))
      SELECT (extract(epoch FROM start)::bigint / $4) * $4 AS start, ${SUMS} FROM seen
      WHERE model IN (SELECT model FROM seen GROUP BY model HAVING sum(up) > 0) GROUP BY 1`,
    values: [ANY_WORKER, span, firstOf(range, now), seconds],
  });
  return spansOf(rows, range, now);
}

/** One worker's line, all its models together. */
export async function observedOfWorker(
  reader: Reader,
  worker: string,
  range: ObservedRange,
  now = Date.now(),
): Promise<ObservedSpan[]> {
  const { span, seconds } = OBSERVED_RANGES[range];
  const { rows } = await reader.query<Sums & { start: number }>({
    name: "observed-worker",
    text: `SELECT (extract(epoch FROM start)::bigint / $4) * $4 AS start, ${SUMS}
      FROM observation WHERE worker = $1 AND span = $2 AND start >= to_timestamp($3) GROUP BY 1`,
    values: [worker.toLowerCase(), span, firstOf(range, now), seconds],
  });
  return spansOf(rows, range, now);
}

/** All models of the last 24 hours, by number: as clients met them, with the speed of all their workers. One read for all callers. */
export const observedModels = (reader: Reader): (() => Promise<Map<number, Observed>>) =>
  sharedRead(async () => {
    const { rows } = await reader.query<Sums & { model: number; isAny: boolean }>({
      name: "observed-models",
      text: `SELECT model, worker = '' AS "isAny", ${SUMS} FROM observation
        WHERE span = 'hour' AND start > now() - interval '24 hours' GROUP BY 1, 2`,
    });
    const models = Map.groupBy(rows, ({ model }) => model);
    return new Map(
      [...models].map(([model, parts]) => {
        const any = parts.find(({ isAny }) => isAny) ?? NOTHING;
        const { tokens, tokenMs } = parts.find(({ isAny }) => !isAny) ?? NOTHING;
        return [model, observed({ ...any, tokens, tokenMs })];
      }),
    );
  });

/** Hours of the last 24 in which a worker's models could be asked, and hours that its answers took, from the offer to the last token. */
export type WorkTime = { asked: number; atWork: number };

/**
 * The work times of all workers, by address (lower case). The hour that began more than 24 hours ago counts in part. All callers share one
 * read.
 */
export const workTimes = (reader: Reader, now: () => number = Date.now): (() => Promise<Map<string, WorkTime>>) =>
  sharedRead(async () => {
    const { rows } = await reader.query<WorkTime & { worker: string }>({
      name: "observed-work",
      text: `WITH hours AS (
          SELECT worker, sum(up)::float8 / NULLIF(sum(looks), 0) AS up, sum(first_token_ms + token_ms)::float8 / 3600000 AS work,
            extract(epoch FROM start + interval '1 hour' - GREATEST(start, $1::timestamptz - interval '24 hours'))::float8 / 3600 AS inside,
            GREATEST(0, extract(epoch FROM start + interval '1 hour' - $1::timestamptz))::float8 / 3600 AS ahead
          FROM observation WHERE span = 'hour' AND worker <> '' AND start > $1::timestamptz - interval '25 hours' GROUP BY worker, start)
        SELECT worker, COALESCE(sum(up * (inside - ahead)), 0) AS asked, sum(work * inside) AS "atWork" FROM hours GROUP BY worker`,
      values: [new Date(now())],
    });
    return new Map(rows.map(({ worker, ...time }) => [worker, time]));
  }, now);

/** Begins of the range's bars, oldest first, Unix seconds. */
export function barsOf(range: ObservedRange, now = Date.now()): number[] {
  const { seconds, count } = OBSERVED_RANGES[range];
  const first = firstOf(range, now);
  return Array.from({ length: count }, (_, index) => first + index * seconds);
}

function firstOf(range: ObservedRange, now: number): number {
  const { seconds, count } = OBSERVED_RANGES[range];
  return (Math.floor(now / 1000 / seconds) - count + 1) * seconds;
}

const spansOf = (rows: readonly (Sums & { start: number })[], range: ObservedRange, now: number): ObservedSpan[] =>
  barsOf(range, now).map((start) => {
    const sums = rows.find((row) => row.start === start) ?? NOTHING;
    return { from: new Date(start * 1000).toISOString(), ...observed(sums) };
  });
