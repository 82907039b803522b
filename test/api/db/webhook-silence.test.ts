/** Many endpoints that never answer, or late, beside one that answers at once. */
import type pg from "pg";
import { pino } from "pino";
import { Agent } from "undici";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { urlContext } from "../../../api/db/upkeep.ts";
import { Metrics } from "../../../api/observe/metrics.ts";
import { DeliveryDispatcher } from "../../../api/webhooks/deliveries.ts";
import { Cipher } from "../../../shared/cipher.ts";
import { type Repeated, repeat } from "../../../shared/repeat.ts";
import { eventually } from "../../support/api-client.ts";
import { ownDatabase } from "../../support/database.ts";
import { type Behaviour, Receiver } from "../../support/receiver.ts";

const CONCURRENCY = 8;
const BACKLOG = 10;

const cipher = new Cipher("01".repeat(32), "webhook secrets");
let pool: pg.Pool;
let receiver: Receiver;
beforeAll(async () => {
  ({ pool } = await ownDatabase());
  receiver = await Receiver.open();
  await pool.query(
    "INSERT INTO webhook_event SELECT 'evt_' || n, 'credit.topup', now(), '{}' FROM generate_series(1, 1000) n",
  );
});
afterAll(async () => {
  receiver?.close();
  await pool?.end();
});

async function insertWebhook(name: string, deliveries: number, behaviour?: Behaviour): Promise<void> {
  const webhook = `wh_${name}`;
  const url = receiver.url(`/${name}`, behaviour);
  await pool.query(
    `INSERT INTO webhook (id, wallet, url, events, secret, created_block, created_time, enabled_block, enabled_time)
     VALUES ($1, '0x', $2, '{credit.topup}', $3, 0, 0, 0, 0)`,
    [webhook, cipher.encrypt(url, urlContext(webhook)), cipher.encrypt("whsec", webhook)],
  );
  await pool.query(
    `INSERT INTO webhook_delivery (webhook_id, event_id, status, next_attempt_at)
     SELECT $1, 'evt_' || n, 'pending', now() FROM generate_series(1, $2::int) n`,
    [webhook, deliveries],
  );
}

/** Sends what is due while `work` looks. */
async function dispatching(work: () => Promise<void>): Promise<void> {
  const http = new Agent();
  let claiming: Repeated | undefined;
  const logger = pino({ level: "silent" });
  const parts = { pool, cipher, http, metrics: new Metrics().webhooks, logger, wake: () => claiming?.wake() };
  const settings = { concurrency: CONCURRENCY, perWebhook: 2, timeoutMs: 200, delaysMs: [60_000, 1, 1, 1] };
  const dispatcher = new DeliveryDispatcher(parts, settings);
  claiming = repeat(() => dispatcher.claim(), 100);
  try {
    await work();
  } finally {
    await claiming.stop();
    await dispatcher.stop(0);
    await http.destroy();
  }
}

beforeEach(async () => {
  await pool.query("DELETE FROM webhook");
  receiver.received.length = 0;
});

test.each<{ name: string; behaviour: Behaviour }>([
  { name: "silent", behaviour: () => {} },
  { name: "slow", behaviour: (response) => setTimeout(() => response.writeHead(200).end(), 150) },
])("as many $name webhooks as there are places hold up no other wallet's delivery", async ({ name, behaviour }) => {
  for (let n = 0; n < CONCURRENCY; n++) await insertWebhook(`${name}${n}`, BACKLOG, behaviour);
  await dispatching(async () => {
    // It is known by now that each of them is slow.
    const begun = 2 * CONCURRENCY;
    await eventually(
      async () => receiver.received.length,
      (n) => n >= begun,
    );
    await insertWebhook("healthy", 1);
    const before = receiver.received.length;
    await eventually(
      async () => receiver.to("/healthy").length,
      (n) => n === 1,
    );
    const place = receiver.received.findIndex(({ path }) => path === "/healthy") - before;
    expect(place).toBeLessThanOrEqual(CONCURRENCY);
  });
});

test("a slow webhook has its turn beside the backlogs of others", async () => {
  // More than it can have attempts while the test runs.
  await insertWebhook("slow", 1_000, () => {});
  await dispatching(async () => {
    await eventually(
      async () => receiver.to("/slow").length,
      (n) => n >= 2,
    );
    for (let n = 0; n < CONCURRENCY; n++) await insertWebhook(`quick${n}`, 500);
    const begun = receiver.to("/slow").length;
    await eventually(
      async () => receiver.to("/slow").length,
      (n) => n >= begun + 2,
    );
    expect(receiver.received.length).toBeLessThan(CONCURRENCY * 250);
  });
});
