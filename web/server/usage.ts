/** Reads a wallet's usage: one range of the index by the time of the lock, summed by span of time and by model. */
import { read } from "../../api/db/index-reads.ts";
import { view } from "../../api/db/index-rows.ts";
import type { Reader } from "../../api/db/pool.ts";
import type { Used } from "../contract.ts";

/** `credits`: what the jobs cost in the end, after disputes. */
type Sums = Omit<Used, "answer_seconds">;

/** Jobs of one span and model that were answered so many seconds after their lock; null: not answered. */
export type UsageRow = Sums & { start: number; model: string; seconds: number | null };

/**
 * Spans of so many seconds from the first on. A job is answered within two minutes, so a span has at most some 120 rows a model; one row without
 * the times to the answer (`timed`).
 */
export function usageSince(
  reader: Reader,
  wallet: string,
  { first, seconds, timed = true }: { first: number; seconds: number; timed?: boolean },
): Promise<UsageRow[]> {
  const text = `
    SELECT created_at - created_at % $3::bigint AS start, model,
      CASE WHEN $4 AND answered_at IS NOT NULL THEN GREATEST(0, answered_at - created_at) END AS seconds,
      count(*) AS jobs, count(*) FILTER (WHERE status IN ('failed', 'refunded')) AS uncharged,
      sum(credits_charged - credits_compensated)::bigint AS credits,
      sum(COALESCE(prompt_tokens, 0) + COALESCE(billed_tokens, 0))::bigint AS tokens
    FROM ${view("job")} WHERE wallet = $1 AND created_at >= $2
    GROUP BY 1, 2, 3`;
  return read<UsageRow>(reader, "usage", text, [wallet.toLowerCase(), first, seconds, timed]);
}

export function usedIn(rows: readonly UsageRow[]): Used {
  const total = (name: keyof Sums) => rows.reduce((sum, row) => sum + row[name], 0);
  const answered = rows.filter(({ seconds }) => seconds !== null).sort((a, b) => Number(a.seconds) - Number(b.seconds));
  const all = answered.reduce((sum, { jobs }) => sum + jobs, 0);
  /** The least number of seconds within which this share was answered. */
  const within = (share: number): number => {
    let before = 0;
    const row = answered.find(({ jobs }) => {
      before += jobs;
      return before >= all * share;
    });
    return row?.seconds ?? 0;
  };
  return {
    jobs: total("jobs"),
    uncharged: total("uncharged"),
    credits: total("credits"),
    tokens: total("tokens"),
    answer_seconds: all === 0 ? null : { median: within(0.5), p95: within(0.95) },
  };
}
