import type { Hex } from "viem";
import { toApiJobId } from "../../protocol/job-id.ts";
import type { JobContext } from "./context.ts";

const RETRY_MS = 250;

/** Makes a write of a job's row until it succeeds, or until `until` (ms since the epoch) is over; then rejects with the last error. */
export async function untilStored(
  { logger }: JobContext,
  jobId: Hex,
  until: number,
  write: () => Promise<void>,
): Promise<void> {
  for (;;) {
    try {
      return await write();
    } catch (error) {
      logger.error({ err: error, jobId: toApiJobId(jobId) }, "a job's row could not be written; trying again");
      if (Date.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}
