/**
 * The delivery log of a wallet's webhook: what was sent, what came back, and sending it again. A replay sends the same
 * event with the same id and bytes, on a new schedule.
 */
import type pg from "pg";
import { z } from "zod";
import { transaction } from "../api/db/pool.ts";
import { ApiError } from "../api/errors.ts";
import { EVENT_NAMES, type EventName, type TEST_EVENT, testEvent } from "./events.ts";
import { ownWebhook, readUrl, type WebhookContext } from "./receivers.ts";

/**
 * pending: to be sent at `next_attempt_at` (or being sent) · delivered: answered 2xx · failed: five attempts failed ·
 * skipped: not sent, because the webhook had failed. All but pending ones wait for nothing but a replay.
 */
const DELIVERY_STATES = ["pending", "delivered", "failed", "skipped"] as const;

/** Query of a delivery log. */
export const deliveriesQuerySchema = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  /** Only deliveries older than this one: the last id of the page before. */
  before: z.string().optional(),
  status: z.enum(DELIVERY_STATES).optional(),
  event: z.enum(EVENT_NAMES).optional(),
});
type DeliveriesQuery = z.output<typeof deliveriesQuerySchema>;

/** Body of a replay: by when the events happened (block time), `from` inclusive, `to` exclusive; all without them. */
export const replayRangeSchema = z.object({
  from: z.iso.datetime({ offset: true }).optional(),
  to: z.iso.datetime({ offset: true }).optional(),
  /** Which deliveries; what never arrived by default. */
  statuses: z.array(z.enum(DELIVERY_STATES)).min(1).default(["failed", "skipped"]),
});
type ReplayRange = z.output<typeof replayRangeSchema>;

export type DeliveryObject = {
  /** `dlv_…` */
  id: string;
  webhook_id: string;
  event_id: string;
  event: EventName | typeof TEST_EVENT;
  job_id: string | null;
  status: (typeof DELIVERY_STATES)[number];
  /** Attempts begun, replays included. */
  attempts: number;
  /** When the next attempt is due; null if none is, or while one runs. */
  next_attempt_at: string | null;
  occurred_at: string;
  created_at: string;
  finished_at: string | null;
  /** HTTP status and error of the last attempt that has a result. */
  last_status: number | null;
  last_error: string | null;
};

// An attempt runs while the last one begun is not in the log.
const SELECT = `SELECT d.*, e.name, e.occurred_at, e.body, w.url, a.status AS last_status, a.error AS last_error,
    d.attempt > COALESCE(a.number, 0) AS running
  FROM webhook_delivery d JOIN webhook_event e ON e.id = d.event_id JOIN webhook w ON w.id = d.webhook_id
  LEFT JOIN LATERAL (SELECT * FROM webhook_attempt WHERE delivery_id = d.id ORDER BY number DESC LIMIT 1) a ON true`;

// biome-ignore lint/suspicious/noExplicitAny: a row of the query above
function deliveryObject(row: any): DeliveryObject {
  const { data } = JSON.parse(row.body);
  return {
    id: `dlv_${row.id}`,
    webhook_id: row.webhook_id,
    event_id: row.event_id,
    event: row.name,
    job_id: data.job_id ?? data.related_job_id ?? null,
    status: row.status,
    attempts: row.attempt,
    next_attempt_at: row.running ? null : (row.next_attempt_at?.toISOString() ?? null),
    occurred_at: row.occurred_at.toISOString(),
    created_at: row.created_at.toISOString(),
    finished_at: row.finished_at?.toISOString() ?? null,
    last_status: row.last_status,
    last_error: row.last_error,
  };
}

/** Deliveries, newest first. `has_more`: ask again with `before` = last id. @throws ApiError `webhook_not_found` */
export async function listDeliveries(
  { pool }: WebhookContext,
  wallet: string,
  webhookId: string,
  query: DeliveriesQuery,
): Promise<{ data: DeliveryObject[]; has_more: boolean }> {
  await ownWebhook(pool, wallet, webhookId);
  const before = query.before === undefined ? Number.MAX_SAFE_INTEGER : deliveryNumber(query.before);
  const { rows } = await pool.query(
    `${SELECT}
     WHERE d.webhook_id = $1 AND d.id < $2 AND ($3::text IS NULL OR d.status = $3) AND ($4::text IS NULL OR e.name = $4)
     ORDER BY d.id DESC LIMIT $5`,
    [webhookId, before, query.status ?? null, query.event ?? null, query.limit + 1],
  );
  return { data: rows.slice(0, query.limit).map(deliveryObject), has_more: rows.length > query.limit };
}

/** One delivery with the body that is sent and the attempts that the log keeps, oldest first. @throws ApiError `webhook_not_found` */
export async function getDelivery(context: WebhookContext, wallet: string, id: string) {
  const { pool } = context;
  const { rows } = await pool.query(`${SELECT} WHERE d.id = $1 AND w.wallet = $2`, [
    deliveryNumber(id),
    wallet.toLowerCase(),
  ]);
  const [row] = rows;
  if (row === undefined) throw unknownDelivery(id);
  const attempts = await pool.query(
    `SELECT number, started_at, duration_ms, status, signature, response_headers, response, error FROM webhook_attempt
     WHERE delivery_id = $1 ORDER BY number`,
    [row.id],
  );
  return {
    ...deliveryObject(row),
    url: readUrl(context, row.webhook_id, row.url),
    body: row.body,
    attempt_log: attempts.rows.map((one) => ({ ...one, started_at: one.started_at.toISOString() })),
  };
}

/** `dlv_12` → 12. @throws ApiError `webhook_not_found` for anything else */
function deliveryNumber(id: string): number {
  const digits = /^dlv_(\d{1,15})$/.exec(id)?.[1];
  if (digits === undefined) throw unknownDelivery(id);
  return Number(digits);
}

/** 404 for an id that is not a delivery to one of the wallet's webhooks. */
function unknownDelivery(id: string): ApiError {
  return new ApiError("webhook_not_found", `There is no delivery ${id.slice(0, 64)} to a webhook of this wallet.`);
}

const SEND_AGAIN = "status = 'pending', next_attempt_at = now(), first_attempt = attempt + 1, finished_at = NULL";

/**
 * Sends one delivery again, whether it was delivered or failed; one that waits for its next attempt is sent at once.
 * @throws ApiError `webhook_not_found`; `conflict` for a test, and while the webhook is failed: enable it first.
 */
export async function replayDelivery(
  context: WebhookContext,
  wallet: string,
  deliveryId: string,
): Promise<{ replayed: number }> {
  const id = deliveryNumber(deliveryId);
  await transaction(context.pool, async (client) => {
    const { rows } = await client.query(
      `SELECT w.id, w.status, d.is_test FROM webhook w JOIN webhook_delivery d ON d.webhook_id = w.id
       WHERE d.id = $1 AND w.wallet = $2 FOR UPDATE OF w`,
      [id, wallet.toLowerCase()],
    );
    if (rows[0] === undefined) throw unknownDelivery(deliveryId);
    if (rows[0].is_test) throw new ApiError("conflict", "A test is sent once: send another one.");
    demandActive(rows[0]);
    await client.query(`UPDATE webhook_delivery SET ${SEND_AGAIN} WHERE id = $1`, [id]);
  });
  context.wake();
  return { replayed: 1 };
}

/** Deliveries that one request sends again: while it does, the webhook is locked, and no event is derived for it. */
const REPLAYED_AT_ONCE = 5_000;

/**
 * Sends a webhook's deliveries of a time range again, the oldest first, except tests and those that are due or being sent now; returns how many.
 * `has_more`: these were as many as one request sends again, and others may be left.
 * @throws ApiError `webhook_not_found`; `conflict` while the webhook is failed: enable it first.
 */
export async function replayDeliveries(
  context: WebhookContext,
  wallet: string,
  webhookId: string,
  { from, to, statuses }: ReplayRange,
): Promise<{ replayed: number; has_more: boolean }> {
  const replayed = await transaction(context.pool, async (client) => {
    demandActive(await ownWebhook(client, wallet, webhookId, "FOR UPDATE"));
    const { rowCount } = await client.query(
      `UPDATE webhook_delivery SET ${SEND_AGAIN} WHERE id IN (
         SELECT d.id FROM webhook_delivery d JOIN webhook_event e ON e.id = d.event_id
         WHERE d.webhook_id = $1 AND d.status = ANY($2) AND NOT d.is_test
           AND e.occurred_at >= COALESCE($3::timestamptz, '-infinity')
           AND e.occurred_at < COALESCE($4::timestamptz, 'infinity')
           AND (d.status <> 'pending' OR d.next_attempt_at > now() AND d.attempt = COALESCE(
             (SELECT max(number) FROM webhook_attempt WHERE delivery_id = d.id), 0))
         ORDER BY d.id LIMIT ${REPLAYED_AT_ONCE})`,
      [webhookId, statuses, from ?? null, to ?? null],
    );
    return rowCount ?? 0;
  });
  context.wake();
  return { replayed, has_more: replayed === REPLAYED_AT_ONCE };
}

function demandActive(webhook: { id: string; status: string }): void {
  if (webhook.status === "active") return;
  throw new ApiError(
    "conflict",
    `Webhook ${webhook.id} has the status 'failed' and receives no events: enable it first, then replay.`,
  );
}

/** Tests of one webhook that its log keeps: the newest. */
const TESTS_KEPT = 20;

/**
 * Sends a test, once: it is signed as events are, also to a failed webhook, whose state it does not change. It is in the log, never in
 * the feed of events. @throws ApiError `webhook_not_found`; `conflict` while another one is on its way.
 */
export async function sendTest(context: WebhookContext, wallet: string, webhookId: string): Promise<{ id: string }> {
  const delivery = await transaction(context.pool, async (client) => {
    await ownWebhook(client, wallet, webhookId, "FOR UPDATE");
    const running = await client.query(
      "SELECT FROM webhook_delivery WHERE webhook_id = $1 AND status = 'pending' AND is_test",
      [webhookId],
    );
    if (running.rowCount !== 0)
      throw new ApiError("conflict", "A test event is being delivered to this webhook: wait for its result.");
    const now = new Date();
    const { id, body } = testEvent(webhookId, now);
    await client.query("INSERT INTO webhook_event (id, name, occurred_at, body) VALUES ($1, $2, $3, $4)", [
      id,
      JSON.parse(body).event,
      now,
      body,
    ]);
    const { rows } = await client.query<{ id: number }>(
      `INSERT INTO webhook_delivery (webhook_id, event_id, status, next_attempt_at, is_test)
       VALUES ($1, $2, 'pending', now(), true) RETURNING id`,
      [webhookId, id],
    );
    await client.query(
      `WITH old AS (DELETE FROM webhook_delivery WHERE id IN (SELECT id FROM webhook_delivery
         WHERE webhook_id = $1 AND is_test ORDER BY id DESC OFFSET $2) RETURNING event_id)
       DELETE FROM webhook_event USING old WHERE id = old.event_id`,
      [webhookId, TESTS_KEPT],
    );
    return rows[0]?.id;
  });
  context.wake();
  return { id: `dlv_${delivery}` };
}

/** How many deliveries arrived, and how many did not: failed, skipped, or waiting after an attempt that failed. Tests do not count. */
type Arrivals = { delivered: number; undelivered: number };
type Upkeep = { old_secret_until: Date | null; arrivals: Record<"24h" | "7d", Arrivals> | null };

/**
 * By webhook of a wallet: until when a replaced secret still counts, and how its deliveries stand. Those count that ended in the last 24 hours
 * and 7 days, and those that wait for another attempt.
 */
export async function listUpkeep({ pool }: WebhookContext, wallet: string): Promise<Map<string, Upkeep>> {
  const { rows } = await pool.query<Upkeep & { id: string }>(
    `SELECT w.id, CASE WHEN w.old_secret_until > now() THEN w.old_secret_until END AS old_secret_until,
       json_build_object('24h', json_build_object('delivered', arrived, 'undelivered', day - arrived + waiting),
         '7d', json_build_object('delivered', came, 'undelivered', week - came + waiting)) AS arrivals
     FROM webhook w
     CROSS JOIN LATERAL (SELECT count(*) FILTER (WHERE finished_at > now() - interval '24 hours') AS day,
         count(*) FILTER (WHERE finished_at > now() - interval '24 hours' AND status = 'delivered') AS arrived,
         count(*) AS week, count(*) FILTER (WHERE status = 'delivered') AS came
       FROM webhook_delivery WHERE webhook_id = w.id AND status <> 'pending' AND NOT is_test
         AND finished_at > now() - interval '7 days') ended
     CROSS JOIN LATERAL (SELECT count(*) AS waiting FROM webhook_delivery d
       WHERE d.webhook_id = w.id AND d.status = 'pending' AND NOT d.is_test AND d.attempt >= d.first_attempt
         AND EXISTS (SELECT FROM webhook_attempt a WHERE a.delivery_id = d.id AND a.number = d.attempt)) retried
     WHERE w.wallet = $1`,
    [wallet.toLowerCase()],
  );
  return new Map(rows.map(({ id, ...upkeep }) => [id, upkeep]));
}

/** Rows that one statement deletes, so that none holds locks for long. */
const PRUNE_BATCH = 5_000;

/**
 * Deletes deliveries that ended that many days ago, with their attempts, and older events that no delivery names any more. The derivation makes
 * none of them again: it passes over events of that age in blocks that it has looked at before.
 */
export async function pruneLog(pool: pg.Pool, days: number): Promise<void> {
  for (const batch of [
    `DELETE FROM webhook_delivery WHERE id IN (SELECT id FROM webhook_delivery
     WHERE status <> 'pending' AND finished_at < now() - make_interval(days => $1) LIMIT ${PRUNE_BATCH})`,
    `DELETE FROM webhook_event WHERE id IN (SELECT id FROM webhook_event e
     WHERE occurred_at < now() - make_interval(days => $1)
       AND NOT EXISTS (SELECT FROM webhook_delivery WHERE event_id = e.id) LIMIT ${PRUNE_BATCH})`,
  ]) {
    while ((await pool.query(batch, [days])).rowCount === PRUNE_BATCH);
  }
}

/**
 * The number of attempts whose answers the log keeps, which can be 2 kB each: the newest ones of each webhook, and of all webhooks together. Anybody
 * can have any number of wallets without credits, and a wallet with credits has many deliveries to replay. Status, time and error of an attempt stay.
 */
const ANSWERS_KEPT = { webhook: 100, all: 100_000 };

/** Erases what receivers answered beyond that. Where there are many webhooks, each has the same share of all. */
export async function eraseAnswers(pool: pg.Pool, { webhook, all } = ANSWERS_KEPT): Promise<void> {
  await pool.query(
    `WITH answered AS (
       SELECT a.delivery_id, a.number, row_number() OVER (PARTITION BY d.webhook_id ORDER BY a.started_at DESC) AS nth
       FROM webhook_attempt a JOIN webhook_delivery d ON d.id = a.delivery_id WHERE a.response IS NOT NULL
     ),
     share AS (SELECT LEAST($1, $2 / GREATEST(1, count(*))) AS most FROM answered WHERE nth = 1)
     UPDATE webhook_attempt a SET response_headers = NULL, response = NULL FROM answered, share
     WHERE a.delivery_id = answered.delivery_id AND a.number = answered.number AND answered.nth > share.most`,
    [webhook, all],
  );
}

/** Erases secrets that were replaced, once their time is over. */
export async function eraseOldSecrets(pool: pg.Pool): Promise<void> {
  await pool.query("UPDATE webhook SET old_secret = NULL, old_secret_until = NULL WHERE old_secret_until < now()");
}
