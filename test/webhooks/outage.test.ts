/** What an outage of the database that outlasts a delivery's lease does to the results that wait to be written. */
import type pg from "pg";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { urlContext } from "../../api/db/upkeep.ts";
import { Metrics } from "../../api/observe/metrics.ts";
import { guardedClient } from "../../api/outbound/endpoint.ts";
import { Cipher } from "../../shared/cipher.ts";
import { DeliveryDispatcher } from "../../webhooks/deliveries.ts";
import { eventually } from "../support/api-client.ts";
import { ownDatabase } from "../support/database.ts";
import { type Behaviour, Receiver } from "../support/receiver.ts";

const cipher = new Cipher("01".repeat(32), "webhook secrets");
let pool: pg.Pool;
let receiver: Receiver;
beforeAll(async () => {
  ({ pool } = await ownDatabase());
  receiver = await Receiver.open();
});
afterAll(async () => {
  receiver?.close();
  await pool?.end();
});

/** A webhook with one delivery that is due. */
async function insertDue(name: string, behaviour?: Behaviour): Promise<void> {
  const [webhook, event] = [`wh_${name}`, `evt_${name}`];
  const url = receiver.url(`/${name}`, behaviour);
  await pool.query(
    `INSERT INTO webhook (id, wallet, url, events, secret, created_block, created_time, enabled_block, enabled_time)
     VALUES ($1, $2, $3, '{job.completed}', $4, 0, 0, 0, 0)`,
    [webhook, `0x${"11".repeat(20)}`, cipher.encrypt(url, urlContext(webhook)), cipher.encrypt("whsec", webhook)],
  );
  await pool.query(
    "INSERT INTO webhook_event (id, name, occurred_at, body) VALUES ($1, 'job.completed', now(), '{}')",
    [event],
  );
  await pool.query(
    "INSERT INTO webhook_delivery (webhook_id, event_id, status, next_attempt_at) VALUES ($1, $2, 'pending', now())",
    [webhook, event],
  );
}

/** A log of some days, so that PostgreSQL plans as it does for a service in use. */
async function insertLog(): Promise<void> {
  const url = cipher.encrypt("https://example.com/", urlContext("wh_old"));
  await pool.query(
    `INSERT INTO webhook (id, wallet, url, events, secret, created_block, created_time, enabled_block, enabled_time)
     VALUES ('wh_old', '0x', $1, '{job.completed}', $1, 0, 0, 0, 0)`,
    [url],
  );
  await pool.query(
    "INSERT INTO webhook_event SELECT 'evt_' || n, 'job.completed', now(), '{}' FROM generate_series(1, 5000) n",
  );
  await pool.query(
    `INSERT INTO webhook_delivery (webhook_id, event_id, status, finished_at, attempt)
     SELECT 'wh_old', id, 'delivered', now(), 1 FROM webhook_event`,
  );
  await pool.query("INSERT INTO webhook_attempt SELECT id, 1, now(), 5, 200 FROM webhook_delivery");
  await pool.query("ANALYZE webhook_event, webhook_delivery, webhook_attempt");
}

/** Ends an attempt of the endpoint when the test says so. */
function held(): { behaviour: Behaviour; answer: () => void } {
  const gate = Promise.withResolvers<void>();
  return {
    behaviour: (response) => void gate.promise.then(() => response.writeHead(200).end()),
    answer: gate.resolve,
  };
}

test("two attempts of one delivery in the same write are both written", async () => {
  // Results are written over a connection of their own, and claims are not: each can have its time in the outage.
  let away = false;
  const outage = () => Promise.reject(Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }));
  const database = {
    query: pool.query.bind(pool),
    connect: () => (away ? outage() : pool.connect()),
  } as unknown as pg.Pool;
  const [first, second] = [held(), held()];
  await insertLog();
  await insertDue("first", first.behaviour);
  await insertDue("second", second.behaviour);
  const errors: string[] = [];
  const logger = pino({ level: "warn" }, { write: (line: string) => void errors.push(JSON.parse(line).err?.message) });
  const http = guardedClient({ allowLocal: true });
  const metrics = new Metrics().webhooks;
  const parts = { pool: database, cipher, http, metrics, logger, wake() {} };
  const settings = { concurrency: 8, perWallet: 8, timeoutMs: 10_000, delaysMs: [1, 1, 1, 1] };
  const dispatcher = new DeliveryDispatcher(parts, settings);
  /** Waits until so many attempts were answered: their results wait to be written. */
  const answered = (count: number) =>
    eventually(
      async () => (await metrics.attempts.get()).values.reduce((sum, { value }) => sum + value, 0),
      (attempts) => attempts === count,
    );
  const statuses = async () =>
    (
      await pool.query(
        "SELECT webhook_id, status FROM webhook_delivery WHERE webhook_id <> 'wh_old' ORDER BY webhook_id",
      )
    ).rows.map((r) => r.status);
  try {
    await dispatcher.claim();
    await eventually(
      async () => receiver.received.length,
      (n) => n === 2,
    );

    // PostgreSQL goes away; both endpoints answer. One result is being written, the other waits behind it.
    away = true;
    first.answer();
    await eventually(
      async () => errors.length,
      (n) => n > 0,
    );
    second.answer();
    await answered(2);
    // The outage lasts 20 s: the leases run out.
    await pool.query("UPDATE webhook_delivery SET next_attempt_at = now() WHERE webhook_id = 'wh_second'");
    // It is back, and a round of claims comes before the next try of the write.
    await dispatcher.claim();
    await answered(3);
    expect(receiver.to("/second")).toHaveLength(2);
    away = false;

    // Another webhook's delivery is none of that outage's business.
    await insertDue("third");
    await dispatcher.claim();
    const isOver = (all: string[]) => all.every((status) => status === "delivered");
    const over = await eventually(statuses, isOver).catch(statuses);
    expect([over, [...new Set(errors)]]).toEqual([["delivered", "delivered", "delivered"], ["connect ECONNREFUSED"]]);
  } finally {
    await dispatcher.stop(0);
    http.destroy();
  }
});
