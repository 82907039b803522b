import type pg from "pg";
import { transaction } from "../store/database.ts";
import type { Outcome } from "./attempt.ts";
import type { Claimed } from "./claim.ts";

export type Finished = { claimed: Claimed; outcome: Outcome };

/**
 * Writes what attempts came to, all in one transaction: log, next attempt, and the end of webhooks whose delivery failed for the last time.
 * What happened to a delivery meanwhile stands: one that was replayed, taken over after its lease, skipped or deleted gets the log line
 * only, except that a success is always a success. Returns the webhooks that failed.
 */
export async function recordResults(
  pool: pg.Pool,
  finished: readonly Finished[],
  delaysMs: readonly number[],
): Promise<string[]> {
  const rows = finished.map(({ claimed, outcome }) => {
    const failures = claimed.failures + (outcome.delivered ? 0 : 1);
    const delay = delaysMs[failures - 1];
    return {
      id: claimed.id,
      number: claimed.attempt,
      round: claimed.round,
      failures,
      state: outcome.delivered ? "delivered" : delay === undefined ? "failed" : "pending",
      delay_ms: delay ?? 0,
      started_at: outcome.startedAt.toISOString(),
      duration_ms: outcome.durationMs,
      status: outcome.status,
      response: outcome.response,
      error: outcome.error,
    };
  });
  return await retried(() =>
    transaction(pool, async (client) => {
      const { rows: ended } = await client.query<{ webhook_id: string }>({
        name: "webhook-results",
        text: RECORD,
        values: [JSON.stringify(rows)],
      });
      return ended.length === 0 ? [] : await failWebhooks(client, [...new Set(ended.map((row) => row.webhook_id))]);
    }),
  );
}

const RECORD = `
  WITH result AS (
    SELECT * FROM jsonb_to_recordset($1::jsonb) AS r (id bigint, number int, round int, failures int, state text, delay_ms float8,
      started_at timestamptz, duration_ms int, status int, response text, error text)
  ),
  -- Locked, so that none is deleted before its attempt is in the log; always in the same order.
  alive AS (SELECT d.id FROM webhook_delivery d JOIN result USING (id) ORDER BY d.id FOR UPDATE OF d),
  logged AS (
    INSERT INTO webhook_attempt (delivery_id, number, started_at, duration_ms, status, response, error)
    SELECT id, number, started_at, duration_ms, status, response, error FROM result JOIN alive USING (id)
    ON CONFLICT (delivery_id, number) DO UPDATE SET duration_ms = excluded.duration_ms, status = excluded.status,
      response = excluded.response, error = excluded.error
  ),
  changed AS (
    UPDATE webhook_delivery d SET status = r.state, failures = r.failures, running = false,
      next_attempt_at = CASE WHEN r.state = 'pending' THEN now() + r.delay_ms * interval '1 millisecond' END,
      finished_at = CASE WHEN r.state <> 'pending' THEN now() END
    FROM result r JOIN alive USING (id)
    WHERE d.id = r.id AND d.round = r.round AND (r.state = 'delivered' OR (d.attempt = r.number AND d.status = 'pending'))
    RETURNING d.webhook_id, d.status
  )
  SELECT webhook_id FROM changed WHERE status = 'failed'`;

/** Marks webhooks as failed; nothing more is sent to them. Returns those that were not yet. */
async function failWebhooks(client: pg.PoolClient, ids: string[]): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    "UPDATE webhook SET status = 'failed', failed_at = now() WHERE id = ANY($1) AND status = 'active' RETURNING id",
    [ids],
  );
  await client.query(
    `UPDATE webhook_delivery SET status = 'skipped', next_attempt_at = NULL, finished_at = now()
     WHERE webhook_id = ANY($1) AND status = 'pending'`,
    [ids],
  );
  return rows.map((row) => row.id);
}

const DEADLOCK = "40P01";

/** Two transactions that lock many rows can meet; PostgreSQL ends one of them, which simply goes again. */
async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let left = 5; ; left -= 1) {
    try {
      return await work();
    } catch (error) {
      if ((error as { code?: string }).code !== DEADLOCK || left === 0) throw error;
    }
  }
}
