import { type Reader, read, view } from "./query.ts";
import type { IndexHead } from "./rows.ts";

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
