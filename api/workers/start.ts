/** Builds what a gateway knows of models and workers, and keeps it up to date. */
import { NO_JOB, QUEUED_SHARE } from "../../protocol/dispatch.ts";
import { repeat } from "../../shared/repeat.ts";
import type { Base } from "../base.ts";
import { Directory } from "../chain/directory.ts";
import type { Chain } from "../chain/start.ts";
import { endpointPolicy } from "../config.ts";
import { IncidentStore } from "../db/incidents.ts";
import { Observations } from "../db/observations.ts";
import { ExposureLimit, type ExposureTimes } from "./exposure-limit.ts";
import { signAccess } from "./signatures.ts";
import { WorkerClient } from "./worker-client.ts";
import { WorkerPool } from "./worker-pool.ts";

/** Longer than a worker works on a test prompt. */
const TEST_TIMEOUT_MS = 45_000;
/** So often a gateway notes which models and workers can be asked, and stores what it has seen. */
const LOOK_MS = 5_000;
const STORE_MS = 20_000;

export type Workers = Awaited<ReturnType<typeof startWorkers>>;

/** Reads the registry and the catalog, asks every worker, and goes on with both. */
export async function startWorkers({ config, pool, metrics, logger }: Base, chain: Chain, times: ExposureTimes) {
  const { rpc, contracts, head, operator } = chain;
  const directory = new Directory(rpc, contracts, head, logger);
  const incidents = new IncidentStore(pool, logger);
  const observations = new Observations();
  const client = new WorkerClient(endpointPolicy(config));
  const exposure = new ExposureLimit(
    { index: pool, directory, operator: operator.id, head, times, logger },
    {
      creditsPerSvc: config.CREDITS_PER_SVC,
      ownWorkers: new Set(config.OWN_WORKERS.map((worker) => worker.toLowerCase())),
    },
  );
  const workers = new WorkerPool(
    {
      directory,
      client,
      exposure,
      testPrompt: async ({ signer, endpoint }, model) => {
        const access = await signAccess(chain, { jobId: NO_JOB, worker: signer });
        return client.trial(endpoint, { model, access }, AbortSignal.timeout(TEST_TIMEOUT_MS));
      },
      incidents,
      observations,
      metrics,
      logger,
    },
    {
      startWithinMs: config.ACKNOWLEDGE_SECONDS * QUEUED_SHARE * 1000,
      misconductRestMs: config.MISCONDUCT_REST_SECONDS * 1000,
    },
  );
  await Promise.all([directory.start(), exposure.start()]);
  await workers.start();
  const looking = setInterval(() => workers.look(), LOOK_MS);
  const storeSeen = () =>
    observations
      .store(pool)
      .catch((error) =>
        logger.warn({ err: error }, "observations of models and workers were not stored; trying again"),
      );
  const storing = repeat(storeSeen, STORE_MS);
  const stop = async (): Promise<void> => {
    clearInterval(looking);
    workers.stop();
    await storing.stop();
    await storeSeen();
    exposure.stop();
    await client.close();
    directory.stop();
  };
  return { directory, workers, client, incidents, stop };
}
