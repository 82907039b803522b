import type { Logger } from "pino";
import { toApiJobId } from "../../protocol/job-id.ts";
import type { BatchObserver } from "../chain/finisher.ts";
import type { JobStore } from "../store/jobs.ts";

/**
 * Writes where jobs were settled whose settlement nobody in this process waits for: a reorganisation took it back and it is mined again,
 * or an earlier process sent it. A sweep that came later would learn from the chain that a job is settled, but not in which transaction.
 */
export function noteUnawaitedSettlements(store: Pick<JobStore, "settled">, logger: Logger): BatchObserver {
  return (batch, blockTime, awaited) => {
    // Whoever waits writes it.
    if (awaited) return;
    const { hash, blockNumber } = batch;
    for (const [jobId, events] of batch.eventsByJob) {
      const settled = events.find(({ name }) => name === "JobSettled");
      if (settled === undefined) continue;
      const creditsCharged = settled.args.credits as number;
      store
        .settled({ jobId, settlementTx: hash, settlementBlock: blockNumber, settledAt: blockTime, creditsCharged })
        .catch((error) =>
          logger.error(
            { err: error, jobId: toApiJobId(jobId), settlementTx: hash },
            "a job's settlement could not be noted: its row will say that it is settled, but not where",
          ),
        );
    }
  };
}
