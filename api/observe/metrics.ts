import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { formatEther } from "viem";

export type Observed = {
  pipeline: { readonly queued: number; readonly oldestMs: number; readonly unminedMs: number };
  runs: { readonly size: number };
  head: { readonly block: { number: number }; readonly silentMs: number };
  signerLock: { readonly held: boolean };
  workers: { states(): readonly WorkerState[] };
  queue: { readonly waiting: Record<string, number> };
  /** Block up to which the index is there; null while there is none. */
  indexedBlock: () => Promise<number | null>;
  /** The most jobs of one wallet that ended without a charge, of the last ten minutes. */
  mostUnpaid: () => Promise<number>;
  /** Balance of the signer, from which it pays gas, wei. */
  signerBalance: () => Promise<bigint>;
  /** The operator's share of a charge, by the fee in force. */
  operatorPart: () => Promise<number>;
};

type WorkerState = { worker: string; healthy: boolean; outstanding: number; free: number; room: number };

/** The limit of an alert must be one: between two buckets a quantile is a guess. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120];

const ATTEMPT_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The value of a gauge: a number, or one for each value of its label. */
type Reading = number | Record<string, number>;

/** The metrics that an operator watches; deploy/prometheus/alerts.yaml says which values are worth an alert. */
export class Metrics {
  readonly registry = new Registry();

  readonly requests = this.#counter("gateway_requests_total", "HTTP requests below /v1 by route, method and status", [
    "route",
    "method",
    "status",
  ]);
  readonly requestSeconds = this.#histogram(
    "gateway_request_seconds",
    "Duration of requests below /v1, streams included to their last byte",
    SECONDS,
    ["route"],
  );
  readonly firstTokenSeconds = this.#histogram(
    "gateway_first_token_seconds",
    "From the dispatch to a worker to its first token",
    SECONDS,
    ["model"],
  );
  readonly queueSeconds = this.#histogram(
    "gateway_queue_seconds",
    "How long requests waited for a place at a worker, before their locks",
    SECONDS,
    ["model"],
  );
  readonly queueRefusals = this.#counter(
    "gateway_queue_refusals_total",
    "Requests that got no place: full (the queue), late (after QUEUE_SECONDS), left (their clients hung up)",
    ["model", "reason"],
  );
  readonly batchItems = this.#histogram(
    "gateway_batch_items",
    "Operations per mined transaction",
    [1, 2, 4, 8, 16, 32, 64, 128],
  );
  readonly confirmationSeconds = this.#histogram(
    "gateway_confirmation_seconds",
    "From the queueing of an operation to its receipt",
    SECONDS,
    ["kind"],
  );
  readonly operations = this.#counter("gateway_operations_total", "Escrow operations by kind and outcome", [
    "kind",
    "outcome",
  ]);
  readonly transactionSteps = this.#counter(
    "gateway_transaction_steps_total",
    "What was done with transactions that were not mined: raise, lower (the fee), fewer (operations), foreign (another one used the nonce), resend (the sequencer broke its promise)",
    ["step"],
  );
  readonly gas = this.#counter(
    "gateway_gas_ether_total",
    "Fees of this gateway's mined transactions, in the chain's currency",
  );
  readonly charged = this.#counter("gateway_charged_credits_total", "Credits charged by the settlements among them");
  readonly jobs = this.#counter("gateway_jobs_total", "Jobs by the state this gateway brought them to", ["state"]);
  readonly disputes = this.#counter(
    "gateway_disputes_total",
    "Dispute requests of this gateway's jobs by outcome: opened, equal, or why they were refused",
    ["outcome"],
  );
  readonly workerFailures = this.#counter(
    "gateway_worker_failures_total",
    "Incidents by worker and code (api/db/incidents.ts)",
    ["worker", "code"],
  );

  /** Metrics of webhooks: the attempts of this process, and the events that it saw derived. */
  readonly webhooks = {
    attempts: this.#counter(
      "gateway_webhook_attempts_total",
      "Attempts by result: delivered, status (not 2xx), timeout, connection, refused (address or scheme not allowed), delayed (waited too long for its turn; made again)",
      ["result"],
    ),
    seconds: this.#histogram(
      "gateway_webhook_attempt_seconds",
      "From the start of an attempt to its answer",
      ATTEMPT_SECONDS,
    ),
    running: this.#level("gateway_webhook_attempts_running", "Attempts of this process that wait for an answer"),
    failedWebhooks: this.#counter("gateway_webhooks_failed_total", "Webhooks marked failed after five failed attempts"),
    underivable: this.#counter(
      "gateway_webhook_underivable_total",
      "Rows of the index that made no event: a defect, the log has each",
      ["event"],
    ),
    watermark: this.#level("gateway_webhook_watermark_block", "Block up to which this process saw events derived"),
  };

  /** Adds the gauges of the running gateway, and Node's own metrics. */
  observe({ pipeline, runs, head, signerLock, workers, queue, ...chain }: Observed): void {
    // A timer measures the event loop's lag. By default it runs every 10 ms: more often than all else that a gateway does at rest.
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: 50 });
    const perWorker = (read: (state: WorkerState) => number) => () =>
      Object.fromEntries(workers.states().map((state) => [state.worker, read(state)]));
    const indexLag = async () => {
      const indexed = await chain.indexedBlock().catch(() => null);
      return indexed === null ? -1 : Math.max(0, head.block.number - indexed);
    };
    const balance = async () => Number(formatEther(await chain.signerBalance()));
    const gauges: [name: string, help: string, read: () => Reading | Promise<Reading>, label?: string][] = [
      ["gateway_operations_queued", "Operations waiting for a batch", () => pipeline.queued],
      [
        "gateway_oldest_transaction_seconds",
        "Since the oldest transaction in flight was sent, 0 without any",
        () => pipeline.oldestMs / 1000,
      ],
      [
        "gateway_unmined_seconds",
        "Since a transaction was last mined, while something waits for that; 0 when nothing waits",
        () => pipeline.unminedMs / 1000,
      ],
      ["gateway_jobs_running", "Jobs that this process runs", () => runs.size],
      ["gateway_queue_waiting", "Requests and jobs that wait for a place at a worker", () => queue.waiting, "model"],
      ["gateway_chain_head", "Newest block seen", () => head.block.number],
      ["gateway_chain_silent_seconds", "Since the node last answered", () => head.silentMs / 1000],
      ["gateway_signer_lock_held", "1 while this process may send", () => Number(signerLock.held)],
      ["gateway_index_lag_blocks", "Blocks that the index is behind the chain, -1 while it is absent", indexLag],
      [
        "gateway_wallet_unpaid_jobs",
        "Most jobs of one wallet that failed or were refunded, of those made in the last ten minutes",
        chain.mostUnpaid,
      ],
      ["gateway_signer_balance_ether", "What the signer can pay gas with", balance],
      [
        "gateway_operator_part",
        "What an operator earns of a charge, by the fee in force: 0.05 is 5 %",
        chain.operatorPart,
      ],
      [
        "gateway_worker_healthy",
        "1 for workers that answer the probe",
        perWorker(({ healthy }) => Number(healthy)),
        "worker",
      ],
      [
        "gateway_worker_jobs",
        "Jobs that a worker has from this gateway now",
        perWorker(({ outstanding }) => outstanding),
        "worker",
      ],
      [
        "gateway_worker_places",
        "Places of a worker that are free for jobs of this gateway",
        perWorker(({ free }) => free),
        "worker",
      ],
      [
        "gateway_worker_room_credits",
        "Credits of jobs that a worker may still get from this gateway, +Inf without a bound",
        perWorker(({ room }) => room),
        "worker",
      ],
    ];
    for (const gauge of gauges) this.gauge(...gauge);
  }

  /**
   * Adds a gauge that is read at the moment of a scrape; with a label, `read` gives a number for each of its values. A
   * scrape must not fail as a whole because one part is away: the gauge of that part is absent then.
   */
  gauge(name: string, help: string, read: () => Reading | Promise<Reading>, label?: string): void {
    const labelNames = label === undefined ? [] : [label];
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames,
      registers: [this.registry],
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

  #counter<Label extends string>(name: string, help: string, labelNames: Label[] = []): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  #histogram<Label extends string>(name: string, help: string, buckets: number[], labelNames: Label[] = []) {
    return new Histogram({ name, help, buckets, labelNames, registers: [this.registry] });
  }

  #level(name: string, help: string): Gauge {
    return new Gauge({ name, help, registers: [this.registry] });
  }
}

export type WebhookMetrics = Metrics["webhooks"];
