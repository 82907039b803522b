/** ArbitrationPanel: who arbitrates, and how they vote. The ruling itself is an event of the escrow. */
import { ponder } from "ponder:registry";
import { dispute } from "ponder:schema";
import { toApiJobId } from "../../protocol/job-id.ts";
import { rulingName } from "../../protocol/ruling.ts";
import { configure } from "../lib/config.ts";
import { record } from "../lib/event.ts";

ponder.on("ArbitrationPanel:Voted", async ({ event, context }) => {
  const { jobId, arbiter, votes } = event.args;
  const ruling = rulingName(event.args.ruling);
  const row = await context.db.update(dispute, { jobId }).set({
    ...(ruling === "worker_at_fault" && { votesWorkerAtFault: votes }),
    ...(ruling === "gateway_at_fault" && { votesGatewayAtFault: votes }),
    ...(ruling === "rejected" && { votesRejected: votes }),
  });
  await record(context, event, {
    kind: "job.arbiter_voted",
    subject: jobId,
    // An arbiter votes once a job.
    ordinal: arbiter.toLowerCase(),
    wallet: row.wallet,
    jobId,
    worker: row.worker,
    derived: { job_id: toApiJobId(jobId), ruling },
  });
});

ponder.on("ArbitrationPanel:ArbitersSet", async ({ event, context }) => {
  const { set, arbiters, quorum } = event.args;
  await configure(context, () => ({ arbiterSet: set, arbiters, arbiterQuorum: quorum }));
  await record(context, event, { kind: "panel.arbiters_set", subject: "ArbitrationPanel", ordinal: set });
});

// Set once in the life of a panel: its key needs no number.
ponder.on("ArbitrationPanel:EscrowSet", async ({ event, context }) => {
  await record(context, event, { kind: "panel.escrow_set", subject: "ArbitrationPanel" });
});
