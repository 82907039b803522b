/** The gateway's read side: everything that clients and the web application list, over the indexer's views. One prepared statement a list. */
import pg from "pg";
import type { Address, Hex } from "viem";
import { INDEX_SCHEMA, POSITIONS_PER_BLOCK } from "../../protocol/index-schema.ts";
import { fromApiJobId } from "../../protocol/job-id.ts";
import type { JobState } from "../../protocol/job-status.ts";
import type {
  AccountRow,
  DisputeRow,
  IndexHead,
  JobRow,
  ModelRow,
  ProtocolEventRow,
  SlashRow,
  WorkerRow,
} from "./index-rows.ts";

export type * from "./index-rows.ts";

/** Any pool or client. */
export type Reader = Pick<pg.Pool, "query">;

/** The index is not there, or not yet in the shape this build reads: it is being built. Worth a retry. */
export class IndexUnavailable extends Error {
  constructor(cause: unknown) {
    super("The index of the chain is being built.", { cause });
    this.name = "IndexUnavailable";
  }
}

// No schema, no table, or a column that the views of an earlier build lack.
const ABSENT = new Set(["3F000", "42P01", "42703"]);

/** Name of a view of the index, for SQL. */
export const view = (name: string): string => `"${INDEX_SCHEMA}".${name}`;

/** Integers of 64 bits are numbers here: credits, times and positions all fit. Stakes are cast to text in their query. */
const types = {
  getTypeParser: (oid: number, format?: unknown) =>
    oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format as "text"),
};

/** Runs a prepared statement. One name stands for one text, so that each connection parses and plans it once. */
export async function read<Row>(reader: Reader, name: string, text: string, values: unknown[]): Promise<Row[]> {
  try {
    const { rows } = await reader.query({ name: `index_${name}`, text, values, types } as pg.QueryConfig);
    return rows as Row[];
  } catch (error) {
    if (ABSENT.has((error as { code?: string }).code ?? "")) throw new IndexUnavailable(error);
    throw error;
  }
}

/** `SELECT` list that turns columns into properties: `{ escrowTx: "escrow_tx" }` → `escrow_tx AS "escrowTx"`. */
export function columns<Row>(map: Record<keyof Row & string, string>): string {
  return Object.entries<string>(map)
    .map(([property, column]) => `${column} AS "${property}"`)
    .join(", ");
}

// ---------------------------------------------------------------- jobs

/** How a stored job id (bytes16) becomes the API's. */
export const API_JOB_ID = (column: string): string => `'job_' || substr(${column}, 3)`;

const JOB = columns<JobRow>({
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
  compensationPaid: "compensation_paid",
  compensationOwed: "compensation_owed",
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
  const rows = await read<JobRow>(reader, "job", `SELECT ${JOB} FROM ${view("job")} WHERE id = $1`, [id]);
  return rows[0] ?? null;
}

/** Those of the jobs that the index knows, in any order, whosever they are. */
export async function getJobs(reader: Reader, jobIds: readonly string[]): Promise<JobRow[]> {
  if (jobIds.length === 0) return [];
  const text = `SELECT ${JOB} FROM ${view("job")} WHERE id = ANY($1)`;
  return read<JobRow>(reader, "jobs_named", text, [jobIds.map(fromApiJobId)]);
}

export type JobQuery = {
  wallet: string;
  limit: number;
  /** API job ids: only jobs below, and above. */
  before?: string | undefined;
  after?: string | undefined;
  status?: JobState | undefined;
  /** Public model id. */
  model?: string | undefined;
};

/** Whether a page begins at the oldest job after a cursor, and goes on towards the newest. */
export const walksUp = ({ before, after }: Pick<JobQuery, "before" | "after">): boolean =>
  after !== undefined && before === undefined;

/**
 * Jobs of a wallet in the order of their ids, which are UUIDv7: the newest first, or from a lone `after` on the oldest first. One walk along
 * one index: the statement has exactly the filters that were asked for.
 */
export async function listJobs(reader: Reader, query: JobQuery): Promise<JobRow[]> {
  const { wallet, limit, before, after, status, model } = query;
  const values: unknown[] = [wallet.toLowerCase(), limit];
  const parts: [name: string, condition: string][] = [];
  const where = (name: string, condition: string, value: unknown): void => {
    values.push(value);
    parts.push([name, `AND ${condition} $${values.length}`]);
  };
  if (status !== undefined) where("status", "status =", status);
  if (model !== undefined) where("model", "model =", model);
  if (before !== undefined) where("before", 'id COLLATE "C" <', fromApiJobId(before));
  if (after !== undefined) where("after", 'id COLLATE "C" >', fromApiJobId(after));
  const direction = walksUp(query) ? "ASC" : "DESC";
  // As the indexes have it (indexer/src/setup.ts). A bare `id` would be the output's, an expression that no index has.
  const text = `SELECT ${JOB} FROM ${view("job")} AS job WHERE wallet = $1 ${parts.map((part) => part[1]).join(" ")} ORDER BY job.id COLLATE "C" ${direction} LIMIT $2`;
  return read<JobRow>(reader, ["jobs", ...parts.map((part) => part[0])].join("_"), text, values);
}

/** Most overdue jobs at a time. */
const OVERDUE_LIMIT = 100;

/**
 * Ids (bytes16) of jobs of an operator that were locked before a time (Unix seconds), still hold credits, and have no proven answer. The age is
 * that of the lock: an id that was made elsewhere proves none.
 */
export async function listOverdueJobs(reader: Reader, operator: number, lockedBefore: number): Promise<Hex[]> {
  const text = `SELECT id FROM ${view("job")} WHERE operator = $1 AND status = ANY('{pending,processing}') AND created_at < $2
    ORDER BY created_at LIMIT ${OVERDUE_LIMIT}`;
  const rows = await read<{ id: Hex }>(reader, "jobs_overdue", text, [operator, lockedBefore]);
  return rows.map(({ id }) => id);
}

/** Credits charged for an operator's jobs, by worker (lower case): of those locked in a span of time (Unix seconds) that nobody disputed. */
export async function chargedAtWorkers(
  reader: Reader,
  operator: number,
  { from, until }: { from: number; until: number },
): Promise<Map<string, number>> {
  const text = `SELECT worker, sum(credits_charged)::float8 AS credits FROM ${view("job")}
    WHERE operator = $1 AND status = 'settled' AND created_at >= $2 AND created_at < $3 AND credits_compensated = 0 GROUP BY worker`;
  return byWorker(await read(reader, "charged_at_workers", text, [operator, from, until]));
}

/** Credits locked for an operator's jobs that their workers proved by themselves and that have not ended, by worker (lower case). */
export async function provenAtWorkers(reader: Reader, operator: number): Promise<Map<string, number>> {
  const text = `SELECT worker, sum(credits_locked)::float8 AS credits FROM ${view("job")}
    WHERE operator = $1 AND status = ANY('{settling,disputed}') AND proven_at IS NOT NULL AND ended_at IS NULL GROUP BY worker`;
  return byWorker(await read(reader, "proven_at_workers", text, [operator]));
}

const byWorker = (rows: { worker: string; credits: number }[]): Map<string, number> =>
  new Map(rows.map(({ worker, credits }) => [worker.toLowerCase(), credits]));

// ---------------------------------------------------------------- accounts

const ACCOUNT = columns<AccountRow>({
  wallet: "wallet",
  number: "number",
  free: "free",
  escrowed: "escrowed",
  sequence: "sequence",
  deposited: "deposited",
  withdrawn: "withdrawn",
  charged: "charged",
  compensated: "compensated",
  forfeited: "forfeited",
  operator: "operator",
  dailyLimit: "daily_limit",
  frozen: "frozen",
  disputes: "disputes",
  openDisputes: "open_disputes",
  firstTopupAt: "first_topup_at",
  lastTopupAt: "last_topup_at",
  lastTopupTx: "last_topup_tx",
});

/** The account of a wallet; null if it never deposited. */
export async function getAccount(reader: Reader, wallet: string): Promise<AccountRow | null> {
  const text = `SELECT ${ACCOUNT} FROM ${view("account")} WHERE wallet = $1`;
  const rows = await read<AccountRow>(reader, "account", text, [wallet.toLowerCase()]);
  return rows[0] ?? null;
}

// ---------------------------------------------------------------- disputes

const DISPUTE = columns<DisputeRow>({
  jobId: API_JOB_ID("job_id"),
  wallet: "wallet",
  worker: "worker",
  receivedHash: "received_hash",
  workerHash: "worker_hash",
  byOperator: "by_operator",
  fromProven: "from_proven",
  credits: "credits",
  joinedHash: "joined_hash",
  bond: "bond",
  arbiterSet: "arbiter_set",
  votesWorkerAtFault: "votes_worker_at_fault",
  votesGatewayAtFault: "votes_gateway_at_fault",
  votesRejected: "votes_rejected",
  ballots: "ballots",
  openedAt: "opened_at",
  openedTx: "opened_tx",
  ruleFrom: "rule_from",
  ruleBefore: "rule_before",
  ruling: "ruling",
  resolvedAt: "resolved_at",
  resolvedTx: "resolved_tx",
  creditsReturned: "credits_returned",
  position: "position",
});

const SLASH = columns<SlashRow>({
  jobId: API_JOB_ID("job_id"),
  worker: "worker",
  amount: "amount::text",
  stake: "stake::text",
  reason: "reason",
  position: "position",
  blockTime: "block_time",
  txHash: "tx_hash",
});

/** The last dispute of a job by its API id; null if it has none. */
export async function getDispute(reader: Reader, jobId: string): Promise<DisputeRow | null> {
  const id = fromApiJobId(jobId);
  if (id === null) return null;
  const text = `SELECT ${DISPUTE} FROM ${view("dispute")} WHERE job_id = $1`;
  return (await read<DisputeRow>(reader, "dispute", text, [id]))[0] ?? null;
}

/** Credits that a wallet has in the bonds of its open disputes. An operator's bond is none of the wallet's. */
export async function bondsOf(reader: Reader, wallet: string): Promise<number> {
  const text = `SELECT COALESCE(sum(bond), 0)::bigint AS credits FROM ${view("dispute")}
    WHERE ruling IS NULL AND NOT by_operator AND wallet = $1`;
  const rows = await read<{ credits: number }>(reader, "bonds", text, [wallet.toLowerCase()]);
  return rows[0]?.credits ?? 0;
}

/** Disputes of all clients, newest first. `open`: those that wait for a ruling, the first to end first. `before`: position of the last row. */
export async function listDisputes(
  reader: Reader,
  { open = false, before, limit }: { open?: boolean; before?: number | undefined; limit: number },
): Promise<DisputeRow[]> {
  // All have the same time to be ruled.
  const [pending, order] = open ? ["ruling IS NULL AND", "ASC"] : ["", "DESC"];
  const text = `SELECT ${DISPUTE} FROM ${view("dispute")} WHERE ${pending} position < $1 ORDER BY position ${order} LIMIT $2`;
  const values = [before ?? Number.MAX_SAFE_INTEGER, limit];
  return await read<DisputeRow>(reader, open ? "disputes_open" : "disputes", text, values);
}

/** Token units that a payee has claimed of payouts that the token had refused. */
export async function claimedBy(reader: Reader, payee: string): Promise<bigint> {
  const text = `SELECT COALESCE(sum(units), 0)::text AS units FROM ${view("payout")} WHERE payee = $1 AND kind = 'claimed'`;
  const rows = await read<{ units: string }>(reader, "claimed", text, [payee.toLowerCase()]);
  return BigInt(rows[0]?.units ?? 0);
}

/** Jobs whose answer a worker proved, and for which the treasury still owes it token units after a dispute. */
export async function listTreasuryDebts(reader: Reader, signer: string): Promise<{ jobId: string; units: number }[]> {
  // A debt is the worker's or the wallet's; that of a wallet stands in `compensation_owed`, too.
  const text = `SELECT ${API_JOB_ID("j.id")} AS "jobId", j.treasury_owes::bigint AS units
    FROM ${view("dispute")} d JOIN ${view("job")} j ON j.id = d.job_id
    WHERE d.ruling = 'gateway_at_fault' AND d.worker = $1 AND j.treasury_owes > 0 AND j.compensation_owed = 0 ORDER BY d.position DESC`;
  return await read(reader, "treasury_debts", text, [signer.toLowerCase()]);
}

/** The arbiters that rule on the disputes of a set, and how many votes of one kind make a ruling; null for a set that never was. */
export async function getArbiters(
  reader: Reader,
  set: number,
): Promise<{ arbiters: Address[]; quorum: number } | null> {
  const text = `SELECT data->'arbiters' AS arbiters, (data->>'quorum')::int AS quorum FROM ${view("protocol_event")}
    WHERE subject = 'ArbitrationPanel' AND job_id IS NULL AND kind = 'panel.arbiters_set' AND data->>'set' = $1`;
  return (await read<{ arbiters: Address[]; quorum: number }>(reader, "arbiters", text, [String(set)]))[0] ?? null;
}

/** What was taken from the stakes of these workers, newest first, at most `each` of one worker. */
export async function listSlashes(reader: Reader, signers: readonly string[], each: number): Promise<SlashRow[]> {
  const text = `SELECT ${SLASH} FROM (
      SELECT *, row_number() OVER (PARTITION BY worker ORDER BY position DESC) AS place
      FROM ${view("slash")} WHERE worker = ANY($1)
    ) s WHERE place <= $2 ORDER BY position DESC`;
  type Raw = Omit<SlashRow, "amount" | "stake"> & { amount: string; stake: string };
  const rows = await read<Raw>(reader, "slashes", text, [signers.map((signer) => signer.toLowerCase()), each]);
  return rows.map((row) => ({ ...row, amount: BigInt(row.amount), stake: BigInt(row.stake) }));
}

// ---------------------------------------------------------------- events

const EVENT = columns<ProtocolEventRow>({
  key: "key",
  kind: "kind",
  subject: "subject",
  wallet: "wallet",
  jobId: API_JOB_ID("job_id"),
  worker: "worker",
  blockNumber: "block_number",
  position: "position",
  blockTime: "block_time",
  txHash: "tx_hash",
  data: "data",
});

export type EventRange = {
  /** Only events at a later position; -1 for all. */
  after: number;
  /** Last block, inclusive. */
  toBlock: number;
  limit: number;
};

/** Events in chain order. Continue with the last row's position until fewer than `limit` come back. */
export async function listEvents(reader: Reader, { after, toBlock, limit }: EventRange): Promise<ProtocolEventRow[]> {
  const end = (toBlock + 1) * POSITIONS_PER_BLOCK;
  const text = `SELECT ${EVENT} FROM ${view("protocol_event")} WHERE position > $1 AND position < $2 ORDER BY position LIMIT $3`;
  return await read<ProtocolEventRow>(reader, "events", text, [after, end, limit]);
}

/** Position before all events of a block: `after` for "from this block on". */
export function beforeBlock(blockNumber: number): number {
  return blockNumber * POSITIONS_PER_BLOCK - 1;
}

/** Everything that happened to a job, in chain order. */
export async function listJobEvents(reader: Reader, chainJobId: string): Promise<ProtocolEventRow[]> {
  const text = `SELECT ${EVENT} FROM ${view("protocol_event")} WHERE job_id = $1 ORDER BY position`;
  return await read<ProtocolEventRow>(reader, "job_events", text, [chainJobId.toLowerCase()]);
}

/** What happened to an account, newest first. `before`: position of the last row of the page before. */
export async function listWalletEvents(
  reader: Reader,
  { wallet, before, limit }: { wallet: string; before?: number; limit: number },
): Promise<ProtocolEventRow[]> {
  const text = `SELECT ${EVENT} FROM ${view("protocol_event")} WHERE wallet = $1 AND position < $2 ORDER BY position DESC LIMIT $3`;
  return await read<ProtocolEventRow>(reader, "wallet_events", text, [
    wallet.toLowerCase(),
    before ?? Number.MAX_SAFE_INTEGER,
    limit,
  ]);
}

// ---------------------------------------------------------------- how far the index is

/**
 * How far the index is: every event up to and including this block is there. After a reorganisation it can be ahead of the
 * rows for a moment, so whoever derives from events re-reads the last blocks.
 */
export async function getHead(reader: Reader): Promise<IndexHead | null> {
  // Ponder's checkpoint: 10 digits block time, 16 chain id, 16 block number, then the position inside the block.
  const text = `SELECT substr(latest_checkpoint, 27, 16)::bigint AS "blockNumber", substr(latest_checkpoint, 1, 10)::bigint AS "blockTime",
      COALESCE((SELECT (value->>'is_ready')::int = 1 FROM ${view("_ponder_meta")} LIMIT 1), false) AS ready
    FROM ${view("_ponder_checkpoint")} LIMIT 1`;
  const rows = await read<IndexHead>(reader, "head", text, []);
  return rows[0] ?? null;
}

// ---------------------------------------------------------------- workers

/** Whether worker `w` may take a job at time $1: as the registry decides it, announced terms included once their time has come. */
const ACTIVE = `w.unbonds_at IS NULL AND w.stake >= (
  SELECT CASE WHEN stake_terms_change_at <= $1 THEN next_minimum_stake ELSE minimum_stake END
  FROM ${view("protocol_config")})`;
/** A time as $1 takes it. */
const seconds = (now: Date): number => Math.floor(now.getTime() / 1000);

const WORKER = columns<WorkerRow>({
  signer: "w.signer",
  number: "w.number",
  owner: "w.owner",
  payout: "w.payout",
  endpoint: "w.endpoint",
  stake: "w.stake::text",
  unbondsAt: "w.unbonds_at",
  active: `(${ACTIVE})`,
  models: `ARRAY(SELECT h.model FROM ${view("hosting")} h WHERE h.worker = w.signer ORDER BY h.model)`,
  registeredAt: "w.registered_at",
});

const WORKERS = `SELECT ${WORKER} FROM ${view("worker")} w`;
type RawWorker = Omit<WorkerRow, "stake"> & { stake: string };
const parseWorker = (row: RawWorker): WorkerRow => ({ ...row, stake: BigInt(row.stake) });

/** All workers ever registered, by id. */
export async function listWorkers(reader: Reader, now: Date = new Date()): Promise<WorkerRow[]> {
  return (await read<RawWorker>(reader, "workers", `${WORKERS} ORDER BY w.number`, [seconds(now)])).map(parseWorker);
}

/** One worker by its signing key; null if it is unknown. */
export async function getWorker(reader: Reader, signer: string, now: Date = new Date()): Promise<WorkerRow | null> {
  const rows = await read<RawWorker>(reader, "worker", `${WORKERS} WHERE w.signer = $2`, [
    seconds(now),
    signer.toLowerCase(),
  ]);
  return rows[0] === undefined ? null : parseWorker(rows[0]);
}

// ---------------------------------------------------------------- models

// Announced prices and retirements take effect by time, without an event: what is in force is decided when it is read.
const MODEL = columns<ModelRow>({
  number: "m.number",
  id: "m.id",
  parameters: "m.parameters",
  ownedBy: "m.owned_by",
  tier: "m.tier",
  contextWindow: "m.context_window",
  creditsPerRequest:
    "CASE WHEN m.prices_change_at <= $1 THEN m.next_credits_per_request ELSE m.credits_per_request END",
  creditsPer1kTokens:
    "CASE WHEN m.prices_change_at <= $1 THEN m.next_credits_per_thousand_tokens ELSE m.credits_per_thousand_tokens END",
  nextCreditsPerRequest: "CASE WHEN m.prices_change_at > $1 THEN m.next_credits_per_request END",
  nextCreditsPer1kTokens: "CASE WHEN m.prices_change_at > $1 THEN m.next_credits_per_thousand_tokens END",
  pricesChangeAt: "CASE WHEN m.prices_change_at > $1 THEN m.prices_change_at END",
  createdAt: "m.created_at",
  retiresAt: "m.retires_at",
  retired: "COALESCE(m.retires_at <= $1, false)",
});

const MODELS = `SELECT ${MODEL} FROM ${view("model")} m`;

/** All models ever listed, by catalog number; callers choose by `retired`. */
export async function listModels(reader: Reader, now: Date = new Date()): Promise<ModelRow[]> {
  return await read<ModelRow>(reader, "models", `${MODELS} ORDER BY m.number`, [seconds(now)]);
}

/** One model by its public id; null if there is none. */
export async function getModel(reader: Reader, id: string, now: Date = new Date()): Promise<ModelRow | null> {
  const rows = await read<ModelRow>(reader, "model", `${MODELS} WHERE m.id = $2`, [seconds(now), id]);
  return rows[0] ?? null;
}
