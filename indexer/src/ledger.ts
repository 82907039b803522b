/** CreditLedger and SpendingLimits: deposits, withdrawals, limits, payouts that the token refused. */
import { ponder } from "ponder:registry";
import { account, job, payout } from "ponder:schema";
import { toApiJobId } from "../../protocol/job-id.ts";
import { usdgValue } from "../../protocol/money.ts";
import { place, record } from "../lib/event.ts";

const NEW_ACCOUNT = {
  withdrawn: 0,
  charged: 0,
  compensated: 0,
  forfeited: 0,
  dailyLimit: null,
  frozen: false,
  disputes: 0,
  openDisputes: 0,
};

ponder.on("InferenceEscrow:Deposited", async ({ event, context }) => {
  const { wallet, account: number, sequence, credits, free, escrowed } = event.args;
  const { blockTime, txHash } = place(event);
  const topup = { free, escrowed, sequence, lastTopupAt: blockTime, lastTopupTx: txHash };
  await context.db
    .insert(account)
    .values({ wallet, number, ...topup, ...NEW_ACCOUNT, deposited: credits, firstTopupAt: blockTime })
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

ponder.on("InferenceEscrow:LimitsSet", async ({ event, context }) => {
  const { wallet, sequence, limited, dailyLimit, frozen } = event.args;
  const limit = limited ? dailyLimit : null;
  await context.db.update(account, { wallet }).set({ sequence, dailyLimit: limit, frozen });
  await record(context, event, {
    kind: "account.limits_set",
    subject: wallet,
    ordinal: sequence,
    wallet,
    derived: { daily_limit: limit },
  });
});

ponder.on("InferenceEscrow:PayoutDeferred", async ({ event, context }) => {
  const { jobId, payee, units } = event.args;
  // Worker and treasury can be one payee, and a compensation's fraction comes later: the order tells a job's deferrals apart.
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
