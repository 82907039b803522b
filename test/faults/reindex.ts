import { INDEX_BUILD_PREFIX } from "../../protocol/index-schema.ts";
import { eventually } from "../support/api-client.ts";
import type { World } from "./world.ts";

const TABLES = ["job", "account", "protocol_event"] as const;
const READY_MS = 120_000;

/** What differs between the index that lived through the run and one made anew from the chain. */
export async function reindexed(world: World): Promise<string[]> {
  await caughtUp(world);
  const lived = await contents(world);
  await world.stack.kill("indexer", "SIGINT");
  const { rows } = await world.pool.query<{ name: string }>(
    `SELECT schema_name AS name FROM information_schema.schemata WHERE schema_name LIKE '${INDEX_BUILD_PREFIX}%' OR schema_name IN ('index', 'ponder_sync')`,
  );
  for (const { name } of rows) await world.pool.query(`DROP SCHEMA "${name}" CASCADE`);
  await world.stack.restart("indexer");
  await caughtUp(world);
  const fresh = await contents(world);
  return TABLES.filter((table) => lived[table] !== fresh[table]).map(
    (table) => `the index's table ${table} differs from a fresh one: ${firstDifference(lived[table], fresh[table])}`,
  );
}

async function caughtUp(world: World): Promise<void> {
  const head = Number(await world.rpc<string>("eth_blockNumber"));
  await eventually(
    async () => {
      const text = `SELECT substr(latest_checkpoint, 27, 16)::bigint::int AS block FROM "index"._ponder_checkpoint LIMIT 1`;
      const { rows } = await world.pool
        .query<{ block: number }>(text)
        .catch(() => ({ rows: [] as { block: number }[] }));
      return rows[0]?.block ?? 0;
    },
    (block) => block >= head,
    READY_MS,
  );
}

type Contents = Record<(typeof TABLES)[number], string>;

async function contents({ pool }: World): Promise<Contents> {
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
