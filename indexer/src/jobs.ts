/** Locks, authorizations, acknowledgements, and the ends without a charge. Handlers of settlement are next door. */
import { type Context, ponder } from "ponder:registry";
import { account, job, model } from "ponder:schema";
import type { Address, Hex } from "viem";
import { toApiJobId } from "../../protocol/job-id.ts";
import { usdgValue } from "../../protocol/money.ts";
import { tierName } from "../../protocol/tiers.ts";
import { decodeAccountWord, decodeJobWord } from "../../protocol/words.ts";
import { type ChainEvent, place, record } from "../lib/event.ts";
import { type FailureReasonName, failureReasonName } from "../lib/failure-reason.ts";
import { recordJob } from "../lib/job-event.ts";

ponder.on("InferenceEscrow:JobLocked", async ({ event, context }) => {
  const { job: jobWord, account: accountWord, ...args } = event.args;
  const { jobId, wallet, credits } = args;
  const { model: modelNumber, operator, creditsPerRequest, creditsPer1kTokens, feeBps } = decodeJobWord(jobWord);
  const { id: number, free, escrowed } = decodeAccountWord(accountWord);
  const listing = await context.db.find(model, { number: modelNumber });
  if (listing === null) throw new Error(`job ${jobId} uses model ${modelNumber}, which no ModelListed announced`);
  const tier = tierName(event.args.tier);
  const { blockNumber, blockTime, position, txHash } = place(event);
  await context.db.insert(job).values({
    id: jobId,
    wallet,
    model: listing.id,
    modelNumber: listing.number,
    tier,
    status: "pending",
    operator,
    creditsLocked: credits,
    creditsCharged: 0,
    creditsReturned: 0,
    creditsPerRequest,
    creditsPerThousandTokens: creditsPer1kTokens,
    feeBps,
    attempt: 0,
    createdAt: blockTime,
    escrowTx: txHash,
    lockBlock: blockNumber,
    position,
    creditsCompensated: 0,
    equivocated: false,
    operatorPaid: 0,
    treasuryGranted: 0n,
    treasuryPaid: 0n,
    treasuryOwes: 0n,
    compensations: 0,
    deferredPayouts: 0,
  });
  await context.db.update(account, { wallet }).set({ free, escrowed });
  await record(context, event, {
    kind: "job.locked",
    subject: jobId,
    wallet,
    jobId,
    args: { ...args, account: number, operator, creditsPerRequest, creditsPer1kTokens, feeBps, free, escrowed },
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

ponder.on("InferenceEscrow:JobFailed", async ({ event, context }) => {
  await giveBack(context, event, "failed", failureReasonName(event.args.reason));
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
