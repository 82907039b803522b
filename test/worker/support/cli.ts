import { once } from "node:events";
import { join } from "node:path";
import type { TestChain } from "./chain.ts";
import { type Running, start } from "./processes.ts";

export type CliResult = { code: number | null; output: string };

/** `npm run worker -- …` with a data folder of its own, on a test chain; nobody is at the terminal. */
export function startWorkerCli(
  chain: TestChain,
  folder: string,
  args: string[],
  env: Record<string, string> = {},
): Running {
  return start(process.execPath, ["worker/main.ts", ...args], {
    ...chain.env,
    WORKER_DATA_DIR: join(chain.folder, folder),
    ...env,
  });
}

/** The same, to its end. */
export async function workerCli(
  chain: TestChain,
  folder: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<CliResult> {
  const running = startWorkerCli(chain, folder, args, env);
  await once(running.child, "close");
  return { code: running.child.exitCode, output: running.output() };
}
