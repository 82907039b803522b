import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { Hex } from "viem";
import { formatEther } from "viem";
import type { Gateway } from "./gateway.ts";
import { scrapedGauge } from "./gauge.ts";
import { getHead } from "./index/index.ts";

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** What an operator watches (docs/operations.md says which values are worth an alert). Names are Prometheus's own style. */
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
    help: "Incidents by worker and code (api/jobs/incident.ts)",
    labelNames: ["worker", "code"] as const,
    registers: this.#registers,
  });

  /** Adds what is read at the moment of a scrape. */
  observe(gateway: Gateway): void {
    collectDefaultMetrics({ register: this.registry });
    const gauge = (name: string, help: string, read: () => number | Promise<number>) =>
      scrapedGauge(this.registry, name, help, read);
    gauge("gateway_operations_queued", "Operations waiting for a batch", () => gateway.pipeline.queued);
    gauge(
      "gateway_oldest_transaction_seconds",
      "Since the oldest transaction in flight was sent, 0 without any",
      () => gateway.pipeline.oldestMs / 1000,
    );
    gauge("gateway_jobs_running", "Jobs that this process runs", () => gateway.runs.size);
    gauge("gateway_chain_head", "Newest block seen", () => gateway.head.block.number);
    gauge("gateway_chain_silent_seconds", "Since the node last answered", () => gateway.head.silentMs / 1000);
    gauge("gateway_signer_lock_held", "1 while this process may send", () => Number(gateway.signerLock.held));
    gauge("gateway_index_lag_blocks", "Blocks that the index is behind the chain, -1 while it is absent", async () => {
      const head = await getHead(gateway.pool).catch(() => null);
      return head === null ? -1 : Math.max(0, gateway.head.block.number - head.blockNumber);
    });
    gauge("gateway_signer_balance_ether", "What the signer can pay gas with", async () => {
      const { address } = gateway.chat.jobs.account;
      return Number(formatEther(BigInt(await gateway.rpc.request<Hex>("eth_getBalance", [address, "latest"], 2_000))));
    });
    const health: Gauge<"worker"> = new Gauge({
      name: "gateway_worker_healthy",
      help: "1 for workers that answer the probe",
      labelNames: ["worker"] as const,
      registers: this.#registers,
      collect: () => {
        health.reset();
        outstanding.reset();
        for (const state of gateway.workers.states()) {
          health.set({ worker: state.worker }, Number(state.healthy));
          outstanding.set({ worker: state.worker }, state.outstanding);
        }
      },
    });
    const outstanding = new Gauge({
      name: "gateway_worker_jobs",
      help: "Jobs that a worker has from this gateway now",
      labelNames: ["worker"] as const,
      registers: this.#registers,
    });
  }
}
