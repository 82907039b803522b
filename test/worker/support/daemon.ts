import { join } from "node:path";
import type { TestChain, TestWorker } from "./chain.ts";
import { type Running, start, until } from "./processes.ts";

export type Daemon = Running & {
  endpoint: string;
  health: () => Promise<Record<string, unknown>>;
  logs: () => Record<string, unknown>[];
};

/** Starts the worker daemon as an operator would, and waits until it serves. `env` overrides. */
export async function startDaemon(
  chain: TestChain,
  worker: TestWorker,
  env: Record<string, string> = {},
): Promise<Daemon> {
  const running = start(process.execPath, ["worker/main.ts"], {
    ...chain.env,
    WORKER_PORT: new URL(worker.endpoint).port,
    WORKER_PRIVATE_KEY: worker.privateKey,
    WORKER_DATA_DIR: join(chain.folder, worker.address),
    WORKER_MODELS: worker.models.join(","),
    WORKER_SETTLEMENT_POLL_MS: "250",
    WORKER_KEEP_SETTLED_SECONDS: "0",
    WORKER_LOCK_WAIT_MS: "200",
    ...env,
  });
  const health = async () => (await (await fetch(`${worker.endpoint}/healthz`)).json()) as Record<string, unknown>;
  await until("the worker serves", async () => {
    if (running.child.exitCode !== null) throw new Error(`the worker ended:\n${running.output()}`);
    return health().catch(() => null);
  });
  const logs = () =>
    running
      .output()
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { ...running, endpoint: worker.endpoint, health, logs };
}
