/** Disputes: how a charge is questioned, and how that ends. What operator and treasury pay after it is next door. */
import { ponder } from "ponder:registry";
import { account, dispute, job } from "ponder:schema";
import type { Hex } from "viem";
import { toProofHash } from "../../protocol/answer-hash.ts";
import { ChainStatus, jobState } from "../../protocol/job-status.ts";
import { usdgValue } from "../../protocol/money.ts";
import { rulingName } from "../../protocol/ruling.ts";
import { place } from "../lib/event.ts";
import { recordJob } from "../lib/job-event.ts";

/** What a dispute of a client that received nothing names as its hash. */
const NOTHING: Hex = `0x${"0".repeat(64)}`;
const shownHash = (received: Hex) => (received === NOTHING ? null : toProofHash(received));

ponder.on("InferenceEscrow:JobDisputed", async ({ event, context }) => {
  const { jobId, wallet, worker, receivedHash, workerHash, byOperator, credits, bond } = event.args;
  const { arbiterSet, ruleFrom, ruleBefore, free, escrowed } = event.args;
  const { blockTime, position, txHash } = place(event);
  let fromProven = false;
  let equivocated = false;
  const row = await context.db.update(job, { id: jobId }).set((before) => {
    fromProven = before.status === "settling";
    equivocated = before.equivocated;
    return { status: "disputed", disputedAt: blockTime, disputeTx: txHash };
  });
  const opened = {
    wallet,
    worker,
    receivedHash,
    workerHash,
    byOperator,
    fromProven,
    afterEquivocation: equivocated,
    joinedHash: null,
    joinedAt: null,
    credits,
    bond,
    arbiterSet,
    votesWorkerAtFault: 0,
    votesGatewayAtFault: 0,
    votesRejected: 0,
    ballots: {},
    openedAt: blockTime,
    openedTx: txHash,
    ruleFrom,
    ruleBefore,
    ruling: null,
    resolvedAt: null,
    resolvedTx: null,
    creditsReturned: 0,
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
