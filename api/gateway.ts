import type { RequestHandler } from "express";
import type pg from "pg";
import type { Logger } from "pino";
import type { Hex } from "viem";
import { signingAccount } from "../protocol/secp256k1.ts";
import { Keys } from "./accounts/keys.ts";
import { Balances } from "./chain/balances.ts";
import { Broadcaster } from "./chain/broadcast.ts";
import { Directory } from "./chain/directory.ts";
import { Head } from "./chain/head.ts";
import { Operator } from "./chain/operator.ts";
import { Outbox } from "./chain/outbox.ts";
import { Pipeline } from "./chain/pipeline.ts";
import { connectRpc, type Rpc } from "./chain/rpc.ts";
import { SignerLock } from "./chain/signer-lock.ts";
import { type Config, endpointPolicy } from "./config.ts";
import { DisputeDesk } from "./disputes/desk.ts";
import { IndexWatch } from "./index/watch.ts";
import type { JobContext } from "./jobs/context.ts";
import { WorkerClient } from "./jobs/dispatch-client.ts";
import { OverdueJobs } from "./jobs/overdue.ts";
import { JobReader } from "./jobs/read.ts";
import { Recovery } from "./jobs/recover.ts";
import { Runs } from "./jobs/runs.ts";
import { noteUnawaitedSettlements } from "./jobs/unawaited-settlement.ts";
import { WorkerPool } from "./jobs/worker-pool.ts";
import { Metrics } from "./metrics.ts";
import type { ChatDependencies } from "./routes/chat.ts";
import { disputeRoute } from "./routes/dispute.ts";
import { outputRoute } from "./routes/output.ts";
import { checkChain, readTimes } from "./startup.ts";
import { Cipher } from "./store/cipher.ts";
import { DisputeStore } from "./store/disputes.ts";
import { startHousekeeping } from "./store/housekeeping.ts";
import { IdempotencyStore } from "./store/idempotency.ts";
import { type Incarnation, recognizeChain } from "./store/incarnation.ts";
import { IncidentStore } from "./store/incidents.ts";
import { JobStore } from "./store/jobs.ts";
import { reencrypt } from "./store/reencrypt.ts";
import { WebhookService } from "./webhooks/service.ts";
import { webhookSettings } from "./webhooks/service-settings.ts";

/** Every part of one gateway process, and the order in which they start and stop. */
export class Gateway {
  readonly config: Config;
  readonly pool: pg.Pool;
  readonly logger: Logger;
  readonly rpc: Rpc;
  readonly head: Head;
  readonly index: IndexWatch;
  readonly keys: Keys;
  readonly balances: Balances;
  readonly directory: Directory;
  readonly workers: WorkerPool;
  readonly workerClient: WorkerClient;
  readonly signerLock: SignerLock;
  readonly runs = new Runs();
  readonly metrics = new Metrics();
  readonly webhooks: WebhookService;
  operator!: Operator;
  pipeline!: Pipeline;
  jobReader!: JobReader;
  chat!: ChatDependencies;
  output!: RequestHandler;
  dispute!: RequestHandler;
  readonly #incidents: IncidentStore;
  readonly #ciphers: { answers: Cipher; webhookSecrets: Cipher };
  #recovery: Recovery | undefined;
  #overdue: OverdueJobs | undefined;
  #desk: DisputeDesk | undefined;
  #stopHousekeeping: () => void = () => {};
  readonly #fatal: (error: unknown, message: string) => void;
  #accepting = true;
  #stopping = false;
  #takenUp = false;

  /** `fatal` ends the process after a defect that it must not outlive. */
  constructor(config: Config, pool: pg.Pool, logger: Logger, fatal: (error: unknown, message: string) => void) {
    const { contracts, chainId } = config.deployment;
    this.config = config;
    this.pool = pool;
    this.logger = logger;
    this.#fatal = fatal;
    this.rpc = connectRpc(config.RPC_URL);
    this.head = new Head(this.rpc, logger);
    this.index = new IndexWatch(pool, this.head, logger);
    this.keys = new Keys(pool);
    this.directory = new Directory(this.rpc, contracts, this.head, logger);
    this.workerClient = new WorkerClient(endpointPolicy(config));
    this.#incidents = new IncidentStore(pool, logger);
    const { directory, metrics, workerClient: client } = this;
    this.workers = new WorkerPool(
      { directory, client, incidents: this.#incidents, metrics, logger },
      { jobsPerWorker: config.JOBS_PER_WORKER, misconductRestMs: config.MISCONDUCT_REST_SECONDS * 1000 },
    );
    this.#ciphers = {
      answers: new Cipher(config.MASTER_KEY, "answers", config.OTHER_MASTER_KEYS),
      webhookSecrets: new Cipher(config.MASTER_KEY, "webhook secrets", config.OTHER_MASTER_KEYS),
    };
    this.webhooks = new WebhookService(
      pool,
      this.head,
      webhookSettings(config, this.#ciphers.webhookSecrets),
      this.metrics.registry,
      logger,
    );
    const { address } = signingAccount(config.GATEWAY_PRIVATE_KEY);
    const { InferenceEscrow: escrow } = contracts;
    this.balances = new Balances(this.rpc, { escrow, signer: address, head: this.head });
    this.signerLock = new SignerLock(config.DATABASE_URL, chainId, address, logger);
  }

  /** False once it is known that the process stops, which it may do a while before it refuses requests. */
  get accepting(): boolean {
    return this.#accepting;
  }

  /** `/readyz` says from now on that requests should go elsewhere; those that come are served until `stop`. */
  announceStop(): void {
    this.#accepting = false;
  }

  /** Whether every transaction that an earlier process left open has come to its end; before, no job is taken. */
  get takenUp(): boolean {
    return this.#takenUp;
  }

  /** Brings everything up, or rejects with what is missing and what to do. Does not wait for the chain to mine anything. */
  async start(): Promise<void> {
    const { config, logger, rpc, head, pool } = this;
    const { contracts, chainId } = config.deployment;
    const escrow = contracts.InferenceEscrow;
    const account = signingAccount(config.GATEWAY_PRIVATE_KEY);
    await checkChain(rpc, config.deployment);
    this.operator = await Operator.find(rpc, { escrow, signer: account.address }, logger);
    await this.signerLock.keep();
    await head.start();
    await recognizeChain(pool, config.deployment as Incarnation, logger);

    const store = new JobStore(pool, (state) => this.metrics.jobs.inc({ state }));
    const outbox = new Outbox(pool, account.address);
    const context = {
      account,
      chainId,
      escrow,
      head,
      outbox,
      broadcaster: new Broadcaster(rpc),
      priorityFee: config.PRIORITY_FEE_WEI,
      feeCap: config.FEE_CAP_WEI,
      replaceAfterMs: config.REPLACE_AFTER_SECONDS * 1000,
      metrics: this.metrics,
      logger,
      takenBack: (jobIds: Hex[]) => store.reopen(jobIds),
      maySend: () => this.signerLock.held,
      fatal: this.#fatal,
      stopping: () => this.pipeline.stopping,
    };
    this.pipeline = new Pipeline(context, rpc, { batchGas: config.BATCH_GAS, sendsPerSecond: config.SENDS_PER_SECOND });
    this.pipeline.onSent((nonce, operations) => this.balances.sent(nonce, operations));
    this.pipeline.onMined((batch) => this.balances.observe(batch));
    this.pipeline.onMined(noteUnawaitedSettlements(store, logger));
    this.index.start(config.SENDS_PER_SECOND, (perSecond) => this.pipeline.setSendRate(perSecond));
    const [{ takenUp }] = await Promise.all([this.pipeline.start(), this.directory.start()]);
    await this.workers.start();

    const jobs: JobContext = {
      account,
      operator: this.operator,
      chainId,
      escrow,
      times: await readTimes(rpc, config),
      head,
      pipeline: this.pipeline,
      balances: this.balances,
      workers: this.workers,
      client: this.workerClient,
      store,
      cipher: this.#ciphers.answers,
      outputRetentionHours: config.OUTPUT_RETENTION_HOURS,
      refused: new Map(),
      logger,
    };
    const idempotency = new IdempotencyStore(pool);
    this.jobReader = new JobReader(pool, store, escrow);
    this.chat = {
      jobs,
      directory: this.directory,
      idempotency,
      docsUrl: config.DOCS_URL,
      track: (run) => this.runs.track(run),
      stopping: () => this.#stopping,
      takenUp: () => this.#takenUp,
    };
    this.#recovery = new Recovery(jobs, rpc, contracts.WorkerRegistry, (jobId) => this.runs.has(jobId));
    this.#overdue = new OverdueJobs(jobs, pool, () => this.index.indexedUntil === null);
    this.metrics.observe(this);
    const disputes = new DisputeStore(pool);
    this.#desk = new DisputeDesk({
      jobs,
      rpc,
      disputes,
      metrics: this.metrics,
      waitMs: config.DISPUTE_WAIT_SECONDS * 1000,
      registry: contracts.WorkerRegistry,
      indexed: (jobId) => this.jobReader.indexed(jobId),
    });
    takenUp
      .then(() => this.#goOn())
      .catch((error) => this.#fatal(error, "what an earlier process left open could not be taken up"));
    this.#stopHousekeeping = startHousekeeping(
      { jobs: store, idempotency, disputes, incidents: this.#incidents },
      config.OUTPUT_RETENTION_HOURS,
      logger,
    );
    this.output = outputRoute(this.jobReader, store, jobs.cipher);
    this.dispute = disputeRoute(this.jobReader, this.#desk, jobs.times.arbitration);
    this.webhooks.start();
    if (config.OTHER_MASTER_KEYS.length > 0) void reencrypt(pool, this.#ciphers, logger, () => this.#stopping);
  }

  /** What the chain shows of this gateway's jobs and disputes is all there is now. */
  #goOn(): void {
    this.#takenUp = true;
    if (this.#stopping) return;
    this.#recovery?.start();
    this.#overdue?.start();
    this.#desk?.start();
  }

  /** Lets running jobs end and their transactions be mined, at most `timeoutMs`; then lets go of everything. */
  async stop(timeoutMs: number): Promise<void> {
    this.#accepting = false;
    this.#stopping = true;
    const webhooksStopped = this.webhooks.stop(timeoutMs);
    await this.runs.ended(timeoutMs);
    this.#recovery?.stop();
    this.#overdue?.stop();
    this.#desk?.stop();
    this.#stopHousekeeping();
    this.index.stop();
    await this.pipeline?.stop(timeoutMs);
    this.workers.stop();
    await this.workerClient.close();
    this.directory.stop();
    this.operator?.stop();
    this.head.stop();
    await this.signerLock.release();
    await webhooksStopped;
  }
}
