/** What wallets have and are owed. */
import { onchainTable } from "ponder";

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
  /** Credits the treasury gave back after disputes: free + escrowed = deposited + compensated − withdrawn − charged − forfeited. */
  compensated: t.int8({ mode: "number" }).notNull(),
  /** Bonds of its own disputes that were rejected. */
  forfeited: t.int8({ mode: "number" }).notNull(),
  /** Credits a UTC day that gateways may lock; null without a limit. */
  dailyLimit: t.int8({ mode: "number" }),
  /** All locks are refused. */
  frozen: t.boolean().notNull(),
  /** Disputes ever opened of its jobs. */
  disputes: t.integer().notNull(),
  /** Those opened by a gateway that have not ended: the contract allows eight. */
  openDisputes: t.integer().notNull(),
  firstTopupAt: t.int8({ mode: "number" }).notNull(),
  lastTopupAt: t.int8({ mode: "number" }).notNull(),
  lastTopupTx: t.hex().notNull(),
}));

/** Payouts that the token refused, and their later claims. */
export const payout = onchainTable("payout", (t) => ({
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
}));
