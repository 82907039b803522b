/** Wallets and payees: deposits, withdrawals, choices and limits, payouts that the token refused. */

import { type Address, type Hex, zeroAddress } from "viem";
import { toApiJobId } from "../../protocol/job-id.ts";
import { usdgValue } from "../../protocol/money.ts";
import { account, job, payout } from "../ponder.schema.ts";
import { type Context, ponder } from "../registry.ts";
import { type ChainEvent, configure, jobOf, place, record } from "./record.ts";

type AccountEvent = ChainEvent & { args: { wallet: Address; sequence: number } };

/** Appends an event of a wallet, which numbers its own. */
async function append(
  context: Context,
  event: AccountEvent,
  kind: string,
  derived: Record<string, unknown>,
): Promise<void> {
  const { wallet, sequence } = event.args;
  await record(context, event, { kind: `account.${kind}`, subject: wallet, ordinal: sequence, wallet, derived });
}

const NEW_ACCOUNT = {
  withdrawn: 0,
  charged: 0,
  compensated: 0,
  forfeited: 0,
  authorizationKey: null,
  disputeKey: null,
  dailyLimit: null,
  frozen: false,
  disputes: 0,
  openDisputes: 0,
};

ponder.on("InferenceEscrow:Deposited", async ({ event, context }) => {
  const { wallet, account: number, sequence, credits, operator, free, escrowed } = event.args;
  const { blockTime, txHash } = place(event);
  const chosen = operator || null;
  const topup = { free, escrowed, sequence, operator: chosen, lastTopupAt: blockTime, lastTopupTx: txHash };
  await context.db
    .insert(account)
    .values({ wallet, number, ...topup, ...NEW_ACCOUNT, deposited: credits, firstTopupAt: blockTime })
    .onConflictDoUpdate((row) => ({ ...topup, deposited: row.deposited + credits }));
  const total = free + escrowed;
  const derived = { usdg_value: usdgValue(credits), total_before: total - credits, total_after: total };
  await append(context, event, "deposited", derived);
});

ponder.on("InferenceEscrow:Withdrawn", async ({ event, context }) => {
  const { wallet, sequence, credits, free, escrowed } = event.args;
  await context.db
    .update(account, { wallet })
    .set((row) => ({ free, escrowed, sequence, withdrawn: row.withdrawn + credits }));
  const total = free + escrowed;
  const derived = { usdg_value: usdgValue(credits), total_before: total + credits, total_after: total };
  await append(context, event, "withdrawn", derived);
});

ponder.on("InferenceEscrow:OperatorChosen", async ({ event, context }) => {
  const { wallet, sequence, operator } = event.args;
  await context.db.update(account, { wallet }).set({ sequence, operator: operator || null });
  await append(context, event, "operator_chosen", {});
});

ponder.on("InferenceEscrow:AuthorizationKeySet", async ({ event, context }) => {
  const { wallet, sequence, key } = event.args;
  const authorizationKey = key === zeroAddress ? null : key;
  await context.db.update(account, { wallet }).set({ sequence, authorizationKey });
  await append(context, event, "authorization_key_set", { key: authorizationKey });
});

ponder.on("InferenceEscrow:DisputeKeySet", async ({ event, context }) => {
  const { wallet, sequence, key } = event.args;
  const disputeKey = key === zeroAddress ? null : key;
  await context.db.update(account, { wallet }).set({ sequence, disputeKey });
  await append(context, event, "dispute_key_set", { key: disputeKey });
});

ponder.on("InferenceEscrow:LimitsSet", async ({ event, context }) => {
  const { wallet, sequence, limited, frozen } = event.args;
  const dailyLimit = limited ? event.args.dailyLimit : null;
  await context.db.update(account, { wallet }).set({ sequence, dailyLimit, frozen });
  await append(context, event, "limits_set", { daily_limit: dailyLimit });
});

ponder.on("InferenceEscrow:PayoutDeferred", async ({ event, context }) => {
  const { payee, units } = event.args;
  const jobId = jobOf(event.args.jobId);
  const key = jobId === null ? await feesDeferred(context, event) : await payoutDeferred(context, event, jobId);
  const { position, blockTime, txHash } = place(event);
  const row = { key, kind: "deferred", payee, units, jobId, position, blockTime, txHash } as const;
  await context.db.insert(payout).values(row);
});

/** The treasury's share of a whole batch was refused. The event has no number: such refusals are counted in chain order. */
async function feesDeferred(context: Context, event: ChainEvent): Promise<string> {
  const { feesDeferred } = await configure(context, (before) => ({ feesDeferred: before.feesDeferred + 1 }));
  const about = { kind: "escrow.fees_deferred", subject: "InferenceEscrow", ordinal: feesDeferred };
  return await record(context, event, { ...about, derived: { job_id: null } });
}

/** Worker and treasury can be one payee, and a compensation's fraction comes later: the order tells a job's deferrals apart. */
async function payoutDeferred(context: Context, event: ChainEvent, jobId: Hex): Promise<string> {
  const { wallet, worker, deferredPayouts } = await context.db
    .update(job, { id: jobId })
    .set((row) => ({ deferredPayouts: row.deferredPayouts + 1 }));
  const about = { kind: "job.payout_deferred", subject: jobId, ordinal: deferredPayouts };
  return await record(context, event, { ...about, wallet, jobId, worker, derived: { job_id: toApiJobId(jobId) } });
}

ponder.on("InferenceEscrow:PayoutClaimed", async ({ event, context }) => {
  const { payee, receiver, sequence, units } = event.args;
  const key = await record(context, event, { kind: "payee.claimed", subject: payee, ordinal: sequence });
  const { position, blockTime, txHash } = place(event);
  await context.db.insert(payout).values({ key, kind: "claimed", payee, receiver, units, position, blockTime, txHash });
});
