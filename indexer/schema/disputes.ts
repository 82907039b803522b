/** Disputes, the rulings on them, and stakes that were taken. */
import { onchainTable } from "ponder";
import type { RulingName } from "../../protocol/ruling.ts";

/** An arbiter's vote now, and how many this arbiter cast so far: a later one replaces an earlier one. */
export type Ballot = { ruling: RulingName; votes: number };

/**
 * The last dispute of a job, as the contract keeps it: an equivocation after the charge lets the wallet open a second one. The job's own
 * row says what state it has after it.
 */
export const dispute = onchainTable("dispute", (t) => ({
  jobId: t.hex().primaryKey(),
  wallet: t.hex().notNull(),
  worker: t.hex().notNull(),
  /** SHA-256 of what the client says it received; 32 zero bytes for "nothing". */
  receivedHash: t.hex().notNull(),
  workerHash: t.hex().notNull(),
  /** 1; 2 for the one that follows an equivocation after the first. Numbers them in event keys. */
  number: t.integer().notNull(),
  /** Opened by the job's operator; otherwise by the wallet itself. */
  byOperator: t.boolean().notNull(),
  /** Opened before the charge, while the escrow still held the money. */
  fromProven: t.boolean().notNull(),
  /** Opened by the wallet because its worker had equivocated, without a bond. */
  afterEquivocation: t.boolean().notNull(),
  /** The wallet's own hash, added to its operator's dispute; null while it has not joined. */
  joinedHash: t.hex(),
  joinedAt: t.int8({ mode: "number" }),
  /** Charge in dispute. */
  credits: t.int8({ mode: "number" }).notNull(),
  /** Credits put up: by the wallet, or from the operator's reserve for a proven job. */
  bond: t.int8({ mode: "number" }).notNull(),
  arbiterSet: t.int8({ mode: "number" }).notNull(),
  votesWorkerAtFault: t.integer().notNull(),
  votesGatewayAtFault: t.integer().notNull(),
  votesRejected: t.integer().notNull(),
  /** Arbiter → vote. */
  ballots: t.jsonb().$type<Record<string, Ballot>>().notNull(),
  openedAt: t.int8({ mode: "number" }).notNull(),
  openedTx: t.hex().notNull(),
  /** No ruling takes effect before; until then the wallet may join its operator's dispute. A join moves it to its own time. */
  ruleFrom: t.int8({ mode: "number" }).notNull(),
  /** A ruling must be mined before this time; from then on anyone can let it expire. */
  ruleBefore: t.int8({ mode: "number" }).notNull(),
  /** Null while arbitration is pending. */
  ruling: t.text().$type<RulingName>(),
  resolvedAt: t.int8({ mode: "number" }),
  resolvedTx: t.hex(),
  /** Credits that left escrow for the wallet when it ended: escrow of an uncharged job, and the wallet's bond. */
  creditsReturned: t.int8({ mode: "number" }).notNull(),
  position: t.int8({ mode: "number" }).notNull(),
}));

/** Stakes taken, at most one a job. */
export const slash = onchainTable("slash", (t) => ({
  jobId: t.hex().primaryKey(),
  worker: t.hex().notNull(),
  /** Millionths of an SVC; 0 when nothing was left to take. */
  amount: t.int8({ mode: "bigint" }).notNull(),
  /** Stake left, millionths of an SVC. */
  stake: t.int8({ mode: "bigint" }).notNull(),
  reason: t.text().$type<"fraudulent_proof" | "equivocation">().notNull(),
  position: t.int8({ mode: "number" }).notNull(),
  blockTime: t.int8({ mode: "number" }).notNull(),
  txHash: t.hex().notNull(),
}));
