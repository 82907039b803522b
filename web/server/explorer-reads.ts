/**
 * Reads the explorer's lists: jobs by whom they concern, transactions with their events, and the history of accounts, workers, operators
 * and models.
 */
import type { Address, Hex } from "viem";
import { read } from "../../api/db/index-reads.ts";
import { EVENT, view } from "../../api/db/index-rows.ts";
import { column, type Reader, type RowOf, select } from "../../api/db/pool.ts";
import { POSITIONS_PER_BLOCK } from "../../protocol/index-schema.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import type { JobState } from "../../protocol/job-status.ts";

const LISTED = {
  id: column<Hex>("job.id"),
  status: column<JobState>(),
  model: column<string>(),
  /** The credits that the job cost in the end: a dispute can bring a charge back. */
  credits: column<number>("credits_charged - credits_compensated"),
  worker: column<Address | null>(),
  createdAt: column<number>(),
};
export type ListedJob = RowOf<typeof LISTED>;

const JOBS = `SELECT ${select(LISTED)} FROM ${view("job")} AS job`;

/** Jobs of a wallet, of a worker, or with an answer, newest id first. Each is a range of an index. `before`: the last id of the page before. */
export async function listJobsBy(
  reader: Reader,
  by: "wallet" | "worker" | "proof_hash",
  { value, before, limit }: { value: string; before?: Hex | undefined; limit: number },
): Promise<ListedJob[]> {
  const text = `${JOBS} WHERE ${by} = $1 AND job.id COLLATE "C" < $2
    ORDER BY job.id COLLATE "C" DESC LIMIT $3`;
  return await read<ListedJob>(reader, `jobs_by_${by}`, text, [value.toLowerCase(), before ?? LAST_ID, limit]);
}

/** Sorts behind every id. */
const LAST_ID = "0xg";

export async function listJobsOfOperator(reader: Reader, operator: number, limit: number): Promise<ListedJob[]> {
  const text = `${JOBS} WHERE operator = $1 AND status = 'settled' ORDER BY created_at DESC LIMIT $2`;
  return await read<ListedJob>(reader, "jobs_of_operator", text, [operator, limit]);
}

/** The jobs with these ids, newest id first. */
export async function listJobsNamed(reader: Reader, ids: readonly Hex[]): Promise<ListedJob[]> {
  if (ids.length === 0) return [];
  const text = `${JOBS} WHERE id = ANY($1) ORDER BY job.id COLLATE "C" DESC`;
  return await read<ListedJob>(reader, "jobs_listed", text, [ids]);
}

const { kind, blockNumber, blockTime, txHash, data } = EVENT;
const LISTED_EVENT = {
  kind,
  blockNumber,
  blockTime,
  txHash,
  jobId: column<Hex | null>(),
  position: column<number>(),
  /** The charge of a settlement; null for other events. */
  charged: column<number | null>("CASE WHEN kind = 'job.settled' THEN (data->>'credits_charged')::bigint END"),
};
type ListedEvent = RowOf<typeof LISTED_EVENT>;

const EVENTS = `SELECT ${select(LISTED_EVENT)} FROM ${view("protocol_event")}`;

/** Newest first. `before`: the position that a page ended at. */
export async function listLatestEvents(
  reader: Reader,
  { limit, before = null }: { limit: number; before?: number | null },
): Promise<ListedEvent[]> {
  const text = `${EVENTS} WHERE position < COALESCE($2::bigint, ${Number.MAX_SAFE_INTEGER}) ORDER BY position DESC LIMIT $1`;
  return await read<ListedEvent>(reader, "events_latest", text, [limit, before]);
}

/** All events of these jobs, newest first: of a page of jobs, so they are few. */
export async function listEventsOfJobs(reader: Reader, ids: readonly Hex[], limit: number): Promise<ListedEvent[]> {
  if (ids.length === 0) return [];
  const text = `${EVENTS} WHERE job_id = ANY($1) ORDER BY position DESC LIMIT $2`;
  return await read<ListedEvent>(reader, "events_of_jobs", text, [ids, limit]);
}

export async function listBlockEvents(reader: Reader, block: number, limit: number): Promise<ListedEvent[]> {
  const text = `${EVENTS} WHERE position >= $1 AND position < $2 ORDER BY position LIMIT $3`;
  const begin = block * POSITIONS_PER_BLOCK;
  return await read<ListedEvent>(reader, "events_of_block", text, [begin, begin + POSITIONS_PER_BLOCK, limit]);
}

/** Events by transaction, in the order in which they come. */
export function transactionsOf(events: readonly ListedEvent[]) {
  return [...Map.groupBy(events, ({ txHash }) => txHash).values()].map((group) => {
    const [{ txHash: hash, blockNumber, blockTime }] = group as [ListedEvent];
    const kinds = Map.groupBy(group, ({ kind }) => kind);
    const jobs = [...new Set(group.flatMap(({ jobId }) => jobId ?? []))];
    return {
      hash,
      block_number: blockNumber,
      timestamp: blockTime,
      jobs: jobs.length,
      // Named where the transaction is of one job.
      job: jobs.length === 1 ? toApiJobId(jobs[0] as Hex) : null,
      charged: group.reduce((sum, { charged }) => sum + (charged ?? 0), 0),
      events: Object.fromEntries([...kinds].map(([kind, all]) => [kind, all.length])),
    };
  });
}

const HISTORY_EVENT = { kind, blockNumber, blockTime, txHash, data };
export type HistoryEvent = RowOf<typeof HISTORY_EVENT>;

const HISTORY = `SELECT ${select(HISTORY_EVENT)} FROM ${view("protocol_event")}`;

/**
 * The events of an account, a worker, an operator or a model, except those of its jobs; newest first. A number can be an operator's or a
 * model's: `kind` says which.
 */
export async function listHistory(
  reader: Reader,
  of: "account" | "worker" | "operator" | "model",
  { subject, limit }: { subject: string; limit: number },
): Promise<HistoryEvent[]> {
  const text = `${HISTORY}
    WHERE subject = $1 AND job_id IS NULL AND starts_with(kind, $2) ORDER BY position DESC LIMIT $3`;
  return await read<HistoryEvent>(reader, "history", text, [subject.toLowerCase(), `${of}.`, limit]);
}

const OPERATOR = {
  number: column<number>(),
  admin: column<Address>(),
  stopped: column<boolean>(),
  reserve: column<number>(),
  held: column<number>(),
  leaving: column<number | null>(),
  leavesAt: column<number | null>(),
  signers: column<{ signer: Address; addedAt: number; removedAt: number | null }[]>(),
  admittedAt: column<number>(),
  /** Token units that it has not withdrawn. */
  earned: column<number>(
    `COALESCE((SELECT sum(units) FROM ${view("earnings")} e WHERE e.operator = o.number), 0)::bigint`,
  ),
};
export type OperatorRow = RowOf<typeof OPERATOR>;

const OPERATORS = `SELECT ${select(OPERATOR)} FROM ${view("operator")} o ORDER BY number`;

/** All operators ever admitted, by number. */
export const listOperators = (reader: Reader): Promise<OperatorRow[]> =>
  read<OperatorRow>(reader, "operators", OPERATORS, []);
