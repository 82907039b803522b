/**
 * Ponder, changed where it makes PostgreSQL and itself work for nothing, counts twice or waits in vain. Its sources are edited as they are loaded.
 * The version is pinned, and an edit that does not find its text ends the start: a new version of Ponder has to be read before it is used.
 *
 * - Undo log. Ponder copies each changed row by a trigger a row, then sets the block in each copy by a statement a table. Here a trigger a
 *   statement copies all its rows at once, with the block, which the transaction names.
 * - Replaced blocks. If a block was replaced before its logs were read, Ponder asks for them for 64 s, and every later block waits. Here it asks
 *   three times, and reads the block again if its header is told again (head-feed.ts).
 * - Live queries. Ponder makes a temporary table in each block, and a trigger notes in it whose row changed. Nobody reads that: what listens here
 *   asks only whether there is a new block (`INDEX_CHANNEL`).
 * - Rows in memory. Ponder forgets the rows of a block after it, and reads each again: a job's at its settlement, an account's at every job. It
 *   learns which rows an event needs only from blocks of the past.
 * - Repeated blocks. If a COMMIT fails, Ponder runs its blocks again on the rows in memory, which hold their changes already: sums would count twice.
 *   Here a repetition begins without them.
 * - Statements. Ponder builds each insertion anew, value by value (rows.ts).
 * - Bloom filters. For each block Ponder hashes the names of all events. It also hashes all topics of each log, only to write a log line.
 * - Vite. Ponder starts a development server to read the files of indexer/. Node reads them by itself.
 * - Event loop. Ponder measures its delay every millisecond, which costs three percent of a core at rest. Here it does so every 50 ms.
 * - Unused packages. Ponder loads GraphQL, PGlite, telemetry and every chain that viem knows: half of the time of a start.
 */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { LaunchError } from "./environment.ts";

type Edit = { from: string; to: string };

const without = (from: string): Edit => ({ from, to: "" });

const NAMED_BLOCK = "indexer.checkpoint";
/** Of each table, from block to block. */
const KEPT_ROWS = 2_000;
/** Of one statement; more are copied, as Ponder does with more than 20. */
const MOST_ROWS = 1_000;
// biome-ignore-start lint/suspicious/noTemplateCurlyInString: source text of Ponder
const TRIGGER_TABLE = '"${schema}"."${chainId === undefined ? getTableName(table) : getPartitionName(table, chainId)}"';
const copied = (row: "NEW" | "OLD", operation: number) =>
  `VALUES (\${columnNames.map((name) => \`${row}.\${name}\`).join(",")}, ${operation}, '\${MAX_CHECKPOINT_STRING}');`;
const INTO_LOG =
  'INSERT INTO "${schema}"."${getReorgTableName(table)}" (${columnNames.join(",")}, operation, checkpoint)';
const REPEATED = `let runs = 0;
await database.userQB.transaction(async (tx) => {
    if (runs++ > 0) {
        indexingCache.invalidate();
        indexingCache.clear();
    }`;
const OPERATIONS = { insert: "NEW", update: "OLD", delete: "OLD" };
const each = (statement: (operation: string, rows: string) => string) =>
  Object.entries(OPERATIONS)
    .map(([operation, rows]) => statement(operation, rows))
    .join("\n  ");

const EDITS: Record<string, readonly Edit[]> = {
  "index.js": [without("export { graphql } from './graphql/middleware.js';\n")],
  "internal/metrics.js": [{ from: "eventLoopMonitoringPrecision: 1,", to: "eventLoopMonitoringPrecision: 50," }],
  "internal/telemetry.js": [
    without('import Conf from "conf";\nimport { detect, getNpmVersion } from "detect-package-manager";\n'),
  ],
  "utils/chains.js": [{ from: 'import * as _chains from "viem/chains";', to: "const _chains = {};" }],
  "utils/pglite.js": [without('import { PGlite } from "@electric-sql/pglite";\n')],
  "database/index.js": [without('import { drizzle as drizzlePglite } from "drizzle-orm/pglite";\n')],
  "database/queryBuilder.js": [
    without('import { PGlite } from "@electric-sql/pglite";\n'),
    { from: 'db.$client instanceof PGlite ? "pglite" : "postgres"', to: '"postgres"' },
  ],
  "build/index.js": [
    without('import { drizzle as drizzlePglite } from "drizzle-orm/pglite";\n'),
    {
      from: `import { createServer } from "vite";
import { ViteNodeRunner } from "vite-node/client";
import { ViteNodeServer } from "vite-node/server";
import { installSourcemapsSupport } from "vite-node/source-map";
import { normalizeModuleId, toFilePath } from "vite-node/utils";
import viteTsconfigPathsPlugin from "vite-tsconfig-paths";
`,
      to: 'import { pathToFileURL } from "node:url";\n',
    },
    without(`const viteDevServer = await createServer({
        root: common.options.rootDir,
        cacheDir: path.join(common.options.ponderDir, "vite"),
        publicDir: false,
        customLogger: viteLogger,
        server: { hmr: false },
        plugins: [viteTsconfigPathsPlugin(), vitePluginPonder(common.options)],
    });
    common.buildShutdown.add(() => viteDevServer.close());
    // This is Vite boilerplate (initializes the Rollup container).
    await viteDevServer.pluginContainer.buildStart({});
    const viteNodeServer = new ViteNodeServer(viteDevServer);
    installSourcemapsSupport({
        getSourceMap: (source) => viteNodeServer.getSourceMap(source),
    });
    const viteNodeRunner = new ViteNodeRunner({
        root: viteDevServer.config.root,
        fetchModule: (id) => viteNodeServer.fetchModule(id, "ssr"),
        resolveId: (id, importer) => viteNodeServer.resolveId(id, importer, "ssr"),
        debug: (process.env.DEBUG ?? "").includes("vite-node"),
    });
`),
    { from: "await viteNodeRunner.executeFile(file)", to: "await import(pathToFileURL(file).href)" },
    { from: 'await viteNodeRunner.executeId("ponder:registry")', to: 'await import("ponder:registry")' },
  ],
  "database/actions.js": [
    {
      from: `IF TG_OP = 'INSERT' THEN
  ${INTO_LOG}
  ${copied("NEW", 0)}
  ELSIF TG_OP = 'UPDATE' THEN
  ${INTO_LOG}
  ${copied("OLD", 1)}
  ELSIF TG_OP = 'DELETE' THEN
  ${INTO_LOG}
  ${copied("OLD", 2)}
  END IF;`,
      to: `${INTO_LOG}
  SELECT \${columnNames.join(",")}, CASE TG_OP WHEN 'INSERT' THEN 0 WHEN 'UPDATE' THEN 1 ELSE 2 END, current_setting('${NAMED_BLOCK}')
  FROM changed;`,
    },
    {
      from: `CREATE OR REPLACE TRIGGER "\${getReorgTriggerName()}"
  AFTER INSERT OR UPDATE OR DELETE ON ${TRIGGER_TABLE}
  FOR EACH ROW EXECUTE PROCEDURE "\${schema}".\${getReorgProcedureName(table)};`,
      to: each(
        (operation, rows) => `CREATE OR REPLACE TRIGGER "\${getReorgTriggerName()}_${operation}"
  AFTER ${operation} ON ${TRIGGER_TABLE} REFERENCING ${rows} TABLE AS changed
  FOR EACH STATEMENT EXECUTE PROCEDURE "\${schema}".\${getReorgProcedureName(table)};`,
      ),
    },
    {
      from: `\`DROP TRIGGER IF EXISTS "\${getReorgTriggerName()}" ON ${TRIGGER_TABLE}\``,
      to: `\`${each((operation) => `DROP TRIGGER IF EXISTS "\${getReorgTriggerName()}_${operation}" ON ${TRIGGER_TABLE};`)}\``,
    },
    {
      from: 'for (const table of tables) {\n            const schema = getTableConfig(table).schema ?? "public";\n            // Note: Because',
      to: 'for (const table of []) {\n            const schema = getTableConfig(table).schema ?? "public";\n            // Note: Because',
    },
  ],
  "drizzle/onchain.js": [
    {
      from: `IF NOT EXISTS (
      SELECT 1
      FROM information_schema.tables
      WHERE table_name = '\${tempTableName}'
      AND table_type = 'LOCAL TEMPORARY'
    ) THEN
      RETURN NULL;`,
      to: "IF true THEN PERFORM pg_notify('${channel}', '[]'); RETURN NULL;",
    },
  ],
  "indexing/index.js": [
    {
      from: "client.event = event;\n                await executeEvent(event);\n                common.metrics.ponder_indexing_completed_events.inc({ event: event.eventCallback.name }, 1);",
      to: "client.event = event;\n                indexingCache.event = event;\n                await executeEvent(event);\n                common.metrics.ponder_indexing_completed_events.inc({ event: event.eventCallback.name }, 1);",
    },
  ],
  "indexing-store/cache.js": [
    {
      from: "const LOW_BATCH_THRESHOLD = 20;",
      to: `const LOW_BATCH_THRESHOLD = 20;
import { writeRows } from "${new URL("./rows.ts", import.meta.url)}";
const write = (qb, kind, table, values) => writeRows(qb.$client, kind, {
    name: \`"\${getTableConfig(table).schema}"."\${getTableName(table)}"\`,
    columns: () => Object.entries(getTableColumns(table)).map(([name, column]) => [name, getColumnCasing(column, "snake_case")]),
    keys: () => getPrimaryKeyColumns(table).map(({ sql }) => sql),
}, values.map(({ row }) => row));`,
    },
    {
      from: "if (insertValues.length > LOW_BATCH_THRESHOLD) {",
      to: `if (insertValues.length <= ${MOST_ROWS}) await qb.wrap(() => write(qb, "insert", table, insertValues), context);
                    else if (insertValues.length > LOW_BATCH_THRESHOLD) {`,
    },
    {
      from: "if (updateValues.length > LOW_BATCH_THRESHOLD) {",
      to: `if (updateValues.length <= ${MOST_ROWS}) await qb.wrap(() => write(qb, "replace", table, updateValues), context);
                    else if (updateValues.length > LOW_BATCH_THRESHOLD) {`,
    },
    {
      from: "else {\n                        tableCache.cache.delete(key);",
      to: `else if (tableCache.cache.size > ${KEPT_ROWS}) {\n                        tableCache.cache.delete(key);`,
    },
  ],
  "rpc/index.js": [
    {
      from: "if (shouldRetry(error) === false) {",
      to: "if (shouldRetry(error) === false || (i >= 2 && /unknown block|block not found/i.test(error.message))) {",
    },
  ],
  "runtime/multichain.js": [
    {
      from: "`CREATE TEMP TABLE ${getLiveQueryTempTableName()} (table_name TEXT PRIMARY KEY) ON COMMIT DROP`",
      to: `\`SET LOCAL ${NAMED_BLOCK} = '\${event.checkpoint}'\``,
    },
    {
      from: "await database.userQB.transaction(async (tx) => {\n                    if (database.userQB.$dialect",
      to: `${REPEATED} if (database.userQB.$dialect`,
    },
    {
      from: "await database.userQB.transaction(async (tx) => {\n            const initialCompletedEvents",
      to: `${REPEATED} const initialCompletedEvents`,
    },
    {
      from: "await Promise.all(tables.map((table) => commitBlock(tx, { table, checkpoint, preBuild }, context)));",
      to: "",
    },
  ],
  "sync-realtime/bloom.js": [
    {
      from: "    const bloom = hexToBytes(_bloom);\n    const hash = hexToBytes(keccak256(input));",
      to: "    const bloom = Buffer.from(_bloom.slice(2), 'hex');\n    const hash = hashOf(input);",
    },
    {
      from: "const BLOOM_SIZE_BYTES = 256;",
      to: `const BLOOM_SIZE_BYTES = 256;
const hashes = new Map();
const hashOf = (input) => {
    let hash = hashes.get(input);
    if (hash === undefined) hashes.set(input, hash = hexToBytes(keccak256(input)));
    return hash;
};`,
    },
  ],
  "sync-realtime/index.js": [
    {
      from: "catch (_error) {\n                blockCallback?.(false);",
      to: "catch (_error) {\n                latestFetchedBlock = undefined;\n                blockCallback?.(false);",
    },
    {
      from: "let isInvalidLogsBloom = false;\n            for (const log of logs) {",
      to: "let isInvalidLogsBloom = false;\n            for (const log of []) {",
    },
  ],
};
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: source text of Ponder

/** What a package's module imports from the package itself. */
const OWN_MODULE = /^\.{1,2}\/.*\.js$/;

/** What the files of indexer/src import from Ponder by these names. */
const MODULES: Record<string, string | undefined> = {
  "ponder:registry":
    "data:text/javascript,export const ponder = { fns: [], on(name, fn) { this.fns.push({ name, fn }); } };",
  "ponder:schema": new URL("../ponder.schema.ts", import.meta.url).href,
};

/** Makes this process load the changed Ponder. Throws a LaunchError if its sources are not those that the edits were made for. */
export function changePonder(): void {
  const root = new URL("./", import.meta.resolve("ponder")).href;
  const changed = new Map(Object.entries(EDITS).map(([file, edits]) => [root + file, edit(root + file, edits)]));
  registerHooks({
    resolve: (specifier, context, next) => {
      // Node would parse the 170 KB of its package.json for each of its modules.
      const isInDrizzle = OWN_MODULE.test(specifier) && context.parentURL?.includes("/node_modules/drizzle-orm/");
      const url = isInDrizzle ? new URL(specifier, context.parentURL).href : MODULES[specifier];
      return url === undefined ? next(specifier, context) : { url, format: "module", shortCircuit: true };
    },
    load: (url, context, next) => {
      const source = changed.get(url);
      return source === undefined ? next(url, context) : { format: "module", source, shortCircuit: true };
    },
  });
}

function edit(url: string, edits: readonly Edit[]): string {
  return edits.reduce(
    (source, { from, to }) => {
      const [before, after, ...more] = source.split(from);
      if (after !== undefined && more.length === 0) return `${before}${to}${after}`;
      throw new LaunchError(`${fileURLToPath(url)} is of another version of Ponder than launch/ponder.ts was made for`);
    },
    readFileSync(fileURLToPath(url), "utf8"),
  );
}
