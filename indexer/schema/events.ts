import { onchainTable } from "ponder";

/**
 * Everything that happened, append-only; webhooks derive from it. `key` survives reorganisations and re-indexing: it is
 * made of what the event says about itself (lib/event.ts), never of where it was mined.
 */
export const protocolEvent = onchainTable("protocol_event", (t) => ({
  key: t.text().primaryKey(),
  /** `job.settled`, `account.deposited`, …; the part before the point says what `subject` is. */
  kind: t.text().notNull(),
  /** Job id (bytes16), wallet, worker, operator or model number, payee or contract name. */
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
}));
