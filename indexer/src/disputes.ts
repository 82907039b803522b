/** Disputes: how a charge is questioned, voted on and ruled, and what that costs operator, treasury and worker. */

import type { Address, Hex } from "viem";
import { toProofHash } from "../../protocol/answer-hash.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { ChainStatus, jobState, rulingName } from "../../protocol/job-status.ts";
import { creditsOf, toUnits, usdgValue } from "../../protocol/money.ts";
import { account, type Ballot, dispute, job } from "../ponder.schema.ts";
import { type Context, ponder } from "../registry.ts";
import { type ChainEvent, place, record, recordJob } from "./record.ts";

/** The hash that a dispute names if the client received nothing. */
const NOTHING: Hex = `0x${"0".repeat(64)}`;
const shownHash = (received: Hex) => (received === NOTHING ? null : toProofHash(received));

/** A dispute on which nobody has voted. */
const UNRULED = {
  signedBy: null,
  joinedHash: null,
  joinedAt: null,
  votesWorkerAtFault: 0,
  votesGatewayAtFault: 0,
  votesRejected: 0,
  ballots: {},
  ruling: null,
  resolvedAt: null,
  resolvedTx: null,
  creditsReturned: 0,
};

ponder.on("InferenceEscrow:JobDisputed", async ({ event, context }) => {
  const { jobId, free, escrowed, ...facts } = event.args;
  const { wallet, worker, receivedHash, workerHash, byOperator, credits, ruleBefore } = facts;
  const { blockTime, position, txHash } = place(event);
  let fromProven = false;
  let equivocated = false;
  const row = await context.db.update(job, { id: jobId }).set((before) => {
    fromProven = before.status === "settling";
    equivocated = before.equivocated;
    return { status: "disputed", disputedAt: blockTime, disputeTx: txHash };
  });
  const opened = {
    ...facts,
    ...UNRULED,
    fromProven,
    afterEquivocation: equivocated,
    openedAt: blockTime,
    openedTx: txHash,
    position,
  };
  const { number } = await context.db
    .insert(dispute)
    .values({ jobId, number: 1, ...opened })
    .onConflictDoUpdate((earlier) => ({ ...opened, number: earlier.number + 1 }));
  await context.db.update(account, { wallet }).set((before) => ({
    free,
    escrowed,
    disputes: before.disputes + 1,
    openDisputes: before.openDisputes + (byOperator && !fromProven ? 1 : 0),
  }));
  const total = free + escrowed;
  await recordJob(context, event, row, {
    kind: "job.disputed",
    ordinal: number,
    worker,
    derived: {
      your_hash: shownHash(receivedHash),
      worker_hash: toProofHash(workerHash),
      credits_disputed: credits,
      usdg_value: usdgValue(credits),
      from_proven: fromProven,
      opened_by: byOperator ? "operator" : "wallet",
      dispute_tx: txHash,
      arbitration_window_hours: (ruleBefore - blockTime) / 3_600,
      total_before: total,
      total_after: total,
    },
  });
});

ponder.on("InferenceEscrow:DisputeJoined", async ({ event, context }) => {
  const { jobId, receivedHash } = event.args;
  const { blockTime } = place(event);
  // Both sides were heard: the panel may rule from now on.
  await context.db
    .update(dispute, { jobId })
    .set({ joinedHash: receivedHash, joinedAt: blockTime, ruleFrom: blockTime });
  const row = await context.db.find(job, { id: jobId });
  if (row === null) throw new Error(`a dispute of job ${jobId} was joined, but its lock is not indexed`);
  await recordJob(context, event, row, { kind: "job.dispute_joined", derived: { your_hash: shownHash(receivedHash) } });
});

ponder.on("InferenceEscrow:DisputeSigned", async ({ event, context }) => {
  const { jobId, key } = event.args;
  const { number } = await context.db.update(dispute, { jobId }).set({ signedBy: key });
  const row = await context.db.find(job, { id: jobId });
  if (row === null) throw new Error(`a key signed for a dispute of job ${jobId}, whose lock is not indexed`);
  // A job can be disputed twice, and each time a key signs once at most.
  await recordJob(context, event, row, { kind: "job.dispute_signed", ordinal: number });
});

/** The columns that count the votes for each ruling. */
const VOTES: Record<Ballot["ruling"], "votesWorkerAtFault" | "votesGatewayAtFault" | "votesRejected"> = {
  worker_at_fault: "votesWorkerAtFault",
  gateway_at_fault: "votesGatewayAtFault",
  rejected: "votesRejected",
};

ponder.on("ArbitrationPanel:Voted", async ({ event, context }) => {
  const { jobId, arbiter, votes } = event.args;
  const ruling = rulingName(event.args.ruling);
  if (ruling === "expired") throw new Error(`the panel took a vote of ${arbiter} for no ruling on job ${jobId}`);
  let cast = 0;
  const row = await context.db.update(dispute, { jobId }).set((before) => {
    const earlier = before.ballots[arbiter];
    cast = (earlier?.votes ?? 0) + 1;
    const withdrawn = earlier && VOTES[earlier.ruling];
    return {
      ballots: { ...before.ballots, [arbiter]: { ruling, votes: cast } },
      ...(withdrawn && { [withdrawn]: before[withdrawn] - 1 }),
      [VOTES[ruling]]: votes,
    };
  });
  await record(context, event, {
    kind: "job.arbiter_voted",
    subject: jobId,
    // An arbiter can change its vote, and a job can be disputed twice.
    ordinal: `${row.number}:${arbiter.toLowerCase()}:${cast}`,
    wallet: row.wallet,
    jobId,
    worker: row.worker,
    derived: { job_id: toApiJobId(jobId), ruling },
  });
});

ponder.on("InferenceEscrow:DisputeResolved", async ({ event, context }) => {
  const { jobId, wallet, returned, free, escrowed } = event.args;
  const { blockTime, txHash } = place(event);
  const ruling = rulingName(event.args.ruling);
  const status = jobState(event.args.status);
  if (status === null) throw new Error(`the dispute of job ${jobId} ended in unknown state ${event.args.status}`);
  const refunded = event.args.status === ChainStatus.Refunded;
  const closed = await context.db
    .update(dispute, { jobId })
    .set({ ruling, resolvedAt: blockTime, resolvedTx: txHash, creditsReturned: returned });
  // An operator's bond is held in its reserve, and events of its own tell what becomes of it.
  const bond = closed.byOperator ? 0 : closed.bond;
  const forfeited = ruling === "rejected" ? bond : 0;
  const escrowBack = returned - (bond - forfeited);

  const row = await context.db.update(job, { id: jobId }).set((before) => ({
    status,
    creditsReturned: before.creditsReturned + escrowBack,
    ...(refunded && { endedAt: blockTime, returnTx: txHash }),
    // The proof stands, and anyone can finalize it from now on.
    ...(status === "settling" && { finalizeFrom: blockTime }),
  }));
  await context.db.update(account, { wallet }).set((before) => ({
    free,
    escrowed,
    forfeited: before.forfeited + forfeited,
    openDisputes: before.openDisputes - (closed.byOperator && !closed.fromProven ? 1 : 0),
  }));
  const total = free + escrowed;
  await recordJob(context, event, row, {
    kind: "job.dispute_resolved",
    ordinal: closed.number,
    worker: closed.worker,
    derived: {
      ruling,
      status,
      credits_returned: escrowBack,
      bond_returned: bond - forfeited,
      bond_forfeited: forfeited,
      dispute_tx: closed.openedTx,
      total_before: total + forfeited,
      total_after: total,
    },
  });
});

ponder.on("InferenceEscrow:Compensated", async ({ event, context }) => {
  const { jobId, wallet, payee, paid, owed } = event.args;
  const credits = await giveBack(context, event);
  // To a worker it is pay, and what the wallet waited for goes there, too.
  const share = payee === wallet ? 1 : 0;
  const row = await context.db.update(job, { id: jobId }).set((before) => ({
    compensationPaid: before.compensationPaid + share * Number(paid),
    compensationOwed: share * Number(owed),
    creditsCompensated: before.creditsCompensated + credits,
    treasuryGranted: before.treasuryPaid + paid + owed,
    treasuryPaid: before.treasuryPaid + paid,
    treasuryOwes: owed,
    compensations: before.compensations + 1,
  }));
  // A debt is paid in parts, and the event has no number: their order tells them apart.
  const about = { kind: "job.compensated", ordinal: row.compensations };
  await recordJob(context, event, row, { ...about, derived: compensation(event, credits, row) });
});

ponder.on("InferenceEscrow:OperatorCharged", async ({ event, context }) => {
  const { jobId, wallet, payee, credits } = event.args;
  const back = await giveBack(context, event);
  const row = await context.db.update(job, { id: jobId }).set((before) => ({
    // The whole charge is due to a wallet that its operator must pay: the treasury owes what is left.
    ...(payee === wallet && {
      compensationPaid: before.compensationPaid + Number(toUnits(back)),
      compensationOwed: Number(toUnits(before.creditsCharged - back)) - before.compensationPaid,
    }),
    creditsCompensated: before.creditsCompensated + back,
    operatorPaid: before.operatorPaid + credits,
  }));
  await recordJob(context, event, row, { kind: "job.operator_charged", derived: compensation(event, back, row) });
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

type Owed = { compensationPaid: number; compensationOwed: number };

const compensation = ({ args: { free, escrowed } }: Paid, credits: number, so: Owed) => ({
  credits_compensated: credits,
  credits_due: creditsOf(so.compensationPaid + so.compensationOwed),
  credits_outstanding: creditsOf(so.compensationOwed),
  usdg_value: usdgValue(credits),
  total_before: free + escrowed - credits,
  total_after: free + escrowed,
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
