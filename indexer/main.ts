/**
 * Starts the indexer. It finds this build's schema, and checks that the stored index belongs to the chain. It runs Ponder in
 * this process, so that SIGINT and SIGTERM reach Ponder and it ends in order. launch/environment.ts has its settings.
 */
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type pg from "pg";
import type { PublicClient } from "viem";
import { INDEX_SCHEMA } from "../protocol/index-schema.ts";
import { ChainNode } from "../shared/chain-node.ts";
import { nodeAddress, nodeHost } from "../shared/node-url.ts";
import { ignoreLostOutput, keepCompiled } from "../shared/process.ts";
import { redactOutput } from "../shared/redact.ts";
import { type Environment, hiding, LaunchError, readEnvironment } from "./launch/environment.ts";
import { startHeadFeed } from "./launch/head-feed.ts";
import { withLogRanges } from "./launch/log-ranges.ts";
import { throughNodes } from "./launch/node-fetch.ts";
import {
  buildSchema,
  connect,
  contradiction,
  deploymentPrefix,
  dropEverything,
  dropOldBuilds,
  dropSchema,
  isReady,
  lock,
  lostFinalBlock,
  openChain,
  ponderVersion,
  requirePatchedPonder,
  shownSchemas,
  takeOver,
} from "./launch/schemas.ts";

/** EX_TEMPFAIL: start it again. */
const START_AGAIN = 75;
/** How often the chain is asked for the blocks that are stored as final. */
const FINAL_LOOK_MS = 4_000;
/** So many looks in a row must miss one: behind a load balancer, one node may be on another fork for a moment. */
const FINAL_MISSES = 3;

const started = Date.now();
const log = (line: string): void => console.log(`indexer: ${line}`);
const seconds = (): string => `${((Date.now() - started) / 1000).toFixed(1)} s`;

async function main(): Promise<void> {
  ignoreLostOutput();
  requirePatchedPonder();
  const environment = readEnvironment(process.env);
  redactOutput(hiding(environment));
  const { deployment, rpcUrls } = environment;
  const say = (fields: object, message: string) => log(`${message}: ${JSON.stringify(fields)}`);
  const nodes = new ChainNode(rpcUrls, { warn: say, info: say });
  const { url } = nodeAddress(rpcUrls[0] as string);
  // ponder.config.ts reads it.
  process.env.RPC_URL = url;
  globalThis.fetch = withLogRanges(url, environment.logBlocks, throughNodes(url, nodes, globalThis.fetch));
  await requireFreePort(environment);
  const schema = buildSchema(deployment);
  const client = await connect(environment.databaseUrl).catch((error: Error) => {
    throw new LaunchError(`PostgreSQL at DATABASE_URL cannot be reached: ${error.message || error.name}`);
  });
  await lock(client, schema, log);
  // Without the connection the lock is gone, and another process may start to write.
  client.once("error", () => stopToStartAgain("lost the connection to PostgreSQL, and with it the lock on the schema"));

  const chain = await openChain(nodes, nodeHost(url), deployment, log);
  nodes.watch(deployment.chainId);
  const reason = await contradiction(client, chain, { chainId: deployment.chainId, log });
  if (reason !== null) {
    log(
      `the stored index is of another chain, or of blocks that the chain has lost (${reason}): dropped, indexing anew`,
    );
    await dropEverything(client);
  }
  // Numbers of another deployment must not be shown while this one is being indexed.
  const shown = await shownSchemas(client);
  if (shown.some((name) => !name.startsWith(deploymentPrefix(deployment)))) await dropSchema(client, INDEX_SCHEMA);
  await takeOver(client, schema);

  process.env.INDEXER_HEADS_URL = await startHeadFeed(chain, environment.wsUrl, environment.pollMs);
  await runPonder(environment, schema);
  void tidyWhenReady(client, schema);
  void stopWithoutFinalBlocks(client, chain, deployment.chainId);
}

/** Ponder would quietly take the next free port. */
async function requireFreePort({ host, port }: Environment): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const probe = createServer();
    probe.once("error", (error) =>
      reject(new LaunchError(`port ${port} of ${host} cannot be used (${error.message}): set INDEXER_PORT`)),
    );
    probe.listen(port, host, () => probe.close(() => resolve()));
  });
}

function stopToStartAgain(reason: string): void {
  log(`${reason}: stopping`);
  // Ponder ends a stop in order with 0, which a restart policy may take for the end of its work.
  process.on("exit", () => {
    process.exitCode = START_AGAIN;
  });
  process.kill(process.pid, "SIGINT");
  setTimeout(() => process.exit(), 6_000).unref();
}

/** Ponder tries for ever to continue an index whose final blocks the chain has lost. The next start makes it anew. */
async function stopWithoutFinalBlocks(client: pg.Client, chain: PublicClient, chainId: number): Promise<void> {
  for (let misses = 0; ; ) {
    await sleep(FINAL_LOOK_MS);
    // A node or database that is away says nothing about the chain.
    const lost = await lostFinalBlock(client, chain, chainId).catch(() => null);
    misses = lost === null ? 0 : misses + 1;
    if (misses === FINAL_MISSES) return stopToStartAgain(`the chain has lost what is stored as final (${lost})`);
  }
}

async function runPonder({ host, port, logLevel }: Environment, schema: string): Promise<void> {
  process.env.PONDER_TELEMETRY_DISABLED = "true";
  process.env.INDEXER_SCHEMA = schema;
  process.env.PORT = String(port); // it prefers this to its own option
  // Ponder queries one connection concurrently, which pg has deprecated: nothing that a reader of the log could do about.
  process.noDeprecation = true;
  log(`indexing into schema ${schema}`);
  const ponder = import.meta.resolve("ponder");
  const { start } = await import(new URL("bin/commands/start.js", ponder).href);
  await start({
    cliOptions: {
      command: "start",
      version: ponderVersion(),
      root: fileURLToPath(new URL(".", import.meta.url)),
      config: "ponder.config.ts",
      logLevel,
      logFormat: "pretty",
      schema,
      viewsSchema: INDEX_SCHEMA,
      hostname: host,
    },
  });
}

async function tidyWhenReady(client: pg.Client, schema: string): Promise<void> {
  while (!(await isReady(client, schema))) await sleep(200);
  log(`ready after ${seconds()}`);
  keepCompiled();
  await dropOldBuilds(client, schema, log);
}

try {
  await main();
} catch (error) {
  console.error(error instanceof LaunchError ? `indexer: ${error.message}` : error);
  process.exit(1);
}
