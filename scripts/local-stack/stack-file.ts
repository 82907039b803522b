import { join } from "node:path";
import type { Deployment } from "../../protocol/deployment.ts";
import type { StackContext } from "./context.ts";
import type { DemoAccount } from "./demo.ts";
import { writeJson } from "./files.ts";

/** What `$DATA_DIR/stack.json` tells other programs about a running stack. */
export type StackFile = {
  base_url: string;
  app_url: string;
  rpc_url: string;
  chain_id: number;
  database_url: string;
  contracts: Record<string, string>;
  demo: DemoAccount | null;
};

export function writeStackFile(
  context: StackContext,
  deployment: Deployment | null,
  demo: DemoAccount | null,
): StackFile {
  const file: StackFile = {
    base_url: context.urls.api,
    app_url: `${context.urls.api}/app`,
    rpc_url: context.urls.rpc,
    chain_id: context.options.chainId,
    database_url: context.databaseUrl,
    contracts: deployment?.contracts ?? {},
    demo,
  };
  writeJson(join(context.dataDir, "stack.json"), file);
  return file;
}

/** A request that works as pasted; the cheapest model, as it is paid for. */
export function curlCommand({ base_url, demo }: StackFile): string {
  const body = JSON.stringify({ model: "qwen3-1.7b", messages: [{ role: "user", content: "Say hello." }] });
  return `curl -sS ${base_url}/v1/chat/completions -H 'Authorization: Bearer ${demo?.api_key}' -H 'Content-Type: application/json' -d '${body}'`;
}
