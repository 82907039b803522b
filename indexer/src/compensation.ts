/** What disputes and equivocations cost operator, treasury and worker. The slash itself is an event of the registry. */
import { type Context, ponder } from "ponder:registry";
import { account, job } from "ponder:schema";
import type { Address } from "viem";
import { toProofHash } from "../../protocol/answer-hash.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { jobState } from "../../protocol/job-status.ts";
import { usdgValue } from "../../protocol/money.ts";
import { type ChainEvent, record } from "../lib/event.ts";
import { recordJob } from "../lib/job-event.ts";

ponder.on("InferenceEscrow:Compensated", async ({ event, context }) => {
  const { jobId, paid, owed } = event.args;
  const credits = await giveBack(context, event);
  const row = await context.db.update(job, { id: jobId }).set((before) => ({
    creditsCompensated: before.creditsCompensated + credits,
    treasuryGranted: before.treasuryPaid + paid + owed,
    treasuryPaid: before.treasuryPaid + paid,
    treasuryOwes: owed,
    compensations: before.compensations + 1,
  }));
  // A debt is paid in parts, and the event has no number: their order tells them apart.
  const about = { kind: "job.compensated", ordinal: row.compensations };
  await recordJob(context, event, row, { ...about, derived: compensation(event, credits) });
});

ponder.on("InferenceEscrow:OperatorCharged", async ({ event, context }) => {
  const { jobId, credits } = event.args;
  const back = await giveBack(context, event);
  const row = await context.db.update(job, { id: jobId }).set((before) => ({
    creditsCompensated: before.creditsCompensated + back,
    operatorPaid: before.operatorPaid + credits,
  }));
  await recordJob(context, event, row, { kind: "job.operator_charged", derived: compensation(event, back) });
});

type Paid = ChainEvent & { args: { wallet: Address; free: number; escrowed: number } };

/** Whole credits of the event that its wallet got. A worker's share and fractions of a credit are tokens: the balance tells. */
async function giveBack(context: Context, { args: { wallet, free, escrowed } }: Paid): Promise<number> {
  let credits = 0;
  await context.db.update(account, { wallet }).set((before) => {
    credits = free - before.free;
    return { free, escrowed, compensated: before.compensated + credits };
  });
  return credits;
}

const compensation = ({ args: { free, escrowed } }: Paid, credits: number) => ({
  credits_compensated: credits,
  usdg_value: usdgValue(credits),
  total_before: free + escrowed - credits,
  total_after: free + escrowed,
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
  const { jobId, worker, firstHash, secondHash, disputeBefore } = event.args;
  const status = jobState(event.args.status);
  // A charge stands. What returns an escrow, or ends a dispute, is an event of its own, later in this transaction.
  const row = await context.db
    .update(job, { id: jobId })
    .set({ equivocated: true, disputeBefore: disputeBefore || null });
  const derived = { first_hash: toProofHash(firstHash), second_hash: toProofHash(secondHash), status };
  await recordJob(context, event, row, { kind: "job.equivocated", worker, derived });
});
