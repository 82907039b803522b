/** Sending again: the same event with the same id and the same bytes, on the schedule of a new delivery. */
import { z } from "zod";
import { ApiError } from "../errors.ts";
import { transaction } from "../store/database.ts";
import type { WebhookContext } from "./context.ts";
import { DELIVERY_STATES, deliveryNumber, unknownDelivery } from "./delivery-id.ts";
import { unknownWebhook } from "./webhooks.ts";

/** Body of a replay: by when the events happened (block time), `from` inclusive, `to` exclusive; all without them. */
export const replayRangeSchema = z.object({
  from: z.iso.datetime({ offset: true }).optional(),
  to: z.iso.datetime({ offset: true }).optional(),
  /** Which deliveries; what never arrived by default. */
  statuses: z.array(z.enum(DELIVERY_STATES)).min(1).default(["failed", "skipped"]),
});
export type ReplayRange = z.output<typeof replayRangeSchema>;

const SEND_AGAIN = `status = 'pending', next_attempt_at = now(), round = round + 1, failures = 0, finished_at = NULL`;

/**
 * Sends one delivery again, whatever became of it; one that waits for its next attempt is sent at once.
 * @throws ApiError `webhook_not_found`; `conflict` while the webhook is failed: enable it first.
 */
export async function replayDelivery(context: WebhookContext, wallet: string, deliveryId: string): Promise<void> {
  const id = deliveryNumber(deliveryId);
  await transaction(context.pool, async (client) => {
    const { rows } = await client.query(
      `SELECT w.id, w.status FROM webhook w JOIN webhook_delivery d ON d.webhook_id = w.id
       WHERE d.id = $1 AND w.wallet = $2 FOR UPDATE OF w`,
      [id, wallet.toLowerCase()],
    );
    if (rows[0] === undefined) throw unknownDelivery(deliveryId);
    demandActive(rows[0]);
    await client.query(`UPDATE webhook_delivery SET ${SEND_AGAIN} WHERE id = $1`, [id]);
  });
  context.wake();
}

/**
 * Sends a webhook's deliveries of a time range again; returns how many.
 * @throws ApiError `webhook_not_found`; `conflict` while the webhook is failed: enable it first.
 */
export async function replayDeliveries(
  context: WebhookContext,
  wallet: string,
  webhookId: string,
  { from, to, statuses }: ReplayRange,
): Promise<{ replayed: number }> {
  const replayed = await transaction(context.pool, async (client) => {
    const { rows } = await client.query("SELECT id, status FROM webhook WHERE id = $1 AND wallet = $2 FOR UPDATE", [
      webhookId,
      wallet.toLowerCase(),
    ]);
    if (rows[0] === undefined) throw unknownWebhook(webhookId);
    demandActive(rows[0]);
    const { rowCount } = await client.query(
      `UPDATE webhook_delivery d SET ${SEND_AGAIN} FROM webhook_event e
       WHERE d.webhook_id = $1 AND e.id = d.event_id AND d.status = ANY($2)
         AND e.occurred_at >= COALESCE($3::timestamptz, '-infinity') AND e.occurred_at < COALESCE($4::timestamptz, 'infinity')`,
      [webhookId, statuses, from ?? null, to ?? null],
    );
    return rowCount ?? 0;
  });
  context.wake();
  return { replayed };
}

function demandActive(webhook: { id: string; status: string }): void {
  if (webhook.status === "active") return;
  throw new ApiError("conflict", `Webhook ${webhook.id} has failed and gets nothing: enable it first, then replay.`);
}
