/** The gateway's read side: everything that clients and the web application list, over the indexer's views. One prepared statement a list. */
import pg from "pg";
import type { Address, Hex } from "viem";
import type { JobState, RulingName } from "../../protocol/job-status.ts";
import {
  ACCOUNT,
  type AccountRow,
  DISPUTE,
  type DisputeRow,
  type IndexedJob,
  type IndexHead,
  JOB,
  MODEL,
  type ModelRow,
  SLASH,
  type SlashRow,
  view,
  WORKER,
  type WorkerRow,
} from "./index-rows.ts";
import { type Reader, select } from "./pool.ts";

export type * from "./index-rows.ts";
export type { Reader } from "./pool.ts";

/** The index is not there, or not yet in the shape this build reads: it is being built. Worth a retry. */
export class IndexUnavailable extends Error {
  constructor(cause: unknown) {
    super("The index of the chain is being built.", { cause });
    this.name = "IndexUnavailable";
  }
}

/** The result of a read of the index, or `absent` while the index is being built. */
export async function ifIndexed<Found, Absent>(found: Promise<Found>, absent: Absent): Promise<Found | Absent> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof IndexUnavailable) return absent;
    throw error;
  }
}

// No schema, no table, or a column that the views of an earlier build lack.
const ABSENT = new Set(["3F000", "42P01", "42703"]);

/** Integers of 64 bits are numbers here: credits, times and positions all fit. What may not fit is selected as `numeric`. */
const types = {
  getTypeParser: (oid: number, format?: unknown) => {
    if (oid === pg.types.builtins.INT8) return Number;
    return oid === pg.types.builtins.NUMERIC ? BigInt : pg.types.getTypeParser(oid, format as "text");
  },
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

// ---------------------------------------------------------------- jobs

const JOBS = `SELECT ${select(JOB)} FROM ${view("job")}`;

/** One job of any wallet; null if the index does not know it. */
export async function getJob(reader: Reader, jobId: Hex): Promise<IndexedJob | null> {
  const rows = await read<IndexedJob>(reader, "job", `${JOBS} WHERE id = $1`, [jobId]);
  return rows[0] ?? null;
}

/** Those of the jobs that the index knows, of any wallet, in any order. */
export async function getJobs(reader: Reader, jobIds: readonly Hex[]): Promise<IndexedJob[]> {
  if (jobIds.length === 0) return [];
  const text = `${JOBS} WHERE id = ANY($1)`;
  return read<IndexedJob>(reader, "jobs_named", text, [jobIds]);
}

export type JobQuery = {
  wallet: string;
  limit: number;
  /** Only jobs whose id is below this one, and above that one. */
  before?: Hex | undefined;
  after?: Hex | undefined;
  status?: JobState | undefined;
  model?: string | undefined;
};

/** True if a page begins at the oldest job after a cursor and goes on towards the newest. */
export const walksUp = ({ before, after }: Pick<JobQuery, "before" | "after">): boolean =>
  after !== undefined && before === undefined;

/**
 * Jobs of a wallet in the order of their ids, which are UUIDv7: the newest first, or from a lone `after` on the oldest first. One walk along
 * one index: the statement has exactly the filters that were asked for.
 */
export async function listJobs(reader: Reader, query: JobQuery): Promise<IndexedJob[]> {
  const { wallet, limit, before, after, status, model } = query;
  const values: unknown[] = [wallet.toLowerCase(), limit];
  const parts: [name: string, condition: string][] = [];
  const where = (name: string, condition: string, value: unknown): void => {
    values.push(value);
    parts.push([name, `AND ${condition} $${values.length}`]);
  };
  if (status !== undefined) where("status", "status =", status);
  if (model !== undefined) where("model", "model =", model);
  if (before !== undefined) where("before", 'id COLLATE "C" <', before);
  if (after !== undefined) where("after", 'id COLLATE "C" >', after);
  const direction = walksUp(query) ? "ASC" : "DESC";
  // As the indexes have it (indexer/src/setup.ts). A bare `id` would be the output's, an expression that no index has.
  const text = `${JOBS} AS job WHERE wallet = $1 ${parts.map((part) => part[1]).join(" ")} ORDER BY job.id COLLATE "C" ${direction} LIMIT $2`;
  return read<IndexedJob>(reader, ["jobs", ...parts.map((part) => part[0])].join("_"), text, values);
}

const OVERDUE_LIMIT = 100;

/**
 * Ids of jobs of an operator that were locked before a time (Unix seconds), still hold credits, and have no proven answer. The age is
 * that of the lock: an id that was made elsewhere proves none.
 */
export async function listOverdueJobs(reader: Reader, operator: number, lockedBefore: number): Promise<Hex[]> {
  const text = `SELECT id FROM ${view("job")} WHERE operator = $1 AND status = ANY('{pending,processing}') AND created_at < $2
    ORDER BY created_at LIMIT ${OVERDUE_LIMIT}`;
  const rows = await read<{ id: Hex }>(reader, "jobs_overdue", text, [operator, lockedBefore]);
  return rows.map(({ id }) => id);
}

/**
 * Credits charged for an operator's jobs, by worker (lower case): of those locked in a span of time (Unix seconds) that nobody disputed, without
 * those that their workers proved by themselves.
 */
export async function chargedAtWorkers(
  reader: Reader,
  operator: number,
  { from, until }: { from: number; until: number },
): Promise<Map<string, number>> {
  const text = `SELECT worker, sum(credits_charged)::float8 AS credits FROM ${view("job")}
    WHERE operator = $1 AND status = 'settled' AND created_at >= $2 AND created_at < $3 AND credits_compensated = 0
      AND proven_at IS NULL GROUP BY worker`;
  return byWorker(await read(reader, "charged_at_workers", text, [operator, from, until]));
}

/**
 * Credits of an operator's jobs that their workers proved by themselves, by worker (lower case): what is locked for those that have not ended, and
 * what was charged for those that were locked from `from` (Unix seconds) on and that nobody disputed.
 */
export async function provenAtWorkers(reader: Reader, operator: number, from: number): Promise<Map<string, number>> {
  const text = `SELECT worker, sum(CASE WHEN status = 'settled' THEN credits_charged ELSE credits_locked END)::float8 AS credits
    FROM ${view("job")} WHERE operator = $1 AND proven_at IS NOT NULL AND (
      status = ANY('{settling,disputed}') AND ended_at IS NULL
      OR status = 'settled' AND created_at >= $2 AND credits_compensated = 0) GROUP BY worker`;
  return byWorker(await read(reader, "proven_at_workers", text, [operator, from]));
}

const byWorker = (rows: { worker: string; credits: number }[]): Map<string, number> =>
  new Map(rows.map(({ worker, credits }) => [worker.toLowerCase(), credits]));

// ---------------------------------------------------------------- accounts

const ACCOUNTS = `SELECT ${select(ACCOUNT)} FROM ${view("account")}`;

/** The account of a wallet; null if it never deposited. */
export async function getAccount(reader: Reader, wallet: string): Promise<AccountRow | null> {
  const text = `${ACCOUNTS} WHERE wallet = $1`;
  const rows = await read<AccountRow>(reader, "account", text, [wallet.toLowerCase()]);
  return rows[0] ?? null;
}

/** Which of the wallets have credits, spendable or in escrow; lower case. */
export async function walletsWithCredits(reader: Reader, wallets: readonly string[]): Promise<Set<string>> {
  if (wallets.length === 0) return new Set();
  const text = `SELECT wallet FROM ${view("account")} WHERE wallet = ANY($1) AND free + escrowed > 0`;
  const rows = await read<{ wallet: string }>(reader, "with_credits", text, [wallets]);
  return new Set(rows.map(({ wallet }) => wallet));
}

// ---------------------------------------------------------------- disputes

const DISPUTES = `SELECT ${select(DISPUTE)} FROM ${view("dispute")}`;

/** The last dispute of a job; null if it has none. */
export async function getDispute(reader: Reader, jobId: Hex): Promise<DisputeRow | null> {
  const text = `${DISPUTES} WHERE job_id = $1`;
  return (await read<DisputeRow>(reader, "dispute", text, [jobId]))[0] ?? null;
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
  const text = `${DISPUTES} WHERE ${pending} position < $1 ORDER BY position ${order} LIMIT $2`;
  const values = [before ?? Number.MAX_SAFE_INTEGER, limit];
  return await read<DisputeRow>(reader, open ? "disputes_open" : "disputes", text, values);
}

/** Disputes of an operator's jobs that ended so, or are open, and credits that its reserve paid for these jobs. */
export type RulingTotal = { ruling: RulingName | "open"; disputes: number; paid: number };

/** By operator. Reads all disputes: for callers that share one read. */
export async function disputesByOperator(reader: Reader): Promise<Map<number, RulingTotal[]>> {
  const text = `SELECT j.operator, COALESCE(d.ruling, 'open') AS ruling, count(*) AS disputes, sum(j.operator_paid)::bigint AS paid
    FROM ${view("dispute")} d JOIN ${view("job")} j ON j.id = d.job_id GROUP BY 1, 2`;
  return Map.groupBy(
    await read<RulingTotal & { operator: number }>(reader, "disputes_by_operator", text, []),
    ({ operator }) => operator,
  );
}

/** Disputes of an operator's jobs in which arbiters found it at fault, newest first. */
export async function listDisputesLostBy(reader: Reader, operator: number, limit: number): Promise<DisputeRow[]> {
  const text = `${DISPUTES} AS d WHERE ruling = 'gateway_at_fault'
    AND EXISTS (SELECT FROM ${view("job")} j WHERE j.id = d.job_id AND j.operator = $1) ORDER BY position DESC LIMIT $2`;
  return await read<DisputeRow>(reader, "disputes_lost_by", text, [operator, limit]);
}

/** How many disputes that operators opened for a wallet were rejected by arbiters, from a time on (Unix seconds). */
export async function countLostDisputes(reader: Reader, wallet: string, from: number): Promise<number> {
  const text = `SELECT count(*) AS lost FROM ${view("dispute")}
    WHERE wallet = $1 AND by_operator AND ruling = 'rejected' AND resolved_at >= $2`;
  const rows = await read<{ lost: number }>(reader, "disputes_lost", text, [wallet.toLowerCase(), from]);
  return rows[0]?.lost ?? 0;
}

/** Jobs of an operator whose dispute nobody ruled before this time (Unix seconds), the first to end first. */
export async function listUnruled(
  reader: Reader,
  operator: number,
  { before, limit }: { before: number; limit: number },
): Promise<Hex[]> {
  const text = `SELECT d.job_id AS id FROM ${view("dispute")} d JOIN ${view("job")} j ON j.id = d.job_id
    WHERE d.ruling IS NULL AND d.rule_before <= $2 AND j.operator = $1 ORDER BY d.position LIMIT $3`;
  const rows = await read<{ id: Hex }>(reader, "disputes_unruled", text, [operator, before, limit]);
  return rows.map(({ id }) => id);
}

/** What the treasury still owes for jobs of an operator after their disputes, in token units; the oldest debts first. */
export async function listDebts(reader: Reader, operator: number): Promise<{ jobId: Hex; units: bigint }[]> {
  const text = `SELECT j.id AS "jobId", j.treasury_owes::numeric AS units
    FROM ${view("dispute")} d JOIN ${view("job")} j ON j.id = d.job_id
    WHERE d.ruling IS NOT NULL AND j.operator = $1 AND j.treasury_owes > 0 ORDER BY d.position`;
  return await read(reader, "debts", text, [operator]);
}

/** Token units that a payee has claimed of payouts that the token had refused. */
export async function claimedBy(reader: Reader, payee: string): Promise<bigint> {
  const text = `SELECT COALESCE(sum(units), 0) AS units FROM ${view("payout")} WHERE payee = $1 AND kind = 'claimed'`;
  const rows = await read<{ units: bigint }>(reader, "claimed", text, [payee.toLowerCase()]);
  return rows[0]?.units ?? 0n;
}

/** Jobs whose answer a worker proved, and for which the treasury still owes it token units after a dispute. */
export async function listTreasuryDebts(reader: Reader, signer: string): Promise<{ jobId: Hex; units: number }[]> {
  // A debt is the worker's or the wallet's; that of a wallet stands in `compensation_owed`, too.
  const text = `SELECT j.id AS "jobId", j.treasury_owes::bigint AS units
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

/** The slashes of these workers, newest first, at most `each` of one worker. */
export async function listSlashes(reader: Reader, signers: readonly string[], each: number): Promise<SlashRow[]> {
  const text = `SELECT ${select(SLASH)} FROM (
      SELECT *, row_number() OVER (PARTITION BY worker ORDER BY position DESC) AS place
      FROM ${view("slash")} WHERE worker = ANY($1)
    ) s WHERE place <= $2 ORDER BY position DESC`;
  return await read<SlashRow>(reader, "slashes", text, [signers.map((signer) => signer.toLowerCase()), each]);
}

// ---------------------------------------------------------------- events

/** Transactions of everything that happened to a job, in chain order; one with several events as often. */
export async function listJobTransactions(reader: Reader, jobId: Hex): Promise<Hex[]> {
  const text = `SELECT tx_hash AS hash FROM ${view("protocol_event")} WHERE job_id = $1 ORDER BY position`;
  const rows = await read<{ hash: Hex }>(reader, "job_transactions", text, [jobId]);
  return rows.map(({ hash }) => hash);
}

// ---------------------------------------------------------------- how far the index is

/**
 * How far the index is: every event up to and including this block is there. After a reorganisation it can be ahead of the
 * rows for a moment, so the derivation of webhook events reads the last blocks again.
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

/** A time as $1 takes it. */
const seconds = (now: Date): number => Math.floor(now.getTime() / 1000);

const WORKERS = `SELECT ${select(WORKER)} FROM ${view("worker")} w`;

/** Registering needs no stake: of more workers than this, those with the most stake are listed. */
const WORKERS_LISTED = 200;

/** The workers with the most stake, by id. */
export async function listWorkers(reader: Reader, now: Date = new Date()): Promise<WorkerRow[]> {
  const listed = `SELECT signer FROM ${view("worker")} ORDER BY stake DESC, number LIMIT ${WORKERS_LISTED}`;
  const text = `${WORKERS} WHERE w.signer IN (${listed}) ORDER BY w.number`;
  return await read<WorkerRow>(reader, "workers", text, [seconds(now)]);
}

/** A worker by its signing key (lower case) or its id; null if the index does not know it. */
export async function getWorker(reader: Reader, id: string): Promise<WorkerRow | null> {
  const text = `${WORKERS} WHERE w.signer = $2 OR w.number::text = $2`;
  const rows = await read<WorkerRow>(reader, "worker", text, [seconds(new Date()), id]);
  return rows[0] ?? null;
}

/** Workers whose signing key, owner or payout is one of these addresses (lower case): those with the key, then by id, at most `WORKERS_LISTED`. */
export async function listWorkersOf(reader: Reader, addresses: readonly string[]): Promise<WorkerRow[]> {
  const text = `${WORKERS} WHERE w.signer = ANY($2) OR w.owner = ANY($2) OR w.payout = ANY($2)
    ORDER BY w.signer = ANY($2) DESC, w.number LIMIT ${WORKERS_LISTED}`;
  return await read<WorkerRow>(reader, "workers_of", text, [seconds(new Date()), addresses]);
}

// ---------------------------------------------------------------- models

const MODELS = `SELECT ${select(MODEL)} FROM ${view("model")} m`;

/** All models ever listed, by catalog number; callers choose by `retired`. */
export async function listModels(reader: Reader, now: Date = new Date()): Promise<ModelRow[]> {
  return await read<ModelRow>(reader, "models", `${MODELS} ORDER BY m.number`, [seconds(now)]);
}
