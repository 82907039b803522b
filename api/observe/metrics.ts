import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { formatEther } from "viem";

/** What a scrape reads of the running gateway. */
export type Observed = {
  pipeline: { readonly queued: number; readonly oldestMs: number };
  runs: { readonly size: number };
  head: { readonly block: { number: number }; readonly silentMs: number };
  signerLock: { readonly held: boolean };
  workers: { states(): readonly WorkerState[] };
  /** Block up to which the index is there; null while there is none. */
  indexedBlock: () => Promise<number | null>;
  /** The most jobs of one wallet that ended without a charge, of the last ten minutes. */
  mostUnpaid: () => Promise<number>;
  /** What the signer can pay gas with, wei. */
  signerBalance: () => Promise<bigint>;
};

type WorkerState = { worker: string; healthy: boolean; outstanding: number; room: number };

/** The limit of an alert must be one: between two buckets a quantile is a guess. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120];

/** What an operator watches; deploy/prometheus/alerts.yaml says which values are worth an alert. */
export class Metrics {
  readonly registry = new Registry();
  readonly #registers = [this.registry];

  readonly requests = new Counter({
    name: "gateway_requests_total",
    help: "HTTP requests below /v1 by route, method and status",
    labelNames: ["route", "method", "status"] as const,
    registers: this.#registers,
  });
  readonly requestSeconds = new Histogram({
    name: "gateway_request_seconds",
    help: "Duration of requests below /v1, streams included to their last byte",
    labelNames: ["route"] as const,
    buckets: SECONDS,
    registers: this.#registers,
  });
  readonly firstTokenSeconds = new Histogram({
    name: "gateway_first_token_seconds",
    help: "From the dispatch to a worker to its first token",
    labelNames: ["model"] as const,
    buckets: SECONDS,
    registers: this.#registers,
  });
  readonly batchItems = new Histogram({
    name: "gateway_batch_items",
    help: "Operations per mined transaction",
    buckets: [1, 2, 4, 8, 16, 32, 64, 128],
    registers: this.#registers,
  });
  readonly confirmationSeconds = new Histogram({
    name: "gateway_confirmation_seconds",
    help: "From the queueing of an operation to its receipt",
    labelNames: ["kind"] as const,
    buckets: SECONDS,
    registers: this.#registers,
  });
  readonly operations = new Counter({
    name: "gateway_operations_total",
    help: "Escrow operations by kind and outcome",
    labelNames: ["kind", "outcome"] as const,
    registers: this.#registers,
  });
  readonly gas = new Counter({
    name: "gateway_gas_ether_total",
    help: "Fees of this gateway's mined transactions, in the chain's currency",
    registers: this.#registers,
  });
  readonly charged = new Counter({
    name: "gateway_charged_credits_total",
    help: "Credits charged by the settlements among them",
    registers: this.#registers,
  });
  readonly jobs = new Counter({
    name: "gateway_jobs_total",
    help: "Jobs by the state this gateway brought them to",
    labelNames: ["state"] as const,
    registers: this.#registers,
  });
  readonly disputes = new Counter({
    name: "gateway_disputes_total",
    help: "Dispute requests of this gateway's jobs by outcome: opened, equal, or why they were refused",
    labelNames: ["outcome"] as const,
    registers: this.#registers,
  });
  readonly workerFailures = new Counter({
    name: "gateway_worker_failures_total",
    help: "Incidents by worker and code (api/db/incidents.ts)",
    labelNames: ["worker", "code"] as const,
    registers: this.#registers,
  });

  /** Of webhooks: attempts of this process, and what it saw derived. */
  readonly webhooks = webhookMetrics(this.registry);

  /** Adds the gauges of the running gateway, and Node's own metrics. */
  observe({ pipeline, runs, head, signerLock, workers, ...chain }: Observed): void {
    collectDefaultMetrics({ register: this.registry });
    const perWorker = (read: (state: WorkerState) => number) => () =>
      Object.fromEntries(workers.states().map((state) => [state.worker, read(state)]));
    this.gauge({ name: "gateway_operations_queued", help: "Operations waiting for a batch" }, () => pipeline.queued);
    this.gauge(
      {
        name: "gateway_oldest_transaction_seconds",
        help: "Since the oldest transaction in flight was sent, 0 without any",
      },
      () => pipeline.oldestMs / 1000,
    );
    this.gauge({ name: "gateway_jobs_running", help: "Jobs that this process runs" }, () => runs.size);
    this.gauge({ name: "gateway_chain_head", help: "Newest block seen" }, () => head.block.number);
    this.gauge(
      { name: "gateway_chain_silent_seconds", help: "Since the node last answered" },
      () => head.silentMs / 1000,
    );
    this.gauge({ name: "gateway_signer_lock_held", help: "1 while this process may send" }, () =>
      Number(signerLock.held),
    );
    this.gauge(
      {
        name: "gateway_index_lag_blocks",
        help: "Blocks that the index is behind the chain, -1 while it is absent",
      },
      async () => {
        const indexed = await chain.indexedBlock().catch(() => null);
        return indexed === null ? -1 : Math.max(0, head.block.number - indexed);
      },
    );
    this.gauge(
      {
        name: "gateway_wallet_unpaid_jobs",
        help: "Most jobs of one wallet that failed or were refunded, of those made in the last ten minutes",
      },
      chain.mostUnpaid,
    );
    this.gauge({ name: "gateway_signer_balance_ether", help: "What the signer can pay gas with" }, async () =>
      Number(formatEther(await chain.signerBalance())),
    );
    this.gauge(
      { name: "gateway_worker_healthy", help: "1 for workers that answer the probe", label: "worker" },
      perWorker(({ healthy }) => Number(healthy)),
    );
    this.gauge(
      { name: "gateway_worker_jobs", help: "Jobs that a worker has from this gateway now", label: "worker" },
      perWorker(({ outstanding }) => outstanding),
    );
    this.gauge(
      {
        name: "gateway_worker_room_credits",
        help: "Credits of jobs that a worker may still get from this gateway, +Inf without a bound",
        label: "worker",
      },
      perWorker(({ room }) => room),
    );
  }

  /**
   * Adds a gauge that is read at the moment of a scrape; with a label, `read` gives a number for each of its values. A
   * scrape must not fail as a whole because one part is away: the gauge of that part is absent then.
   */
  gauge(
    { name, help, label }: { name: string; help: string; label?: string },
    read: () => Reading | Promise<Reading>,
  ): void {
    const labelNames = label === undefined ? [] : [label];
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames,
      registers: this.#registers,
      collect: async () => {
        const reading = await Promise.resolve()
          .then(read)
          .catch(() => ({}));
        // A gauge without a label would be 0 after `reset`.
        if (label === undefined) gauge.remove();
        else gauge.reset();
        if (typeof reading === "number") gauge.set(reading);
        else for (const [value, number] of Object.entries(reading)) gauge.set({ [label as string]: value }, number);
      },
    });
  }
}

/** What a gauge shows: a number, or one for each value of its label. */
type Reading = number | Record<string, number>;

export type WebhookMetrics = ReturnType<typeof webhookMetrics>;

function webhookMetrics(registry: Registry) {
  const registers = [registry];
  return {
    attempts: new Counter({
      name: "gateway_webhook_attempts_total",
      help: "Attempts by result: delivered, status (not 2xx), timeout, connection, refused (address or scheme not allowed)",
      labelNames: ["result"] as const,
      registers,
    }),
    seconds: new Histogram({
      name: "gateway_webhook_attempt_seconds",
      help: "From the start of an attempt to its answer",
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    }),
    running: new Gauge({
      name: "gateway_webhook_attempts_running",
      help: "Attempts of this process that wait for an answer",
      registers,
    }),
    failedWebhooks: new Counter({
      name: "gateway_webhooks_failed_total",
      help: "Webhooks marked failed after five failed attempts",
      registers,
    }),
    underivable: new Counter({
      name: "gateway_webhook_underivable_total",
      help: "Rows of the index that made no event: a defect, the log has each",
      labelNames: ["event"] as const,
      registers,
    }),
    watermark: new Gauge({
      name: "gateway_webhook_watermark_block",
      help: "Block up to which this process saw events derived",
      registers,
    }),
  };
}
