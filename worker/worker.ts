import type { Express } from "express";
import type { Hex } from "viem";
import type { Health } from "../protocol/worker-health.ts";
import { type Backend, BackendError } from "./backends/backend.ts";
import { unserved } from "./backends/create.ts";
import type { Chain } from "./chain/connect.ts";
import { Identity } from "./chain/identity.ts";
import { ChainReader } from "./chain/reader.ts";
import { Sender } from "./chain/sender.ts";
import { CompletionStore } from "./completions/store.ts";
import type { Config } from "./config/config.ts";
import { AssignmentChecks } from "./jobs/assignment.ts";
import { Outputs } from "./jobs/output.ts";
import { JobRunner } from "./jobs/runner.ts";
import { Slots } from "./jobs/slots.ts";
import type { Logger } from "./log.ts";
import { createServer } from "./server.ts";
import { SettlementWatcher } from "./settlement/watcher.ts";

const SWEEP_MS = 3_600_000;

export type Worker = {
  address: string;
  backendName: string;
  app: Express;
  health: () => Health;
  /** Refuses new jobs and waits for the running ones; then lets go of everything. */
  drain: (seconds: number) => Promise<void>;
  /** Ends the running jobs at once. */
  abortJobs: () => void;
};

type Parts = { config: Config; privateKey: Hex; chain: Chain; backend: Backend; log: Logger };

/** Puts a worker together and makes it look after what an earlier process left unsettled. It serves once `app` listens. */
export async function startWorker({ config, privateKey, chain, backend, log }: Parts): Promise<Worker> {
  const identity = new Identity(privateKey, chain.deployment);
  const reader = new ChainReader(chain);
  const store = await CompletionStore.open(config.dataDir, log);
  const sender = new Sender(chain, identity, log);
  const watcher = new SettlementWatcher(
    { chain, identity, reader, sender, store, log },
    {
      selfSettleAfter: config.selfSettleAfter,
      acknowledgeMargin: config.acknowledgeMargin,
      pollMs: config.settlementPollMs,
      keepSettledSeconds: config.keepSettledSeconds,
    },
  );
  const slots = new Slots(config.concurrency, config.queue);
  const checks = new AssignmentChecks(identity, reader, config);
  const runner = new JobRunner({ identity, reader, checks, store, watcher, backend, slots, log });
  const outputs = new Outputs({ identity, store, checks, isRunning: (jobId) => runner.isRunning(jobId) });

  const windows = await reader.windows();
  await warnAboutModels(config, identity, reader, backend, log);
  const stored = await store.heads();
  if (stored.length > 0) log.info({ jobs: stored.length }, "found completions that are not settled yet");
  watcher.start(stored);
  // Long after the chain has stopped taking a Completion of the job, whatever the deployment's windows.
  const sweep = (): void => {
    store
      .sweep(windows.equivocation)
      .catch((error: unknown) => log.warn({ err: error }, "cannot clean the list of taken jobs"));
  };
  sweep();
  const sweeper = setInterval(sweep, SWEEP_MS);

  let draining = false;
  const health = (): Health => ({
    status: draining ? "draining" : "ok",
    worker: identity.address,
    models: [...config.models.keys()],
    in_flight: slots.used,
    queued: slots.queued,
    capacity: slots.limit,
    unsettled: watcher.unsettled,
  });
  return {
    address: identity.address,
    backendName: backend.name,
    app: createServer({ runner, outputs, health, log }),
    health,
    abortJobs: () => runner.stop(),
    drain: async (seconds) => {
      draining = true;
      await runner.drain(seconds);
      clearInterval(sweeper);
      await watcher.stop();
      await store.close();
      await backend.close();
    },
  };
}

/** Things that keep a worker from being paid or chosen, told at the start. None of them is final, so none stops it. */
async function warnAboutModels(
  config: Config,
  identity: Identity,
  reader: ChainReader,
  backend: Backend,
  log: Logger,
): Promise<void> {
  for (const id of config.models.keys()) {
    const number = await reader.modelNumber(id);
    if (number === null)
      log.warn(
        { model: id, listed: await reader.modelIds() },
        "the catalog does not list this model: no job of it can come",
      );
    else if (!(await reader.isEligible(identity.address, number))) {
      log.warn(
        { model: id, worker: identity.address },
        "not registered with enough stake for this model yet: no job of it can come",
      );
    }
  }
  try {
    const { missing, served } = await unserved(backend, config.models);
    if (missing.length > 0)
      log.warn({ missing, served }, "the model server does not name these models; use --models id=its-name");
  } catch (error) {
    if (!(error instanceof BackendError)) throw error;
    log.warn({ err: error }, "the model server does not answer yet: jobs are refused until it does");
  }
}
