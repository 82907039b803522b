import { INDEX_BUILD_PREFIX } from "../../protocol/index-schema.ts";
import type { Patience } from "../support/patience.ts";
import type { Judged } from "./world.ts";

const TABLES = ["job", "account", "protocol_event"] as const;
/** A long run's chain has tens of thousands of events. */
const READY_MS = 600_000;

/** What differs between the index that lived through the run and one made anew from the chain. */
export async function reindexed(world: Judged, patience: Patience): Promise<string[]> {
  const behind = await caughtUp(world, patience, "the index to reach the head");
  if (behind !== null) return [`the index never caught up: ${behind}`];
  const lived = await contents(world);
  world.note("the index is made anew");
  await patience.within("the end of the indexer", world.stack.kill("indexer", "SIGINT"), 30_000);
  const { rows } = await world.pool.query<{ name: string }>(
    `SELECT schema_name AS name FROM information_schema.schemata WHERE schema_name LIKE '${INDEX_BUILD_PREFIX}%' OR schema_name IN ('index', 'ponder_sync')`,
  );
  for (const { name } of rows) await world.pool.query(`DROP SCHEMA "${name}" CASCADE`);
  await patience.within("the new index", world.stack.restart("indexer", READY_MS), READY_MS);
  const unmade = await caughtUp(world, patience, "a fresh index");
  if (unmade !== null) return [`a fresh index could not be made: ${unmade}`];
  const fresh = await contents(world);
  return TABLES.filter((table) => lived[table] !== fresh[table]).map(
    (table) => `the index's table ${table} differs from a fresh one: ${firstDifference(lived[table], fresh[table])}`,
  );
}

async function caughtUp(world: Judged, patience: Patience, what: string): Promise<string | null> {
  const head = Number(await world.rpc<string>("eth_blockNumber"));
  const text = `SELECT substr(latest_checkpoint, 27, 16)::bigint::int AS block FROM "index"._ponder_checkpoint LIMIT 1`;
  const lacking = async (): Promise<string | null> => {
    const { rows } = await world.pool.query<{ block: number }>(text);
    const block = rows[0]?.block ?? 0;
    return block >= head ? null : `it is at block ${block} of ${head}`;
  };
  return await patience.until(what, lacking, READY_MS);
}

type Contents = Record<(typeof TABLES)[number], string>;

async function contents({ pool }: Judged): Promise<Contents> {
  const read = async (table: string): Promise<string> => {
    const { rows } = await pool.query<{ row: string }>(
      `SELECT to_jsonb(t)::text AS row FROM "index".${table} t ORDER BY 1`,
    );
    return rows.map(({ row }) => row).join("\n");
  };
  const [job, account, event] = await Promise.all(TABLES.map(read));
  return { job: job ?? "", account: account ?? "", protocol_event: event ?? "" };
}

function firstDifference(lived: string, fresh: string): string {
  const [a, b] = [lived.split("\n"), fresh.split("\n")];
  const at = a.findIndex((line, index) => line !== b[index]);
  return `${a.length} rows against ${b.length}; lived ${a[at]?.slice(0, 400)}, fresh ${b[at]?.slice(0, 400)}`;
}
