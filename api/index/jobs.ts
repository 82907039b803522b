import type { Hex } from "viem";
import { fromApiJobId } from "../../protocol/job-id.ts";
import type { JobState } from "../../protocol/job-status.ts";
import { columns, type Reader, read, view } from "./query.ts";
import type { JobRow } from "./rows.ts";

/** How a stored job id (bytes16) becomes the API's. */
export const API_JOB_ID = (column: string): string => `'job_' || substr(${column}, 3)`;

const COLUMNS = columns<JobRow>({
  id: API_JOB_ID("id"),
  wallet: "wallet",
  model: "model",
  modelNumber: "model_number",
  tier: "tier",
  status: "status",
  operator: "operator",
  creditsLocked: "credits_locked",
  creditsCharged: "credits_charged",
  creditsReturned: "credits_returned",
  creditsCompensated: "credits_compensated",
  creditsPerRequest: "credits_per_request",
  creditsPer1kTokens: "credits_per_thousand_tokens",
  feeBps: "fee_bps",
  worker: "worker",
  attempt: "attempt",
  createdAt: "created_at",
  acknowledgedAt: "acknowledged_at",
  answeredAt: "answered_at",
  provenAt: "proven_at",
  finalizeFrom: "finalize_from",
  completedAt: "completed_at",
  endedAt: "ended_at",
  escrowTx: "escrow_tx",
  acknowledgeTx: "acknowledge_tx",
  proofTx: "proof_tx",
  settlementTx: "settlement_tx",
  returnTx: "return_tx",
  disputedAt: "disputed_at",
  disputeTx: "dispute_tx",
  lockBlock: "lock_block",
  settlementBlock: "settlement_block",
  position: "position",
  proofHash: "proof_hash",
  promptTokens: "prompt_tokens",
  completionTokens: "completion_tokens",
  billedTokens: "billed_tokens",
  workerUnits: "worker_units",
  feeUnits: "fee_units",
  failureReason: "failure_reason",
});

/** One job by its API id; null if the index does not know it. Whose job it is, is the caller's question. */
export async function getJob(reader: Reader, jobId: string): Promise<JobRow | null> {
  const id = fromApiJobId(jobId);
  if (id === null) return null;
  const rows = await read<JobRow>(reader, "job", `SELECT ${COLUMNS} FROM ${view("job")} WHERE id = $1`, [id]);
  return rows[0] ?? null;
}

/** Those of the jobs that the index knows, in any order, whosever they are. */
export async function getJobs(reader: Reader, jobIds: readonly string[]): Promise<JobRow[]> {
  if (jobIds.length === 0) return [];
  const text = `SELECT ${COLUMNS} FROM ${view("job")} WHERE id = ANY($1)`;
  return read<JobRow>(reader, "jobs_named", text, [jobIds.map(fromApiJobId)]);
}

/** Positions of those of the jobs that the index knows, by their API ids. */
export async function getPositions(reader: Reader, jobIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
  if (jobIds.length === 0) return new Map();
  const text = `SELECT ${API_JOB_ID("id")} AS id, position FROM ${view("job")} WHERE id = ANY($1)`;
  const rows = await read<{ id: string; position: number }>(reader, "jobs_positions", text, [jobIds.map(fromApiJobId)]);
  return new Map(rows.map(({ id, position }) => [id, position]));
}

export type JobQuery = {
  wallet: string;
  limit: number;
  /** Only jobs created before this one. */
  before?: string | undefined;
  /** Only jobs created after this one. */
  after?: string | undefined;
  status?: JobState | undefined;
  /** Public model id. */
  model?: string | undefined;
};

/** A `before` or `after` that is no job of this wallet in the index. */
export class UnknownCursor extends Error {
  readonly param: "before" | "after";
  constructor(param: "before" | "after", id: string) {
    super(`${param} names no indexed job of this wallet: ${id}`);
    this.name = "UnknownCursor";
    this.param = param;
  }
}

/**
 * Jobs of a wallet, newest first, as one walk along one index: the statement has exactly the filters that were asked for.
 * `hasMore`: the filters hold for older jobs too; the last row's id is the `before` of the next page.
 */
export async function listJobs(reader: Reader, query: JobQuery): Promise<{ rows: JobRow[]; hasMore: boolean }> {
  const { wallet, limit, before, after, status, model } = query;
  const owner = wallet.toLowerCase();
  const values: unknown[] = [owner, limit + 1];
  const parts: [name: string, condition: string][] = [];
  const where = (name: string, condition: string, value: unknown): void => {
    values.push(value);
    parts.push([name, `AND ${condition} $${values.length}`]);
  };
  if (status !== undefined) where("status", "status =", status);
  if (model !== undefined) where("model", "model =", model);
  if (before !== undefined) where("before", "position <", await cursor(reader, owner, "before", before));
  if (after !== undefined) where("after", "position >", await cursor(reader, owner, "after", after));

  const text = `SELECT ${COLUMNS} FROM ${view("job")} WHERE wallet = $1 ${parts.map((part) => part[1]).join(" ")} ORDER BY position DESC LIMIT $2`;
  const rows = await read<JobRow>(reader, ["jobs", ...parts.map((part) => part[0])].join("_"), text, values);
  const hasMore = rows.length > limit;
  return { rows: hasMore ? rows.slice(0, limit) : rows, hasMore };
}

/** Most overdue jobs at a time. */
const OVERDUE_LIMIT = 100;

/**
 * Ids (bytes16) of jobs that were locked before a time, still hold credits, and have no proven answer. Only ids made `since` are looked
 * at: they begin with their time, so that this is a range of the primary key. Times are Unix seconds.
 */
export async function listOverdueJobs(reader: Reader, since: number, lockedBefore: number): Promise<Hex[]> {
  const text = `SELECT id FROM ${view("job")} WHERE id >= $1 AND status IN ('pending', 'processing') AND created_at < $2
    ORDER BY id LIMIT ${OVERDUE_LIMIT}`;
  const from = `0x${(since * 1000).toString(16).padStart(12, "0")}`;
  const rows = await read<{ id: Hex }>(reader, "jobs_overdue", text, [from, lockedBefore]);
  return rows.map(({ id }) => id);
}

async function cursor(reader: Reader, wallet: string, param: "before" | "after", jobId: string): Promise<number> {
  const text = `SELECT position FROM ${view("job")} WHERE id = $1 AND wallet = $2`;
  const rows = await read<{ position: number }>(reader, "job_position", text, [fromApiJobId(jobId), wallet]);
  if (rows[0] === undefined) throw new UnknownCursor(param, jobId);
  return rows[0].position;
}
