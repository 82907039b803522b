/** Every part of one gateway process, built once and returned whole; the order in which they start and stop. */
import type pg from "pg";
import type { Logger } from "pino";
import { formatEther, type Hex } from "viem";
import type { Deployment } from "../protocol/deployment.ts";
import { NO_JOB, QUEUED_SHARE } from "../protocol/dispatch.ts";
import { inferenceEscrowAbi } from "../protocol/generated/abi.ts";
import { ChainStatus } from "../protocol/job-status.ts";
import { Cipher } from "../shared/cipher.ts";
import { preconfirmationLimit } from "../shared/preconfirmation-limit.ts";
import { repeat } from "../shared/repeat.ts";
import { signingAccount } from "../shared/secp256k1.ts";
import { eraseOldSecrets, pruneLog } from "../webhooks/delivery-log.ts";
import { WebhookService, webhookSettings } from "../webhooks/service.ts";
import { Keys } from "./account/keys.ts";
import { Balances } from "./chain/balances.ts";
import { Directory } from "./chain/directory.ts";
import { IndexWatch } from "./chain/index-watch.ts";
import { JobSightings, newestKnownBlock } from "./chain/job-sightings.ts";
import { Operator } from "./chain/operator.ts";
import { Outbox } from "./chain/outbox.ts";
import { Pipeline } from "./chain/pipeline.ts";
import { connectRpc, Head, type Rpc } from "./chain/rpc.ts";
import { SignerLock } from "./chain/signer-lock.ts";
import { type Config, endpointPolicy } from "./config.ts";
import { AbandonedRequests } from "./db/abandoned-requests.ts";
import { DisputeStore } from "./db/disputes.ts";
import { IdempotencyStore } from "./db/idempotency.ts";
import { IncidentStore } from "./db/incidents.ts";
import { countLostDisputes, getHead, ifIndexed } from "./db/index-reads.ts";
import { JobStore } from "./db/jobs.ts";
import { Observations, pruneObservations } from "./db/observations.ts";
import type { Incarnation } from "./db/pool.ts";
import { bindToDeployment, reencrypt, startHousekeeping } from "./db/upkeep.ts";
import { DisputeCloser } from "./disputes/closer.ts";
import { provenIn } from "./disputes/decide.ts";
import { DisputeDesk } from "./disputes/desk.ts";
import type { JobContext } from "./jobs/context.ts";
import { EarlierAnswers } from "./jobs/earlier-answers.ts";
import { FailurePauses } from "./jobs/failure-pauses.ts";
import { JobEnding } from "./jobs/job-ending.ts";
import { JobReader } from "./jobs/job-reader.ts";
import { KeptAnswers } from "./jobs/kept-answers.ts";
import { type JobTimes, settleBefore } from "./jobs/next-step.ts";
import { PlaceQueue } from "./jobs/place-queue.ts";
import { Recovery } from "./jobs/recovery.ts";
import { RowUpdater } from "./jobs/row-updater.ts";
import { RunningJobs } from "./jobs/running-jobs.ts";
import { TokenCounter } from "./jobs/tokens.ts";
import { Metrics } from "./observe/metrics.ts";
import { ExposureLimit } from "./workers/exposure-limit.ts";
import { signAccess } from "./workers/signatures.ts";
import { WorkerClient } from "./workers/worker-client.ts";
import { WorkerPool } from "./workers/worker-pool.ts";

/** Longer than a worker works on a test prompt. */
const TEST_TIMEOUT_MS = 45_000;
/** So often a gateway notes which models and workers can be asked, and stores what it has seen. */
const LOOK_MS = 5_000;
const STORE_MS = 20_000;

export type Gateway = Awaited<ReturnType<typeof startGateway>>;

/** Where it is between its start and its stop. */
type Phase = {
  /** Whether every transaction that an earlier process left open has come to its end; before, no job is taken. */
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
  const { contracts, chainId } = config.deployment;
  const escrow = contracts.InferenceEscrow;
  const account = signingAccount(config.GATEWAY_PRIVATE_KEY);
  const phase: Phase = { recovered: false, accepting: true, stopping: false };
  const metrics = new Metrics();
  const ciphers = {
    answers: new Cipher(config.MASTER_KEY, "answers", config.OTHER_MASTER_KEYS),
    webhooks: new Cipher(config.MASTER_KEY, "webhook secrets", config.OTHER_MASTER_KEYS),
  };

  // The chain, and this process's right to send to it.
  const rpc = connectRpc([config.RPC_URL, ...config.RPC_URLS], logger);
  await checkChain(rpc, config.deployment);
  rpc.watch(chainId);
  const signerLock = await SignerLock.keep({ databaseUrl: config.DATABASE_URL, chainId }, account.address, logger);
  const runs = new RunningJobs();
  // Another gateway of the operator claims the jobs of a signer whose lock is free. It would fail those that are still being answered.
  const removed = (): void =>
    void runs
      .answered()
      .then(() => signerLock.release())
      .catch((error) => logger.warn({ err: error }, "the removed key's signer lock could not be given up"));
  const operator = await Operator.find({ rpc, escrow, signer: account.address, logger, removed });
  const head = new Head(rpc, logger);
  await head.start();
  await bindToDeployment(pool, config.deployment as Incarnation, logger);

  // Rows of jobs, and the pipeline whose mined transactions they follow.
  const store = new JobStore(pool, { gateway: account.address, operator: operator.id }, (state) =>
    metrics.jobs.inc({ state }),
  );
  // Before the pipeline takes up what an earlier process sent: its outcomes go into the rows.
  await store.claimOwn();
  const rows = new RowUpdater(store, logger);
  const times = await readTimes(rpc, config);
  const balances = new Balances({ rpc, pool, escrow, head, settleBefore: (lockedAt) => settleBefore(lockedAt, times) });
  await balances.start();
  const pipeline = new Pipeline(
    {
      account,
      chainId,
      escrow,
      head,
      outbox: new Outbox(pool, account.address),
      bounds: {
        leastTip: config.PRIORITY_FEE_WEI,
        feeCap: config.FEE_CAP_WEI,
        costCap: config.TRANSACTION_COST_CAP_WEI,
      },
      replaceAfterMs: config.REPLACE_AFTER_SECONDS * 1000,
      metrics,
      logger,
      takenBack: (jobIds) => {
        balances.forget();
        return store.reopen(jobIds);
      },
      maySend: () => signerLock.held,
      term: () => signerLock.term,
      fatal,
    },
    rpc,
    { batchGas: config.BATCH_GAS, sendsPerSecond: config.SENDS_PER_SECOND },
  );
  pipeline.onMined((batch) => balances.observe(batch));
  pipeline.onMined(rows.observe);
  pipeline.onMined(({ fee, eventsByJob }) => {
    metrics.gas.inc(Number(formatEther(fee)));
    for (const { name, args } of [...eventsByJob.values()].flat())
      if (name === "JobSettled") metrics.charged.inc(Number(args.credits));
  });
  const index = new IndexWatch(pool, head, logger);
  index.start(config.SENDS_PER_SECOND, (perSecond) => pipeline.setSendRate(perSecond));

  // Models and workers.
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
        const access = await signAccess({ account, chainId, escrow }, { jobId: NO_JOB, worker: signer });
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
  const queue = new PlaceQueue({ workers, balances, pipeline, metrics }, { seconds: config.QUEUE_SECONDS });
  const [{ recovered }] = await Promise.all([pipeline.start(), directory.start(), exposure.start()]);
  await workers.start();

  // Jobs and disputes.
  const tokens = new TokenCounter();
  const abandoned = new AbandonedRequests(pool);
  const ending = new JobEnding({
    pipeline,
    store,
    rows,
    workers,
    balances,
    head,
    times,
    cipher: ciphers.answers,
    outputRetentionHours: config.OUTPUT_RETENTION_HOURS,
    dispute: (jobId, wallet) => desk.withheld(jobId, wallet),
    proven: async (jobId) => {
      const proofTx = (await jobReader.indexed(jobId))?.proofTx ?? null;
      return proofTx === null ? null : ((await provenIn(rpc, jobId, proofTx))?.completion ?? null);
    },
    logger,
  });
  const jobs: JobContext = {
    account,
    operator,
    chainId,
    escrow,
    times,
    head,
    isClosedToWorkers: async (jobId) => {
      const call = { address: escrow, abi: inferenceEscrowAbi, functionName: "jobOf", args: [jobId] } as const;
      const { status } = await rpc.client.readContract(call);
      // A node that is late has not seen the lock yet.
      return !([ChainStatus.None, ChainStatus.Locked, ChainStatus.Acknowledged] as number[]).includes(status);
    },
    pipeline,
    promises: preconfirmationLimit(config.LOCK_SEEN, config.PRECONFIRMED_JOB_CREDITS, config.PRECONFIRMED_CREDITS),
    balances,
    workers,
    queue,
    pauses: new FailurePauses(),
    tokens,
    client,
    store,
    abandoned,
    rows,
    ending,
    cipher: ciphers.answers,
    outputRetentionHours: config.OUTPUT_RETENTION_HOURS,
    logger,
  };
  const jobReader = new JobReader(pool, escrow);
  const disputes = new DisputeStore(pool);
  const desk = new DisputeDesk({
    jobs,
    rpc,
    disputes,
    metrics,
    waitMs: config.DISPUTE_WAIT_SECONDS * 1000,
    registry: contracts.WorkerRegistry,
    indexed: (jobId) => jobReader.indexed(jobId),
    lost: (wallet, from) => ifIndexed(countLostDisputes(pool, wallet, from), 0),
    signer: signerLock,
  });
  const closer = new DisputeCloser({ jobs, rpc, index: pool, stablecoin: contracts.Stablecoin, signer: signerLock });
  const recovery = new Recovery(jobs, {
    rpc,
    registry: contracts.WorkerRegistry,
    sightings: new JobSightings({ rpc, escrow, head, knownBlock: () => newestKnownBlock(pool) }),
    index: pool,
    indexIsWhole: () => index.indexedUntil === null,
    contextWindow: (model) => directory.contextWindow(model),
    isRunning: (jobId) => runs.has(jobId),
    signer: signerLock,
  });
  const idempotency = new IdempotencyStore(pool);
  const webhooks = new WebhookService({ pool, head, metrics, logger }, webhookSettings(config, ciphers.webhooks));
  const stopHousekeeping = startHousekeeping(
    { jobs: store, idempotency, disputes, incidents },
    config.OUTPUT_RETENTION_HOURS,
    {
      "requests whose clients hung up": () => abandoned.prune(),
      "observations of models and workers": () => pruneObservations(pool),
      "deliveries of webhooks": () => pruneLog(pool, config.WEBHOOK_LOG_DAYS),
      "replaced secrets of webhooks": () => eraseOldSecrets(pool),
    },
    logger,
  );
  const looking = setInterval(() => workers.look(), LOOK_MS);
  const storeSeen = () =>
    observations
      .store(pool)
      .catch((error) =>
        logger.warn({ err: error }, "observations of models and workers were not stored; trying again"),
      );
  const storing = repeat(storeSeen, STORE_MS);
  if (config.OTHER_MASTER_KEYS.length > 0) void reencrypt(pool, ciphers, logger, () => phase.stopping);

  // From then on what the chain shows of this gateway's jobs and disputes is all there is.
  recovered
    .then(() => {
      phase.recovered = true;
      if (phase.stopping) return;
      recovery.start();
      desk.start();
      closer.start();
    })
    .catch((error) => fatal(error, "what an earlier process left open could not be taken up"));

  /** Lets running jobs end and their transactions be mined, at most `timeoutMs`; then lets go of everything. */
  const stop = async (timeoutMs: number): Promise<void> => {
    phase.accepting = false;
    phase.stopping = true;
    const alsoStopped = [webhooks.stop(timeoutMs), stopHousekeeping(), storing.stop()];
    clearInterval(looking);
    queue.close();
    store.writeLeaves();
    await runs.ended(timeoutMs);
    await recovery.stop(timeoutMs);
    desk.stop();
    closer.stop();
    index.stop();
    await pipeline.stop(timeoutMs);
    workers.stop();
    await storeSeen();
    exposure.stop();
    await tokens.stop();
    await client.close();
    directory.stop();
    operator.stop();
    head.stop();
    rpc.stop();
    await signerLock.release();
    await Promise.all(alsoStopped);
  };
  metrics.observe({
    pipeline,
    runs,
    head,
    signerLock,
    workers,
    queue,
    indexedBlock: async () => (await getHead(pool))?.blockNumber ?? null,
    mostUnpaid: () => store.mostUnpaid(),
    signerBalance: async () => BigInt(await rpc.request<Hex>("eth_getBalance", [account.address, "latest"], 2_000)),
  });
  return {
    config,
    pool,
    logger,
    rpc,
    head,
    index,
    keys: new Keys(pool),
    operator,
    signerLock,
    pipeline,
    balances,
    directory,
    workers,
    runs,
    jobReader,
    webhooks,
    metrics,
    chat: {
      jobs,
      directory,
      idempotency,
      earlier: new EarlierAnswers(jobs),
      kept: new KeptAnswers(store, ciphers.answers),
      reader: pool,
      docsUrl: config.DOCS_URL,
      runs,
      phase,
    },
    desk,
    phase,
    stop,
  };
}

/** Rejects when the node's chain is not the deployment's. */
async function checkChain(rpc: Rpc, { chainId }: Deployment): Promise<void> {
  const actual = await rpc.client.getChainId();
  if (actual !== chainId) throw new Error(`RPC_URL is chain ${actual}, the deployment file is for chain ${chainId}.`);
}

/** The deployment's windows, which nobody can change, and this gateway's own. */
async function readTimes({ client }: Rpc, config: Config): Promise<JobTimes> {
  const { completion, inclusion, finalization, dispute, arbitration } = await client.readContract({
    address: config.deployment.contracts.InferenceEscrow,
    abi: inferenceEscrowAbi,
    functionName: "windows",
  });
  return {
    completion,
    inclusion,
    finalization,
    dispute,
    arbitration,
    acknowledge: config.ACKNOWLEDGE_SECONDS,
    firstToken: config.FIRST_TOKEN_SECONDS,
    queue: config.QUEUE_SECONDS,
    lock: config.LOCK_SECONDS,
  };
}
