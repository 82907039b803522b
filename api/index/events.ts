import { POSITIONS_PER_BLOCK } from "../../protocol/index-schema.ts";
import { API_JOB_ID } from "./jobs.ts";
import { columns, type Reader, read, view } from "./query.ts";
import type { ProtocolEventRow } from "./rows.ts";

const COLUMNS = columns<ProtocolEventRow>({
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
  const text = `SELECT ${COLUMNS} FROM ${view("protocol_event")} WHERE position > $1 AND position < $2 ORDER BY position LIMIT $3`;
  return await read<ProtocolEventRow>(reader, "events", text, [after, end, limit]);
}

/** Position before all events of a block: `after` for "from this block on". */
export function beforeBlock(blockNumber: number): number {
  return blockNumber * POSITIONS_PER_BLOCK - 1;
}

/** Everything that happened to a job, in chain order. */
export async function listJobEvents(reader: Reader, chainJobId: string): Promise<ProtocolEventRow[]> {
  const text = `SELECT ${COLUMNS} FROM ${view("protocol_event")} WHERE job_id = $1 ORDER BY position`;
  return await read<ProtocolEventRow>(reader, "job_events", text, [chainJobId.toLowerCase()]);
}

/** What happened to an account, newest first. `before`: position of the last row of the page before. */
export async function listWalletEvents(
  reader: Reader,
  { wallet, before, limit }: { wallet: string; before?: number; limit: number },
): Promise<ProtocolEventRow[]> {
  const text = `SELECT ${COLUMNS} FROM ${view("protocol_event")} WHERE wallet = $1 AND position < $2 ORDER BY position DESC LIMIT $3`;
  return await read<ProtocolEventRow>(reader, "wallet_events", text, [
    wallet.toLowerCase(),
    before ?? Number.MAX_SAFE_INTEGER,
    limit,
  ]);
}
