/** Settlement: proofs of the slow path, charges. A settlement from pending assigns the worker, too, and no JobAcknowledged says so. */
import { ponder } from "ponder:registry";
import { account, job } from "ponder:schema";
import { toProofHash } from "../../protocol/answer-hash.ts";
import { usdgValue } from "../../protocol/money.ts";
import { payouts } from "../../protocol/pricing.ts";
import { decodeAccountWord, decodeUsageWord } from "../../protocol/words.ts";
import { place } from "../lib/event.ts";
import { recordJob } from "../lib/job-event.ts";

ponder.on("InferenceEscrow:JobProven", async ({ event, context }) => {
  const { jobId, worker, proofHash, promptTokens, completionTokens, completedAt, finalizeFrom } = event.args;
  const { blockTime, txHash } = place(event);
  const row = await context.db.update(job, { id: jobId }).set({
    status: "settling",
    proofHash,
    promptTokens,
    completionTokens,
    answeredAt: completedAt,
    finalizeFrom,
    provenAt: blockTime,
    proofTx: txHash,
  });
  const derived = { proof_hash: toProofHash(proofHash) };
  await recordJob(context, event, row, { kind: "job.proven", worker, derived });
});

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
    const { workerUnits, feeUnits } = payouts(credits, before.feeBps);
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
      answeredAt: completedAt,
      completedAt: blockTime,
      endedAt: blockTime,
      settlementTx: txHash,
      settlementBlock: blockNumber,
    };
  });
  await context.db.update(account, { wallet }).set((before) => ({ free, escrowed, charged: before.charged + credits }));
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
      usdg_value: usdgValue(credits),
      proof_hash: toProofHash(proofHash),
      total_before: total + credits,
      total_after: total,
    },
  });
});
