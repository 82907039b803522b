/** Webhooks with deliveries that are due, in a database and at a receiver of their own, and what sends them. */
import type pg from "pg";
import { pino } from "pino";
import { urlContext } from "../../api/db/upkeep.ts";
import { Metrics } from "../../api/observe/metrics.ts";
import { Cipher } from "../../shared/cipher.ts";
import { DeliveryDispatcher } from "../../webhooks/deliveries.ts";
import { ownDatabase } from "./database.ts";
import { type Behaviour, Receiver } from "./receiver.ts";

type DispatcherParts = ConstructorParameters<typeof DeliveryDispatcher>[0];
type DispatcherSettings = ConstructorParameters<typeof DeliveryDispatcher>[1];
type DueWebhook = { behaviour?: Behaviour | undefined; url?: string; deliveries?: number; pace?: string };

/** Every webhook has a wallet of its own and gets the events `evt_1`, `evt_2` and so on. */
export class DueDeliveries {
  readonly #cipher = new Cipher("01".repeat(32), "webhook secrets");
  readonly metrics = new Metrics().webhooks;
  readonly pool: pg.Pool;
  readonly receiver: Receiver;

  private constructor(pool: pg.Pool, receiver: Receiver) {
    this.pool = pool;
    this.receiver = receiver;
  }

  static async open(): Promise<DueDeliveries> {
    const { pool } = await ownDatabase();
    await pool.query(
      "INSERT INTO webhook_event SELECT 'evt_' || n, 'credit.topup', now(), '{}' FROM generate_series(1, 5000) n",
    );
    return new DueDeliveries(pool, await Receiver.open());
  }

  async close(): Promise<void> {
    this.receiver.close();
    await this.pool.end();
  }

  /** The webhook `wh_<name>` of the wallet `0x<name>`, with deliveries that are due. Without a behaviour or URL its endpoint answers at once. */
  async insert(name: string, { behaviour, url, deliveries = 1, pace = "new" }: DueWebhook = {}): Promise<void> {
    const webhook = `wh_${name}`;
    const sealed = this.#cipher.encrypt(url ?? this.receiver.url(`/${name}`, behaviour), urlContext(webhook));
    await this.pool.query(
      `INSERT INTO webhook (id, wallet, url, events, secret, created_block, created_time, enabled_block, enabled_time, pace)
       VALUES ($1, $2, $3, '{credit.topup}', $4, 0, 0, 0, 0, $5)`,
      [webhook, `0x${name}`, sealed, this.#cipher.encrypt("whsec", webhook), pace],
    );
    await this.pool.query(
      `INSERT INTO webhook_delivery (webhook_id, event_id, status, next_attempt_at)
       SELECT $1, 'evt_' || n, 'pending', now() FROM generate_series(1, $2::int) n`,
      [webhook, deliveries],
    );
  }

  /** Runs `work` with a dispatcher that takes what is due when it is told to claim. */
  async dispatching(
    settings: DispatcherSettings,
    work: (dispatcher: DeliveryDispatcher) => Promise<void>,
    { pool = this.pool, logger = pino({ level: "silent" }), wake = () => {} }: Partial<DispatcherParts> = {},
  ): Promise<void> {
    const dispatcher = new DeliveryDispatcher(
      { pool, cipher: this.#cipher, policy: { allowLocal: true }, metrics: this.metrics, logger, wake },
      settings,
    );
    try {
      await work(dispatcher);
    } finally {
      await dispatcher.stop(0);
    }
  }
}
