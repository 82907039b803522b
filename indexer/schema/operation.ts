/** Governance and operators. */
import { onchainTable, primaryKey } from "ponder";

/** A key that signs and sends for an operator; `removedAt` is null while it is in office. */
export type OperatorSigner = { signer: `0x${string}`; addedAt: number; removedAt: number | null };

/** Whom wallets choose to run their jobs. */
export const operator = onchainTable("operator", (t) => ({
  /** Id on chain. */
  number: t.integer().primaryKey(),
  admin: t.hex().notNull(),
  /** May lock no new job. */
  stopped: t.boolean().notNull(),
  /** Credits at hand, which pay for its faults and back its disputes. */
  reserve: t.int8({ mode: "number" }).notNull(),
  /** Credits that are bonds of its open disputes. */
  held: t.int8({ mode: "number" }).notNull(),
  /** Credits of the announced withdrawal, due from `leavesAt` on; null: none is announced. */
  leaving: t.int8({ mode: "number" }),
  leavesAt: t.int8({ mode: "number" }),
  /** All its keys ever, in the order in which they were first added. */
  signers: t.jsonb().$type<readonly OperatorSigner[]>().notNull(),
  admittedAt: t.int8({ mode: "number" }).notNull(),
  /** Number of its last own event. */
  sequence: t.int8({ mode: "number" }).notNull(),
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
  /** Deposits and locks are refused while either is set. */
  pausedByGuardian: t.boolean().notNull(),
  pausedByGovernance: t.boolean().notNull(),
  /** Credits that the treasury can be charged on a UTC day; a quarter of it for one operator's jobs. */
  compensationCap: t.int8({ mode: "number" }),
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
  /** Times that the token refused the treasury's share of a batch: numbers them in event keys. */
  feesDeferred: t.integer().notNull(),
}));

/** Items of a batch that reverted: a diagnosis of operators, part of no balance, so it may be keyed by its transaction. */
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
