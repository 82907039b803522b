import { type ProtocolEventRow, type Reader, read } from "../../../api/db/index-reads.ts";
import { EVENT, view } from "../../../api/db/index-rows.ts";
import { select } from "../../../api/db/pool.ts";

/** All that the index tells of, in the order of the chain, or what it tells of a wallet. */
export async function listEvents(reader: Reader, wallet?: string): Promise<ProtocolEventRow[]> {
  const text = `SELECT ${select(EVENT)} FROM ${view("protocol_event")} WHERE $1::text IS NULL OR wallet = $1 ORDER BY position`;
  return await read<ProtocolEventRow>(reader, "events", text, [wallet?.toLowerCase() ?? null]);
}
