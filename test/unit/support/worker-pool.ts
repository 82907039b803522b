import { pino } from "pino";
import type { Directory, RegisteredWorker } from "../../../api/chain/directory.ts";
import { Observations } from "../../../api/db/observations.ts";
import { Metrics } from "../../../api/observe/metrics.ts";
import { type PoolParts, WorkerPool } from "../../../api/workers/worker-pool.ts";
import { MODEL } from "../../support/fake-gateway.ts";

/** A directory of `MODEL` alone, which all these workers host. */
export const directoryOf = (workers: () => RegisteredWorker[]): PoolParts["directory"] & Pick<Directory, "models"> => ({
  workers,
  worker: (signer) => workers().find((worker) => worker.signer === signer),
  workersOf: workers,
  model: (id) => (id === MODEL.id ? MODEL : undefined),
  models: () => [MODEL],
});

/** A pool of these parts. What a worker has at risk has no bound, and nobody notes what workers do. */
export function workerPool(parts: Pick<PoolParts, "client" | "directory"> & Partial<PoolParts>): WorkerPool {
  const exposure: PoolParts["exposure"] = {
    charged: () => {},
    keep: () => () => {},
    largest: () => 1_000,
    left: () => {},
    offered: () => {},
    over: () => {},
    room: () => 1_000,
  };
  return new WorkerPool(
    {
      exposure,
      testPrompt: async () => "One, two",
      incidents: { record: () => {} },
      observations: new Observations(),
      metrics: new Metrics(),
      logger: pino({ level: "silent" }),
      ...parts,
    },
    { startWithinMs: 5_000, misconductRestMs: 1_000 },
  );
}
