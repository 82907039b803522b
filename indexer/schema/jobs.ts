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
  gateway: t.integer().notNull(),
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
  acknowledgedAt: t.int8({ mode: "number" }),
  /** Time of the final token as the worker signed it; known on the slow path only. */
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
  /** Whole credits of the charge that the treasury gave back. */
  creditsCompensated: t.int8({ mode: "number" }).notNull(),
  /** Token units the treasury still owes for the job. */
  treasuryOwes: t.bigint().notNull(),
  /** Compensations so far: numbers them in event keys. */
  compensations: t.integer().notNull(),
  /** Payouts the token refused, so far: numbers them in event keys. */
  deferredPayouts: t.integer().notNull(),
  failureReason: t.text().$type<FailureReasonName>(),
}));
