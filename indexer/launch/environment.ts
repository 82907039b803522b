import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { z } from "zod";
import { type Deployment, parseDeployment } from "../../protocol/deployment.ts";
import { type Redact, redactor, secretsOfDatabaseUrl, secretsOfUrl } from "../../shared/redact.ts";
import { count, databaseUrl, nodeUrl, nodeUrls, port, readSettings } from "../../shared/settings.ts";

/** Something that a person has to put right; printed without a stack. */
export class LaunchError extends Error {}

const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal"] as const;

/** The environment. */
export const settingsSchema = z.object({
  DATABASE_URL: databaseUrl.describe("PostgreSQL, as the gateway has it. Secret"),
  RPC_URL: nodeUrl(/^https?$/).describe("JSON-RPC of the chain, as the gateway has it. Secret"),
  RPC_URLS: nodeUrls,
  WS_URL: nodeUrl(/^wss?$/)
    .optional()
    .describe("the node's WebSocket; without it the node is polled. Secret"),
  DEPLOYMENT_FILE: z.string().min(1).describe("written by `scripts/deploy.ts`"),
  INDEXER_POLL_MS: count(250).describe("how often the node is polled then"),
  INDEXER_RPC_PER_SECOND: count(500).describe("most requests to the node a second. **Choose it** for a metered node"),
  INDEXER_LOG_BLOCKS: count(1_000).describe(
    "most blocks of one `eth_getLogs`. A node that takes less is asked for less by itself",
  ),
  INDEXER_HOST: z.string().default("127.0.0.1").describe("address to listen on"),
  INDEXER_PORT: port.min(1).default(4269).describe("port of `/ready`, `/health`, `/status`, `/metrics`"),
  INDEXER_LOG_LEVEL: z.enum(LOG_LEVELS).default("warn").describe("of Ponder, trace to fatal; `info` is a line a block"),
});

export type Environment = ReturnType<typeof readEnvironment>;

/**
 * Reads the settings and leaves them in `process.env` as ponder.config.ts expects them. Throws a LaunchError that names each wrong setting, and no
 * secret of it.
 */
export function readEnvironment(env: NodeJS.ProcessEnv) {
  const settings = checked(env);
  const file = resolve(settings.DEPLOYMENT_FILE);
  env.DEPLOYMENT_FILE = file;
  env.INDEXER_LOG_BLOCKS = String(settings.INDEXER_LOG_BLOCKS);
  env.INDEXER_RPC_PER_SECOND = String(settings.INDEXER_RPC_PER_SECOND);
  return {
    databaseUrl: settings.DATABASE_URL,
    rpcUrls: [settings.RPC_URL, ...settings.RPC_URLS],
    wsUrl: settings.WS_URL,
    pollMs: settings.INDEXER_POLL_MS,
    host: settings.INDEXER_HOST,
    port: settings.INDEXER_PORT,
    logLevel: settings.INDEXER_LOG_LEVEL,
    logBlocks: settings.INDEXER_LOG_BLOCKS,
    deployment: readDeployment(file),
  };
}

function checked(env: NodeJS.ProcessEnv) {
  try {
    return readSettings(settingsSchema, env, "indexer");
  } catch (error) {
    throw new LaunchError((error as Error).message);
  }
}

function readDeployment(file: string): Deployment {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    throw new LaunchError(`DEPLOYMENT_FILE ${file} cannot be read: deploy first (node scripts/deploy.ts)`);
  }
  return parseDeployment(text, file);
}

/** Makes the function that hides the settings' secrets in the indexer's log. */
export const hiding = ({
  rpcUrls,
  wsUrl,
  databaseUrl,
}: Pick<Environment, "rpcUrls" | "wsUrl" | "databaseUrl">): Redact =>
  redactor([
    ...rpcUrls.flatMap((url) => secretsOfUrl(url, "RPC_URL")),
    ...secretsOfUrl(wsUrl, "WS_URL"),
    ...secretsOfDatabaseUrl(databaseUrl, "DATABASE_URL"),
  ]);
