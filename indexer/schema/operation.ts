/** Governance and gateways. */
import { onchainTable, primaryKey } from "ponder";

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
  /** Millionths of an SVC, in force before `stakeTermsChangeAt`. */
  minimumStake: t.int8({ mode: "bigint" }),
  /** What a slash takes, millionths of an SVC. */
  slashAmount: t.int8({ mode: "bigint" }),
  /** Announced; in force from `stakeTermsChangeAt` on. */
  nextMinimumStake: t.int8({ mode: "bigint" }),
  nextSlashAmount: t.int8({ mode: "bigint" }),
  stakeTermsChangeAt: t.int8({ mode: "number" }),
  /** The arbiters of disputes opened now. */
  arbiterSet: t.int8({ mode: "number" }),
  arbiters: t.jsonb().$type<readonly `0x${string}`[]>(),
  arbiterQuorum: t.integer(),
  /** The escrow that the worker registry obeys. */
  registryEscrow: t.hex(),
  /** Contract name → owner. */
  owners: t.jsonb().$type<Record<string, `0x${string}`>>().notNull(),
  /** Contract name → number of its ownership changes: numbers them in event keys, the event itself has no number. */
  ownerChanges: t.jsonb().$type<Record<string, number>>().notNull(),
}));

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
  }),
);
