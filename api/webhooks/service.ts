/** What runs by itself in a gateway: events are derived at each new block, deliveries sent when they are due. */
import pg from "pg";
import type { Logger } from "pino";
import type { Agent } from "undici";
import { INDEX_CHANNEL } from "../../protocol/index-schema.ts";
import type { Cipher } from "../../shared/cipher.ts";
import { type Config, endpointPolicy } from "../config.ts";
import { IndexUnavailable } from "../db/index-reads.ts";
import { type Incarnation, incarnationName } from "../db/pool.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { EndpointPolicy } from "../outbound/address.ts";
import { guardedAgent } from "../outbound/endpoint.ts";
import { DeliveryDispatcher, type DispatchSettings } from "./deliveries.ts";
import { prune } from "./delivery-log.ts";
import { type DerivationSettings, Deriver } from "./derivation.ts";
import type { ChainHead, WebhookContext } from "./receivers.ts";

export type WebhookSettings = DerivationSettings &
  DispatchSettings & {
    databaseUrl: string;
    /** Encrypts the webhooks' secrets. */
    cipher: Cipher;
    /** Where receivers may be. */
    policy: EndpointPolicy;
    logDays: number;
  };

/** What the webhook service takes of the gateway's settings; times in milliseconds. */
export function webhookSettings(config: Config, cipher: Cipher): WebhookSettings {
  return {
    databaseUrl: config.DATABASE_URL,
    cipher,
    deployment: incarnationName(config.deployment as Incarnation),
    policy: endpointPolicy(config),
    confirmations: config.WEBHOOK_CONFIRMATIONS,
    reorgDepth: config.WEBHOOK_REORG_DEPTH,
    concurrency: config.WEBHOOK_CONCURRENCY,
    perWebhook: config.WEBHOOK_CONCURRENCY_EACH,
    timeoutMs: config.WEBHOOK_TIMEOUT_SECONDS * 1000,
    delaysMs: config.WEBHOOK_RETRY_SECONDS.map((seconds) => seconds * 1000),
    logDays: config.WEBHOOK_LOG_DAYS,
  };
}

type Parts = { pool: pg.Pool; head: ChainHead; metrics: Metrics; logger: Logger };

/** The index announces each block. Without a word it is looked at this often: a reorganisation may add no block. */
const DERIVE_MS = 1_000;
/** Blocks that come faster are derived together. */
const DERIVE_GAP_MS = 20;
/** Retries come due without a word; this is how soon they are seen. */
const CLAIM_MS = 500;
const PRUNE_MS = 600_000;

/** Derivation, delivery, and pruning of the log. */
export class WebhookService {
  /** First argument of the functions on a wallet's webhooks and their log. */
  readonly context: WebhookContext;
  readonly #agent: Agent;
  readonly #deriver: Deriver;
  readonly #dispatcher: DeliveryDispatcher;
  readonly #deriving: Loop;
  readonly #claiming: Loop;
  readonly #pruning: Loop;
  readonly #listener: Listener;
  #waitsForIndex = false;

  constructor(parts: Parts, settings: WebhookSettings) {
    const { pool, head, metrics } = parts;
    const { cipher, policy, concurrency, timeoutMs } = settings;
    const logger = parts.logger.child({ of: "webhooks" });
    const wake = () => this.#claiming.wake();
    this.context = { pool, cipher, policy, head, logger, wake };
    // Many webhooks can be at one host: the dispatcher limits attempts by webhook, not by host.
    this.#agent = guardedAgent({ ...policy, connections: concurrency, connectTimeoutMs: timeoutMs });
    this.#deriver = new Deriver({ pool, head, metrics: metrics.webhooks, logger }, settings);
    this.#dispatcher = new DeliveryDispatcher(
      { pool, cipher, http: this.#agent, metrics: metrics.webhooks, logger, wake },
      settings,
    );
    this.#deriving = new Loop(() => this.#derive(), DERIVE_MS, DERIVE_GAP_MS);
    this.#claiming = new Loop(() => this.#dispatcher.claim(), CLAIM_MS);
    this.#pruning = new Loop(() => prune(pool, settings.logDays, logger), PRUNE_MS);
    this.#listener = new Listener(settings.databaseUrl, INDEX_CHANNEL, () => this.#deriving.wake(), logger);
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
  }

  start(): void {
    const { logger } = this.context;
    const { allowLocal, allowNetworks = [] } = this.context.policy;
    if (allowLocal) {
      logger.warn("ALLOW_LOCAL_ENDPOINTS is on: webhooks and workers may be at loopback addresses, also without TLS");
    }
    if (allowNetworks.length > 0) {
      const networks = allowNetworks.map((network) => network.join("/"));
      logger.info({ networks }, "any client's webhook may name an https address in these private networks");
    }
    for (const loop of [this.#claiming, this.#deriving, this.#pruning]) loop.start();
    this.#listener.start();
  }

  /** Derives and claims nothing more, and lets running attempts end, at most `timeoutMs`. */
  async stop(timeoutMs: number): Promise<void> {
    await Promise.all([
      this.#listener.stop(),
      this.#deriving.stop(),
      this.#pruning.stop(),
      this.#claiming.stop().then(() => this.#dispatcher.stop(timeoutMs)),
    ]);
    await this.#agent.destroy();
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
}

/** Repeats something whenever it is woken, and at least every `intervalMs`; never twice at a time. */
class Loop {
  readonly #work: () => Promise<void>;
  readonly #intervalMs: number;
  readonly #gapMs: number;
  #woken = false;
  #stopped = false;
  #rouse: () => void = () => {};
  #running: Promise<void> = Promise.resolve();

  /** `work` handles its own errors. `gapMs`: least time between the end of one round and the next. */
  constructor(work: () => Promise<void>, intervalMs: number, gapMs = 0) {
    this.#work = work;
    this.#intervalMs = intervalMs;
    this.#gapMs = gapMs;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** A round follows soon; one that is running is followed by another. */
  wake(): void {
    this.#woken = true;
    this.#rouse();
  }

  /** Resolves when the running round is over; none follows. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#rouse();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      this.#woken = false;
      await this.#work();
      if (this.#gapMs > 0) await new Promise((resolve) => setTimeout(resolve, this.#gapMs));
      if (!this.#woken && !this.#stopped) await this.#rest();
    }
  }

  #rest(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#intervalMs);
      this.#rouse = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

const RECONNECT_MS = 1_000;

/** Calls `notified` at each notification of a PostgreSQL channel, on a connection of its own that it renews. */
class Listener {
  readonly #url: string;
  readonly #channel: string;
  readonly #notified: () => void;
  readonly #logger: Logger;
  #client: pg.Client | null = null;
  #stopped = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(url: string, channel: string, notified: () => void, logger: Logger) {
    this.#url = url;
    this.#channel = channel;
    this.#notified = notified;
    this.#logger = logger;
  }

  start(): void {
    void this.#connect();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#client
      ?.end()
      .catch((error) => this.#logger.debug({ err: error }, "the listener's connection was gone"));
  }

  async #connect(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#url,
      application_name: "gateway webhooks",
      keepAlive: true,
    });
    this.#client = client;
    let lost = false;
    const again = (error?: Error) => {
      if (lost || this.#stopped) return;
      lost = true;
      this.#logger.debug({ err: error }, "the listener lost its connection: until it has another one, polling goes on");
      this.#timer = setTimeout(() => void this.#connect(), RECONNECT_MS);
      client.end().catch(() => {}); // it is broken already
    };
    client.on("error", again);
    client.on("end", () => again());
    client.on("notification", this.#notified);
    try {
      await client.connect();
      await client.query(`LISTEN ${pg.escapeIdentifier(this.#channel)}`);
      this.#notified(); // what came while nobody listened
    } catch (error) {
      again(error as Error);
    }
  }
}
