/** Governance: operators, fee, treasury, cap of compensations, pause, owners. What operators do themselves is next door. */
import { type Context, ponder } from "ponder:registry";
import { operator } from "ponder:schema";
import type { Address } from "viem";
import { configure } from "../lib/config.ts";
import { type ChainEvent, place, record } from "../lib/event.ts";

type AdminEvent = ChainEvent & { args: { sequence: number } };

/** The escrow numbers all its administrative events in one sequence. */
async function append(context: Context, event: AdminEvent, kind: string): Promise<void> {
  await record(context, event, { kind: `admin.${kind}`, subject: "InferenceEscrow", ordinal: event.args.sequence });
}

ponder.on("InferenceEscrow:OperatorAdmitted", async ({ event, context }) => {
  const { operator: number, admin } = event.args;
  await context.db.insert(operator).values({
    number,
    admin,
    stopped: false,
    reserve: 0,
    held: 0,
    signers: [],
    admittedAt: place(event).blockTime,
    sequence: 0,
  });
  await append(context, event, "operator_admitted");
});

ponder.on("InferenceEscrow:OperatorStopped", async ({ event, context }) => {
  await context.db.update(operator, { number: event.args.operator }).set({ stopped: event.args.stopped });
  await append(context, event, "operator_stopped");
});

ponder.on("InferenceEscrow:FeeScheduled", async ({ event, context }) => {
  const { feeBps, effectiveAt } = event.args;
  const now = place(event).blockTime;
  await configure(context, (before) => {
    // The constructor's fee is in force at once; any other one replaces an announcement that is not in force yet.
    if (effectiveAt <= now) return { feeBps, nextFeeBps: null, feeChangesAt: null };
    const inForce = before.feeChangesAt !== null && before.feeChangesAt <= now;
    return {
      feeBps: (inForce ? before.nextFeeBps : null) ?? before.feeBps,
      nextFeeBps: feeBps,
      feeChangesAt: effectiveAt,
    };
  });
  await append(context, event, "fee_scheduled");
});

ponder.on("InferenceEscrow:TreasurySet", async ({ event, context }) => {
  await configure(context, () => ({ treasury: event.args.treasury }));
  await append(context, event, "treasury_set");
});

ponder.on("InferenceEscrow:GuardianSet", async ({ event, context }) => {
  await configure(context, () => ({ guardian: event.args.guardian }));
  await append(context, event, "guardian_set");
});

ponder.on("InferenceEscrow:PausedSet", async ({ event, context }) => {
  const { byGuardian, byGovernance } = event.args;
  await configure(context, () => ({ pausedByGuardian: byGuardian, pausedByGovernance: byGovernance }));
  await append(context, event, "paused_set");
});

ponder.on("InferenceEscrow:CompensationCapSet", async ({ event, context }) => {
  await configure(context, () => ({ compensationCap: event.args.credits }));
  await append(context, event, "compensation_cap_set");
});

// Set once in the life of a treasury: its key needs no number.
ponder.on("ProtocolTreasury:EscrowSet", async ({ event, context }) => {
  await record(context, event, { kind: "treasury.escrow_set", subject: "ProtocolTreasury" });
});

ponder.on("ProtocolTreasury:TreasuryPaid", async ({ event, context }) => {
  await record(context, event, { kind: "treasury.paid", subject: "ProtocolTreasury", ordinal: event.args.sequence });
});

ponder.on("InferenceEscrow:OwnershipTransferred", ({ event, context }) => owned(context, event, "InferenceEscrow"));
ponder.on("ModelCatalog:OwnershipTransferred", ({ event, context }) => owned(context, event, "ModelCatalog"));
ponder.on("WorkerRegistry:OwnershipTransferred", ({ event, context }) => owned(context, event, "WorkerRegistry"));
ponder.on("ProtocolTreasury:OwnershipTransferred", ({ event, context }) => owned(context, event, "ProtocolTreasury"));
ponder.on("ArbitrationPanel:OwnershipTransferred", ({ event, context }) => owned(context, event, "ArbitrationPanel"));

/** OpenZeppelin's event has no number of its own, so the changes of each contract are counted here, in chain order. */
async function owned(
  context: Context,
  event: ChainEvent & { args: { newOwner: Address } },
  contract: string,
): Promise<void> {
  const { newOwner } = event.args;
  const { ownerChanges } = await configure(context, (before) => ({
    owners: { ...before.owners, [contract]: newOwner },
    ownerChanges: { ...before.ownerChanges, [contract]: (before.ownerChanges[contract] ?? 0) + 1 },
  }));
  const ordinal = ownerChanges[contract] ?? 1;
  await record(context, event, { kind: "contract.owner_set", subject: contract, ordinal, derived: { contract } });
}
