import type { Address, Hex } from "viem";
import { fromApiJobId } from "../../protocol/job-id.ts";
import type { Completion } from "../../protocol/messages.ts";
import type { Tier } from "../../protocol/tiers.ts";

/** `locking` and `unlocked` are the gateway's own; a client never sees a job in them. */
export type StoredState =
  | "locking"
  | "unlocked"
  | "pending"
  | "processing"
  | "settling"
  | "settled"
  | "failed"
  | "refunded";

export type SignedCompletion = { completion: Completion; signature: Hex; finish_reason: string };

/** One job as the gateway that ran it knows it. */
export type StoredJob = {
  jobId: Hex;
  wallet: Address;
  gateway: Address;
  model: string;
  tier: Tier;
  state: StoredState;
  createdAt: Date;
  validUntil: number;
  lockedAt: number | null;
  creditsLocked: number;
  escrowTx: Hex | null;
  attempt: number;
  acknowledgeBy: number | null;
  worker: Address | null;
  workerEndpoint: string | null;
  /** The worker's signature that it took the attempt in which it answered. */
  acknowledgement: Hex | null;
  countedTokens: number | null;
  completion: SignedCompletion | null;
  finalTokenAt: Date | null;
  creditsCharged: number | null;
  settlementTx: Hex | null;
  settlementBlock: number | null;
  settledAt: number | null;
  refundTx: Hex | null;
  /** Transaction with which this service opened a dispute. */
  disputeTx: Hex | null;
  failure: string | null;
};

/** The column of each property. */
export const COLUMNS: Record<Exclude<keyof StoredJob, "jobId">, string> = {
  wallet: "wallet",
  gateway: "gateway",
  model: "model",
  tier: "tier",
  state: "state",
  createdAt: "created_at",
  validUntil: "valid_until",
  lockedAt: "locked_at",
  creditsLocked: "credits_locked",
  escrowTx: "escrow_tx",
  attempt: "attempt",
  acknowledgeBy: "acknowledge_by",
  worker: "worker",
  workerEndpoint: "worker_endpoint",
  acknowledgement: "acknowledgement",
  countedTokens: "counted_tokens",
  completion: "completion",
  finalTokenAt: "final_token_at",
  creditsCharged: "credits_charged",
  settlementTx: "settlement_tx",
  settlementBlock: "settlement_block",
  settledAt: "settled_at",
  refundTx: "refund_tx",
  disputeTx: "dispute_tx",
  failure: "failure",
};

/** What a statement selects of `job` for `readJob`. */
const SELECTED = ["job.job_id", ...Object.entries(COLUMNS).map(([name, column]) => `job.${column} AS "${name}"`)].join(
  ", ",
);
export const SELECT = `SELECT ${SELECTED} FROM job`;

/** A row of `SELECTED`. */
export function readJob(row: Record<string, unknown>): StoredJob {
  const { job_id, ...rest } = row;
  return { ...rest, jobId: fromApiJobId(job_id as string) } as StoredJob;
}
