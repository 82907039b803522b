/** Settlement: proofs of the slow path, charges. The fused fast path emits JobAcknowledged first, in the same transaction. */
import { ponder } from "ponder:registry";
import { account, job } from "ponder:schema";
import { toProofHash } from "../../protocol/answer-hash.ts";
import { usdgValue } from "../../protocol/money.ts";
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
  const { jobId, wallet, worker, proofHash, promptTokens, completionTokens, billedTokens } = event.args;
  const { credits, returned, workerUnits, feeUnits, free, escrowed } = event.args;
  const { blockNumber, blockTime, txHash } = place(event);
  const row = await context.db.update(job, { id: jobId }).set({
    status: "settled",
    worker,
    creditsCharged: credits,
    creditsReturned: returned,
    proofHash,
    promptTokens,
    completionTokens,
    billedTokens,
    workerUnits: Number(workerUnits),
    feeUnits: Number(feeUnits),
    completedAt: blockTime,
    endedAt: blockTime,
    settlementTx: txHash,
    settlementBlock: blockNumber,
  });
  await context.db.update(account, { wallet }).set((before) => ({ free, escrowed, charged: before.charged + credits }));
  const total = free + escrowed;
  await recordJob(context, event, row, {
    kind: "job.settled",
    worker,
    derived: {
      credits_charged: credits,
      credits_locked: row.creditsLocked,
      usdg_value: usdgValue(credits),
      proof_hash: toProofHash(proofHash),
      total_before: total + credits,
      total_after: total,
    },
  });
});
