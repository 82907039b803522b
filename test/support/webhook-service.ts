import type pg from "pg";
import { pino } from "pino";
import { type Address, createPublicClient, http } from "viem";
import { incarnationName, migrate, openDatabase } from "../../api/db/pool.ts";
import { Metrics } from "../../api/observe/metrics.ts";
import { Cipher } from "../../shared/cipher.ts";
import { Deriver } from "../../webhooks/derivation.ts";
import type { EventName } from "../../webhooks/events.ts";
import { createWebhook, type WebhookContext, type WebhookObject } from "../../webhooks/receivers.ts";
import { WebhookService, type WebhookSettings } from "../../webhooks/service.ts";
import type { Stage } from "../indexer/support/stage.ts";
import { eventually, type KnownStack } from "./api-client.ts";

const logger = pino({ level: process.env["TEST_LOG_LEVEL"] ?? "error" });

/** What a gateway does with webhooks, on a stage whose chain a test bends as it likes. */
export class Webhooks {
  readonly service: WebhookService;
  readonly pool: pg.Pool;
  readonly metrics = new Metrics();
  readonly #deriver: Deriver;
  readonly #timer: NodeJS.Timeout;

  private constructor(stage: Stage, settings: Partial<WebhookSettings>) {
    const { deployment, reader } = stage.world;
    this.pool = openDatabase(stage.databaseUrl, logger, 8);
    const head = {
      block: { number: 0, timestamp: 0 },
      async refresh() {
        const { number, timestamp } = await reader.getBlock();
        head.block = { number: Number(number), timestamp: Number(timestamp) };
        return head.block;
      },
    };
    this.#timer = setInterval(() => void head.refresh().catch(() => {}), 100);
    const all = {
      databaseUrl: stage.databaseUrl,
      cipher: new Cipher("11".repeat(32), "webhook secrets"),
      deployment: incarnationName(deployment as never),
      policy: { allowLocal: true },
      confirmations: 0,
      reorgDepth: 64,
      logDays: 30,
      concurrency: 64,
      perWallet: 16,
      timeoutMs: 10_000,
      delaysMs: [100, 100, 100, 100],
      ...settings,
    };
    const { pool, metrics } = this;
    this.service = new WebhookService({ pool, head, metrics, logger }, all);
    this.#deriver = new Deriver({ pool, head, metrics: metrics.webhooks, logger }, all);
  }

  static async start(stage: Stage, settings: Partial<WebhookSettings> = {}): Promise<Webhooks> {
    await migrate(stage.databaseUrl, logger);
    return new Webhooks(stage, settings);
  }

  async webhook(wallet: Address, url: string, events: readonly EventName[]): Promise<WebhookObject> {
    return await createWebhook(this.service.context, wallet, { url, events: [...events], secret: "0123456789abcdef" });
  }

  /** One pass over all that the index has now, beside those of the service. */
  async derived(): Promise<void> {
    await eventually(
      () => this.#deriver.pass(),
      (pass) => pass !== "busy",
    );
    this.service.context.wake();
  }

  async sql<T = Record<string, unknown>>(text: string, values: unknown[] = []): Promise<T[]> {
    return (await this.pool.query(text, values)).rows as T[];
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.service.stop(5_000);
    await this.pool.end();
  }
}

/** What the web application's routes hand to the functions of webhooks/: here against a stack from outside its gateway. */
export function contextOf({ info }: KnownStack, pool: pg.Pool): WebhookContext {
  const reader = createPublicClient({ transport: http(info.rpc_url) });
  const head = { block: { number: 0, timestamp: 0 } };
  const refresh = async () => {
    const { number, timestamp } = await reader.getBlock();
    head.block = { number: Number(number), timestamp: Number(timestamp) };
    return head.block;
  };
  return {
    pool,
    cipher: new Cipher("00".repeat(32), "webhook secrets"),
    policy: { allowLocal: true },
    unpaid: async () => 0,
    head: {
      get block() {
        return head.block;
      },
      refresh,
    },
    logger: pino({ level: "silent" }),
    wake: () => {},
  };
}
