/** WorkerRegistry: stake, endpoint, hosted models. Workers are keyed by signing key: ids depend on the order of blocks. */

import type { Address } from "viem";
import { toApiJobId } from "../../protocol/job-id.ts";
import { hosting, slash, worker } from "../ponder.schema.ts";
import { type Context, ponder } from "../registry.ts";
import { type ChainEvent, place, record } from "./record.ts";

/** Stakes are counted in millionths of an SVC. */
const STAKE_UNITS_PER_SVC = 1_000_000;

type WorkerChange = Partial<Omit<typeof worker.$inferSelect, "signer" | "number" | "sequence">>;
type WorkerEvent = ChainEvent & { args: { signer: Address; sequence: number } };

/** Applies a change to the worker's row and appends the event. */
async function changed(context: Context, event: WorkerEvent, kind: string, change: WorkerChange): Promise<void> {
  const { signer, sequence } = event.args;
  await context.db.update(worker, { signer }).set({ ...change, sequence });
  await append(context, event, kind);
}

async function append(context: Context, event: WorkerEvent, kind: string): Promise<void> {
  const { signer, sequence } = event.args;
  const derived = { worker_address: signer };
  await record(context, event, { kind: `worker.${kind}`, subject: signer, ordinal: sequence, worker: signer, derived });
}

ponder.on("WorkerRegistry:WorkerRegistered", async ({ event, context }) => {
  const { worker: number, signer, owner, sequence, payout, endpoint } = event.args;
  const { blockTime: registeredAt, txHash: registeredTx } = place(event);
  const registered = { signer, number, owner, payout, endpoint, sequence, registeredAt, registeredTx };
  await context.db.insert(worker).values({ ...registered, stake: 0n });
  await append(context, event, "registered");
});

ponder.on("WorkerRegistry:StakeAdded", async ({ event, context }) => {
  await changed(context, event, "stake_added", { stake: event.args.stake });
});

ponder.on("WorkerRegistry:PayoutSet", async ({ event, context }) => {
  await changed(context, event, "payout_set", { payout: event.args.payout });
});

ponder.on("WorkerRegistry:EndpointSet", async ({ event, context }) => {
  await changed(context, event, "endpoint_set", { endpoint: event.args.endpoint });
});

ponder.on("WorkerRegistry:HostingSet", async ({ event, context }) => {
  const { signer, models, hosted } = event.args;
  for (const model of new Set(models)) {
    const row = { worker: signer, model };
    if (hosted) await context.db.insert(hosting).values(row).onConflictDoNothing();
    else await context.db.delete(hosting, row);
  }
  await changed(context, event, "hosting_set", {});
});

ponder.on("WorkerRegistry:UnbondingStarted", async ({ event, context }) => {
  await changed(context, event, "unbonding_started", { unbondsAt: event.args.unbondsAt });
});

ponder.on("WorkerRegistry:UnbondingCancelled", async ({ event, context }) => {
  await changed(context, event, "unbonding_cancelled", { unbondsAt: null });
});

ponder.on("WorkerRegistry:StakeWithdrawn", async ({ event, context }) => {
  await changed(context, event, "stake_withdrawn", { stake: 0n, unbondsAt: null });
});

ponder.on("WorkerRegistry:WorkerSlashed", async ({ event, context }) => {
  const { signer, jobId, sequence, amount, stake, equivocation } = event.args;
  const { position, blockTime, txHash } = place(event);
  const reason = equivocation ? "equivocation" : "fraudulent_proof";
  await context.db.update(worker, { signer }).set({ stake, sequence });
  await context.db.insert(slash).values({ jobId, worker: signer, amount, stake, reason, position, blockTime, txHash });
  await record(context, event, {
    kind: "worker.slashed",
    subject: signer,
    ordinal: sequence,
    worker: signer,
    jobId,
    derived: {
      worker_address: signer,
      related_job_id: toApiJobId(jobId),
      slash_amount_svc: Number(amount) / STAKE_UNITS_PER_SVC,
      stake_svc: Number(stake) / STAKE_UNITS_PER_SVC,
      slash_tx: txHash,
      reason,
    },
  });
});
