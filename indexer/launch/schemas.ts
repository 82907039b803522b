/**
 * The schema that this build of the indexer fills: its name, the lock of its one writer, what it holds, and whether that is of the chain
 * at hand.
 */
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { createPublicClient, type PublicClient } from "viem";
import type { Deployment } from "../../protocol/deployment.ts";
import { INDEX_BUILD_PREFIX, INDEX_SCHEMA } from "../../protocol/index-schema.ts";
import { type ChainNode, transportOf } from "../../shared/chain-node.ts";
import { retryUntil } from "../../shared/retry.ts";
import { LaunchError } from "./environment.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
// The files that decide what the tables contain. A changed comment counts as a change, too: indexing anew costs seconds, old rows would be wrong.
const SOURCES = ["indexer/{ponder.*,registry}.ts", "indexer/src/**/*.ts", "patches/ponder*", "protocol/**/*.ts"];

const digest = (parts: string[]): string => createHash("sha256").update(parts.join("\0")).digest("hex").slice(0, 10);

/** Prefix of the schemas of all builds for one deployment. */
export function deploymentPrefix({ chainId, startBlockHash, contracts }: Deployment): string {
  const addresses = Object.values(contracts).map((address) => address.toLowerCase());
  return `${INDEX_BUILD_PREFIX}${digest([String(chainId), startBlockHash, ...addresses])}_`;
}

export function ponderVersion(): string {
  // Ponder's package.json is not among its exports.
  return JSON.parse(readFileSync(new URL("../../package.json", import.meta.resolve("ponder")), "utf8")).version;
}

/** Throws if npm has installed Ponder without applying our patch, which mends two bugs (docs/upstream.md). */
export function requirePatchedPonder(): void {
  // The patch adds this file.
  if (existsSync(new URL("indexing-store/rows.js", import.meta.resolve("ponder")))) return;
  throw new LaunchError("the installed Ponder lacks the changes in patches/: run `npm ci` without --ignore-scripts");
}

/** Schema that this build of the indexer fills for a deployment. */
export function buildSchema(deployment: Deployment): string {
  const files = SOURCES.flatMap((pattern) => globSync(pattern, { cwd: root })).sort();
  return (
    deploymentPrefix(deployment) +
    digest([ponderVersion(), ...files.flatMap((file) => [file, readFileSync(root + file, "utf8")])])
  );
}

// First of the two numbers of our advisory locks: keeps them apart from other users of the database.
const LOCK_CLASS = 0x1d8;

/** The launcher's one connection. It holds the lock on the schema as long as this process lives, and not a moment longer. */
export async function connect(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: "indexer_launcher",
    keepAlive: true,
  });
  await client.connect();
  return client;
}

/**
 * Takes the lock on a schema if no living indexer has it. PostgreSQL drops it with the connection, so a killed indexer
 * never leaves it behind: unlike the lock row in Ponder's own table, which a successor waits 25 s for.
 */
async function tryLock(client: pg.Client, schema: string): Promise<boolean> {
  const { rows } = await client.query("SELECT pg_try_advisory_lock($1, hashtext($2)) AS locked", [LOCK_CLASS, schema]);
  return rows[0].locked === true;
}

async function unlock(client: pg.Client, schema: string): Promise<void> {
  await client.query("SELECT pg_advisory_unlock($1, hashtext($2))", [LOCK_CLASS, schema]);
}

/** Waits for the lock. A second indexer of one build stands by like this and takes over when the first one ends. */
export async function lock(client: pg.Client, schema: string, log: (line: string) => void): Promise<void> {
  for (let waited = 0; !(await tryLock(client, schema)); waited += 1) {
    if (waited % 300 === 0) log(`another indexer fills schema ${schema}; this one stands by until it ends`);
    await sleep(100);
  }
}

const quoted = pg.escapeIdentifier;

type Checkpoint = { blockNumber: number; blockTime: number };

/** Schemas of all builds, old and new. */
async function buildSchemas(client: pg.Client): Promise<string[]> {
  // A schema without this table was never filled, or is somebody else's.
  const { rows } = await client.query(
    "SELECT schemaname AS name FROM pg_tables WHERE tablename = '_ponder_checkpoint' AND starts_with(schemaname, $1)",
    [INDEX_BUILD_PREFIX],
  );
  return rows.map((row) => row.name as string);
}

/** The last blocks that the schemas of all builds hold for good (Ponder reverts what is above them when it starts). */
async function finalizedCheckpoints(client: pg.Client, chainId: number): Promise<Checkpoint[]> {
  const found: Checkpoint[] = [];
  for (const schema of await buildSchemas(client)) {
    const { rows } = await client.query(`SELECT finalized_checkpoint AS c FROM ${quoted(schema)}._ponder_checkpoint`);
    const encoded = (rows[0]?.c ?? "") as string;
    // 10 digits block time, 16 chain id, 16 block number, then the position inside the block.
    const part = (from: number, length: number) => Number(encoded.slice(from, from + length));
    if (part(10, 16) === chainId) found.push({ blockTime: part(0, 10), blockNumber: part(26, 16) });
  }
  return found;
}

/** The newest block whose logs Ponder's cache holds for a chain. */
async function newestCachedBlock(client: pg.Client, chainId: number): Promise<{ number: number; hash: string } | null> {
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

/** True if a schema is complete up to the last final block, and the views show it. */
export async function isReady(client: pg.Client, schema: string): Promise<boolean> {
  const { rows: tables } = await client.query("SELECT to_regclass($1) AS name", [`${quoted(schema)}._ponder_meta`]);
  if (tables[0].name === null) return false;
  const { rows } = await client.query(`SELECT value->>'is_ready' AS ready FROM ${quoted(schema)}._ponder_meta`);
  return rows[0]?.ready === "1";
}

/**
 * Prepares the schema of a build for a new process; only with the lock in hand.
 *
 * Ponder's lock row of a killed process is released. The head that readers see is set back to the last final block.
 * Ponder reverts what is above it and indexes it again, so the head must not promise those rows.
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

type Log = (line: string) => void;

/** Ponder's own number of blocks after which a block of this chain is final: 65 on Ethereum, 30 on a chain that it does not know. */
export async function finalityOf(chainId: number): Promise<number> {
  const module = new URL("utils/finality.js", import.meta.resolve("ponder")).href;
  const { getFinalityBlockCount } = (await import(module)) as {
    getFinalityBlockCount: (build: { chain: { id: number } }) => number;
  };
  return getFinalityBlockCount({ chain: { id: chainId } });
}

/** A node behind a load balancer may lag for so long. */
const LAGGING = { pauseMs: 250, timeoutMs: 3_000 };
const NODE_START_MS = 10_000;

/** Connects to the nodes, the first of which is at `host`, and checks that they serve the chain of the deployment. */
export async function openChain(
  nodes: ChainNode,
  host: string,
  deployment: Deployment,
  log: Log,
): Promise<PublicClient> {
  const chain = createPublicClient({ transport: transportOf(nodes, 5_000) });
  const { chainId, startBlock, startBlockHash } = deployment;
  let waits = false;
  const found = await retryUntil(
    () =>
      chain.getChainId().catch(() => {
        if (!waits) log(`waiting for the node at ${host}`);
        waits = true;
        return null;
      }),
    { pauseMs: 500, timeoutMs: NODE_START_MS },
  );
  if (found === null)
    throw new LaunchError(`no node answers at RPC_URL (${host}): start the chain, or correct RPC_URL`);
  if (found !== chainId) throw new LaunchError(`RPC_URL serves chain ${found}, the deployment is on chain ${chainId}`);
  const block = await blockAt(chain, startBlock);
  if (block?.hash !== startBlockHash) {
    throw new LaunchError(
      `DEPLOYMENT_FILE is of another chain than RPC_URL serves (block ${startBlock} differs): deploy again`,
    );
  }
  return chain;
}

/** The reason why the stored index does not match the chain. `behind`: the chain may only end too early, because the node is behind. */
type Mismatch = { reason: string; behind: boolean };
/** A development chain is what its one node has: it is never behind. */
const DEV_CHAIN_ID = 31_337;
const BEHIND_MS = 2_000;

/** Why the stored index cannot be continued on this chain; null if it can. Waits for a node that is behind. */
export async function contradiction(
  client: pg.Client,
  chain: PublicClient,
  { chainId, log }: { chainId: number; log: Log },
): Promise<string | null> {
  for (let told = false; ; told = true) {
    const found = (await mismatch(client, chain, chainId)) ?? (await notFinal(client, chain, chainId));
    if (found === null) return null;
    if (!found.behind || chainId === DEV_CHAIN_ID) return found.reason;
    if (!told) log(`${found.reason}, which is stored as final: the node at RPC_URL is behind, waiting for it`);
    await sleep(BEHIND_MS);
  }
}

/** Which block that was stored as final the chain has lost; null if none, also while the node is behind. */
export async function lostFinalBlock(client: pg.Client, chain: PublicClient, chainId: number): Promise<string | null> {
  const found = await mismatch(client, chain, chainId);
  return found === null || (found.behind && chainId !== DEV_CHAIN_ID) ? null : found.reason;
}

async function mismatch(client: pg.Client, chain: PublicClient, chainId: number): Promise<Mismatch | null> {
  const cached = await newestCachedBlock(client, chainId);
  if (cached !== null) {
    const block = await patientBlockAt(chain, cached.number);
    if (block === null) return missing(cached.number);
    if (block.hash !== cached.hash) return { reason: `block ${cached.number} has another hash`, behind: false };
  }
  for (const { blockNumber, blockTime } of await finalizedCheckpoints(client, chainId)) {
    // The checkpoint has no hash. A block that was mined again, later, has another time.
    const block = await patientBlockAt(chain, blockNumber);
    if (block === null) return missing(blockNumber);
    if (Number(block.timestamp) !== blockTime)
      return { reason: `block ${blockNumber} has another time`, behind: false };
  }
  return null;
}

const missing = (block: number): Mismatch => ({ reason: `the chain has no block ${block}`, behind: true });

/** Ponder refuses to start when what it stored as final no longer is: a chain that lost its last blocks, and stands still. */
async function notFinal(client: pg.Client, chain: PublicClient, chainId: number): Promise<Mismatch | null> {
  const finality = await finalityOf(chainId);
  for (const { blockNumber } of await finalizedCheckpoints(client, chainId)) {
    const isFinal = await retryUntil(async () => {
      const head = await chain.getBlockNumber({ cacheTime: 0 });
      return Math.max(0, Number(head) - finality) >= blockNumber;
    }, LAGGING);
    if (isFinal === null)
      return { reason: `the chain ends less than ${finality} blocks after block ${blockNumber}`, behind: true };
  }
  return null;
}

/** Only a block that stays away is missing. */
const patientBlockAt = (chain: PublicClient, blockNumber: number) =>
  retryUntil(() => blockAt(chain, blockNumber), LAGGING);

async function blockAt(chain: PublicClient, blockNumber: number) {
  try {
    return await chain.getBlock({ blockNumber: BigInt(blockNumber) });
  } catch (error) {
    if ((error as Error).name === "BlockNotFoundError") return null;
    throw error;
  }
}
