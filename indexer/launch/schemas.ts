import pg from "pg";
import { INDEX_BUILD_PREFIX, INDEX_SCHEMA } from "../../protocol/index-schema.ts";
import { tryLock, unlock } from "./lock.ts";

const quoted = pg.escapeIdentifier;

export type Checkpoint = { chainId: number; blockNumber: number; blockTime: number };

/** Schemas of all builds, old and new. */
export async function buildSchemas(client: pg.Client): Promise<string[]> {
  // A schema without this table was never filled, or is somebody else's.
  const { rows } = await client.query(
    "SELECT schemaname AS name FROM pg_tables WHERE tablename = '_ponder_checkpoint' AND starts_with(schemaname, $1)",
    [INDEX_BUILD_PREFIX],
  );
  return rows.map((row) => row.name as string);
}

/** The last block that a schema holds for good (Ponder reverts what is above it when it starts). */
export async function finalizedCheckpoint(client: pg.Client, schema: string): Promise<Checkpoint | null> {
  const { rows } = await client.query(`SELECT finalized_checkpoint AS c FROM ${quoted(schema)}._ponder_checkpoint`);
  const encoded = rows[0]?.c as string | undefined;
  if (encoded === undefined) return null;
  // 10 digits block time, 16 chain id, 16 block number, then the position inside the block.
  const part = (from: number, length: number) => Number(encoded.slice(from, from + length));
  return { blockTime: part(0, 10), chainId: part(10, 16), blockNumber: part(26, 16) };
}

/** The newest block whose logs Ponder's cache holds for a chain. */
export async function newestCachedBlock(
  client: pg.Client,
  chainId: number,
): Promise<{ number: number; hash: string } | null> {
  const { rows: tables } = await client.query("SELECT to_regclass('ponder_sync.blocks') AS name");
  if (tables[0].name === null) return null;
  const { rows } = await client.query(
    "SELECT number, hash FROM ponder_sync.blocks WHERE chain_id = $1 ORDER BY number DESC LIMIT 1",
    [chainId],
  );
  return rows[0] === undefined ? null : { number: Number(rows[0].number), hash: rows[0].hash };
}

/** Schemas that the readers' views show: one, or none. */
export async function shownSchemas(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query(
    "SELECT DISTINCT table_schema AS name FROM information_schema.view_table_usage WHERE view_schema = $1",
    [INDEX_SCHEMA],
  );
  return rows.map((row) => row.name as string);
}

export async function dropSchema(client: pg.Client, schema: string): Promise<void> {
  await client.query(`DROP SCHEMA IF EXISTS ${quoted(schema)} CASCADE`);
}

/** Forgets everything that was read from the chain. */
export async function dropEverything(client: pg.Client): Promise<void> {
  for (const schema of [INDEX_SCHEMA, ...(await buildSchemas(client)), "ponder_sync"]) await dropSchema(client, schema);
}

/** Drops what earlier builds left, except where another indexer still runs. */
export async function dropOldBuilds(client: pg.Client, current: string, log: (line: string) => void): Promise<void> {
  for (const schema of await buildSchemas(client)) {
    if (schema === current || !(await tryLock(client, schema))) continue;
    await dropSchema(client, schema);
    await unlock(client, schema);
    log(`dropped schema ${schema} of an earlier build`);
  }
}

/** Whether a schema is complete up to the last final block, and the views show it. */
export async function isReady(client: pg.Client, schema: string): Promise<boolean> {
  const { rows: tables } = await client.query("SELECT to_regclass($1) AS name", [`${quoted(schema)}._ponder_meta`]);
  if (tables[0].name === null) return false;
  const { rows } = await client.query(`SELECT value->>'is_ready' AS ready FROM ${quoted(schema)}._ponder_meta`);
  return rows[0]?.ready === "1";
}

/**
 * Prepares the schema of a build for a new process; only with the lock in hand.
 *
 * Ponder's lock row of a killed process is released, and the head that readers see is set back to the last final block,
 * because Ponder reverts what is above it and indexes it again: the head must not promise rows that are gone for a moment.
 */
export async function takeOver(client: pg.Client, schema: string): Promise<void> {
  const { rows } = await client.query("SELECT to_regclass($1) AS name", [`${quoted(schema)}._ponder_meta`]);
  if (rows[0].name === null) return;
  const name = quoted(schema);
  await client.query("BEGIN");
  await client.query(`UPDATE ${name}._ponder_meta SET value = value || '{"is_locked": 0, "is_ready": 0}'`);
  await client.query(`UPDATE ${name}._ponder_checkpoint SET latest_checkpoint = safe_checkpoint`);
  await client.query("COMMIT");
}
