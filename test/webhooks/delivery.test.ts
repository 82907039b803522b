/** How events are delivered: attempts and their times, receivers of every kind, the log and its replay. */
import type { ServerResponse } from "node:http";
import { createServer, type Server } from "node:net";
import { expect, it } from "vitest";
import { freePort } from "../../scripts/dev/ports.ts";
import {
  type DeliveryObject,
  deliveriesQuerySchema,
  eraseAnswers,
  getDelivery,
  listDeliveries,
  replayDeliveries,
  replayDelivery,
} from "../../webhooks/delivery-log.ts";
import { enableWebhook, type WebhookObject } from "../../webhooks/receivers.ts";
import { openWebhooks } from "../api/support/service.ts";
import { eventually } from "../support/api-client.ts";
import { Client } from "../support/client.ts";
import { untilIndexed } from "../support/indexed.ts";
import { answer } from "../support/receiver.ts";
import { contextOf } from "../support/webhook-service.ts";

const { stack, pool, receiver } = await openWebhooks();
const context = contextOf(stack, pool);
const client = await Client.create(stack, pool, 100_000);
const wallet = client.account.address;
await client.deposit(200);
await untilIndexed(stack);

async function logOf(webhook: WebhookObject, query = {}): Promise<DeliveryObject[]> {
  return (await listDeliveries(context, wallet, webhook.id, deliveriesQuerySchema.parse(query))).data;
}

async function detail(delivery: DeliveryObject): ReturnType<typeof getDelivery> {
  return await getDelivery(context, wallet, delivery.id);
}

async function statusOf(webhook: WebhookObject): Promise<string | undefined> {
  const { body } = await client.api.get("/v1/webhooks");
  return body.data.find(({ id }: WebhookObject) => id === webhook.id)?.status;
}

/** The only delivery of a webhook, as soon as `check` holds for it. */
async function only(webhook: WebhookObject, check: (delivery: DeliveryObject) => boolean): Promise<DeliveryObject> {
  const [found] = await eventually(
    () => logOf(webhook),
    (all) => all.length === 1 && check(all[0] as DeliveryObject),
  );
  return found as DeliveryObject;
}

/** Waits for the end of an attempt that failed, and returns how many seconds after it the next one is due. */
async function delayAfter(webhook: WebhookObject, attempts: number): Promise<number> {
  const delivery = await only(webhook, (d) => d.attempts === attempts && d.next_attempt_at !== null);
  const { attempt_log } = await detail(delivery);
  const last = attempt_log.at(-1) as (typeof attempt_log)[number];
  const end = Date.parse(last.started_at) + (last.duration_ms ?? 0);
  return (Date.parse(delivery.next_attempt_at as string) - end) / 1000;
}

/** Lets the time to the next attempt pass. */
async function passTime(webhook: WebhookObject): Promise<void> {
  const sql = "UPDATE webhook_delivery SET next_attempt_at = now() WHERE webhook_id = $1 AND status = 'pending'";
  await pool.query(sql, [webhook.id]);
}

it("a receiver that fails four times gets five attempts with the same bytes", async () => {
  const path = "/recovers";
  const webhook = await client.webhook(
    receiver.url(path, (response, nth) => void response.writeHead(nth < 5 ? 500 : 200).end(`attempt ${nth}`)),
    ["credit.topup"],
  );
  await client.deposit(100);
  for (const [index, wanted] of [30, 300, 1_800, 7_200].entries()) {
    const delay = await delayAfter(webhook, index + 1);
    // Counted from when the result was written: a little after the attempt, and long after it on a machine that is busy.
    expect(delay).toBeGreaterThan(wanted - 1);
    expect(delay).toBeLessThan(wanted + 25);
    await passTime(webhook);
  }
  const delivery = await only(webhook, ({ status }) => status === "delivered");
  const { attempt_log, body } = await detail(delivery);
  expect(attempt_log.map(({ number, status, response, error }) => [number, status, response, error])).toEqual([
    [1, 500, "attempt 1", "answered 500"],
    [2, 500, "attempt 2", "answered 500"],
    [3, 500, "attempt 3", "answered 500"],
    [4, 500, "attempt 4", "answered 500"],
    [5, 200, "attempt 5", null],
  ]);
  expect(delivery).toMatchObject({ attempts: 5, next_attempt_at: null, event: "credit.topup", last_status: 200 });
  const received = receiver.to(path);
  expect(new Set(received.map((one) => one.body.toString()))).toEqual(new Set([body]));
  expect(attempt_log.map(({ signature }) => signature)).toEqual(
    received.map(({ headers }) => headers["service-signature"]),
  );
  expect(await statusOf(webhook)).toBe("active");
});

it("a receiver that always fails gets five attempts, then nothing until enabled", async () => {
  const path = "/broken";
  const webhook = await client.webhook(receiver.url(path, answer(503, "out of order")), ["credit.topup"]);
  await client.deposit(100);
  for (let attempt = 1; attempt <= 4; attempt += 1) {
    await delayAfter(webhook, attempt);
    await passTime(webhook);
  }
  const failed = await only(webhook, ({ status }) => status === "failed");
  expect(failed).toMatchObject({
    attempts: 5,
    next_attempt_at: null,
    last_status: 503,
    last_error: "answered 503",
  });
  expect(await statusOf(webhook)).toBe("failed");
  expect(receiver.to(path)).toHaveLength(5);

  // What happens now is kept for it, and not sent.
  await client.deposit(100);
  const [skipped] = await eventually(
    () => logOf(webhook, { status: "skipped" }),
    (all) => all.length === 1,
  );
  expect(skipped).toMatchObject({ attempts: 0, next_attempt_at: null, last_status: null });
  await expect(replayDelivery(context, wallet, failed.id)).rejects.toMatchObject({ code: "conflict" });

  receiver.behave(path, answer(204));
  expect(await enableWebhook(context, wallet, webhook.id)).toMatchObject({
    id: webhook.id,
    status: "active",
  });
  await client.deposit(100);
  await eventually(
    () => logOf(webhook, { status: "delivered" }),
    (all) => all.length === 1,
  );
  expect(receiver.to(path)).toHaveLength(6);

  // Replay: one delivery, then everything that never arrived since the beginning.
  await replayDelivery(context, wallet, failed.id);
  await eventually(
    () => detail(failed),
    ({ status }) => status === "delivered",
  );
  const { replayed } = await replayDeliveries(context, wallet, webhook.id, {
    from: "2000-01-01T00:00:00Z",
    statuses: ["failed", "skipped"],
  });
  expect(replayed).toBe(1);
  await eventually(
    () => logOf(webhook),
    (all) => all.every(({ status }) => status === "delivered"),
  );
  expect((await detail(failed)).attempt_log.map(({ number, status }) => [number, status])).toEqual([
    ...[1, 2, 3, 4, 5].map((number) => [number, 503]),
    [6, 204],
  ]);
  // Eight requests, three events: a replay has the id of its event.
  const ids = receiver.to(path).map(({ event }) => event.id);
  expect([ids.length, new Set(ids).size]).toEqual([8, 3]);
});

it("an attempt that failed is told of in the log as it was", async () => {
  const refusing = await freePort();
  const resetting = await resettingServer();
  const cases: [path: string, url: string, status: number | null, error: string | null][] = [
    ["down", `http://127.0.0.1:${refusing}/`, null, "the connection was refused"],
    ["resetting", `http://127.0.0.1:${resetting.port}/`, null, "the connection was closed before an answer"],
    [
      "redirecting",
      receiver.url(
        "/redirecting",
        (response) => void response.writeHead(302, { location: receiver.url("/target") }).end(),
      ),
      302,
      "answered 302: redirects are not followed",
    ],
    ["unknown", "https://does-not-exist.example/hook", null, expect.stringContaining("could not be resolved") as never],
    [
      "long",
      receiver.url(
        "/long",
        (response) => void response.writeHead(400, { "x-long": "\u00ff".repeat(8_000) }).end("x".repeat(100_000)),
      ),
      400,
      "answered 400",
    ],
    ["nul", receiver.url("/nul", answer(400, "a\0b")), 400, "answered 400"],
    ["binary", receiver.url("/binary", answer(400, Buffer.alloc(2_000, 0xff))), 400, "answered 400"],
  ];
  const webhooks = await Promise.all(cases.map(([, url]) => client.webhook(url, ["credit.topup"])));
  await client.deposit(100);
  for (const [index, webhook] of webhooks.entries()) {
    const [name, , status, error] = cases[index] as (typeof cases)[number];
    // Its first attempt counts: 30 s later there may be another one.
    const delivery = await only(webhook, ({ last_error }) => last_error !== null);
    const { attempt_log } = await detail(delivery);
    expect([name, attempt_log[0]]).toEqual([
      name,
      {
        number: 1,
        started_at: expect.any(String),
        duration_ms: expect.any(Number),
        status,
        signature: expect.stringMatching(/^t=\d+,v1=[0-9a-f]{64}$/),
        response_headers: status === null ? null : expect.stringMatching(/^(?:Date|x-long): /m),
        response: attempt_log[0]?.response,
        error,
      },
    ]);
    if (name === "redirecting") expect(attempt_log[0]?.response_headers).toMatch(/^location: \S+\/target$/m);
    // A character that was cut is three bytes.
    if (name === "long") expect(Buffer.byteLength(String(attempt_log[0]?.response_headers))).toBeLessThanOrEqual(1_026);
    if (name === "long") expect(attempt_log[0]?.response).toBe("x".repeat(1_024));
    if (name === "nul") expect(attempt_log[0]?.response).toBe("a\ufffdb");
    if (name === "binary") expect(Buffer.byteLength(String(attempt_log[0]?.response))).toBeLessThanOrEqual(1_026);
    await client.api.request("DELETE", `/v1/webhooks/${webhook.id}`);
  }
  expect(receiver.to("/target")).toEqual([]);
  resetting.server.close();
});

it("replays keep a delivery's log at twenty attempts", async () => {
  const webhook = await client.webhook(receiver.url("/replayed", answer(200, "\u0001".repeat(2_000))), [
    "credit.topup",
  ]);
  await client.deposit(100);
  const delivery = await only(webhook, ({ status }) => status === "delivered");
  // As if it had been replayed for days.
  await pool.query(
    `INSERT INTO webhook_attempt (delivery_id, number, started_at, duration_ms, status, response)
     SELECT $1, n, now(), 1, 200, 'ok' FROM generate_series(2, 500) n`,
    [Number(delivery.id.slice("dlv_".length))],
  );
  await pool.query("UPDATE webhook_delivery SET attempt = 500 WHERE webhook_id = $1", [webhook.id]);
  await replayDelivery(context, wallet, delivery.id);
  await only(webhook, ({ attempts, status }) => attempts === 501 && status === "delivered");
  const { attempt_log } = await detail(delivery);
  expect(attempt_log.map(({ number }) => number)).toEqual(Array.from({ length: 20 }, (_, n) => 482 + n));
  await client.api.request("DELETE", `/v1/webhooks/${webhook.id}`);
});

it("keeps what receivers answered of the newest attempts, by webhook and in all", async () => {
  const webhooks = await Promise.all(
    ["/one", "/two", "/three"].map((path) => client.webhook(receiver.url(path, answer(200)), ["credit.topup"])),
  );
  await client.deposit(100);
  // The newest attempt of each is that of ten that began last.
  const deliveries: DeliveryObject[] = [];
  for (const webhook of webhooks) {
    const delivery = await only(webhook, ({ status }) => status === "delivered");
    deliveries.push(delivery);
    await pool.query(
      `INSERT INTO webhook_attempt (delivery_id, number, started_at, duration_ms, status, response, response_headers)
       SELECT $1, n, now() + n * interval '1 second', 1, 200, 'ok', 'a: b' FROM generate_series(2, 10) n`,
      [Number(delivery.id.slice("dlv_".length))],
    );
  }
  const kept = async () => {
    const logs = await Promise.all(deliveries.map(detail));
    return logs.map(({ attempt_log }) => {
      expect(attempt_log.map(({ number, status }) => [number, status])).toEqual(
        Array.from({ length: 10 }, (_, n) => [n + 1, 200]),
      );
      return attempt_log.filter(({ response, response_headers }) => response !== null && response_headers !== null);
    });
  };
  const numbers = async () => (await kept()).map((log) => log.map(({ number }) => number));
  await eraseAnswers(pool, { webhook: 6, all: 1_000_000 });
  expect(await numbers()).toEqual(Array.from({ length: 3 }, () => [5, 6, 7, 8, 9, 10]));
  const { rows } = await pool.query<{ webhooks: number }>(
    `SELECT count(DISTINCT webhook_id)::int AS webhooks FROM webhook_attempt a JOIN webhook_delivery d ON d.id = a.delivery_id
     WHERE response IS NOT NULL`,
  );
  await eraseAnswers(pool, { webhook: 6, all: 2 * (rows[0]?.webhooks ?? 0) + 1 });
  expect(await numbers()).toEqual(Array.from({ length: 3 }, () => [9, 10]));
  for (const { id } of webhooks) await client.api.request("DELETE", `/v1/webhooks/${id}`);
});

it("a range that is due already is not written again by a repeated replay", async () => {
  // Its receiver keeps the attempt open until the test has ended, so the delivery stays due or under way.
  const held: ServerResponse[] = [];
  const webhook = await client.webhook(
    receiver.url("/due", (response) => void held.push(response)),
    ["job.failed"],
  );
  await pool.query(
    `WITH made AS (INSERT INTO webhook_event VALUES ('evt_due_' || $1, 'job.failed', now(), '{"data":{}}') RETURNING id)
     INSERT INTO webhook_delivery (webhook_id, event_id, status, next_attempt_at) SELECT $1, id, 'pending', now() + interval '1 hour' FROM made`,
    [webhook.id],
  );
  const replay = () => replayDeliveries(context, wallet, webhook.id, { statuses: ["pending"] });
  expect(await replay()).toEqual({ replayed: 1, has_more: false });
  expect(await replay()).toEqual({ replayed: 0, has_more: false });
  await client.api.request("DELETE", `/v1/webhooks/${webhook.id}`);
  for (const response of held) response.end();
});

it("a slow receiver has ten seconds, and delays nobody else", async () => {
  const slow = await client.webhook(
    receiver.url(
      "/slow",
      // The first attempt of each event gets no answer at all.
      (response, nth) => void (nth > 30 && response.end("at last")),
    ),
    ["credit.topup"],
  );
  const quick = await client.webhook(receiver.url("/quick"), ["credit.topup"]);
  for (let i = 0; i < 30; i += 1) await client.deposit(100);
  await eventually(
    () => logOf(quick, { limit: 100 }),
    (all) => all.length === 30 && all.every(({ status }) => status === "delivered"),
  );
  // Some of the quick one's arrive while an answer of the slow one is waited for.
  const waits = receiver.to("/slow").map(({ at }) => at);
  const between = receiver.to("/quick").filter(({ at }) => waits.some((from) => from < at && at < from + 10_000));
  expect(between.length).toBeGreaterThan(0);
  const [delivery] = await eventually(
    () => logOf(slow, { limit: 100 }),
    (all) => all.some(({ last_error }) => last_error !== null),
  ).then((all) => all.filter(({ last_error }) => last_error !== null));
  const { attempt_log } = await detail(delivery as DeliveryObject);
  expect(attempt_log[0]).toMatchObject({
    number: 1,
    status: null,
    response: null,
    error: "no answer within 10 seconds",
  });
  await client.api.request("DELETE", `/v1/webhooks/${slow.id}`);
});

/** Resets each connection as soon as it has something. */
async function resettingServer(): Promise<{ server: Server; port: number }> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.resetAndDestroy());
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return { server, port: (server.address() as { port: number }).port };
}

it("the log comes in pages, newest first, and only to its wallet", async () => {
  const webhook = await client.webhook(receiver.url("/pages"), ["credit.topup"]);
  for (let i = 0; i < 5; i += 1) await client.deposit(100);
  const all = await eventually(
    () => logOf(webhook),
    (rows) => rows.length === 5,
  );
  const query = (more: object) => deliveriesQuerySchema.parse({ limit: 2, ...more });
  const first = await listDeliveries(context, wallet, webhook.id, query({}));
  const second = await listDeliveries(context, wallet, webhook.id, query({ before: first.data[1]?.id }));
  const third = await listDeliveries(context, wallet, webhook.id, query({ before: second.data[1]?.id }));
  expect([first, second, third].map(({ has_more }) => has_more)).toEqual([true, true, false]);
  expect([...first.data, ...second.data, ...third.data].map(({ id }) => id)).toEqual(all.map(({ id }) => id));
  const stranger = "0x00000000000000000000000000000000000000aa";
  const unknown = { code: "webhook_not_found" };
  await expect(listDeliveries(context, stranger, webhook.id, query({}))).rejects.toMatchObject(unknown);
  await expect(getDelivery(context, stranger, all[0]?.id as string)).rejects.toMatchObject(unknown);
  await expect(replayDelivery(context, stranger, all[0]?.id as string)).rejects.toMatchObject(unknown);
  await expect(enableWebhook(context, stranger, webhook.id)).rejects.toMatchObject(unknown);
  await expect(getDelivery(context, wallet, "dlv_x")).rejects.toMatchObject(unknown);
});

it("a deleted webhook gets nothing more, and its log is gone", async () => {
  const webhook = await client.webhook(receiver.url("/deleted", answer(500)), ["credit.topup"]);
  await client.deposit(100);
  await delayAfter(webhook, 1);
  expect((await client.api.request("DELETE", `/v1/webhooks/${webhook.id}`)).status).toBe(200);
  await client.deposit(100);
  await expect(logOf(webhook)).rejects.toMatchObject({ code: "webhook_not_found" });
  const { rows } = await pool.query("SELECT count(*) FROM webhook_delivery WHERE webhook_id = $1", [webhook.id]);
  expect(rows[0].count).toBe(0);
  expect(receiver.to("/deleted")).toHaveLength(1);
});
