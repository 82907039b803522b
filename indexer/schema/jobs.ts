import { onchainTable } from "ponder";
import type { JobState } from "../../protocol/job-status.ts";
import type { Tier } from "../../protocol/tiers.ts";
import type { FailureReasonName } from "../lib/failure-reason.ts";

export const job = onchainTable("job", (t) => ({
  id: t.hex().primaryKey(),
  wallet: t.hex().notNull(),
  /** Public model id. */
  model: t.text().notNull(),
  modelNumber: t.integer().notNull(),
  tier: t.text().$type<Tier>().notNull(),
  status: t.text().$type<JobState>().notNull(),
  /** Id of the operator that locked it and may end it. */
  operator: t.integer().notNull(),
  /** The key that signed for the job, and the SHA-256 of the request it signed; null for a wallet without such a key. */
  authorizationKey: t.hex(),
  requestHash: t.hex(),
  creditsLocked: t.int8({ mode: "number" }).notNull(),
  /** 0 until settled. */
  creditsCharged: t.int8({ mode: "number" }).notNull(),
  creditsReturned: t.int8({ mode: "number" }).notNull(),
  creditsPerRequest: t.integer().notNull(),
  creditsPerThousandTokens: t.integer().notNull(),
  feeBps: t.integer().notNull(),
  worker: t.hex(),
  attempt: t.integer().notNull(),
  /** Block time of the lock. */
  createdAt: t.int8({ mode: "number" }).notNull(),
  /** Of a job settled from pending: the settlement, which assigned its worker. */
  acknowledgedAt: t.int8({ mode: "number" }),
  /** Time of the final token as the worker signed it. */
  answeredAt: t.int8({ mode: "number" }),
  provenAt: t.int8({ mode: "number" }),
  finalizeFrom: t.int8({ mode: "number" }),
  /** Block time of the settlement; null for any other end. */
  completedAt: t.int8({ mode: "number" }),
  /** Block time of settlement, failure or refund; of the refund when a settled job is refunded later. */
  endedAt: t.int8({ mode: "number" }),
  escrowTx: t.hex().notNull(),
  acknowledgeTx: t.hex(),
  proofTx: t.hex(),
  settlementTx: t.hex(),
  /** Transaction that gave the escrow back, or ended a dispute in a refund. */
  returnTx: t.hex(),
  lockBlock: t.int8({ mode: "number" }).notNull(),
  settlementBlock: t.int8({ mode: "number" }),
  /** Chain position of the lock; the order of all lists. */
  position: t.int8({ mode: "number" }).notNull(),
  proofHash: t.hex(),
  promptTokens: t.int8({ mode: "number" }),
  completionTokens: t.int8({ mode: "number" }),
  billedTokens: t.int8({ mode: "number" }),
  workerUnits: t.int8({ mode: "number" }),
  feeUnits: t.int8({ mode: "number" }),
  disputedAt: t.int8({ mode: "number" }),
  disputeTx: t.hex(),
  /** Its worker was shown to have signed two answers for it. */
  equivocated: t.boolean().notNull(),
  /** The worker equivocated after the charge: the wallet may dispute without a bond before this time. */
  disputeBefore: t.int8({ mode: "number" }),
  /** Whole credits of the charge that operator and treasury gave back to the wallet. */
  creditsCompensated: t.int8({ mode: "number" }).notNull(),
  /** Credits that the operator's reserve paid for the job, to the wallet or to the worker. */
  operatorPaid: t.int8({ mode: "number" }).notNull(),
  /** Token units that the treasury was charged for the job, has paid and still owes: granted = paid + owes. */
  treasuryGranted: t.bigint().notNull(),
  treasuryPaid: t.bigint().notNull(),
  treasuryOwes: t.bigint().notNull(),
  /** Compensations so far: numbers them in event keys. */
  compensations: t.integer().notNull(),
  /** Payouts the token refused, so far: numbers them in event keys. */
  deferredPayouts: t.integer().notNull(),
  failureReason: t.text().$type<FailureReasonName>(),
}));
