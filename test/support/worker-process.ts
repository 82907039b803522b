import { join } from "node:path";
import { Part, ROOT } from "./processes.ts";
import type { SharedStack } from "./shared-fixtures.ts";
import { plainEnv } from "./stack.ts";

/** Starts the process of worker `number` (from 1), which the stack has registered and not started; `env` has further settings. */
export async function startWorker(
  stack: Pick<SharedStack, "info" | "dataDir" | "deploymentFile" | "workers">,
  number: number,
  env: Record<string, string> = {},
): Promise<Part> {
  const entry = stack.workers[number - 1];
  if (entry === undefined) throw new Error(`the stack has no worker ${number}`);
  const settings: NodeJS.ProcessEnv = {
    ...plainEnv(),
    RPC_URL: stack.info.rpc_url,
    DEPLOYMENT_FILE: stack.deploymentFile,
    WORKER_PORT: String(entry.port),
    WORKER_PRIVATE_KEY: entry.privateKey,
    WORKER_MODELS: entry.models.join(","),
    WORKER_DATA_DIR: join(stack.dataDir, "workers", String(number)),
    ...env,
  };
  const worker = new Part(`worker ${number}`, process.execPath, ["worker/main.ts"], { cwd: ROOT, env: settings });
  await worker.until(async () => (await fetch(`http://127.0.0.1:${settings["WORKER_PORT"]}/healthz`)).ok);
  return worker;
}
