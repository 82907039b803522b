/** One gateway process: which room needs what of the others, and the order in which they start and stop. Each room's `start.ts` builds its parts. */
import type pg from "pg";
import type { Logger } from "pino";
import type { Hex } from "viem";
import { Cipher } from "../shared/cipher.ts";
import { eraseAnswers, eraseOldSecrets, pruneLog } from "../webhooks/delivery-log.ts";
import { WebhookService, webhookSettings } from "../webhooks/service.ts";
import { Keys } from "./account/keys.ts";
import type { Base } from "./base.ts";
import { connectChain, startPipeline } from "./chain/start.ts";
import type { Config } from "./config.ts";
import { IdempotencyStore } from "./db/idempotency.ts";
import { getHead } from "./db/index-reads.ts";
import { pruneObservations } from "./db/observations.ts";
import type { Incarnation } from "./db/pool.ts";
import { bindToDeployment, reencrypt, startHousekeeping } from "./db/upkeep.ts";
import { createDisputes } from "./disputes/start.ts";
import { settleBefore } from "./jobs/next-step.ts";
import { RunningJobs } from "./jobs/running-jobs.ts";
import { createJobs, openRows, readTimes } from "./jobs/start.ts";
import { Metrics } from "./observe/metrics.ts";
import { startWorkers } from "./workers/start.ts";

export type Gateway = Awaited<ReturnType<typeof startGateway>>;

/** The stage of the gateway between its start and its stop. */
type Phase = {
  /** True once every transaction that an earlier process left open has come to its end; before, no job is taken. */
  recovered: boolean;
  /** False once it is known that the process stops: `/readyz` says that requests should go elsewhere. Those that come are served. */
  accepting: boolean;
  /** No request is taken any more. */
  stopping: boolean;
};

/**
 * Brings everything up, or rejects with what is missing and what to do. Does not wait for the chain to mine anything. `fatal` ends the process
 * after a defect that it must not outlive.
 */
export async function startGateway(
  config: Config,
  pool: pg.Pool,
  logger: Logger,
  fatal: (error: unknown, message: string) => void,
) {
  const phase: Phase = { recovered: false, accepting: true, stopping: false };
  const metrics = new Metrics();
  const base: Base = { config, pool, metrics, logger };
  const ciphers = {
    answers: new Cipher(config.MASTER_KEY, "answers", config.OTHER_MASTER_KEYS),
    webhooks: new Cipher(config.MASTER_KEY, "webhook secrets", config.OTHER_MASTER_KEYS),
  };

  const running = new RunningJobs();
  const chain = await connectChain(base, () => running.answered());
  await bindToDeployment(pool, config.deployment as Incarnation, logger);
  const times = await readTimes(base, chain);
  // Before the pipeline takes up what an earlier process sent: its outcomes go into the rows.
  const rows = await openRows(base, chain);
  const [sending, workers] = await Promise.all([
    startPipeline(base, chain, rows, (lockedAt) => settleBefore(lockedAt, times), fatal),
    startWorkers(base, chain, times),
  ]);
  const jobs = createJobs(base, {
    chain,
    times,
    rows,
    sending,
    workers,
    running,
    cipher: ciphers.answers,
    // A job whose answer is withheld ends in a dispute, and a dispute is about a job.
    dispute: (jobId, wallet) => disputes.desk.withheld(jobId, wallet),
  });
  const disputes = createDisputes(base, chain, jobs);
  const { head, rpc, signerLock, account } = chain;
  const webhooks = new WebhookService({ pool, head, metrics, logger }, webhookSettings(config, ciphers.webhooks));
  const idempotency = new IdempotencyStore(pool);

  const stopHousekeeping = startHousekeeping(
    { jobs: rows.store, idempotency, disputes: disputes.requests, incidents: workers.incidents },
    config.OUTPUT_RETENTION_HOURS,
    {
      "requests whose clients hung up": () => jobs.abandoned.prune(),
      "observations of models and workers": () => pruneObservations(pool),
      "deliveries of webhooks": () => pruneLog(pool, config.WEBHOOK_LOG_DAYS),
      "answers of webhooks' receivers": () => eraseAnswers(pool),
      "replaced secrets of webhooks": () => eraseOldSecrets(pool),
    },
    logger,
  );
  if (config.OTHER_MASTER_KEYS.length > 0) void reencrypt(pool, ciphers, logger, () => phase.stopping);
  metrics.observe({
    pipeline: sending.pipeline,
    runs: running,
    head,
    signerLock,
    workers: workers.workers,
    queue: jobs.queue,
    indexedBlock: async () => (await getHead(pool))?.blockNumber ?? null,
    mostUnpaid: () => rows.store.mostUnpaid(),
    signerBalance: async () => BigInt(await rpc.request<Hex>("eth_getBalance", [account.address, "latest"], 2_000)),
    operatorPart: () => chain.operator.part(),
  });

  // From here on, nothing of an earlier process is on its way: the chain shows all that became of its jobs and disputes.
  sending.recovered
    .then(() => {
      phase.recovered = true;
      if (phase.stopping) return;
      jobs.start();
      disputes.start();
    })
    .catch((error) => fatal(error, "what an earlier process left open could not be taken up"));

  /** Lets running jobs end and their transactions be mined, at most `timeoutMs`; then lets go of everything. */
  const stop = async (timeoutMs: number): Promise<void> => {
    phase.accepting = false;
    phase.stopping = true;
    const alsoStopped = [webhooks.stop(timeoutMs), stopHousekeeping()];
    await jobs.stop(timeoutMs);
    disputes.stop();
    await sending.stop(timeoutMs);
    await workers.stop();
    await chain.stop();
    await Promise.all(alsoStopped);
  };

  return {
    config,
    pool,
    logger,
    metrics,
    phase,
    rpc,
    head,
    times,
    index: sending.index,
    keys: new Keys(pool),
    operator: chain.operator,
    signerLock,
    pipeline: sending.pipeline,
    balances: sending.balances,
    directory: workers.directory,
    workers: workers.workers,
    jobReader: jobs.reader,
    store: rows.store,
    kept: jobs.kept,
    desk: disputes.desk,
    webhooks,
    chat: {
      jobs: jobs.parts,
      directory: workers.directory,
      idempotency,
      earlier: jobs.earlier,
      kept: jobs.kept,
      reader: pool,
      docsUrl: config.DOCS_URL,
      runs: running,
      phase,
    },
    stop,
  };
}
