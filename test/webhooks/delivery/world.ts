import type pg from "pg";
import {
  type DeliveryObject,
  deliveriesQuerySchema,
  getDelivery,
  listDeliveries,
  type WebhookContext,
  type WebhookObject,
} from "../../../api/webhooks/index.ts";
import { eventually } from "../../support/api-client.ts";
import { Client, openStore } from "../../support/client.ts";
import { Receiver } from "../../support/receiver.ts";
import { startTestStack, type TestStack } from "../../support/stack.ts";
import { contextOf } from "../support/context.ts";

/** A gateway with its own settings, a client with credits, an endpoint, and what the delivery log says. */
export class World {
  stack!: TestStack;
  pool!: pg.Pool;
  receiver!: Receiver;
  client!: Client;
  context!: WebhookContext;

  async open(): Promise<void> {
    const parts = ["chain", "database", "contracts", "indexer", "workers", "api", "demo"] as const;
    this.stack = await startTestStack({ parts, workers: [] });
    this.pool = openStore(this.stack);
    this.context = contextOf(this.stack, this.pool);
    this.receiver = await Receiver.open();
    this.client = await Client.create(this.stack, this.pool, 100_000);
    await this.client.deposit(200);
  }

  async close(): Promise<void> {
    this.receiver?.close();
    await this.pool?.end();
    await this.stack?.remove();
  }

  get wallet() {
    return this.client.account.address;
  }

  async log(webhook: WebhookObject, query = {}): Promise<DeliveryObject[]> {
    return (await listDeliveries(this.context, this.wallet, webhook.id, deliveriesQuerySchema.parse(query))).data;
  }

  async detail(delivery: DeliveryObject): ReturnType<typeof getDelivery> {
    return await getDelivery(this.context, this.wallet, delivery.id);
  }

  async statusOf(webhook: WebhookObject): Promise<string | undefined> {
    const { body } = await this.client.api.get("/v1/webhooks");
    return body.data.find(({ id }: WebhookObject) => id === webhook.id)?.status;
  }

  /** The only delivery of a webhook, as soon as `check` holds for it. */
  async only(webhook: WebhookObject, check: (delivery: DeliveryObject) => boolean): Promise<DeliveryObject> {
    const [found] = await eventually(
      () => this.log(webhook),
      (all) => all.length === 1 && check(all[0] as DeliveryObject),
    );
    return found as DeliveryObject;
  }

  /** Waits for the end of an attempt that failed, and returns how many seconds after it the next one is due. */
  async delayAfter(webhook: WebhookObject, attempts: number): Promise<number> {
    const delivery = await this.only(webhook, (d) => d.attempts === attempts && d.next_attempt_at !== null);
    const { attempt_log } = await this.detail(delivery);
    const last = attempt_log.at(-1) as (typeof attempt_log)[number];
    const end = Date.parse(last.started_at) + (last.duration_ms ?? 0);
    return (Date.parse(delivery.next_attempt_at as string) - end) / 1000;
  }

  /** Lets the time to the next attempt pass. */
  async passTime(webhook: WebhookObject): Promise<void> {
    const sql = "UPDATE webhook_delivery SET next_attempt_at = now() WHERE webhook_id = $1 AND status = 'pending'";
    await this.pool.query(sql, [webhook.id]);
  }
}
