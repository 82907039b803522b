/** Disputes, the rulings on them, and stakes that were taken. */
import { onchainTable } from "ponder";
import type { RulingName } from "../../protocol/ruling.ts";

/** At most one a job. The job's own row says what state it has after it. */
export const dispute = onchainTable("dispute", (t) => ({
  jobId: t.hex().primaryKey(),
  wallet: t.hex().notNull(),
  worker: t.hex().notNull(),
  /** SHA-256 of what the client says it received; 32 zero bytes for "nothing". */
  receivedHash: t.hex().notNull(),
  workerHash: t.hex().notNull(),
  /** Opened by the gateway for its client; otherwise by the wallet itself. */
  byGateway: t.boolean().notNull(),
  /** Opened before the charge, while the escrow still held the money. */
  fromProven: t.boolean().notNull(),
  /** Charge in dispute. */
  credits: t.int8({ mode: "number" }).notNull(),
  /** Credits the wallet put up; 0 when the gateway opened it. */
  bond: t.int8({ mode: "number" }).notNull(),
  arbiterSet: t.int8({ mode: "number" }).notNull(),
  votesWorkerAtFault: t.integer().notNull(),
  votesGatewayAtFault: t.integer().notNull(),
  votesRejected: t.integer().notNull(),
  openedAt: t.int8({ mode: "number" }).notNull(),
  openedTx: t.hex().notNull(),
  /** A ruling must be mined before this time; from then on anyone can let it expire. */
  ruleBefore: t.int8({ mode: "number" }).notNull(),
  /** Null while arbitration is pending. */
  ruling: t.text().$type<RulingName>(),
  resolvedAt: t.int8({ mode: "number" }),
  resolvedTx: t.hex(),
  /** Credits that left escrow for the wallet when it ended: escrow of an uncharged job, and the bond. */
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
