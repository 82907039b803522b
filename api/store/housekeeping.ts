import type { Logger } from "pino";
import type { DisputeStore } from "./disputes.ts";
import type { IdempotencyStore } from "./idempotency.ts";
import type { JobStore } from "./jobs.ts";

const INTERVAL_MS = 60_000;
/** Rows of ended jobs overlay the index and hold what a dispute needs; both are over long before this. */
const KEEP_ENDED_DAYS = 7;

/** Erases what has had its time: answers, idempotency keys, rows of ended jobs. Returns how to stop it. */
export function startHousekeeping(
  jobs: JobStore,
  idempotency: IdempotencyStore,
  disputes: DisputeStore,
  retentionHours: number,
  logger: Logger,
): () => void {
  const tidy = async () => {
    try {
      await jobs.eraseExpiredOutputs();
      await jobs.deleteEnded(KEEP_ENDED_DAYS);
      await idempotency.prune(retentionHours);
      await disputes.prune(KEEP_ENDED_DAYS);
    } catch (error) {
      logger.warn({ err: error }, "expired answers and keys could not be erased; the next round tries again");
    }
  };
  void tidy();
  const timer = setInterval(tidy, INTERVAL_MS);
  return () => clearInterval(timer);
}
