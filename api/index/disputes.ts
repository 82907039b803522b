import { fromApiJobId } from "../../protocol/job-id.ts";
import { API_JOB_ID } from "./jobs.ts";
import { columns, type Reader, read, view } from "./query.ts";
import type { DisputeRow, SlashRow } from "./rows.ts";

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

/** Disputes of all clients, newest first. `open`: only those that wait for a ruling. `before`: position of the last row. */
export async function listDisputes(
  reader: Reader,
  { open = false, before, limit }: { open?: boolean; before?: number | undefined; limit: number },
): Promise<DisputeRow[]> {
  const pending = open ? "ruling IS NULL AND" : "";
  const text = `SELECT ${DISPUTE} FROM ${view("dispute")} WHERE ${pending} position < $1 ORDER BY position DESC LIMIT $2`;
  const values = [before ?? Number.MAX_SAFE_INTEGER, limit];
  return await read<DisputeRow>(reader, open ? "disputes_open" : "disputes", text, values);
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
