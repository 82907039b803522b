/**
 * What the index returns. Times are Unix seconds of block time, credits whole credits, addresses and hashes lower-case
 * hex, job ids as the API shows them (`job_…`).
 */
import type { Address, Hex } from "viem";
import type { FailureReasonName, JobState, RulingName } from "../../protocol/job-status.ts";
import type { Tier } from "../../protocol/tiers.ts";

export type JobRow = {
  id: string;
  wallet: Address;
  /** Public model id. */
  model: string;
  modelNumber: number;
  tier: Tier;
  status: JobState;
  /** Id of the operator that locked it. */
  operator: number;
  creditsLocked: number;
  /** What the settlement charged; 0 until then, and unchanged by what a dispute brings. */
  creditsCharged: number;
  /** Credits that came back from the escrow. */
  creditsReturned: number;
  /** Whole credits of the charge that operator and treasury gave back after a dispute or an equivocation. */
  creditsCompensated: number;
  /** Token units of the charge that the wallet has got back, and those that it still gets from the treasury. */
  compensationPaid: number;
  compensationOwed: number;
  creditsPerRequest: number;
  creditsPer1kTokens: number;
  feeBps: number;
  /** The last acknowledged worker. */
  worker: Address | null;
  attempt: number;
  createdAt: number;
  /** Of a job settled from pending: the settlement, which assigned its worker. */
  acknowledgedAt: number | null;
  /** Time of the final token as the worker signed it. */
  answeredAt: number | null;
  provenAt: number | null;
  finalizeFrom: number | null;
  /** Block time of the settlement; null for any other end. */
  completedAt: number | null;
  /** Block time of settlement, failure or refund; of the refund when a settled job is refunded later. */
  endedAt: number | null;
  escrowTx: Hex;
  acknowledgeTx: Hex | null;
  proofTx: Hex | null;
  settlementTx: Hex | null;
  /** Transaction that gave the escrow back (failed, refunded), or ended a dispute in a refund. */
  returnTx: Hex | null;
  disputedAt: number | null;
  disputeTx: Hex | null;
  lockBlock: number;
  settlementBlock: number | null;
  /** 32 bytes; `toProofHash` gives the API's form. */
  proofHash: Hex | null;
  promptTokens: number | null;
  completionTokens: number | null;
  billedTokens: number | null;
  workerUnits: number | null;
  feeUnits: number | null;
  /** routing_failed, worker_failed, hash_mismatch, answer_lost, cancelled. */
  failureReason: FailureReasonName | null;
};

export type AccountRow = {
  wallet: Address;
  /** Id on chain. */
  number: number;
  /** Spendable credits. */
  free: number;
  escrowed: number;
  /** Number of the account's last non-job event. */
  sequence: number;
  /** Totals ever. */
  deposited: number;
  withdrawn: number;
  charged: number;
  /** Given back by operators and the treasury after disputes. */
  compensated: number;
  /** Bonds of its own disputes that were rejected. */
  forfeited: number;
  /** The one operator that may lock its credits; null for none. */
  operator: number | null;
  /** Credits a UTC day that the operator may lock; null without a limit. */
  dailyLimit: number | null;
  /** All locks are refused. */
  frozen: boolean;
  /** Disputes ever opened of its jobs. */
  disputes: number;
  /** Those of settled jobs that the operator opened and nobody ended; the contract allows eight. */
  openDisputes: number;
  firstTopupAt: number;
  lastTopupAt: number;
  lastTopupTx: Hex;
};

export type ModelRow = {
  number: number;
  /** Public model id. */
  id: string;
  parameters: string;
  ownedBy: string;
  tier: Tier;
  contextWindow: number;
  /** In force now. */
  creditsPerRequest: number;
  creditsPer1kTokens: number;
  /** Announced and not in force yet; null if nothing is. */
  nextCreditsPerRequest: number | null;
  nextCreditsPer1kTokens: number | null;
  pricesChangeAt: number | null;
  createdAt: number;
  retiresAt: number | null;
  retired: boolean;
};

export type WorkerRow = {
  signer: Address;
  /** Id on chain. */
  number: number;
  owner: Address;
  payout: Address;
  endpoint: string;
  /** Millionths of an SVC. */
  stake: bigint;
  /** Null: bonded. */
  unbondsAt: number | null;
  active: boolean;
  /** Catalog numbers of hosted models, ascending. */
  models: number[];
  registeredAt: number;
};

export type DisputeRow = {
  /** `job_…` */
  jobId: string;
  wallet: Address;
  worker: Address;
  /** What the client says it received; 32 zero bytes for "nothing". */
  receivedHash: Hex;
  workerHash: Hex;
  /** By the job's operator; otherwise by the wallet itself. */
  byOperator: boolean;
  /** Opened before the charge, while the escrow still held the money. */
  fromProven: boolean;
  /** Charge in dispute. */
  credits: number;
  /** The wallet's own hash, added to its operator's dispute; null while it has not joined. */
  joinedHash: Hex | null;
  /** Credits put up: by the wallet, or from the operator's reserve for a proven job. */
  bond: number;
  arbiterSet: number;
  votesWorkerAtFault: number;
  votesGatewayAtFault: number;
  votesRejected: number;
  /** Arbiter → its vote now. */
  ballots: Record<Address, { ruling: RulingName }>;
  openedAt: number;
  openedTx: Hex;
  /** No ruling takes effect before; until then the wallet may join its operator's dispute. */
  ruleFrom: number;
  /** A ruling must be mined before this time. */
  ruleBefore: number;
  /** Null while arbitration is pending. */
  ruling: RulingName | null;
  resolvedAt: number | null;
  resolvedTx: Hex | null;
  /** Credits that left escrow for the wallet when it ended, its bond included. */
  creditsReturned: number;
  position: number;
};

export type SlashRow = {
  /** `job_…` */
  jobId: string;
  worker: Address;
  /** Taken, millionths of an SVC; 0 when nothing was left. */
  amount: bigint;
  /** Left, millionths of an SVC. */
  stake: bigint;
  reason: "fraudulent_proof" | "equivocation";
  position: number;
  blockTime: number;
  txHash: Hex;
};

export type ProtocolEventRow = {
  /** Survives reorganisations and a re-index. */
  key: string;
  /** job.locked, job.settled, account.deposited, worker.registered, … (docs/indexer-events.md). */
  kind: string;
  subject: string;
  wallet: Address | null;
  /** `job_…` */
  jobId: string | null;
  worker: Address | null;
  blockNumber: number;
  position: number;
  blockTime: number;
  txHash: Hex;
  data: Record<string, unknown>;
};

export type IndexHead = {
  blockNumber: number;
  blockTime: number;
  /** False while the indexer starts; rows of the last blocks may be missing then. */
  ready: boolean;
};
