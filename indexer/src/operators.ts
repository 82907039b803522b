/** What operators do themselves: admin, signers, reserve. Each numbers its own events. */
import { type Context, ponder } from "ponder:registry";
import { operator } from "ponder:schema";
import type { Hex } from "viem";
import { toApiJobId } from "../../protocol/job-id.ts";
import { type ChainEvent, type EventRecord, place, record } from "../lib/event.ts";

type Row = typeof operator.$inferSelect;
type OperatorEvent = ChainEvent & { args: { operator: number; sequence: number } };

/** Applies a change to the operator's row and appends the event. */
async function changed(
  context: Context,
  event: OperatorEvent,
  { kind, ...about }: Pick<EventRecord, "kind" | "jobId" | "derived">,
  change: (before: Row) => Partial<Row>,
): Promise<void> {
  const { operator: number, sequence } = event.args;
  await context.db.update(operator, { number }).set((before) => ({ ...change(before), sequence }));
  await record(context, event, { ...about, kind: `operator.${kind}`, subject: number, ordinal: sequence });
}

ponder.on("InferenceEscrow:OperatorAdminSet", async ({ event, context }) => {
  await changed(context, event, { kind: "admin_set" }, () => ({ admin: event.args.admin }));
});

ponder.on("InferenceEscrow:SignerAdded", async ({ event, context }) => {
  const added = { signer: event.args.signer, addedAt: place(event).blockTime, removedAt: null };
  await changed(context, event, { kind: "signer_added" }, ({ signers }) => ({
    // A key can come back to its operator, and only to it.
    signers: signers.some(({ signer }) => signer === added.signer)
      ? signers.map((one) => (one.signer === added.signer ? added : one))
      : [...signers, added],
  }));
});

ponder.on("InferenceEscrow:SignerRemoved", async ({ event, context }) => {
  const { signer: removed } = event.args;
  const removedAt = place(event).blockTime;
  await changed(context, event, { kind: "signer_removed" }, ({ signers }) => ({
    signers: signers.map((one) => (one.signer === removed ? { ...one, removedAt } : one)),
  }));
});

/** What a change of a reserve names as its job when no dispute caused it. */
const NO_JOB: Hex = `0x${"0".repeat(32)}`;

ponder.on("InferenceEscrow:ReserveChanged", async ({ event, context }) => {
  const { jobId, reserve, held } = event.args;
  const ofJob = jobId === NO_JOB ? { derived: { job_id: null } } : { jobId, derived: { job_id: toApiJobId(jobId) } };
  await changed(context, event, { kind: "reserve_changed", ...ofJob }, ({ leaving, leavesAt, ...before }) => ({
    reserve,
    held,
    // Only a withdrawal lowers the reserve without a job; it uses the announcement up, whatever it paid.
    ...(jobId === NO_JOB && reserve <= before.reserve ? { leaving: null, leavesAt: null } : { leaving, leavesAt }),
  }));
});

ponder.on("InferenceEscrow:ReserveLeaving", async ({ event, context }) => {
  const { credits, leavesAt } = event.args;
  const announced = credits === 0 ? { leaving: null, leavesAt: null } : { leaving: credits, leavesAt };
  await changed(context, event, { kind: "reserve_leaving" }, () => announced);
});
