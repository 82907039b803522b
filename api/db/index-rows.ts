/**
 * What the gateway reads of the index: the columns of each view, and from them the types of its rows. Times are Unix seconds of block time,
 * credits whole credits, addresses and hashes lower-case hex, job ids as the API shows them (`job_…`).
 */
import type { Address, Hex } from "viem";
import { INDEX_SCHEMA } from "../../protocol/index-schema.ts";
import type { FailureReasonName, JobState, RulingName } from "../../protocol/job-status.ts";
import type { Tier } from "../../protocol/tiers.ts";
import { column, type RowOf } from "./pool.ts";

/** Name of a view of the index, for SQL. */
export const view = (name: string): string => `"${INDEX_SCHEMA}".${name}`;

/** How a stored job id (bytes16) becomes the API's. */
export const API_JOB_ID = (column: string): string => `'job_' || substr(${column}, 3)`;

export const JOB = {
  id: column<string>(API_JOB_ID("id")),
  wallet: column<Address>(),
  /** Public model id. */
  model: column<string>(),
  tier: column<Tier>(),
  status: column<JobState>(),
  /** Id of the operator that locked it. */
  operator: column<number>(),
  /** What the settlement charged; 0 until then, and unchanged by what a dispute brings. */
  creditsCharged: column<number>(),
  /** Whole credits of the charge that operator and treasury gave back after a dispute or an equivocation. */
  creditsCompensated: column<number>(),
  /** Token units of the charge that the wallet has got back, and those that it still gets from the treasury. */
  compensationPaid: column<number>(),
  compensationOwed: column<number>(),
  /** The last acknowledged worker. */
  worker: column<Address | null>(),
  createdAt: column<number>(),
  /** Time of the final token as the worker signed it. */
  answeredAt: column<number | null>(),
  /** Block time of the settlement; null for any other end. */
  completedAt: column<number | null>(),
  escrowTx: column<Hex>(),
  proofTx: column<Hex | null>(),
  settlementTx: column<Hex | null>(),
  disputedAt: column<number | null>(),
  disputeTx: column<Hex | null>(),
  /** Its worker was shown to have signed two answers for it. */
  equivocated: column<boolean>(),
  settlementBlock: column<number | null>(),
  /** 32 bytes; `toProofHash` gives the API's form. */
  proofHash: column<Hex | null>(),
  promptTokens: column<number | null>(),
  billedTokens: column<number | null>(),
  /** routing_failed, worker_failed, hash_mismatch, answer_lost, cancelled. */
  failureReason: column<FailureReasonName | null>(),
};
export type JobRow = RowOf<typeof JOB>;

export const ACCOUNT = {
  wallet: column<Address>(),
  /** Id on chain. */
  number: column<number>(),
  free: column<number>(),
  escrowed: column<number>(),
  deposited: column<number>(),
  withdrawn: column<number>(),
  charged: column<number>(),
  /** Given back by operators and the treasury after disputes. */
  compensated: column<number>(),
  /** The one operator that may lock its credits; null for none. */
  operator: column<number | null>(),
  /** Credits a UTC day that the operator may lock; null without a limit. */
  dailyLimit: column<number | null>(),
  /** All locks are refused. */
  frozen: column<boolean>(),
  /** Disputes ever opened of its jobs. */
  disputes: column<number>(),
  lastTopupAt: column<number>(),
};
export type AccountRow = RowOf<typeof ACCOUNT>;

// Announced prices and retirements take effect by time, without an event: what is in force is decided when it is read, at time $1.
export const MODEL = {
  number: column<number>(),
  /** Public model id. */
  id: column<string>(),
  parameters: column<string>(),
  ownedBy: column<string>(),
  tier: column<Tier>(),
  contextWindow: column<number>(),
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
  createdAt: column<number>(),
  retiresAt: column<number | null>(),
  retired: column<boolean>("COALESCE(m.retires_at <= $1, false)"),
};
export type ModelRow = RowOf<typeof MODEL>;

/** Whether worker `w` may take a job at time $1: as the registry decides it, announced terms included once their time has come. */
const ACTIVE = `w.unbonds_at IS NULL AND w.stake >= (
  SELECT CASE WHEN stake_terms_change_at <= $1 THEN next_minimum_stake ELSE minimum_stake END
  FROM ${view("protocol_config")})`;

export const WORKER = {
  signer: column<Address>(),
  /** Id on chain. */
  number: column<number>(),
  owner: column<Address>(),
  payout: column<Address>(),
  endpoint: column<string>(),
  /** Millionths of an SVC. */
  stake: column<bigint>("w.stake::numeric"),
  /** Null: bonded. */
  unbondsAt: column<number | null>(),
  active: column<boolean>(`(${ACTIVE})`),
  /** Catalog numbers of hosted models, ascending. */
  models: column<number[]>(
    `ARRAY(SELECT h.model FROM ${view("hosting")} h WHERE h.worker = w.signer ORDER BY h.model)`,
  ),
  registeredAt: column<number>(),
};
export type WorkerRow = RowOf<typeof WORKER>;

export const DISPUTE = {
  /** `job_…` */
  jobId: column<string>(API_JOB_ID("job_id")),
  wallet: column<Address>(),
  worker: column<Address>(),
  /** What the client says it received; 32 zero bytes for "nothing". */
  receivedHash: column<Hex>(),
  workerHash: column<Hex>(),
  /** By the job's operator; otherwise by the wallet itself. */
  byOperator: column<boolean>(),
  /** Opened before the charge, while the escrow still held the money. */
  fromProven: column<boolean>(),
  credits: column<number>(),
  /** The wallet's own hash, added to its operator's dispute; null while it has not joined. */
  joinedHash: column<Hex | null>(),
  /** Credits put up: by the wallet, or from the operator's reserve for a proven job. */
  bond: column<number>(),
  arbiterSet: column<number>(),
  votesWorkerAtFault: column<number>(),
  votesGatewayAtFault: column<number>(),
  votesRejected: column<number>(),
  /** Arbiter → its vote now. */
  ballots: column<Record<Address, { ruling: RulingName }>>(),
  openedAt: column<number>(),
  openedTx: column<Hex>(),
  /** No ruling takes effect before; until then the wallet may join its operator's dispute. */
  ruleFrom: column<number>(),
  /** A ruling must be mined before this time. */
  ruleBefore: column<number>(),
  /** Null while arbitration is pending. */
  ruling: column<RulingName | null>(),
  resolvedAt: column<number | null>(),
  resolvedTx: column<Hex | null>(),
  /** Credits that left escrow for the wallet when it ended, its bond included. */
  creditsReturned: column<number>(),
  position: column<number>(),
};
export type DisputeRow = RowOf<typeof DISPUTE>;

export const SLASH = {
  /** `job_…` */
  jobId: column<string>(API_JOB_ID("job_id")),
  worker: column<Address>(),
  /** Taken, millionths of an SVC; 0 when nothing was left. */
  amount: column<bigint>("amount::numeric"),
  reason: column<"fraudulent_proof" | "equivocation">(),
  position: column<number>(),
  blockTime: column<number>(),
  txHash: column<Hex>(),
};
export type SlashRow = RowOf<typeof SLASH>;

export const EVENT = {
  /** job.locked, job.settled, account.deposited, worker.registered, … (docs/indexer.md). */
  kind: column<string>(),
  /** `job_…` */
  jobId: column<string | null>(API_JOB_ID("job_id")),
  blockNumber: column<number>(),
  blockTime: column<number>(),
  txHash: column<Hex>(),
  data: column<Record<string, unknown>>(),
};
export type IndexHead = {
  blockNumber: number;
  blockTime: number;
  /** False while the indexer starts; rows of the last blocks may be missing then. */
  ready: boolean;
};
