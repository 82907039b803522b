/** What an outage of the database that outlasts a delivery's lease does to the results that wait to be written. */
import type pg from "pg";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { DeliveryDispatcher } from "../../webhooks/deliveries.ts";
import { eventually } from "../support/api-client.ts";
import { DueDeliveries } from "../support/due-deliveries.ts";
import type { Behaviour } from "../support/receiver.ts";

let due: DueDeliveries;
beforeAll(async () => {
  due = await DueDeliveries.open();
});
afterAll(() => due?.close());

/** A log of some days, so that PostgreSQL plans as it does for a service in use. */
async function insertLog(): Promise<void> {
  await due.insert("old", { deliveries: 5_000 });
  await due.pool.query(
    "UPDATE webhook_delivery SET status = 'delivered', next_attempt_at = NULL, finished_at = now(), attempt = 1",
  );
  await due.pool.query("INSERT INTO webhook_attempt SELECT id, 1, now(), 5, 200 FROM webhook_delivery");
  await due.pool.query("ANALYZE webhook_event, webhook_delivery, webhook_attempt");
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
  const { pool, receiver, metrics } = due;
  // Results are written over a connection of their own, and claims are not: each can have its time in the outage.
  let away = false;
  const outage = () => Promise.reject(Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }));
  const database = {
    query: pool.query.bind(pool),
    connect: () => (away ? outage() : pool.connect()),
  } as unknown as pg.Pool;
  const [first, second] = [held(), held()];
  await insertLog();
  await due.insert("first", first);
  await due.insert("second", second);
  const errors: string[] = [];
  const logger = pino({ level: "warn" }, { write: (line: string) => void errors.push(JSON.parse(line).err?.message) });
  const settings = { concurrency: 8, perWallet: 8, timeoutMs: 10_000, delaysMs: [1, 1, 1, 1] };
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
  const failingWrites = async (dispatcher: DeliveryDispatcher) => {
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

    // A delivery of another webhook is sent and written as usual.
    await due.insert("third");
    await dispatcher.claim();
    const isOver = (all: string[]) => all.every((status) => status === "delivered");
    const over = await eventually(statuses, isOver).catch(statuses);
    expect([over, [...new Set(errors)]]).toEqual([["delivered", "delivered", "delivered"], ["connect ECONNREFUSED"]]);
  };
  await due.dispatching(settings, failingWrites, { pool: database, logger });
});
