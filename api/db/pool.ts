import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { runner } from "node-pg-migrate";
import pg from "pg";
import type { Logger } from "pino";

/** Schema of the gateway's own tables; the index lives in schemas of its own. */
export const GATEWAY_SCHEMA = "gateway";

// bigint columns hold block numbers, chain times and nonces: all far below 2^53.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

/** After this time without an answer a query's connection counts as lost, and its client gets a 503. */
const QUERY_TIMEOUT_MS = 15_000;

/**
 * The server frees the locks of a process's transaction 15 s after its last word, also if the process is halted. Its machine can vanish
 * while it waits for an answer, or while the answer is under way: the server asks a silent connection, and ends it.
 */
const LET_GO =
  "-c idle_in_transaction_session_timeout=15s -c tcp_user_timeout=15s " +
  "-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=1 -c tcp_keepalives_count=10";

/**
 * A pool whose connections see the gateway's tables. Each execution of a prepared statement is planned anew. A cached plan stays as it was made
 * for an empty table, until the table is next analyzed: it then reads all rows for each one that it changes.
 */
export function openDatabase(url: string, logger: Logger, max = 20, queryTimeoutMs = QUERY_TIMEOUT_MS): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    options: `-c search_path=${GATEWAY_SCHEMA} -c plan_cache_mode=force_custom_plan ${LET_GO}`,
    application_name: "gateway",
    connectionTimeoutMillis: 5_000,
    query_timeout: queryTimeoutMs,
    keepAlive: true,
  });
  // An idle connection that breaks is replaced at the next query; without a listener it would end the process.
  pool.on("error", (error) => logger.warn({ err: error }, "an idle database connection was lost"));
  return pool;
}

/**
 * Brings the gateway's tables to this version. Takes an advisory lock, so several gateways can start at once.
 * Migrations are plain SQL files, applied once each, in name order.
 */
export async function migrate(url: string, logger: Logger): Promise<void> {
  const dir = fileURLToPath(new URL("./migrations/", import.meta.url));
  if (readdirSync(dir).length === 0) throw new Error(`no migrations in ${dir}: the installation is incomplete`);
  await runner({
    databaseUrl: url,
    dir,
    direction: "up",
    migrationsTable: "migration",
    migrationsSchema: GATEWAY_SCHEMA,
    schema: GATEWAY_SCHEMA,
    createSchema: true,
    createMigrationsSchema: true,
    // Numbers are given out before the work is done: one that comes after a higher one runs all the same.
    checkOrder: false,
    log: (message) => logger.debug({ message }, "migration"),
  });
}

export async function transaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  // The pool does not listen to a client that it lent out; a connection that breaks meanwhile would end the process.
  const onError = (error: Error): void => {
    broken ??= error; // the first one says why, what follows only that it is over
  };
  client.on("error", onError);
  try {
    await client.query("BEGIN");
    const result = await work(client);
    await client.query("COMMIT");
    return result;
  } catch (error) {
    // The error that broke the connection says more than the error of the query that noticed it.
    const cause = broken ?? error;
    // A connection that cannot even roll back is not given to the next one.
    await client.query("ROLLBACK").catch((failure: Error) => {
      broken ??= failure;
    });
    throw cause;
  } finally {
    client.removeListener("error", onError);
    client.release(broken);
  }
}

// ---------------------------------------------------------------- which chain the tables are of

/** The values that identify one deployment on one chain. */
export type Incarnation = { chainId: number; startBlockHash: string; contracts: { InferenceEscrow: string } };

export function incarnationName({ chainId, startBlockHash, contracts }: Incarnation): string {
  return `${chainId}:${startBlockHash}:${contracts.InferenceEscrow.toLowerCase()}`;
}

/** 20 times what the last read took, between 3 s and a minute: all callers together use a twentieth of one connection. */
const longPause = (tookMs: number): number => Math.min(60_000, Math.max(3_000, 20 * tookMs));

/** Answers everybody with one read. The next one begins after a pause that follows from how long the last one took. */
export function sharedRead<T>(readNow: () => Promise<T>, now = Date.now, pauseAfter = longPause): () => Promise<T> {
  let last: { until: number; found: Promise<T> } | undefined;
  return () => {
    if (last !== undefined && now() < last.until) return last.found;
    const begun = now();
    const current = { until: Number.POSITIVE_INFINITY, found: readNow() };
    last = current;
    const restFor = (pause: number): void => {
      current.until = now() + pause;
    };
    // A failed read is followed by the shortest pause, since the database may be back at once.
    void current.found.then(
      () => restFor(pauseAfter(now() - begun)),
      () => restFor(pauseAfter(0)),
    );
    return current.found;
  };
}

// ---------------------------------------------------------------- rows

export type Reader = Pick<pg.Pool, "query">;

/** A column that is read as a `T`: its SQL, if that is more than its property's name in snake case. */
export type Column<T> = { sql: string | undefined; readsAs?: T };

export const column = <T>(sql?: string): Column<T> => ({ sql });

/** The gateway's tables have job ids as clients see them (`job_…`); its code has them as the chain does (bytes16). */
export const CHAIN_JOB_ID = "'0x' || substr(job_id, 5)";

export type RowOf<Columns> = {
  [Name in keyof Columns]: Columns[Name] extends Column<infer T> ? T : never;
};

/** `escrowTx` → `escrow_tx`, `per1kTokens` → `per_1k_tokens`. */
export const snakeCase = (property: string): string =>
  property.replace(/(?<=[a-z])[A-Z\d]/g, (first) => `_${first.toLowerCase()}`);

/** `SELECT` list: `{ escrowTx: column<Hex>() }` → `escrow_tx AS "escrowTx"`. */
export const select = (columns: Record<string, Column<unknown>>): string =>
  Object.entries(columns)
    .map(([property, { sql = snakeCase(property) }]) => `${sql} AS "${property}"`)
    .join(", ");
