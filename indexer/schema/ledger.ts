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
  /** Credits that operators and the treasury gave back: free + escrowed = deposited + compensated − withdrawn − charged − forfeited. */
  compensated: t.int8({ mode: "number" }).notNull(),
  /** Bonds of its own disputes that were rejected. */
  forfeited: t.int8({ mode: "number" }).notNull(),
  /** Id of the one operator that may lock its credits; null for none. */
  operator: t.integer(),
  /** Each lock needs this key's signature; null for none. */
  authorizationKey: t.hex(),
  /** Credits a UTC day that the operator may lock; null without a limit. */
  dailyLimit: t.int8({ mode: "number" }),
  /** All locks are refused. */
  frozen: t.boolean().notNull(),
  /** Disputes ever opened of its jobs. */
  disputes: t.integer().notNull(),
  /** Those of settled jobs that the operator opened and nobody ended: the contract allows eight. */
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
  /** Who got a claim: the payee, or whom it named. Null while deferred. */
  receiver: t.hex(),
  units: t.bigint().notNull(),
  /** The job that owed it; null for the treasury's share of a batch, and for a claim, which pays all that waits. */
  jobId: t.hex(),
  position: t.int8({ mode: "number" }).notNull(),
  blockTime: t.int8({ mode: "number" }).notNull(),
  txHash: t.hex().notNull(),
}));
