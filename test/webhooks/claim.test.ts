/** Which deliveries a process takes, and for how long no other one does. */
import type pg from "pg";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { urlContext } from "../../api/db/upkeep.ts";
import { Metrics } from "../../api/observe/metrics.ts";
import { guardedClient } from "../../api/outbound/endpoint.ts";
import { Cipher } from "../../shared/cipher.ts";
import { DeliveryDispatcher } from "../../webhooks/deliveries.ts";
import { ownDatabase } from "../support/database.ts";
import { Receiver } from "../support/receiver.ts";

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

/** A webhook whose endpoint never answers, with one delivery that is due. */
async function insertDue(): Promise<void> {
  const url = receiver.url("/silent", () => {});
  await pool.query(
    `INSERT INTO webhook (id, wallet, url, events, secret, created_block, created_time, enabled_block, enabled_time)
     VALUES ('wh_1', $1, $2, '{job.completed}', $3, 0, 0, 0, 0)`,
    [`0x${"11".repeat(20)}`, cipher.encrypt(url, urlContext("wh_1")), cipher.encrypt("whsec", "wh_1")],
  );
  await pool.query(
    "INSERT INTO webhook_event (id, name, occurred_at, body) VALUES ('evt_1', 'job.completed', now(), '{}')",
  );
  await pool.query(
    "INSERT INTO webhook_delivery (webhook_id, event_id, status, next_attempt_at) VALUES ('wh_1', 'evt_1', 'pending', now())",
  );
}

test("a running attempt counts as lost 10 s after the limit of its answer", async () => {
  await insertDue();
  const http = guardedClient({ allowLocal: true });
  const parts = { pool, cipher, http, metrics: new Metrics().webhooks, logger: pino({ level: "silent" }), wake() {} };
  const settings = { concurrency: 4, perWallet: 4, timeoutMs: 60_000, delaysMs: [1, 1, 1, 1] };
  const dispatcher = new DeliveryDispatcher(parts, settings);
  try {
    const now = async () => (await pool.query<{ now: Date }>("SELECT now()")).rows[0]?.now as Date;
    const begun = await now();
    await dispatcher.claim();
    const claimed = await now();
    const { rows } = await pool.query(
      "SELECT attempt, next_attempt_at - interval '70 seconds' AS at FROM webhook_delivery",
    );
    expect(rows).toEqual([{ attempt: 1, at: expect.any(Date) }]);
    expect(rows[0].at >= begun && rows[0].at <= claimed).toBe(true);
  } finally {
    await dispatcher.stop(0);
    http.destroy();
  }
});
