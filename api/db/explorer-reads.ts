/** What the explorer lists: jobs by whom they concern, transactions with their events, and the history of whatever is no job. */
import type { Address, Hex } from "viem";
import { POSITIONS_PER_BLOCK } from "../../protocol/index-schema.ts";
import { fromApiJobId } from "../../protocol/job-id.ts";
import type { JobState } from "../../protocol/job-status.ts";
import { API_JOB_ID, columns, type Reader, read, view } from "./index-reads.ts";

export type ListedJob = {
  /** `job_…` */
  id: string;
  status: JobState;
  model: string;
  /** What it cost in the end: a dispute can bring a charge back. */
  credits: number;
  worker: Address | null;
  createdAt: number;
};

const LISTED = columns<ListedJob>({
  id: API_JOB_ID("job.id"),
  status: "status",
  model: "model",
  credits: "credits_charged - credits_compensated",
  worker: "worker",
  createdAt: "created_at",
});

/** Jobs of a wallet, of a worker, or with an answer, newest id first. Each is a range of an index. `before`: the last id of the page before. */
export async function listJobsBy(
  reader: Reader,
  by: "wallet" | "worker" | "proof_hash",
  { value, before, limit }: { value: string; before?: string | undefined; limit: number },
): Promise<ListedJob[]> {
  const cursor = before === undefined ? null : fromApiJobId(before);
  const text = `SELECT ${LISTED} FROM ${view("job")} AS job WHERE ${by} = $1 AND job.id COLLATE "C" < $2
    ORDER BY job.id COLLATE "C" DESC LIMIT $3`;
  return await read<ListedJob>(reader, `jobs_by_${by}`, text, [value.toLowerCase(), cursor ?? LAST_ID, limit]);
}

/** Sorts behind every id. */
const LAST_ID = "0xg";

/** The newest settled jobs of an operator. */
export async function listJobsOfOperator(reader: Reader, operator: number, limit: number): Promise<ListedJob[]> {
  const text = `SELECT ${LISTED} FROM ${view("job")} AS job WHERE operator = $1 AND status = 'settled' ORDER BY created_at DESC LIMIT $2`;
  return await read<ListedJob>(reader, "jobs_of_operator", text, [operator, limit]);
}

/** The jobs with these ids (bytes16), newest id first. */
export async function listJobsNamed(reader: Reader, ids: readonly Hex[]): Promise<ListedJob[]> {
  if (ids.length === 0) return [];
  const text = `SELECT ${LISTED} FROM ${view("job")} AS job WHERE id = ANY($1) ORDER BY job.id COLLATE "C" DESC`;
  return await read<ListedJob>(reader, "jobs_listed", text, [ids]);
}

export type ListedEvent = {
  kind: string;
  /** bytes16 */
  jobId: Hex | null;
  blockNumber: number;
  blockTime: number;
  txHash: Hex;
};

const EVENT = columns<ListedEvent>({
  kind: "kind",
  jobId: "job_id",
  blockNumber: "block_number",
  blockTime: "block_time",
  txHash: "tx_hash",
});

/** The newest events of the chain, newest first. */
export async function listLatestEvents(reader: Reader, limit: number): Promise<ListedEvent[]> {
  const text = `SELECT ${EVENT} FROM ${view("protocol_event")} ORDER BY position DESC LIMIT $1`;
  return await read<ListedEvent>(reader, "events_latest", text, [limit]);
}

/** The first events of a block. */
export async function listBlockEvents(reader: Reader, block: number, limit: number): Promise<ListedEvent[]> {
  const text = `SELECT ${EVENT} FROM ${view("protocol_event")} WHERE position >= $1 AND position < $2 ORDER BY position LIMIT $3`;
  const begin = block * POSITIONS_PER_BLOCK;
  return await read<ListedEvent>(reader, "events_of_block", text, [begin, begin + POSITIONS_PER_BLOCK, limit]);
}

/** Events by transaction, in the order in which they come. */
export function transactionsOf(events: readonly ListedEvent[]) {
  return [...Map.groupBy(events, ({ txHash }) => txHash).values()].map((group) => {
    const [{ txHash: hash, blockNumber, blockTime }] = group as [ListedEvent];
    const kinds = Map.groupBy(group, ({ kind }) => kind);
    return {
      hash,
      block_number: blockNumber,
      timestamp: blockTime,
      jobs: new Set(group.flatMap(({ jobId }) => jobId ?? [])).size,
      events: Object.fromEntries([...kinds].map(([kind, all]) => [kind, all.length])),
    };
  });
}

export type HistoryEvent = {
  kind: string;
  blockNumber: number;
  position: number;
  blockTime: number;
  txHash: Hex;
  data: Record<string, unknown>;
};

const HISTORY = columns<HistoryEvent>({
  kind: "kind",
  blockNumber: "block_number",
  position: "position",
  blockTime: "block_time",
  txHash: "tx_hash",
  data: "data",
});

/**
 * What happened to an account, a worker, an operator or a model, but for its jobs; newest first. Numbers are subjects of operators and of
 * models, so the kind says which.
 */
export async function listHistory(
  reader: Reader,
  of: "account" | "worker" | "operator" | "model",
  { subject, before, limit }: { subject: string; before?: number | undefined; limit: number },
): Promise<HistoryEvent[]> {
  const text = `SELECT ${HISTORY} FROM ${view("protocol_event")}
    WHERE subject = $1 AND job_id IS NULL AND starts_with(kind, $2) AND position < $3 ORDER BY position DESC LIMIT $4`;
  const values = [subject.toLowerCase(), `${of}.`, before ?? Number.MAX_SAFE_INTEGER, limit];
  return await read<HistoryEvent>(reader, "history", text, values);
}

export type OperatorRow = {
  number: number;
  admin: Address;
  stopped: boolean;
  reserve: number;
  held: number;
  leaving: number | null;
  leavesAt: number | null;
  signers: { signer: Address; addedAt: number; removedAt: number | null }[];
  admittedAt: number;
};

const OPERATOR = columns<OperatorRow>({
  number: "number",
  admin: "admin",
  stopped: "stopped",
  reserve: "reserve",
  held: "held",
  leaving: "leaving",
  leavesAt: "leaves_at",
  signers: "signers",
  admittedAt: "admitted_at",
});

/** All operators ever admitted, by number. */
export const listOperators = (reader: Reader): Promise<OperatorRow[]> =>
  read<OperatorRow>(reader, "operators", `SELECT ${OPERATOR} FROM ${view("operator")} ORDER BY number`, []);
