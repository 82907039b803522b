/** Governance: fee, treasury, pause, stake terms, arbiters, owners. Admitting and stopping operators stands in operators.ts. */

import type { Address } from "viem";
import { toApiJobId } from "../../protocol/job-id.ts";
import { type Context, ponder } from "../registry.ts";
import { type ChainEvent, configure, place, record } from "./record.ts";

type AdminEvent = ChainEvent & { args: { sequence: number } };

/** The escrow numbers all its administrative events in one sequence. */
export async function recordAdmin(context: Context, event: AdminEvent, kind: string): Promise<void> {
  await record(context, event, { kind: `admin.${kind}`, subject: "InferenceEscrow", ordinal: event.args.sequence });
}

ponder.on("InferenceEscrow:FeeScheduled", async ({ event, context }) => {
  const { feeBps, operatorShare, effectiveAt } = event.args;
  const now = place(event).blockTime;
  await configure(context, (before) => {
    // The constructor's fee is in force at once; any other one replaces an announcement that is not in force yet.
    if (effectiveAt <= now) {
      return { feeBps, operatorShare, nextFeeBps: null, nextOperatorShare: null, feeChangesAt: null };
    }
    const inForce = before.feeChangesAt !== null && before.feeChangesAt <= now;
    return {
      feeBps: (inForce ? before.nextFeeBps : null) ?? before.feeBps,
      operatorShare: (inForce ? before.nextOperatorShare : null) ?? before.operatorShare,
      nextFeeBps: feeBps,
      nextOperatorShare: operatorShare,
      feeChangesAt: effectiveAt,
    };
  });
  await recordAdmin(context, event, "fee_scheduled");
});

ponder.on("InferenceEscrow:TreasurySet", async ({ event, context }) => {
  await configure(context, () => ({ treasury: event.args.treasury }));
  await recordAdmin(context, event, "treasury_set");
});

ponder.on("InferenceEscrow:GuardianSet", async ({ event, context }) => {
  await configure(context, () => ({ guardian: event.args.guardian }));
  await recordAdmin(context, event, "guardian_set");
});

ponder.on("InferenceEscrow:PausedSet", async ({ event, context }) => {
  const { byGuardian, byGovernance } = event.args;
  await configure(context, () => ({ pausedByGuardian: byGuardian, pausedByGovernance: byGovernance }));
  await recordAdmin(context, event, "paused_set");
});

ponder.on("InferenceEscrow:CompensationCapSet", async ({ event, context }) => {
  await configure(context, () => ({ compensationCap: event.args.credits }));
  await recordAdmin(context, event, "compensation_cap_set");
});

const NOTHING_ANNOUNCED = { nextMinimumStake: null, nextSlashAmount: null, stakeTermsChangeAt: null };

ponder.on("WorkerRegistry:StakeTermsScheduled", async ({ event, context }) => {
  const { sequence, minimumStake, slashAmount, effectiveAt } = event.args;
  const now = place(event).blockTime;
  await configure(context, (before) => {
    if (effectiveAt <= now) return { ...NOTHING_ANNOUNCED, minimumStake, slashAmount };
    // Announced terms apply by time. An announcement that is not in force when the next one is made never will be.
    const inForce = before.stakeTermsChangeAt !== null && before.stakeTermsChangeAt <= now;
    return {
      minimumStake: inForce ? before.nextMinimumStake : before.minimumStake,
      slashAmount: inForce ? before.nextSlashAmount : before.slashAmount,
      nextMinimumStake: minimumStake,
      nextSlashAmount: slashAmount,
      stakeTermsChangeAt: effectiveAt,
    };
  });
  await record(context, event, {
    kind: "registry.stake_terms_scheduled",
    subject: "WorkerRegistry",
    ordinal: sequence,
  });
});

// Nothing is read from the index for it: gateways ask the registry.
ponder.on("WorkerRegistry:SvcWorthScheduled", async ({ event, context }) => {
  await record(context, event, {
    kind: "registry.svc_worth_scheduled",
    subject: "WorkerRegistry",
    ordinal: event.args.sequence,
  });
});

ponder.on("ArbitrationPanel:ArbitersSet", async ({ event, context }) => {
  const { set, arbiters, quorum } = event.args;
  await configure(context, () => ({ arbiterSet: set, arbiters, arbiterQuorum: quorum }));
  await record(context, event, { kind: "panel.arbiters_set", subject: "ArbitrationPanel", ordinal: set });
});

// A contract's escrow is set once in its life: the keys of these events need no number.
ponder.on("WorkerRegistry:EscrowSet", async ({ event, context }) => {
  await configure(context, () => ({ registryEscrow: event.args.escrow }));
  await record(context, event, { kind: "registry.escrow_set", subject: "WorkerRegistry" });
});

ponder.on("ArbitrationPanel:EscrowSet", async ({ event, context }) => {
  await record(context, event, { kind: "panel.escrow_set", subject: "ArbitrationPanel" });
});

ponder.on("ProtocolTreasury:EscrowSet", async ({ event, context }) => {
  await record(context, event, { kind: "treasury.escrow_set", subject: "ProtocolTreasury" });
});

ponder.on("ProtocolTreasury:TreasuryPaid", async ({ event, context }) => {
  await record(context, event, { kind: "treasury.paid", subject: "ProtocolTreasury", ordinal: event.args.sequence });
});

ponder.on("ProtocolTreasury:CompensationPaid", async ({ event, context }) => {
  const { jobId, sequence } = event.args;
  await record(context, event, {
    kind: "treasury.compensation_paid",
    subject: "ProtocolTreasury",
    ordinal: sequence,
    jobId,
    derived: { job_id: toApiJobId(jobId) },
  });
});

const OWNED = ["InferenceEscrow", "ModelCatalog", "WorkerRegistry", "ProtocolTreasury", "ArbitrationPanel"] as const;

for (const contract of OWNED) {
  ponder.on(`${contract}:OwnershipTransferred`, async ({ event, context }) => {
    const newOwner: Address = event.args.newOwner;
    // OpenZeppelin's event has no number of its own, so the changes of each contract are counted, in chain order.
    const { ownerChanges } = await configure(context, (before) => ({
      owners: { ...before.owners, [contract]: newOwner },
      ownerChanges: { ...before.ownerChanges, [contract]: (before.ownerChanges[contract] ?? 0) + 1 },
    }));
    const ordinal = ownerChanges[contract] ?? 1;
    await record(context, event, { kind: "contract.owner_set", subject: contract, ordinal, derived: { contract } });
  });
}
