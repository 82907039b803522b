/** Disputes: how a charge is questioned, and how that ends. What the treasury pays after it is next door. */
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

ponder.on("InferenceEscrow:JobDisputed", async ({ event, context }) => {
  const { jobId, wallet, worker, receivedHash, workerHash, byGateway, credits, bond } = event.args;
  const { arbiterSet, ruleBefore, free, escrowed } = event.args;
  const { blockTime, position, txHash } = place(event);
  let fromProven = false;
  const row = await context.db.update(job, { id: jobId }).set((before) => {
    fromProven = before.status === "settling";
    return { status: "disputed", disputedAt: blockTime, disputeTx: txHash };
  });
  await context.db.insert(dispute).values({
    jobId,
    wallet,
    worker,
    receivedHash,
    workerHash,
    byGateway,
    fromProven,
    credits,
    bond,
    arbiterSet,
    votesWorkerAtFault: 0,
    votesGatewayAtFault: 0,
    votesRejected: 0,
    openedAt: blockTime,
    openedTx: txHash,
    ruleBefore,
    creditsReturned: 0,
    position,
  });
  await context.db.update(account, { wallet }).set((before) => ({
    free,
    escrowed,
    disputes: before.disputes + 1,
    openDisputes: before.openDisputes + (byGateway ? 1 : 0),
  }));
  const total = free + escrowed;
  await recordJob(context, event, row, {
    kind: "job.disputed",
    worker,
    derived: {
      your_hash: receivedHash === NOTHING ? null : toProofHash(receivedHash),
      worker_hash: toProofHash(workerHash),
      credits_disputed: credits,
      usdg_value: usdgValue(credits),
      from_proven: fromProven,
      opened_by: byGateway ? "gateway" : "wallet",
      dispute_tx: txHash,
      arbitration_window_hours: (ruleBefore - blockTime) / 3_600,
      total_before: total,
      total_after: total,
    },
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
  const forfeited = ruling === "rejected" ? closed.bond : 0;
  const escrowBack = returned - (closed.bond - forfeited);

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
    openDisputes: before.openDisputes - (closed.byGateway ? 1 : 0),
  }));
  const total = free + escrowed;
  await recordJob(context, event, row, {
    kind: "job.dispute_resolved",
    worker: closed.worker,
    derived: {
      ruling,
      status,
      credits_returned: escrowBack,
      bond_returned: closed.bond - forfeited,
      bond_forfeited: forfeited,
      dispute_tx: closed.openedTx,
      total_before: total + forfeited,
      total_after: total,
    },
  });
});
