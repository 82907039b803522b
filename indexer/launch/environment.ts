import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { type Deployment, parseDeployment } from "../../protocol/deployment.ts";
import { nodeAddress, nodeUrlFault } from "../../shared/node-url.ts";
import { type Redact, redactor, secretsOfDatabaseUrl, secretsOfUrl } from "../../shared/redact.ts";

/** Something that a person has to put right; printed without a stack. */
export class LaunchError extends Error {}

export type Environment = {
  databaseUrl: string;
  rpcUrl: string;
  wsUrl: string | undefined;
  pollMs: number;
  host: string;
  port: number;
  logLevel: string;
  deployment: Deployment;
};

/**
 * Reads the settings and leaves them in `process.env` as ponder.config.ts expects them. Throws a LaunchError that names the setting and no
 * secret of it.
 */
export function readEnvironment(env: NodeJS.ProcessEnv): Environment {
  const missing = ["DATABASE_URL", "RPC_URL", "DEPLOYMENT_FILE"].filter((name) => !env[name]);
  if (missing.length > 0) throw new LaunchError(`${missing.join(", ")} must be set (docs/indexer.md)`);
  const { DATABASE_URL = "", RPC_URL = "", DEPLOYMENT_FILE = "" } = env;
  checkNodeUrl("RPC_URL", RPC_URL);
  const wsUrl = env.WS_URL || undefined;
  if (wsUrl !== undefined) checkNodeUrl("WS_URL", wsUrl);
  const file = resolve(DEPLOYMENT_FILE);
  env.DEPLOYMENT_FILE = file;
  const port = Number(env.INDEXER_PORT ?? 42069);
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new LaunchError(`INDEXER_PORT is no port: ${env.INDEXER_PORT}`);
  return {
    databaseUrl: DATABASE_URL,
    rpcUrl: RPC_URL,
    wsUrl,
    pollMs: Number(env.INDEXER_POLL_MS || 250),
    host: env.INDEXER_HOST ?? "127.0.0.1",
    port,
    // Ponder's "info" is a line a block.
    logLevel: env.INDEXER_LOG_LEVEL ?? "warn",
    deployment: readDeployment(file),
  };
}

/** Both are split into address and login only when something asks the node: what is wrong with them must be said before. */
function checkNodeUrl(setting: string, url: string): void {
  const fault = nodeUrlFault(url, setting);
  if (fault !== null) throw new LaunchError(fault);
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

/**
 * Makes Ponder's requests to the node say the user and password of RPC_URL: it asks with `fetch`, which refuses a URL that has them. Returns
 * the URL that Ponder may have.
 */
export function authorizeRequests(rpcUrl: string): string {
  const { url, headers } = nodeAddress(rpcUrl);
  if (Object.keys(headers).length === 0) return rpcUrl;
  const plain = globalThis.fetch;
  globalThis.fetch = (input, init) => {
    if (input instanceof Request && input.url === url) {
      for (const [name, value] of Object.entries(headers)) input.headers.set(name, value);
    }
    return plain(input, init);
  };
  return url;
}

/** What must not be read in the log of the indexer. */
export const hiding = ({ rpcUrl, wsUrl, databaseUrl }: Pick<Environment, "rpcUrl" | "wsUrl" | "databaseUrl">): Redact =>
  redactor([
    ...secretsOfUrl(rpcUrl, "RPC_URL"),
    ...secretsOfUrl(wsUrl, "WS_URL"),
    ...secretsOfDatabaseUrl(databaseUrl, "DATABASE_URL"),
  ]);
