import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { scrapedGauge } from "../gauge.ts";

/** What an operator watches of webhooks. Counters of this process; gauges read the database they share. */
export class WebhookMetrics {
  readonly attempts;
  readonly seconds;
  readonly running;
  readonly failedWebhooks;
  readonly underivable;
  readonly watermark;
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
    const registers = [registry];
    this.attempts = new Counter({
      name: "gateway_webhook_attempts_total",
      help: "Attempts by result: delivered, status (not 2xx), timeout, connection, refused (address or scheme not allowed)",
      labelNames: ["result"] as const,
      registers,
    });
    this.seconds = new Histogram({
      name: "gateway_webhook_attempt_seconds",
      help: "From the start of an attempt to its answer",
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    });
    this.running = new Gauge({
      name: "gateway_webhook_attempts_running",
      help: "Attempts of this process that wait for an answer",
      registers,
    });
    this.failedWebhooks = new Counter({
      name: "gateway_webhooks_failed_total",
      help: "Webhooks marked failed after five failed attempts",
      registers,
    });
    this.underivable = new Counter({
      name: "gateway_webhook_underivable_total",
      help: "Rows of the index that made no event: a defect, the log has each",
      labelNames: ["event"] as const,
      registers,
    });
    this.watermark = new Gauge({
      name: "gateway_webhook_watermark_block",
      help: "Block up to which this process saw events derived",
      registers,
    });
  }

  /** Gauges that are read at the moment of a scrape. */
  observe(backlog: () => Promise<{ due: number; waiting: number }>, lagBlocks: () => Promise<number>): void {
    const registers = [this.#registry];
    const deliveries: Gauge<"state"> = new Gauge({
      name: "gateway_webhook_backlog",
      help: "Pending deliveries of all gateways: due now, waiting for a later attempt",
      labelNames: ["state"] as const,
      registers,
      // A scrape must not fail as a whole because the database is away: the gauge says so by being absent.
      collect: async () => {
        try {
          const { due, waiting } = await backlog();
          deliveries.set({ state: "due" }, due);
          deliveries.set({ state: "waiting" }, waiting);
        } catch {
          deliveries.reset();
        }
      },
    });
    const help = "Blocks of the chain whose events are not derived yet, confirmations included";
    scrapedGauge(this.#registry, "gateway_webhook_lag_blocks", help, lagBlocks);
  }
}
