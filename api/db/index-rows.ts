/**
 * The parts of the index that the gateway reads: the columns of each view, and from them the types of its rows, as
 * `indexer/ponder.schema.ts` declares them.
 */
import type { Address } from "viem";
import type * as index from "../../indexer/ponder.schema.ts";
import { INDEX_SCHEMA } from "../../protocol/index-schema.ts";
import { type Column, column, type RowOf } from "./pool.ts";

/** Name of a view of the index, for SQL. */
export const view = (name: string): string => `"${INDEX_SCHEMA}".${name}`;

/** Columns as the indexer declares them: `ponder.schema.ts` says what each one means, and has its type. */
const columns =
  <Row>() =>
  <Name extends keyof Row & string>(...names: Name[]) =>
    Object.fromEntries(names.map((name) => [name, column()])) as { [K in Name]: Column<Row[K]> };

export const JOB = columns<typeof index.job.$inferSelect>()(
  "id",
  "wallet",
  "model",
  "tier",
  "status",
  "operator",
  "creditsCharged",
  "creditsCompensated",
  "compensationPaid",
  "compensationOwed",
  "worker",
  "createdAt",
  "answeredAt",
  "completedAt",
  "escrowTx",
  "proofTx",
  "settlementTx",
  "disputedAt",
  "disputeTx",
  "equivocated",
  "settlementBlock",
  "proofHash",
  "promptTokens",
  "completionTokens",
  "billedTokens",
  "failureReason",
);
export type IndexedJob = RowOf<typeof JOB>;

export const ACCOUNT = columns<typeof index.account.$inferSelect>()(
  "wallet",
  "number",
  "free",
  "escrowed",
  "deposited",
  "withdrawn",
  "charged",
  "compensated",
  "operator",
  "dailyLimit",
  "frozen",
  "disputes",
  "lastTopupAt",
);
export type AccountRow = RowOf<typeof ACCOUNT>;

// Announced prices and retirements take effect by time, without an event: what is in force is decided when it is read, at time $1.
export const MODEL = {
  ...columns<typeof index.model.$inferSelect>()(
    "number",
    "id",
    "parameters",
    "ownedBy",
    "tier",
    "contextWindow",
    "createdAt",
    "retiresAt",
  ),
  /** In force now. */
  creditsPerRequest: column<number>(
    "CASE WHEN m.prices_change_at <= $1 THEN m.next_credits_per_request ELSE m.credits_per_request END",
  ),
  creditsPer1kTokens: column<number>(
    "CASE WHEN m.prices_change_at <= $1 THEN m.next_credits_per_thousand_tokens ELSE m.credits_per_thousand_tokens END",
  ),
  /** Announced and not in force yet; null if nothing is. */
  nextCreditsPerRequest: column<number | null>("CASE WHEN m.prices_change_at > $1 THEN m.next_credits_per_request END"),
  nextCreditsPer1kTokens: column<number | null>(
    "CASE WHEN m.prices_change_at > $1 THEN m.next_credits_per_thousand_tokens END",
  ),
  pricesChangeAt: column<number | null>("CASE WHEN m.prices_change_at > $1 THEN m.prices_change_at END"),
  retired: column<boolean>("COALESCE(m.retires_at <= $1, false)"),
};
export type ModelRow = RowOf<typeof MODEL>;

/** SQL condition: worker `w` may take a job at time $1. Like the registry, it applies announced stake terms once their time has come. */
const ACTIVE = `w.unbonds_at IS NULL AND w.stake >= (
  SELECT CASE WHEN stake_terms_change_at <= $1 THEN next_minimum_stake ELSE minimum_stake END
  FROM ${view("protocol_config")})`;

export const WORKER = {
  ...columns<typeof index.worker.$inferSelect>()(
    "signer",
    "number",
    "owner",
    "payout",
    "endpoint",
    "unbondsAt",
    "registeredAt",
  ),
  /** Millionths of an SVC. */
  stake: column<bigint>("w.stake::numeric"),
  active: column<boolean>(`(${ACTIVE})`),
  /** Catalog numbers of hosted models, ascending. A worker can name numbers that the catalog does not have. */
  models: column<number[]>(
    `ARRAY(SELECT m.number FROM ${view("model")} m JOIN ${view("hosting")} h ON h.worker = w.signer AND h.model = m.number ORDER BY m.number)`,
  ),
};
export type WorkerRow = RowOf<typeof WORKER>;

export const DISPUTE = {
  ...columns<typeof index.dispute.$inferSelect>()(
    "jobId",
    "wallet",
    "worker",
    "receivedHash",
    "workerHash",
    "byOperator",
    "fromProven",
    "credits",
    "joinedHash",
    "bond",
    "arbiterSet",
    "votesWorkerAtFault",
    "votesGatewayAtFault",
    "votesRejected",
    "openedAt",
    "openedTx",
    "ruleFrom",
    "ruleBefore",
    "ruling",
    "resolvedAt",
    "resolvedTx",
    "creditsReturned",
    "position",
  ),
  /** Arbiter → its vote now. */
  ballots: column<Record<Address, index.Ballot>>(),
};
export type DisputeRow = RowOf<typeof DISPUTE>;

export const SLASH = {
  ...columns<typeof index.slash.$inferSelect>()("jobId", "worker", "reason", "position", "blockTime", "txHash"),
  /** Taken, millionths of an SVC; 0 when nothing was left. */
  amount: column<bigint>("amount::numeric"),
};
export type SlashRow = RowOf<typeof SLASH>;

export const EVENT = columns<typeof index.protocolEvent.$inferSelect>()(
  "kind",
  "blockNumber",
  "blockTime",
  "txHash",
  "data",
);

export type IndexHead = {
  blockNumber: number;
  blockTime: number;
  /** False while the indexer starts; rows of the last blocks may be missing then. */
  ready: boolean;
};
