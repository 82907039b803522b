/** The webhook service that runs in a gateway: it derives events at each new block, and sends deliveries when they are due. */
import { once } from "node:events";
import pg from "pg";
import type { Logger } from "pino";
import { type Config, endpointPolicy } from "../api/config.ts";
import { IndexUnavailable, ifIndexed } from "../api/db/index-reads.ts";
import { type Incarnation, incarnationName, sharedRead } from "../api/db/pool.ts";
import type { Metrics } from "../api/observe/metrics.ts";
import type { EndpointPolicy } from "../api/outbound/address.ts";
import { INDEX_CHANNEL } from "../protocol/index-schema.ts";
import type { Cipher } from "../shared/cipher.ts";
import { type Repeated, repeat } from "../shared/repeat.ts";
import { DeliveryDispatcher, type DispatchSettings } from "./deliveries.ts";
import { type DerivationSettings, Deriver } from "./derivation.ts";
import { type ChainHead, countUnpaidWebhooks, type WebhookContext } from "./receivers.ts";

export type WebhookSettings = DerivationSettings &
  DispatchSettings & {
    databaseUrl: string;
    cipher: Cipher;
    policy: EndpointPolicy;
  };

/** The gateway's settings that the webhook service uses; times in milliseconds. */
export function webhookSettings(config: Config, cipher: Cipher): WebhookSettings {
  return {
    databaseUrl: config.DATABASE_URL,
    cipher,
    deployment: incarnationName(config.deployment as Incarnation),
    policy: endpointPolicy(config),
    confirmations: config.WEBHOOK_CONFIRMATIONS,
    reorgDepth: config.WEBHOOK_REORG_DEPTH,
    logDays: config.WEBHOOK_LOG_DAYS,
    concurrency: config.WEBHOOK_CONCURRENCY,
    perWallet: config.WEBHOOK_CONCURRENCY_EACH,
    timeoutMs: config.WEBHOOK_TIMEOUT_SECONDS * 1000,
    delaysMs: config.WEBHOOK_RETRY_SECONDS.map((seconds) => seconds * 1000),
  };
}

type Parts = { pool: pg.Pool; head: ChainHead; metrics: Metrics; logger: Logger };

/** The index announces each block. Without a word it is looked at this often: a reorganisation may add no block. */
const DERIVE_MS = 1_000;
/** Blocks that come faster are derived together. */
const DERIVE_GAP_MS = 20;
/** Retries come due without a word; this is how soon they are seen. */
const CLAIM_MS = 500;
const RECONNECT_MS = 1_000;

/** Derivation and delivery, from its construction on. */
export class WebhookService {
  /** First argument of the functions on a wallet's webhooks and their log. */
  readonly context: WebhookContext;
  readonly #deriver: Deriver;
  readonly #dispatcher: DeliveryDispatcher;
  readonly #databaseUrl: string;
  readonly #deriving: Repeated;
  readonly #claiming: Repeated;
  readonly #listening: Repeated;
  #listener: pg.Client | undefined;
  #waitsForIndex = false;

  constructor(parts: Parts, settings: WebhookSettings) {
    const { pool, head, metrics } = parts;
    const { cipher, policy } = settings;
    const logger = parts.logger.child({ of: "webhooks" });
    const wake = () => this.#claiming.wake();
    const unpaid = sharedRead(() => ifIndexed(countUnpaidWebhooks(pool), null));
    this.context = { pool, cipher, policy, head, logger, unpaid, wake };
    this.#deriver = new Deriver({ pool, head, metrics: metrics.webhooks, logger }, settings);
    this.#dispatcher = new DeliveryDispatcher(
      { pool, cipher, policy, metrics: metrics.webhooks, logger, wake },
      settings,
    );
    this.#databaseUrl = settings.databaseUrl;
    metrics.gauge(
      "gateway_webhook_backlog",
      "Pending deliveries of all gateways: due now, waiting for a later attempt",
      async () => {
        const { rows } = await pool.query<{ due: number; waiting: number }>(
          `SELECT count(*) FILTER (WHERE next_attempt_at <= now()) AS due,
             count(*) FILTER (WHERE next_attempt_at > now()) AS waiting
           FROM webhook_delivery WHERE status = 'pending'`,
        );
        return rows[0] ?? {};
      },
      "state",
    );
    metrics.gauge(
      "gateway_webhook_lag_blocks",
      "Blocks of the chain whose events are not derived yet, confirmations included",
      async () => {
        const { rows } = await pool.query<{ block: number }>(
          "SELECT block FROM webhook_watermark WHERE deployment = $1",
          [settings.deployment],
        );
        return Math.max(0, head.block.number - (rows[0]?.block ?? head.block.number));
      },
    );
    const { allowLocal, allowNetworks = [] } = policy;
    if (allowLocal) {
      logger.warn("ALLOW_LOCAL_ENDPOINTS is on: webhooks and workers may be at loopback addresses, also without TLS");
    }
    if (allowNetworks.length > 0) {
      const networks = allowNetworks.map((network) => network.join("/"));
      logger.info({ networks }, "any client's webhook may name an https address in these private networks");
    }
    this.#claiming = repeat(() => this.#dispatcher.claim(), CLAIM_MS);
    this.#deriving = repeat(() => this.#derive(), DERIVE_MS, DERIVE_GAP_MS);
    this.#listening = repeat(() => this.#listen(), RECONNECT_MS);
  }

  /** Derives and claims nothing more, and lets running attempts end, at most `timeoutMs`. */
  async stop(timeoutMs: number): Promise<void> {
    const loops = [this.#listening, this.#deriving, this.#claiming].map((loop) => loop.stop());
    this.#listener?.end().catch(() => {});
    await Promise.all(loops);
    await this.#dispatcher.stop(timeoutMs);
  }

  async #derive(): Promise<void> {
    const { logger, wake } = this.context;
    try {
      if ((await this.#deriver.pass()) === "derived") wake();
      if (this.#waitsForIndex) logger.info("the index is there again: events are derived");
      this.#waitsForIndex = false;
    } catch (error) {
      if (!(error instanceof IndexUnavailable)) {
        logger.error({ err: error }, "events could not be derived; the next round tries again");
        return;
      }
      // Said once: an index that is built anew takes its time.
      if (!this.#waitsForIndex) logger.info("the index is being built: events are derived when it is there");
      this.#waitsForIndex = true;
    }
  }

  /** The index says on a channel of PostgreSQL that it has a block; ends with the connection. Without one the derivation polls. */
  async #listen(): Promise<void> {
    const connectionString = this.#databaseUrl;
    const client = new pg.Client({ connectionString, application_name: "gateway webhooks", keepAlive: true });
    this.#listener = client;
    // A connection that breaks says so more than once; without a listener that would end the process.
    client.on("error", () => {});
    client.on("notification", () => this.#deriving.wake());
    const ended = once(client, "end");
    ended.catch(() => {});
    try {
      // `connect` never settles when `stop` ends the client before the database has answered.
      await Promise.race([client.connect(), ended]);
      await client.query(`LISTEN ${pg.escapeIdentifier(INDEX_CHANNEL)}`);
      this.#deriving.wake(); // what came while nobody listened
      await ended;
    } catch (error) {
      this.context.logger.debug(
        { err: error },
        "the listener lost its connection: until it has another one, polling goes on",
      );
    }
    client.end().catch(() => {}); // it is broken already
  }
}
