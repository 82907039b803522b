/** ArbitrationPanel: who arbitrates, and how they vote. The ruling itself is an event of the escrow. */
import { ponder } from "ponder:registry";
import { dispute } from "ponder:schema";
import { toApiJobId } from "../../protocol/job-id.ts";
import { type RulingName, rulingName } from "../../protocol/ruling.ts";
import { configure } from "../lib/config.ts";
import { record } from "../lib/event.ts";

/** Where the votes for a ruling are counted. */
const VOTES: Partial<Record<RulingName, "votesWorkerAtFault" | "votesGatewayAtFault" | "votesRejected">> = {
  worker_at_fault: "votesWorkerAtFault",
  gateway_at_fault: "votesGatewayAtFault",
  rejected: "votesRejected",
};

ponder.on("ArbitrationPanel:Voted", async ({ event, context }) => {
  const { jobId, arbiter, votes } = event.args;
  const ruling = rulingName(event.args.ruling);
  let cast = 0;
  const row = await context.db.update(dispute, { jobId }).set((before) => {
    const earlier = before.ballots[arbiter];
    cast = (earlier?.votes ?? 0) + 1;
    const withdrawn = earlier && VOTES[earlier.ruling];
    return {
      ballots: { ...before.ballots, [arbiter]: { ruling, votes: cast } },
      ...(withdrawn && { [withdrawn]: before[withdrawn] - 1 }),
      ...(VOTES[ruling] && { [VOTES[ruling]]: votes }),
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

ponder.on("ArbitrationPanel:ArbitersSet", async ({ event, context }) => {
  const { set, arbiters, quorum } = event.args;
  await configure(context, () => ({ arbiterSet: set, arbiters, arbiterQuorum: quorum }));
  await record(context, event, { kind: "panel.arbiters_set", subject: "ArbitrationPanel", ordinal: set });
});

// Set once in the life of a panel: its key needs no number.
ponder.on("ArbitrationPanel:EscrowSet", async ({ event, context }) => {
  await record(context, event, { kind: "panel.escrow_set", subject: "ArbitrationPanel" });
});
