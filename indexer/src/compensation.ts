/** What disputes and equivocations cost the treasury and the worker. The slash itself is an event of the registry. */
import { ponder } from "ponder:registry";
import { account, job } from "ponder:schema";
import { toProofHash } from "../../protocol/answer-hash.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { jobState } from "../../protocol/job-status.ts";
import { usdgValue } from "../../protocol/money.ts";
import { place, record } from "../lib/event.ts";
import { recordJob } from "../lib/job-event.ts";

ponder.on("InferenceEscrow:Compensated", async ({ event, context }) => {
  const { jobId, wallet, owed, free, escrowed } = event.args;
  // What arrived for a client becomes whole credits; the worker's share and fractions of a credit are tokens. The balance tells.
  let credits = 0;
  await context.db.update(account, { wallet }).set((before) => {
    credits = free - before.free;
    return { free, escrowed, compensated: before.compensated + credits };
  });
  const row = await context.db.update(job, { id: jobId }).set((before) => ({
    creditsCompensated: before.creditsCompensated + credits,
    treasuryOwes: owed,
    compensations: before.compensations + 1,
  }));
  const total = free + escrowed;
  await recordJob(context, event, row, {
    kind: "job.compensated",
    // A debt is paid in parts, and the event has no number: their order tells them apart.
    ordinal: row.compensations,
    derived: {
      credits_compensated: credits,
      usdg_value: usdgValue(credits),
      total_before: total - credits,
      total_after: total,
    },
  });
});

ponder.on("ProtocolTreasury:CompensationPaid", async ({ event, context }) => {
  const { jobId, sequence } = event.args;
  await record(context, event, {
    kind: "treasury.compensation_paid",
    subject: "ProtocolTreasury",
    ordinal: sequence,
    jobId,
    derived: { job_id: toApiJobId(jobId) },
  });
});

ponder.on("InferenceEscrow:WorkerEquivocated", async ({ event, context }) => {
  const { jobId, worker, firstHash, secondHash } = event.args;
  const { blockTime, txHash } = place(event);
  const status = jobState(event.args.status);
  const row = await context.db.update(job, { id: jobId }).set((before) => {
    // Back to where it was without this worker, whose attempt number stays taken.
    if (before.status === "processing") {
      return { status: "pending", worker: null, acknowledgedAt: null, acknowledgeTx: null };
    }
    if (before.status === "settled") return { status: "refunded", endedAt: blockTime, returnTx: txHash };
    // The escrow of a proven job and the end of a dispute are events of their own, later in this transaction.
    return {};
  });
  const derived = { first_hash: toProofHash(firstHash), second_hash: toProofHash(secondHash), status };
  await recordJob(context, event, row, { kind: "job.equivocated", worker, derived });
});
