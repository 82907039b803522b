import type pg from "pg";
import type { Logger } from "pino";
import { getHead } from "../index/index.ts";
import type { Head } from "./head.ts";

const LOOK_MS = 250;
/** While the index is close behind, nothing is held back. */
const UNPACED = 1_000;
/** Blocks that the index may be behind before sending is slowed down, and before it is slowed down to the configured rate. */
const CLOSE_BLOCKS = 8;
const FAR_BLOCKS = 32;

/**
 * Transactions a second that may be sent, by how far the index is behind: a chain with a block a transaction can be faster than
 * any indexer. `configured` is the rate that the index keeps up with for ever.
 */
export function sendRate(behind: number, configured: number): number {
  if (behind <= CLOSE_BLOCKS) return Math.max(UNPACED, configured);
  return behind <= FAR_BLOCKS ? configured * 3 : configured;
}

/** Looks at the index a few times a second and tells `setRate`; returns how to stop. An absent index means the configured rate. */
export function watchIndexPace(
  pool: pg.Pool,
  head: Head,
  configured: number,
  setRate: (perSecond: number) => void,
  logger: Logger,
): () => void {
  let absent = false;
  const look = async (): Promise<void> => {
    try {
      const index = await getHead(pool);
      setRate(index === null ? configured : sendRate(head.block.number - index.blockNumber, configured));
      absent = false;
    } catch (error) {
      // Said once: readiness and metrics show how long it lasts.
      if (!absent)
        logger.warn({ err: error }, "the index cannot be read: transactions are paced as if it were far behind");
      absent = true;
      setRate(configured);
    }
  };
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  const loop = async (): Promise<void> => {
    await look();
    if (!stopped) timer = setTimeout(() => void loop(), LOOK_MS).unref();
  };
  void loop();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
