/** CreditLedger: deposits, withdrawals, payouts that the token refused. */
import { ponder } from "ponder:registry";
import { account, job, payout } from "ponder:schema";
import { toApiJobId } from "../../protocol/job-id.ts";
import { usdgValue } from "../../protocol/money.ts";
import { place, record } from "../lib/event.ts";

ponder.on("InferenceEscrow:Deposited", async ({ event, context }) => {
  const { wallet, account: number, sequence, credits, free, escrowed } = event.args;
  const { blockTime, txHash } = place(event);
  const topup = { free, escrowed, sequence, lastTopupAt: blockTime, lastTopupTx: txHash };
  await context.db
    .insert(account)
    .values({ wallet, number, ...topup, deposited: credits, withdrawn: 0, charged: 0, firstTopupAt: blockTime })
    .onConflictDoUpdate((row) => ({ ...topup, deposited: row.deposited + credits }));
  const total = free + escrowed;
  await record(context, event, {
    kind: "account.deposited",
    subject: wallet,
    ordinal: sequence,
    wallet,
    derived: { usdg_value: usdgValue(credits), total_before: total - credits, total_after: total },
  });
});

ponder.on("InferenceEscrow:Withdrawn", async ({ event, context }) => {
  const { wallet, sequence, credits, free, escrowed } = event.args;
  await context.db
    .update(account, { wallet })
    .set((row) => ({ free, escrowed, sequence, withdrawn: row.withdrawn + credits }));
  const total = free + escrowed;
  await record(context, event, {
    kind: "account.withdrawn",
    subject: wallet,
    ordinal: sequence,
    wallet,
    derived: { usdg_value: usdgValue(credits), total_before: total + credits, total_after: total },
  });
});

ponder.on("InferenceEscrow:PayoutDeferred", async ({ event, context }) => {
  const { jobId, payee, units } = event.args;
  // Worker and treasury can be one payee, so the payee does not tell two deferrals of a job apart: their order does.
  const { wallet, worker, deferredPayouts } = await context.db
    .update(job, { id: jobId })
    .set((row) => ({ deferredPayouts: row.deferredPayouts + 1 }));
  const key = await record(context, event, {
    kind: "job.payout_deferred",
    subject: jobId,
    ordinal: deferredPayouts,
    wallet,
    jobId,
    worker,
    derived: { job_id: toApiJobId(jobId) },
  });
  const { position, blockTime, txHash } = place(event);
  await context.db.insert(payout).values({ key, kind: "deferred", payee, units, jobId, position, blockTime, txHash });
});

ponder.on("InferenceEscrow:PayoutClaimed", async ({ event, context }) => {
  const { payee, sequence, units } = event.args;
  const key = await record(context, event, { kind: "payee.claimed", subject: payee, ordinal: sequence });
  const { position, blockTime, txHash } = place(event);
  await context.db.insert(payout).values({ key, kind: "claimed", payee, units, position, blockTime, txHash });
});
