/** A wallet's month: what changed its balance, read from the index so that it adds up to the credit. */
import type { Address } from "viem";
import { read } from "../../api/db/index-reads.ts";
import { view } from "../../api/db/index-rows.ts";
import type { Reader } from "../../api/db/pool.ts";
import { BALANCE_EVENTS, CHANGES_BALANCE } from "../../protocol/index-schema.ts";
import type { Statement, StatementSums } from "../contract.ts";

const DAY_SECONDS = 86_400;

/** A span of time, Unix seconds: from the first on, before the second. */
export type Span = { from: number; until: number };

/** `2026-11` as its span. */
export function monthSpan(month: string): Span {
  const [year, number] = month.split("-").map(Number) as [number, number];
  return { from: Date.UTC(year, number - 1) / 1_000, until: Date.UTC(year, number) / 1_000 };
}

/** The month of a time, Unix seconds: `2026-11`. */
export const monthOf = (time: number): string => dayOf(time).slice(0, 7);
const dayOf = (time: number): string => new Date(time * 1_000).toISOString().slice(0, 10);

/** The line of a statement to which an event's credits belong, and whether they add to the balance. */
const LINES: Record<keyof typeof BALANCE_EVENTS, [line: Exclude<keyof StatementSums, "jobs">, sign: 1 | -1]> = {
  "account.deposited": ["deposits", 1],
  "account.withdrawn": ["withdrawals", -1],
  "job.settled": ["charges", -1],
  "job.compensated": ["refunds", 1],
  "job.operator_charged": ["refunds", 1],
  "job.dispute_resolved": ["forfeited_bonds", -1],
};

/** Events of one kind, day and model; those of the balance before and after them have no day. */
type Row = {
  kind: keyof typeof BALANCE_EVENTS | "opening" | "closing" | "first";
  day: number | null;
  model: string | null;
  events: number;
  credits: number | null;
  tokens: number | null;
};

const AMOUNT = `(data ->> CASE kind ${Object.entries(BALANCE_EVENTS)
  .map(([kind, field]) => `WHEN '${kind}' THEN '${field}'`)
  .join(" ")} END)::bigint`;

/** One statement, so that all of it is of the same moment. Materialized, it would read all that ever happened to the wallet. */
const STATEMENT = `
  WITH change AS NOT MATERIALIZED (SELECT * FROM ${view("protocol_event")} WHERE wallet = $1 AND ${CHANGES_BALANCE})
  SELECT kind, block_time / ${DAY_SECONDS} AS day, CASE kind WHEN 'job.settled' THEN data ->> 'model' END AS model, count(*) AS events,
    sum(${AMOUNT})::bigint AS credits, sum((data ->> 'prompt_tokens')::bigint + (data ->> 'billed_tokens')::bigint)::bigint AS tokens
  FROM change WHERE block_time >= $2 AND block_time < $3 GROUP BY 1, 2, 3
  UNION ALL (SELECT 'opening', NULL, NULL, 1, (data ->> 'total_after')::bigint, NULL
    FROM change WHERE block_time < $2 ORDER BY block_time DESC, position DESC LIMIT 1)
  UNION ALL (SELECT 'closing', NULL, NULL, 1, (data ->> 'total_after')::bigint, NULL
    FROM change WHERE block_time < $3 ORDER BY block_time DESC, position DESC LIMIT 1)
  UNION ALL (SELECT 'first', block_time / ${DAY_SECONDS}, NULL, 1, NULL, NULL FROM change ORDER BY block_time LIMIT 1)`;

const NOTHING: StatementSums = { deposits: 0, refunds: 0, charges: 0, withdrawals: 0, forfeited_bonds: 0, jobs: 0 };

/**
 * The changes of the wallet's balance in a span of time. The balances are the chain's own, from the last event before and in the span, and
 * the sums are of the events' amounts. Throws if balances and sums do not agree, so that no such statement is shown.
 */
export async function readStatement(
  reader: Reader,
  wallet: Address,
  span: Span,
): Promise<Omit<Statement, "wallet" | "month" | "complete">> {
  const values = [wallet.toLowerCase(), span.from, span.until];
  const rows = await read<Row>(reader, "statement", STATEMENT, values);
  const balance = (kind: "opening" | "closing") => rows.find((row) => row.kind === kind)?.credits ?? 0;
  const changes = rows.filter((row) => row.kind in LINES).sort((a, b) => Number(a.day) - Number(b.day));
  const [opening, closing] = [balance("opening"), balance("closing")];
  let left = opening;
  const days = [...Map.groupBy(changes, ({ day }) => Number(day))].map(([day, own]) => {
    left += balanceChange(own);
    return { day: dayOf(day * DAY_SECONDS), ...sumsOf(own), closing: left };
  });
  if (left !== closing) {
    throw new Error(
      `the statement of ${wallet} from ${span.from} until ${span.until} ends at ${left}, not at ${closing}`,
    );
  }
  const charged = changes.filter(({ kind }) => kind === "job.settled");
  const models = [...Map.groupBy(charged, ({ model }) => String(model))].map(([model, own]) => {
    const total = (of: (row: Row) => number | null) => own.reduce((sum, row) => sum + (of(row) ?? 0), 0);
    return {
      model,
      jobs: total((row) => row.events),
      credits: total((row) => row.credits),
      tokens: total((row) => row.tokens),
    };
  });
  const first = rows.find(({ kind }) => kind === "first")?.day ?? null;
  return {
    first_month: first === null ? null : monthOf(first * DAY_SECONDS),
    opening,
    closing,
    sums: sumsOf(changes),
    days,
    models: models.sort((a, b) => b.credits - a.credits),
  };
}

function sumsOf(rows: readonly Row[]): StatementSums {
  const sums = { ...NOTHING };
  for (const { kind, credits, events } of rows) {
    sums[LINES[kind as keyof typeof LINES][0]] += credits ?? 0;
    if (kind === "job.settled") sums.jobs += events;
  }
  return sums;
}

/** By how much these events changed the balance. */
const balanceChange = (rows: readonly Row[]): number =>
  rows.reduce((sum, { kind, credits }) => sum + LINES[kind as keyof typeof LINES][1] * (credits ?? 0), 0);
