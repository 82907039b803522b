import type { Endpoint } from "./endpoint.ts";
import type { BenchGateway } from "./gateway.ts";

/** Deliveries that are due all at once, as after an outage of many receivers. */
export class Backlog {
  readonly #gateway: BenchGateway;
  readonly #endpoint: Endpoint;
  readonly #deliveries: number;

  private constructor(gateway: BenchGateway, endpoint: Endpoint, deliveries: number) {
    this.#gateway = gateway;
    this.#endpoint = endpoint;
    this.#deliveries = deliveries;
  }

  /** Writes them, due in an hour: `deliveries` spread over `webhooks`, and as many for each of the `silent` ones that never answer. */
  static async create(
    gateway: BenchGateway,
    endpoint: Endpoint,
    webhooks: number,
    silent: number,
    deliveries: number,
  ): Promise<Backlog> {
    const each = Math.ceil(deliveries / webhooks);
    const wallet = (number: number) => `0x${number.toString(16).padStart(40, "0")}`;
    for (let number = 0; number < webhooks + silent; number += 1) {
      const path = number < webhooks ? `/backlog/${number}` : `/silent/${number}`;
      await gateway.webhook(wallet(number), endpoint.url(path), ["job.completed"]);
    }
    await gateway.pool.query(
      `INSERT INTO webhook_event (id, name, occurred_at, body)
       SELECT 'evt_' || md5(n::text), 'job.completed', now(), '{"event":"job.completed","data":"' || repeat('x', 600) || '"}'
       FROM generate_series(1, $1::int) n`,
      [each],
    );
    await gateway.pool.query(
      `INSERT INTO webhook_delivery (webhook_id, event_id, status, next_attempt_at)
       SELECT w.id, e.id, 'pending', now() + interval '1 hour' FROM webhook w CROSS JOIN webhook_event e
       WHERE e.body LIKE '{"event":"job.completed","data":"x%' AND w.url ~ '/(backlog|silent)/' ORDER BY e.id LIMIT $1`,
      [each * (webhooks + silent)],
    );
    await gateway.pool.query("ANALYZE webhook_delivery, webhook_event, webhook");
    return new Backlog(gateway, endpoint, each * webhooks);
  }

  /** From now on they are due. */
  async release(): Promise<void> {
    await this.#gateway.pool.query(
      "UPDATE webhook_delivery SET next_attempt_at = now() WHERE status = 'pending' AND next_attempt_at > now() + interval '30 minutes'",
    );
  }

  /** Resolves when every one that can be delivered has come. */
  async drained(): Promise<void> {
    while (this.#endpoint.backlog < this.#deliveries) await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
