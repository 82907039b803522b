/**
 * Tables of the index. Keys are values as the events carry them (job ids as bytes16, not `job_…`): only then can Ponder
 * predict which rows a block needs and read them in one query. Credits and tokens are 32- or 40-bit numbers, times Unix
 * seconds, `position` = block × 1e6 + log index.
 *
 * Few tables on purpose: each costs every block one more query (Ponder's reorganisation log).
 */
import { index, onchainTable, primaryKey } from "ponder";
import type { FailureReasonName } from "./lib/failure-reason.ts";
import type { JobState } from "../protocol/job-status.ts";
import type { Tier } from "../protocol/tiers.ts";

export const account = onchainTable("account", (t) => ({
  wallet: t.hex().primaryKey(),
  /** Id on chain. */
  number: t.int8({ mode: "number" }).notNull(),
  free: t.int8({ mode: "number" }).notNull(),
  escrowed: t.int8({ mode: "number" }).notNull(),
  /** Number of its last non-job event. */
  sequence: t.int8({ mode: "number" }).notNull(),
  deposited: t.int8({ mode: "number" }).notNull(),
  withdrawn: t.int8({ mode: "number" }).notNull(),
  charged: t.int8({ mode: "number" }).notNull(),
  firstTopupAt: t.int8({ mode: "number" }).notNull(),
  lastTopupAt: t.int8({ mode: "number" }).notNull(),
  lastTopupTx: t.hex().notNull(),
}));

export const job = onchainTable(
  "job",
  (t) => ({
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
    /** Block time of settlement, failure or refund. */
    endedAt: t.int8({ mode: "number" }),
    escrowTx: t.hex().notNull(),
    acknowledgeTx: t.hex(),
    proofTx: t.hex(),
    settlementTx: t.hex(),
    /** Transaction that gave the escrow back: failure or refund. */
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
    /** Payouts the token refused, so far: numbers them in event keys. */
    deferredPayouts: t.integer().notNull(),
    failureReason: t.text().$type<FailureReasonName>(),
  }),
  (table) => ({
    // The planner walks these backwards for "newest first": one index range a list, whatever the filters.
    byWallet: index().on(table.wallet, table.position),
    byWalletStatus: index().on(table.wallet, table.status, table.position),
    byWalletModel: index().on(table.wallet, table.model, table.position),
    byWalletStatusModel: index().on(table.wallet, table.status, table.model, table.position),
  }),
);

export const model = onchainTable("model", (t) => ({
  number: t.integer().primaryKey(),
  /** Public model id. */
  id: t.text().notNull(),
  parameters: t.text().notNull(),
  ownedBy: t.text().notNull(),
  tier: t.text().$type<Tier>().notNull(),
  contextWindow: t.int8({ mode: "number" }).notNull(),
  creditsPerRequest: t.integer().notNull(),
  creditsPerThousandTokens: t.integer().notNull(),
  /** Announced prices; in force, and then the prices, from `pricesChangeAt` on. */
  nextCreditsPerRequest: t.integer(),
  nextCreditsPerThousandTokens: t.integer(),
  pricesChangeAt: t.int8({ mode: "number" }),
  createdAt: t.int8({ mode: "number" }).notNull(),
  retiresAt: t.int8({ mode: "number" }),
  sequence: t.int8({ mode: "number" }).notNull(),
}));

export const worker = onchainTable("worker", (t) => ({
  signer: t.hex().primaryKey(),
  /** Id on chain. */
  number: t.int8({ mode: "number" }).notNull(),
  owner: t.hex().notNull(),
  payout: t.hex().notNull(),
  endpoint: t.text().notNull(),
  /** Millionths of an SVC. */
  stake: t.int8({ mode: "bigint" }).notNull(),
  /** Null: bonded. */
  unbondsAt: t.int8({ mode: "number" }),
  registeredAt: t.int8({ mode: "number" }).notNull(),
  registeredTx: t.hex().notNull(),
  sequence: t.int8({ mode: "number" }).notNull(),
}));

/** A row for each model that a worker hosts now. The registry does not ask the catalog: a model may be unknown there. */
export const hosting = onchainTable(
  "hosting",
  (t) => ({ worker: t.hex().notNull(), model: t.integer().notNull() }),
  (table) => ({
    pk: primaryKey({ columns: [table.worker, table.model] }),
    byModel: index().on(table.model),
  }),
);

/** Payouts that the token refused, and their later claims. */
export const payout = onchainTable(
  "payout",
  (t) => ({
    /** Key of its protocol_event. */
    key: t.text().primaryKey(),
    kind: t.text().$type<"deferred" | "claimed">().notNull(),
    payee: t.hex().notNull(),
    units: t.bigint().notNull(),
    /** The job that owed it; null for a claim, which pays all that waits. */
    jobId: t.hex(),
    position: t.int8({ mode: "number" }).notNull(),
    blockTime: t.int8({ mode: "number" }).notNull(),
    txHash: t.hex().notNull(),
  }),
  (table) => ({ byPayee: index().on(table.payee, table.position) }),
);

/** Items of a batch that reverted: a diagnosis of gateways, part of no balance, so it may be keyed by its transaction. */
export const batchItemFailure = onchainTable(
  "batch_item_failure",
  (t) => ({
    txHash: t.hex().notNull(),
    item: t.integer().notNull(),
    sender: t.hex().notNull(),
    selector: t.hex().notNull(),
    /** Name of the function the item called, if it is one of the escrow. */
    call: t.text(),
    /** Name of the custom error, if it is one of ours. */
    error: t.text(),
    reason: t.hex().notNull(),
    position: t.int8({ mode: "number" }).notNull(),
    blockTime: t.int8({ mode: "number" }).notNull(),
  }),
  (table) => ({
    pk: primaryKey({ columns: [table.txHash, table.item] }),
    byPosition: index().on(table.position),
  }),
);

export const gateway = onchainTable("gateway", (t) => ({
  /** Id on chain. */
  number: t.integer().primaryKey(),
  signer: t.hex().notNull(),
  mayLock: t.boolean().notNull(),
  addedAt: t.int8({ mode: "number" }).notNull(),
}));

/** One row, id 1: what governance decided. */
export const protocolConfig = onchainTable("protocol_config", (t) => ({
  id: t.integer().primaryKey(),
  feeBps: t.integer(),
  /** Announced fee; in force, and then the fee, from `feeChangesAt` on. */
  nextFeeBps: t.integer(),
  feeChangesAt: t.int8({ mode: "number" }),
  treasury: t.hex(),
  guardian: t.hex(),
  paused: t.boolean().notNull(),
  /** Millionths of an SVC. */
  minimumStake: t.int8({ mode: "bigint" }),
  /** The escrow that the worker registry obeys. */
  registryEscrow: t.hex(),
  /** Contract name → owner. */
  owners: t.jsonb().$type<Record<string, `0x${string}`>>().notNull(),
  /** Contract name → number of its ownership changes: numbers them in event keys, the event itself has no number. */
  ownerChanges: t.jsonb().$type<Record<string, number>>().notNull(),
}));

/**
 * Everything that happened, append-only; webhooks derive from it. `key` survives reorganisations and re-indexing: it is
 * made of what the event says about itself (lib/event.ts), never of where it was mined.
 */
export const protocolEvent = onchainTable(
  "protocol_event",
  (t) => ({
    key: t.text().primaryKey(),
    /** `job.settled`, `account.deposited`, …; the part before the point says what `subject` is. */
    kind: t.text().notNull(),
    /** Job id (bytes16), wallet, worker, model number, payee or contract name. */
    subject: t.text().notNull(),
    /** Whose account it concerns, for job and account events. */
    wallet: t.hex(),
    jobId: t.hex(),
    worker: t.hex(),
    blockNumber: t.int8({ mode: "number" }).notNull(),
    position: t.int8({ mode: "number" }).notNull(),
    blockTime: t.int8({ mode: "number" }).notNull(),
    txHash: t.hex().notNull(),
    data: t.jsonb().$type<Record<string, unknown>>().notNull(),
  }),
  (table) => ({
    // A block range is a range of positions, so one index serves both.
    byPosition: index().on(table.position),
    byWallet: index().on(table.wallet, table.position),
    byJob: index().on(table.jobId),
  }),
);
