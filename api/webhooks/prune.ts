import type pg from "pg";
import type { Logger } from "pino";

/** Rows a statement, so that none holds locks for long. */
const BATCH = 5_000;

/**
 * Deletes deliveries that ended that many days ago, with their attempts, and events that no delivery names any more. The derivation never goes back so
 * far (its watermark is persistent), so nothing that is pruned is delivered again.
 */
export async function prune(pool: pg.Pool, days: number, logger: Logger): Promise<void> {
  try {
    const deliveries = await inBatches(
      pool,
      `DELETE FROM webhook_delivery WHERE id IN (SELECT id FROM webhook_delivery
       WHERE status <> 'pending' AND finished_at < now() - make_interval(days => $1) LIMIT ${BATCH})`,
      days,
    );
    const events = await inBatches(
      pool,
      `DELETE FROM webhook_event WHERE id IN (SELECT id FROM webhook_event e
       WHERE created_at < now() - make_interval(days => $1)
         AND NOT EXISTS (SELECT FROM webhook_delivery WHERE event_id = e.id) LIMIT ${BATCH})`,
      days,
    );
    if (deliveries + events > 0) logger.info({ deliveries, events }, "old deliveries were deleted from the log");
  } catch (error) {
    logger.warn({ err: error }, "the delivery log could not be pruned; the next round tries again");
  }
}

async function inBatches(pool: pg.Pool, statement: string, days: number): Promise<number> {
  let deleted = 0;
  for (;;) {
    const { rowCount } = await pool.query(statement, [days]);
    deleted += rowCount ?? 0;
    if ((rowCount ?? 0) < BATCH) return deleted;
  }
}
