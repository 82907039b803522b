import type pg from "pg";

/** A claimed delivery lasts this long; then its attempt counts as lost and another one is made. Twice the answer's limit. */
const LEASE_SECONDS = 20;

/** A delivery that this process is to attempt now. */
export type Claimed = {
  id: number;
  webhookId: string;
  eventId: string;
  event: string;
  url: string;
  /** Encrypted. */
  secret: Buffer;
  body: string;
  /** Number of this attempt. */
  attempt: number;
  round: number;
  /** Failed attempts of this round before it. */
  failures: number;
};

export type ClaimLimits = {
  total: number;
  /** For each webhook at once. */
  perWebhook: number;
  /** Webhooks that have attempts running or may have fewer, with how many more they may have now. */
  busy: ReadonlyMap<string, { free: number; running: number }>;
};

/**
 * Takes deliveries that are due, of each webhook the oldest ones up to its limit, in turn, so that no webhook's backlog stands before another's. Rows
 * that another gateway holds are passed over. An attempt that never ended (its gateway was killed) is logged as such and does not count as failed.
 */
export async function claimDue(pool: pg.Pool, { total, perWebhook, busy }: ClaimLimits): Promise<Claimed[]> {
  const { rows } = await pool.query({
    name: "webhook-claim",
    text: CLAIM,
    values: [
      [...busy.keys()],
      [...busy.values()].map(({ free }) => free),
      perWebhook,
      total,
      [...busy.values()].map(({ running }) => running),
    ],
  });
  return rows as Claimed[];
}

// `webhooks` walks from one webhook with pending rows to the next along the index: a backlog of any size costs one step each.
const CLAIM = `
  WITH RECURSIVE webhooks AS (
    (SELECT webhook_id AS id FROM webhook_delivery WHERE status = 'pending' ORDER BY webhook_id LIMIT 1)
    UNION ALL
    SELECT (SELECT d.webhook_id FROM webhook_delivery d WHERE d.status = 'pending' AND d.webhook_id > webhooks.id
            ORDER BY d.webhook_id LIMIT 1)
    FROM webhooks WHERE webhooks.id IS NOT NULL
  ),
  open AS (
    SELECT d.*, w.id AS webhook, COALESCE(busy.running, 0) AS running_now FROM webhooks
    JOIN webhook w ON w.id = webhooks.id AND w.status = 'active'
    LEFT JOIN unnest($1::text[], $2::int[], $5::int[]) AS busy (id, free, running) ON busy.id = w.id
    CROSS JOIN LATERAL (
      SELECT id, attempt, running, next_attempt_at FROM webhook_delivery
      WHERE webhook_id = w.id AND status = 'pending' AND next_attempt_at <= now()
      ORDER BY next_attempt_at LIMIT COALESCE(busy.free, $3::int) FOR UPDATE SKIP LOCKED
    ) d
  ),
  -- Each webhook in turn, those first that have the fewest attempts running: a new event does not wait behind others' backlogs.
  due AS (
    SELECT id, attempt, running, next_attempt_at FROM open
    ORDER BY running_now + row_number() OVER (PARTITION BY webhook ORDER BY next_attempt_at), next_attempt_at LIMIT $4
  ),
  lost AS (
    INSERT INTO webhook_attempt (delivery_id, number, started_at, error)
    SELECT id, attempt, next_attempt_at - interval '${LEASE_SECONDS} seconds', 'the gateway stopped during this attempt: its result is unknown'
    FROM due WHERE running
    ON CONFLICT DO NOTHING
  ),
  claimed AS (
    UPDATE webhook_delivery d
    SET attempt = d.attempt + 1, running = true, next_attempt_at = now() + interval '${LEASE_SECONDS} seconds'
    FROM due WHERE d.id = due.id
    RETURNING d.id, d.webhook_id, d.event_id, d.attempt, d.round, d.failures
  )
  SELECT claimed.id, claimed.webhook_id AS "webhookId", claimed.event_id AS "eventId", e.name AS event, w.url, w.secret, e.body,
    claimed.attempt, claimed.round, claimed.failures
  FROM claimed JOIN webhook w ON w.id = claimed.webhook_id JOIN webhook_event e ON e.id = claimed.event_id
  ORDER BY claimed.id`;
