/** Many endpoints that never answer, or late, and many wallets that pay for nothing, beside one that answers at once. */
import type { ServerResponse } from "node:http";
import type pg from "pg";
import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { urlContext } from "../../api/db/upkeep.ts";
import { Metrics } from "../../api/observe/metrics.ts";
import { guardedClient } from "../../api/outbound/endpoint.ts";
import { Cipher } from "../../shared/cipher.ts";
import { type Repeated, repeat } from "../../shared/repeat.ts";
import { DeliveryDispatcher } from "../../webhooks/deliveries.ts";
import { eventually } from "../support/api-client.ts";
import { ownDatabase } from "../support/database.ts";
import { type Behaviour, Receiver } from "../support/receiver.ts";

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

/** A webhook of a wallet of its own, with deliveries that are due. */
async function insertWebhook(name: string, deliveries: number, behaviour?: Behaviour, pace = "new"): Promise<void> {
  const webhook = `wh_${name}`;
  const url = receiver.url(`/${name}`, behaviour);
  await pool.query(
    `INSERT INTO webhook (id, wallet, url, events, secret, created_block, created_time, enabled_block, enabled_time, pace)
     VALUES ($1, $4, $2, '{credit.topup}', $3, 0, 0, 0, 0, $5)`,
    [webhook, cipher.encrypt(url, urlContext(webhook)), cipher.encrypt("whsec", webhook), `0x${name}`, pace],
  );
  await pool.query(
    `INSERT INTO webhook_delivery (webhook_id, event_id, status, next_attempt_at)
     SELECT $1, 'evt_' || n, 'pending', now() FROM generate_series(1, $2::int) n`,
    [webhook, deliveries],
  );
}

/** Sends what is due while `work` looks. */
async function dispatching(work: () => Promise<void>, timeoutMs = 200): Promise<void> {
  const http = guardedClient({ allowLocal: true });
  let claiming: Repeated | undefined;
  const logger = pino({ level: "silent" });
  const parts = { pool, cipher, http, metrics: new Metrics().webhooks, logger, wake: () => claiming?.wake() };
  const settings = { concurrency: CONCURRENCY, perWallet: 2, timeoutMs, delaysMs: [60_000, 1, 1, 1] };
  const dispatcher = new DeliveryDispatcher(parts, settings);
  claiming = repeat(() => dispatcher.claim(), 100);
  try {
    await work();
  } finally {
    await claiming.stop();
    await dispatcher.stop(0);
    http.destroy();
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
    await insertWebhook("healthy", 1, undefined, "prompt");
    const before = receiver.received.length;
    await eventually(
      async () => receiver.to("/healthy").length,
      (n) => n === 1,
    );
    const place = receiver.received.findIndex(({ path }) => path === "/healthy") - before;
    expect(place).toBeLessThanOrEqual(CONCURRENCY);
  });
});

test("webhooks that answer soon between silences get half of the places", async () => {
  let held = 0;
  const hang = (response: ServerResponse) => {
    held += 1;
    response.once("close", () => {
      held -= 1;
    });
  };
  // The first attempt of each gets no answer, nor does every second one after it.
  const behaviour: Behaviour = (response, nth) => (nth % 2 === 1 ? hang(response) : void response.end());
  const names = Array.from({ length: 2 * CONCURRENCY }, (_, n) => `moody${n}`);
  for (const name of names) await insertWebhook(name, 1_000, behaviour, "prompt");
  await dispatching(async () => {
    const moody = () => names.map((name) => receiver.to(`/${name}`).length);
    await eventually(
      async () => moody(),
      (all) => all.every((attempts) => attempts >= 2),
    );
    // Each of them was silent once, while it was taken for prompt.
    let most = 0;
    const begun = receiver.received.length;
    await eventually(
      async () => {
        most = Math.max(most, held);
        return receiver.received.length;
      },
      (n) => n >= begun + 4 * CONCURRENCY,
    );
    expect(most).toBeLessThanOrEqual(CONCURRENCY / 2);
  });
});

test("wallets without credits leave three quarters of the places free", async () => {
  // The index, as far as it is asked here.
  await pool.query("CREATE SCHEMA index; CREATE TABLE index.account (wallet text, free bigint, escrowed bigint)");
  await pool.query("INSERT INTO index.account VALUES ('0xpaying', 0, 5), ('0xspent', 0, 0)");
  try {
    for (let n = 0; n < 3 * CONCURRENCY; n++) await insertWebhook(`free${n}`, BACKLOG, () => {});
    await insertWebhook("spent", 1, undefined, "prompt");
    await dispatching(async () => {
      await eventually(
        async () => receiver.received.length,
        (n) => n >= CONCURRENCY / 4,
      );
      await insertWebhook("paying", 2, undefined, "prompt");
      const before = receiver.received.length;
      await eventually(
        async () => receiver.to("/paying").length,
        (n) => n === 2,
      );
      // Not one of theirs needed to end: the limit of an answer is 200 ms.
      const place = receiver.received.findIndex(({ path }) => path === "/paying") - before;
      expect(place).toBeLessThanOrEqual(CONCURRENCY / 2);
      // Even a new webhook, of which nobody knows whether it answers, comes before all of theirs where it pays.
      await pool.query("UPDATE index.account SET free = 1 WHERE wallet = '0xspent'");
      await insertWebhook("fresh", 1);
      await pool.query("INSERT INTO index.account VALUES ('0xfresh', 1, 0)");
      const begun = receiver.received.length;
      await eventually(
        async () => receiver.to("/fresh").length,
        (n) => n === 1,
      );
      expect(receiver.received.findIndex(({ path }) => path === "/fresh") - begun).toBeLessThanOrEqual(CONCURRENCY);
    });
  } finally {
    await pool.query("DROP SCHEMA index CASCADE");
  }
});

test("a webhook is prompt once it has answered soon, and silent once it has not", async () => {
  await insertWebhook("good", 1);
  await insertWebhook("mute", 1, () => {}, "prompt");
  await insertWebhook("late", 1, (response) => setTimeout(() => response.end(), 900));
  const look = async () => {
    const paces = await eventually(
      async () => (await pool.query("SELECT id, pace FROM webhook ORDER BY id")).rows,
      (rows) => rows.every(({ pace }) => pace !== "new") && rows.some(({ pace }) => pace === "silent"),
    );
    expect(paces).toEqual([
      { id: "wh_good", pace: "prompt" },
      { id: "wh_late", pace: "slow" },
      { id: "wh_mute", pace: "silent" },
    ]);
  };
  await dispatching(look, 2_000);
});

test("all webhooks with something due are visited, however many there are", async () => {
  const crowd = 2_500;
  await pool.query(
    `INSERT INTO webhook (id, wallet, url, events, secret, created_block, created_time, enabled_block, enabled_time)
     SELECT 'wh_' || lpad(n::text, 5, '0'), '0x' || n, '', '{credit.topup}', '', 0, 0, 0, 0 FROM generate_series(1, $1::int) n`,
    [crowd],
  );
  // They wait for their next attempt.
  await pool.query(
    `INSERT INTO webhook_delivery (webhook_id, event_id, status, next_attempt_at)
     SELECT id, 'evt_1', 'pending', now() + interval '1 hour' FROM webhook`,
  );
  await insertWebhook("zzz", 1);
  await dispatching(async () => {
    await eventually(
      async () => receiver.to("/zzz").length,
      (n) => n === 1,
    );
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
