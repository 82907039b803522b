/** A job from its lock to its end: authorization, acknowledgement, proof, charge, or the return of its escrow. */

import type { Address, Hex } from "viem";
import { toProofHash } from "../../protocol/answer-hash.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { FAILURE_REASONS, type FailureReasonName } from "../../protocol/job-status.ts";
import { usdgValue } from "../../protocol/money.ts";
import { payouts } from "../../protocol/pricing.ts";
import { tierName } from "../../protocol/tiers.ts";
import { decodeAccountWord, decodeJobWord, decodeUsageWord } from "../../protocol/words.ts";
import { account, earnings, job, model } from "../ponder.schema.ts";
import { type Context, ponder } from "../registry.ts";
import { type ChainEvent, place, record, recordJob } from "./record.ts";

/** Seconds of a UTC day. */
const DAY = 86_400;

/** A job for which nothing was charged, returned or paid yet. */
const UNTOUCHED = {
  status: "pending",
  attempt: 0,
  creditsCharged: 0,
  creditsReturned: 0,
  creditsCompensated: 0,
  equivocated: false,
  operatorPaid: 0,
  treasuryGranted: 0n,
  treasuryPaid: 0n,
  treasuryOwes: 0n,
  compensationPaid: 0,
  compensationOwed: 0,
  compensations: 0,
  deferredPayouts: 0,
} as const;

ponder.on("InferenceEscrow:JobLocked", async ({ event, context }) => {
  const { job: jobWord, account: accountWord, ...args } = event.args;
  const { jobId, wallet, credits } = args;
  const { model: modelNumber, operator, ...terms } = decodeJobWord(jobWord);
  const { creditsPerRequest, creditsPer1kTokens, feeBps, operatorShare } = terms;
  const { id: number, free, escrowed } = decodeAccountWord(accountWord);
  const listing = await context.db.find(model, { number: modelNumber });
  if (listing === null) throw new Error(`job ${jobId} uses model ${modelNumber}, which no ModelListed announced`);
  const tier = tierName(event.args.tier);
  const { blockNumber, blockTime, txHash } = place(event);
  await context.db.insert(job).values({
    ...UNTOUCHED,
    id: jobId,
    wallet,
    model: listing.id,
    modelNumber,
    tier,
    operator,
    creditsLocked: credits,
    creditsPerRequest,
    creditsPerThousandTokens: creditsPer1kTokens,
    feeBps,
    operatorShare,
    createdAt: blockTime,
    escrowTx: txHash,
    lockBlock: blockNumber,
  });
  await context.db.update(account, { wallet }).set({ free, escrowed });
  await record(context, event, {
    kind: "job.locked",
    subject: jobId,
    wallet,
    jobId,
    args: {
      ...args,
      account: number,
      operator,
      creditsPerRequest,
      creditsPer1kTokens,
      feeBps,
      operatorShare,
      free,
      escrowed,
    },
    derived: {
      job_id: toApiJobId(jobId),
      model: listing.id,
      model_number: listing.number,
      tier,
      credits_locked: credits,
      usdg_value: usdgValue(credits),
    },
  });
});

ponder.on("InferenceEscrow:JobAuthorized", async ({ event, context }) => {
  const { jobId, key, requestHash } = event.args;
  const row = await context.db.update(job, { id: jobId }).set({ authorizationKey: key, requestHash });
  await recordJob(context, event, row, { kind: "job.authorized" });
});

ponder.on("InferenceEscrow:JobAcknowledged", async ({ event, context }) => {
  const { jobId, worker, attempt } = event.args;
  const { blockTime, txHash } = place(event);
  const row = await context.db
    .update(job, { id: jobId })
    .set({ status: "processing", worker, attempt, acknowledgedAt: blockTime, acknowledgeTx: txHash });
  await recordJob(context, event, row, { kind: "job.acknowledged", worker, ordinal: attempt });
});

ponder.on("InferenceEscrow:JobProven", async ({ event, context }) => {
  const { jobId, worker, proofHash, usage, finalizeFrom } = event.args;
  const { completedAt, billedTokens: _, ...tokens } = decodeUsageWord(usage);
  const { blockTime, txHash } = place(event);
  const row = await context.db.update(job, { id: jobId }).set({
    status: "settling",
    proofHash,
    ...tokens,
    answeredAt: completedAt,
    finalizeFrom,
    provenAt: blockTime,
    proofTx: txHash,
  });
  const derived = { proof_hash: toProofHash(proofHash) };
  await recordJob(context, event, row, { kind: "job.proven", worker, derived });
});

// A settlement from pending assigns the worker, too: no JobAcknowledged says so.
ponder.on("InferenceEscrow:JobSettled", async ({ event, context }) => {
  const { account: accountWord, usage: usageWord, ...args } = event.args;
  const { jobId, wallet, worker, proofHash, credits } = args;
  const usage = decodeUsageWord(usageWord);
  const { completedAt, ...tokens } = usage;
  const { id: number, free, escrowed } = decodeAccountWord(accountWord);
  const { blockNumber, blockTime, txHash } = place(event);
  let fused = false;
  const row = await context.db.update(job, { id: jobId }).set((before) => {
    fused = before.status === "pending";
    const { workerUnits, feeUnits, operatorUnits } = payouts(credits, before);
    return {
      status: "settled",
      worker,
      ...(fused && { attempt: before.attempt + 1, acknowledgedAt: blockTime, acknowledgeTx: txHash }),
      creditsCharged: credits,
      creditsReturned: before.creditsLocked - credits,
      proofHash,
      ...tokens,
      workerUnits: Number(workerUnits),
      feeUnits: Number(feeUnits),
      operatorUnits: Number(operatorUnits),
      answeredAt: completedAt,
      completedAt: blockTime,
      endedAt: blockTime,
      settlementTx: txHash,
      settlementBlock: blockNumber,
    };
  });
  await context.db.update(account, { wallet }).set((before) => ({ free, escrowed, charged: before.charged + credits }));
  await earn(context, row);
  const total = free + escrowed;
  await recordJob(context, event, row, {
    kind: "job.settled",
    worker,
    args: { ...args, ...usage, account: number, free, escrowed },
    derived: {
      attempt: row.attempt,
      fused,
      credits_charged: credits,
      credits_locked: row.creditsLocked,
      credits_returned: row.creditsReturned,
      worker_units: row.workerUnits,
      fee_units: row.feeUnits,
      operator_units: row.operatorUnits,
      usdg_value: usdgValue(credits),
      proof_hash: toProofHash(proofHash),
      total_before: total + credits,
      total_after: total,
    },
  });
});

/** Adds what a job that has just settled earned to the day of its lock. Without a share there is no row. */
async function earn(context: Context, row: typeof job.$inferSelect): Promise<void> {
  const units = BigInt(row.operatorUnits ?? 0);
  if (units === 0n) return;
  const day = Math.floor(row.createdAt / DAY);
  await context.db
    .insert(earnings)
    .values({ operator: row.operator, day, units })
    .onConflictDoUpdate((before) => ({ units: before.units + units }));
}

ponder.on("InferenceEscrow:JobFailed", async ({ event, context }) => {
  const name = FAILURE_REASONS[event.args.reason];
  if (name === undefined) {
    throw new RangeError(
      `unknown failure reason ${event.args.reason}: protocol/job-status.ts is older than the contracts`,
    );
  }
  await giveBack(context, event, "failed", name);
});

ponder.on("InferenceEscrow:JobRefunded", async ({ event, context }) => {
  await giveBack(context, event, "refunded", null);
});

type Return = ChainEvent & { args: { jobId: Hex; wallet: Address; credits: number; free: number; escrowed: number } };

/** The job ended and its whole escrow is free again. */
async function giveBack(
  context: Context,
  event: Return,
  status: "failed" | "refunded",
  reason: FailureReasonName | null,
): Promise<void> {
  const { jobId, wallet, credits, free, escrowed } = event.args;
  const { blockTime, txHash } = place(event);
  const row = await context.db
    .update(job, { id: jobId })
    .set({ status, creditsReturned: credits, endedAt: blockTime, returnTx: txHash, failureReason: reason });
  await context.db.update(account, { wallet }).set({ free, escrowed });
  await recordJob(context, event, row, {
    kind: `job.${status}`,
    derived: {
      credits_returned: credits,
      usdg_value: usdgValue(credits),
      reason: reason ?? (row.equivocated ? "equivocation" : "timeout"),
    },
  });
}
