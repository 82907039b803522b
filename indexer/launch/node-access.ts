import { nodeAddress } from "../../protocol/node-url.ts";
import { type Redact, redactor, secretsOfDatabaseUrl, secretsOfUrl } from "../../protocol/redact.ts";
import type { Environment } from "./environment.ts";

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
