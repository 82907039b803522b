import type { Logger } from "pino";
import type { DisputeStore } from "./disputes.ts";
import type { IdempotencyStore } from "./idempotency.ts";
import type { IncidentStore } from "./incidents.ts";
import type { JobStore } from "./jobs.ts";

const INTERVAL_MS = 60_000;
/** Rows of ended jobs overlay the index and hold what a dispute needs; both are over long before this. */
const KEEP_ENDED_DAYS = 7;
/** A worker's past shows for as long as it matters to whoever routes to it. */
const KEEP_INCIDENTS_DAYS = 90;

/** Erases what has had its time: answers, idempotency keys, rows of ended jobs, old incidents. Returns how to stop it. */
export function startHousekeeping(
  {
    jobs,
    idempotency,
    disputes,
    incidents,
  }: { jobs: JobStore; idempotency: IdempotencyStore; disputes: DisputeStore; incidents: IncidentStore },
  retentionHours: number,
  logger: Logger,
): () => void {
  const tidy = async () => {
    try {
      await jobs.eraseExpiredOutputs();
      await jobs.deleteEnded(KEEP_ENDED_DAYS);
      await idempotency.prune(retentionHours);
      await disputes.prune(KEEP_ENDED_DAYS);
      await incidents.prune(KEEP_INCIDENTS_DAYS);
    } catch (error) {
      logger.warn({ err: error }, "what is out of date could not be erased; the next round tries again");
    }
  };
  void tidy();
  const timer = setInterval(tidy, INTERVAL_MS);
  return () => clearInterval(timer);
}
