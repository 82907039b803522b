import type pg from "pg";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import type { Agent } from "undici";
import { INDEX_CHANNEL } from "../../protocol/index-schema.ts";
import type { EndpointPolicy } from "../outbound/address.ts";
import { guardedAgent } from "../outbound/agent.ts";
import type { Cipher } from "../store/cipher.ts";
import type { ChainHead, WebhookContext } from "./context.ts";
import { Deriver, isWaiting } from "./derive.ts";
import { DeliveryDispatcher } from "./dispatcher.ts";
import { Listener } from "./listen.ts";
import { Loop } from "./loop.ts";
import { WebhookMetrics } from "./metrics.ts";
import { prune } from "./prune.ts";

export type WebhookSettings = {
  databaseUrl: string;
  /** Encrypts the webhooks' secrets. */
  cipher: Cipher;
  /** Name of chain and contracts: part of every event's identity. */
  deployment: string;
  /** Where receivers may be. */
  policy: EndpointPolicy;
  confirmations: number;
  reorgDepth: number;
  concurrency: number;
  perWebhook: number;
  timeoutMs: number;
  delaysMs: readonly number[];
  logDays: number;
};

/** The index announces each block; without a word it is looked at this often, and so is a reorganisation that adds no block. */
const DERIVE_MS = 1_000;
/** Blocks that come faster are derived together. */
const DERIVE_GAP_MS = 20;
const PRUNE_MS = 600_000;

/** Everything of webhooks that runs by itself in a gateway: derivation, delivery, pruning of the log. */
export class WebhookService {
  /** First argument of the functions in api/webhooks/index.ts. */
  readonly context: WebhookContext;
  readonly #agent: Agent;
  readonly #deriver: Deriver;
  readonly #dispatcher: DeliveryDispatcher;
  readonly #derivation: Loop;
  readonly #pruning: Loop;
  readonly #listener: Listener;
  #waiting = false;

  constructor(pool: pg.Pool, head: ChainHead, settings: WebhookSettings, registry: Registry, logger: Logger) {
    const log = logger.child({ of: "webhooks" });
    const { cipher, policy } = settings;
    const metrics = new WebhookMetrics(registry);
    // Many webhooks can be at one host: what one of them may have at once is counted by webhook, not by host.
    this.#agent = guardedAgent({
      ...policy,
      connections: settings.concurrency,
      connectTimeoutMs: settings.timeoutMs,
    });
    this.#deriver = new Deriver(pool, head, settings, metrics, log);
    this.#dispatcher = new DeliveryDispatcher(pool, cipher, this.#agent, settings, metrics, log);
    this.#derivation = new Loop(() => this.#derive(), DERIVE_MS, DERIVE_GAP_MS);
    this.#pruning = new Loop(() => prune(pool, settings.logDays, log), PRUNE_MS);
    this.#listener = new Listener(settings.databaseUrl, INDEX_CHANNEL, () => this.#derivation.wake(), log);
    this.context = { pool, cipher, policy, head, logger: log, wake: () => this.#dispatcher.wake() };
    metrics.observe(
      async () => {
        const { rows } = await pool.query(
          `SELECT count(*) FILTER (WHERE next_attempt_at <= now()) AS due, count(*) FILTER (WHERE next_attempt_at > now()) AS waiting
           FROM webhook_delivery WHERE status = 'pending'`,
        );
        return rows[0];
      },
      async () => {
        const { rows } = await pool.query("SELECT block FROM webhook_watermark WHERE deployment = $1", [
          settings.deployment,
        ]);
        return Math.max(0, head.block.number - (rows[0]?.block ?? head.block.number));
      },
    );
  }

  start(): void {
    const { logger } = this.context;
    const { allowLocal, allowNetworks = [] } = this.context.policy;
    if (allowLocal) {
      logger.warn("ALLOW_LOCAL_ENDPOINTS is on: webhooks and workers may be at loopback addresses and without TLS");
    }
    if (allowNetworks.length > 0) {
      const networks = allowNetworks.map((network) => network.join("/"));
      logger.info({ networks }, "any client's webhook may name an https address in these private networks");
    }
    this.#dispatcher.start();
    this.#derivation.start();
    this.#pruning.start();
    this.#listener.start();
  }

  /** Derives and claims nothing more, and lets running attempts end, at most `timeoutMs`. */
  async stop(timeoutMs: number): Promise<void> {
    await Promise.all([
      this.#listener.stop(),
      this.#derivation.stop(),
      this.#pruning.stop(),
      this.#dispatcher.stop(timeoutMs),
    ]);
    await this.#agent.destroy();
  }

  async #derive(): Promise<void> {
    const { logger } = this.context;
    try {
      if ((await this.#deriver.pass()) === "derived") this.#dispatcher.wake();
      if (this.#waiting) logger.info("the index is there again: events are derived");
      this.#waiting = false;
    } catch (error) {
      // Said once: an index that is built anew takes its time.
      if (isWaiting(error)) {
        if (!this.#waiting) logger.info("the index is being built: events are derived when it is there");
        this.#waiting = true;
      } else {
        logger.error({ err: error }, "events could not be derived; the next round tries again");
      }
    }
  }
}
