/** Operators: admission, admin, signers, reserve, earnings; and items of their batches that reverted alone. */

import { type Abi, type Hex, toFunctionSelector } from "viem";
import { decodeRevert } from "../../protocol/events.ts";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { batchItemFailure, earnings, job, operator } from "../ponder.schema.ts";
import { type Context, ponder } from "../registry.ts";
import { recordAdmin } from "./governance.ts";
import { type ChainEvent, jobOf, place, record } from "./record.ts";

ponder.on("InferenceEscrow:OperatorAdmitted", async ({ event, context }) => {
  const { operator: number, admin } = event.args;
  const admittedAt = place(event).blockTime;
  const fresh = { stopped: false, reserve: 0, held: 0, signers: [], sequence: 0 };
  await context.db.insert(operator).values({ number, admin, admittedAt, ...fresh });
  await recordAdmin(context, event, "operator_admitted");
});

ponder.on("InferenceEscrow:OperatorStopped", async ({ event, context }) => {
  await context.db.update(operator, { number: event.args.operator }).set({ stopped: event.args.stopped });
  await recordAdmin(context, event, "operator_stopped");
});

type Row = typeof operator.$inferSelect;
type OperatorEvent = ChainEvent & { args: { operator: number; sequence: number; jobId?: Hex } };

/** Applies a change to the operator's row and appends the event, which the operator numbers. */
async function changed(
  context: Context,
  event: OperatorEvent,
  kind: string,
  change: (before: Row) => Partial<Row>,
): Promise<void> {
  const { operator: number, sequence, jobId: named } = event.args;
  await context.db.update(operator, { number }).set((before) => ({ ...change(before), sequence }));
  const about = { kind: `operator.${kind}`, subject: number, ordinal: sequence };
  const jobId = named === undefined ? null : jobOf(named);
  const derived = named === undefined ? {} : { job_id: jobId && toApiJobId(jobId) };
  await record(context, event, { ...about, jobId, derived });
}

ponder.on("InferenceEscrow:OperatorAdminSet", async ({ event, context }) => {
  await changed(context, event, "admin_set", () => ({ admin: event.args.admin }));
});

ponder.on("InferenceEscrow:SignerAdded", async ({ event, context }) => {
  const added = { signer: event.args.signer, addedAt: place(event).blockTime, removedAt: null };
  await changed(context, event, "signer_added", ({ signers }) => ({
    // A key can come back to its operator, and only to it.
    signers: signers.some(({ signer }) => signer === added.signer)
      ? signers.map((one) => (one.signer === added.signer ? added : one))
      : [...signers, added],
  }));
});

ponder.on("InferenceEscrow:SignerRemoved", async ({ event, context }) => {
  const { signer: removed } = event.args;
  const removedAt = place(event).blockTime;
  await changed(context, event, "signer_removed", ({ signers }) => ({
    signers: signers.map((one) => (one.signer === removed ? { ...one, removedAt } : one)),
  }));
});

ponder.on("InferenceEscrow:ReserveChanged", async ({ event, context }) => {
  const { jobId, reserve, held } = event.args;
  await changed(context, event, "reserve_changed", (before) => {
    // Only a withdrawal lowers the reserve without a job; it uses the announcement up, whatever it paid.
    const withdrawal = jobOf(jobId) === null && reserve <= before.reserve;
    return { reserve, held, ...(withdrawal && { leaving: null, leavesAt: null }) };
  });
});

ponder.on("InferenceEscrow:ReserveLeaving", async ({ event, context }) => {
  const { credits, leavesAt } = event.args;
  const announced = credits === 0 ? { leaving: null, leavesAt: null } : { leaving: credits, leavesAt };
  await changed(context, event, "reserve_leaving", () => announced);
});

ponder.on("InferenceEscrow:EarningsChanged", async ({ event, context }) => {
  const { operator: number, jobId, day, units } = event.args;
  let change = 0n;
  await context.db.update(earnings, { operator: number, day }).set((before) => {
    change = units - before.units;
    return { units };
  });
  await context.db
    .update(job, { id: jobId })
    .set((before) => ({ operatorUnits: (before.operatorUnits ?? 0) + Number(change) }));
  await changed(context, event, "earnings_changed", () => ({}));
});

ponder.on("InferenceEscrow:EarningsWithdrawn", async ({ event, context }) => {
  const { operator: number, firstDay, lastDay } = event.args;
  for (let day = firstDay; day <= lastDay; day += 1) await context.db.delete(earnings, { operator: number, day });
  await changed(context, event, "earnings_withdrawn", () => ({}));
});

const functions = new Map<Hex, string>();
for (const item of inferenceEscrowAbi as Abi) {
  if (item.type === "function") functions.set(toFunctionSelector(item), item.name);
}

// No row in protocol_event: a failed item concerns its gateway alone, and has no number that a reorganisation would keep.
ponder.on("InferenceEscrow:BatchItemFailed", async ({ event, context }) => {
  const { index, selector, reason } = event.args;
  const { position, blockTime, txHash } = place(event);
  const { name } = decodeRevert(reason);
  await context.db.insert(batchItemFailure).values({
    txHash,
    item: Number(index),
    sender: event.transaction.from,
    selector,
    call: functions.get(selector) ?? null,
    error: name === "Unknown" ? null : name,
    reason,
    position,
    blockTime,
  });
});
