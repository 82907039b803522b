import { join } from "node:path";
import type { StackContext } from "./context.ts";
import { writeJson } from "./files.ts";
import { taskSpec, type WorkerEntry, workerSpec } from "./programs.ts";

/** Registers the operator's workers on chain and starts them. */
export async function startPool(context: StackContext, workers: readonly WorkerEntry[]): Promise<string> {
  const file = join(context.dataDir, "workers.json");
  writeJson(
    file,
    workers.map(({ privateKey, endpoint, models }) => ({ privateKey, endpoint, models })),
  );
  // It registers only what is not registered yet.
  await context.supervisor.run(
    taskSpec(context, "register-workers", "scripts/register-workers.ts", { WORKERS_FILE: file }),
  );
  const started = workers.filter((worker) => worker.start);
  await Promise.all(started.map((worker) => context.supervisor.launch(workerSpec(context, worker))));
  const ports = started.map((worker) => worker.port);
  return started.length === 0
    ? "registered, none started"
    : `${started.length} on ${ports[0]}${ports.length > 1 ? `-${ports.at(-1)}` : ""}`;
}
