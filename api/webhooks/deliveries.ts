/** The delivery log of a wallet's webhook, for people: what was sent, what came back. Sending again is in replay.ts. */
import { z } from "zod";
import type { WebhookContext } from "./context.ts";
import { DELIVERY_STATES, type DeliveryState, deliveryId, deliveryNumber, unknownDelivery } from "./delivery-id.ts";
import { EVENT_NAMES, type EventName } from "./event-schemas.ts";

import { unknownWebhook } from "./webhooks.ts";

/** Query of a delivery log. */
export const deliveriesQuerySchema = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  /** Only deliveries older than this one: the last id of the page before. */
  before: z.string().optional(),
  status: z.enum(DELIVERY_STATES).optional(),
  event: z.enum(EVENT_NAMES).optional(),
});
export type DeliveriesQuery = z.output<typeof deliveriesQuerySchema>;

export type DeliveryObject = {
  /** `dlv_…` */
  id: string;
  webhook_id: string;
  event_id: string;
  event: EventName;
  status: DeliveryState;
  /** Attempts begun, replays included. */
  attempts: number;
  /** When the next attempt is due; null if none is. */
  next_attempt_at: string | null;
  /** When the event happened. */
  occurred_at: string;
  created_at: string;
  finished_at: string | null;
  /** Of the last attempt that has a result: HTTP status, and what went wrong. */
  last_status: number | null;
  last_error: string | null;
};

export type AttemptObject = {
  number: number;
  started_at: string;
  /** Null if the gateway stopped before the attempt's end. */
  duration_ms: number | null;
  /** HTTP status; null without an answer. */
  status: number | null;
  /** First bytes of the answer. */
  response: string | null;
  error: string | null;
};

/** Deliveries of a webhook, newest first. `has_more`: ask again with `before` = last id. @throws ApiError `webhook_not_found` */
export async function listDeliveries(
  { pool }: WebhookContext,
  wallet: string,
  webhookId: string,
  query: DeliveriesQuery,
): Promise<{ data: DeliveryObject[]; has_more: boolean }> {
  const owned = await pool.query("SELECT FROM webhook WHERE id = $1 AND wallet = $2", [
    webhookId,
    wallet.toLowerCase(),
  ]);
  if (owned.rowCount === 0) throw unknownWebhook(webhookId);
  const before = query.before === undefined ? Number.MAX_SAFE_INTEGER : deliveryNumber(query.before);
  const { rows } = await pool.query(
    `${SELECT} WHERE d.webhook_id = $1 AND d.id < $2 AND ($3::text IS NULL OR d.status = $3) AND ($4::text IS NULL OR e.name = $4)
     ORDER BY d.id DESC LIMIT $5`,
    [webhookId, before, query.status ?? null, query.event ?? null, query.limit + 1],
  );
  return { data: rows.slice(0, query.limit).map(shown), has_more: rows.length > query.limit };
}

/** One delivery with every attempt, oldest first, and the body that is sent. @throws ApiError `webhook_not_found` */
export async function getDelivery(
  { pool }: WebhookContext,
  wallet: string,
  id: string,
): Promise<DeliveryObject & { url: string; body: string; attempt_log: AttemptObject[] }> {
  const { rows } = await pool.query(`${SELECT} WHERE d.id = $1 AND w.wallet = $2`, [
    deliveryNumber(id),
    wallet.toLowerCase(),
  ]);
  const [row] = rows;
  if (row === undefined) throw unknownDelivery(id);
  const attempts = await pool.query("SELECT * FROM webhook_attempt WHERE delivery_id = $1 ORDER BY number", [row.id]);
  return {
    ...shown(row),
    url: row.url,
    body: row.body,
    attempt_log: attempts.rows.map(({ number, started_at, duration_ms, status, response, error }) => ({
      number,
      started_at: started_at.toISOString(),
      duration_ms,
      status,
      response,
      error,
    })),
  };
}

const SELECT = `SELECT d.*, e.name, e.occurred_at, e.body, w.url, a.status AS last_status, a.error AS last_error
  FROM webhook_delivery d JOIN webhook_event e ON e.id = d.event_id JOIN webhook w ON w.id = d.webhook_id
  LEFT JOIN LATERAL (SELECT status, error FROM webhook_attempt WHERE delivery_id = d.id ORDER BY number DESC LIMIT 1) a ON true`;

// biome-ignore lint/suspicious/noExplicitAny: a row of the query above
function shown(row: any): DeliveryObject {
  return {
    id: deliveryId(row.id),
    webhook_id: row.webhook_id,
    event_id: row.event_id,
    event: row.name,
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
