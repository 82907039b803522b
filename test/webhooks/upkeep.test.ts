/** What an owner does with a webhook while it runs: tests it, changes it, gives it another secret, and sees how it fares. */
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { signatureHeader } from "../../webhooks/attempt.ts";
import type { DeliveryObject } from "../../webhooks/delivery-log.ts";
import type { EventName } from "../../webhooks/events.ts";
import type { WebhookObject } from "../../webhooks/receivers.ts";
import { openWebhooks } from "../api/support/service.ts";
import { eventually } from "../support/api-client.ts";
import { Client } from "../support/client.ts";
import { untilIndexed } from "../support/indexed.ts";
import { answer, type Behaviour, type Received } from "../support/receiver.ts";
import { type Answer, WebClient } from "../web/support/web-client.ts";

const OLD = "the secret before it";
const NEW = "the secret after it";

const { stack, pool, receiver } = await openWebhooks();
const client = await Client.create(stack, pool, 100_000);
/** Its owner in the web application, and somebody else. */
const [owner, stranger] = [new WebClient(stack), new WebClient(stack)];
await owner.signIn(client.account);
// Without credits, a wallet can have one webhook only.
await client.deposit(100);
await untilIndexed(stack);
await stranger.signIn(privateKeyToAccount(generatePrivateKey()));

const hook = (path: string, behaviour?: Behaviour, events: EventName[] = ["credit.topup"]) =>
  client.webhook(receiver.url(path, behaviour), events, OLD);

/** How its deliveries of 24 hours fared, as the owner sees it. */
async function arrivals({ id }: WebhookObject): Promise<unknown> {
  const { body } = await owner.get("/webhooks");
  return body.data.find((webhook: WebhookObject) => webhook.id === id).arrivals["24h"];
}

const test = ({ id }: WebhookObject, by = owner): Promise<Answer> => by.post(`/webhooks/${id}/test`);
const change = ({ id }: WebhookObject, body: object, by = owner) => by.request("PATCH", `/webhooks/${id}`, body);
const rotate = ({ id }: WebhookObject, body: object, by = owner) => by.post(`/webhooks/${id}/secret`, body);

/** Whether a request is signed with a secret. */
function isSigned({ headers, body }: Received, secret: string): boolean {
  const given = String(headers["service-signature"]);
  return given === signatureHeader(secret, Number(/^t=(\d+)/.exec(given)?.[1]), body.toString());
}

/** A receiver that knows one secret. */
const knows =
  (secret: string): Behaviour =>
  (response, nth, received) =>
    answer(isSigned(received, secret) ? 200 : 401)(response, nth, received);

const logOf = async ({ id }: WebhookObject): Promise<DeliveryObject[]> =>
  (await owner.get(`/webhooks/${id}/deliveries`)).body.data;

/** The newest delivery of a webhook, as soon as `check` holds for it. */
async function newest(webhook: WebhookObject, check: (delivery: DeliveryObject) => boolean): Promise<DeliveryObject> {
  const [found] = await eventually(
    () => logOf(webhook),
    ([delivery]) => delivery !== undefined && check(delivery),
  );
  return found as DeliveryObject;
}

/** Lets the time to the next attempts pass, until the newest delivery arrived. */
async function arrived(webhook: WebhookObject): Promise<DeliveryObject> {
  const [found] = await eventually(
    async () => {
      await pool.query(
        `UPDATE webhook_delivery d SET next_attempt_at = now() WHERE webhook_id = $1 AND status = 'pending'
         AND attempt = (SELECT max(number) FROM webhook_attempt WHERE delivery_id = d.id)`,
        [webhook.id],
      );
      return await logOf(webhook);
    },
    ([delivery]) => delivery?.status === "delivered",
  );
  return found as DeliveryObject;
}

describe("a test", () => {
  it("is signed as events are, and its id, name and data say that it is a test", async () => {
    const webhook = await hook("/tested", undefined, ["job.failed"]);
    const { status, body } = await test(webhook);
    expect(status).toBe(202);
    const delivery = await newest(webhook, (one) => one.status === "delivered");
    expect(delivery).toMatchObject({ id: body.id, event: "webhook.test", attempts: 1, job_id: null });
    const [got] = receiver.to("/tested") as [Received];
    expect(isSigned(got, OLD)).toBe(true);
    expect(got.event).toEqual({
      id: expect.stringMatching(/^evt_test_[0-9a-f]{32}$/),
      event: "webhook.test",
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      api_version: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
      data: { webhook_id: webhook.id, message: "This is a test. Nothing happened." },
    });
    expect((await owner.get(`/deliveries/${body.id}`)).body.body).toBe(got.body.toString());
    // No webhook can ask for it, and it says nothing of how events arrive.
    const asked = await client.api.post("/v1/webhooks", { url: webhook.url, events: ["webhook.test"] });
    expect(asked.status).toBe(400);
    expect(await arrivals(webhook)).toEqual({ delivered: 0, undelivered: 0 });
  });

  it("is attempted once, and its failure fails nothing", async () => {
    const webhook = await hook("/broken", answer(500));
    await test(webhook);
    const failed = await newest(webhook, ({ status }) => status === "failed");
    expect(failed).toMatchObject({ attempts: 1, last_status: 500 });
    const { body } = await client.api.get("/v1/webhooks");
    expect(body.data.find(({ id }: WebhookObject) => id === webhook.id).status).toBe("active");
    expect((await owner.post(`/webhooks/${webhook.id}/replay`, {})).body).toEqual({ replayed: 0, has_more: false });
    const replayed = await owner.post(`/deliveries/${failed.id}/replay`);
    expect(replayed).toMatchObject({ status: 409, body: { error: { code: "conflict" } } });
  });

  it("reaches a failed webhook, so that its owner can try it before enabling", async () => {
    const webhook = await hook("/failed");
    await pool.query("UPDATE webhook SET status = 'failed' WHERE id = $1", [webhook.id]);
    await test(webhook);
    await newest(webhook, ({ status }) => status === "delivered");
    await client.deposit(100);
    await newest(webhook, ({ event, status }) => event === "credit.topup" && status === "skipped");
    expect(receiver.names("/failed")).toEqual(["webhook.test"]);
  });

  it("is in the log with the newest twenty, and no more", async () => {
    const webhook = await hook("/often");
    // As if its owner had tested it for days.
    await pool.query(
      `WITH made AS (INSERT INTO webhook_event SELECT 'evt_test_' || md5($1 || n), 'webhook.test', now(), '{"data":{}}'
         FROM generate_series(1, 50) n RETURNING id)
       INSERT INTO webhook_delivery (webhook_id, event_id, status, finished_at, is_test)
       SELECT $1, id, 'delivered', now(), true FROM made`,
      [webhook.id],
    );
    expect((await test(webhook)).status).toBe(202);
    const { rows } = await pool.query(
      `SELECT (SELECT count(*) FROM webhook_delivery WHERE webhook_id = $1) AS deliveries,
         (SELECT count(*) FROM webhook_event WHERE id IN (SELECT 'evt_test_' || md5($1 || n) FROM generate_series(1, 50) n)) AS events`,
      [webhook.id],
    );
    expect(rows).toEqual([{ deliveries: 20, events: 19 }]);
    await client.api.request("DELETE", `/v1/webhooks/${webhook.id}`);
  });

  it("goes with its webhook, whatever became of it", async () => {
    const webhook = await hook("/forgotten");
    await test(webhook);
    await newest(webhook, ({ status }) => status === "delivered");
    await test(webhook);
    const left = async () => {
      const text =
        "SELECT 1 FROM webhook_event WHERE name = 'webhook.test' AND body::jsonb->'data'->>'webhook_id' = $1";
      return (await pool.query(text, [webhook.id])).rowCount;
    };
    expect(await left()).toBe(2);
    await client.api.request("DELETE", `/v1/webhooks/${webhook.id}`);
    expect(await left()).toBe(0);
  });

  it("is refused while another one is on its way, and for another wallet", async () => {
    const webhook = await hook("/slow", () => {});
    await test(webhook);
    expect((await test(webhook)).status).toBe(409);
    expect((await test(webhook, stranger)).status).toBe(404);
  });
});

describe("a change", () => {
  it("sends what waits to the new URL, and added events from then on", async () => {
    const [witness, webhook] = [await hook("/witness"), await hook("/before", answer(500), ["job.failed"])];
    await client.deposit(100);
    await newest(witness, ({ status }) => status === "delivered");
    const changed = await change(webhook, { events: ["credit.topup"] });
    expect(changed.body).toEqual({ ...webhook, events: ["credit.topup"] });
    await client.deposit(200);
    await newest(webhook, ({ last_status }) => last_status === 500);
    expect(await arrivals(webhook)).toEqual({ delivered: 0, undelivered: 1 });
    await change(webhook, { url: receiver.url("/after") });
    await arrived(webhook);
    expect(receiver.to("/after").map(({ event }) => event.data.credits_added)).toEqual([200]);
    expect(await arrivals(webhook)).toEqual({ delivered: 1, undelivered: 0 });
  });

  it.each([
    ["an address that must not be asked", { url: "https://10.0.0.1/" }],
    ["nothing", {}],
    ["an unknown event", { events: ["webhook.test"] }],
    ["a field that cannot be changed", { status: "active" }],
  ])("is refused for %s", async (_name, body) => {
    const webhook = await hook("/kept");
    expect((await change(webhook, body)).status).toBe(400);
    await client.api.request("DELETE", `/v1/webhooks/${webhook.id}`);
  });

  it("is refused where it makes two webhooks equal", async () => {
    const [one, other] = [await hook("/one"), await hook("/other")];
    expect((await change(other, { url: one.url })).status).toBe(409);
    // As it is already, it can be said again.
    expect((await change(one, { url: one.url, events: one.events })).status).toBe(200);
    for (const { id } of [one, other]) await client.api.request("DELETE", `/v1/webhooks/${id}`);
  });

  it("is refused for another wallet", async () => {
    expect((await change(await hook("/theirs"), { events: ["job.failed"] }, stranger)).status).toBe(404);
  });
});

describe("what is sent on demand", () => {
  it("is paced by the wallet, tests and replays together", async () => {
    const [busy, other] = [await Client.create(stack, pool, 0), await Client.create(stack, pool, 0)];
    const [someone, somebodyElse] = [new WebClient(stack), new WebClient(stack)];
    await someone.signIn(busy.account);
    await somebodyElse.signIn(other.account);
    const webhook = await busy.webhook(receiver.url("/paced"), ["job.failed"]);
    const { body } = await someone.post(`/webhooks/${webhook.id}/test`);
    const replies: Answer[] = [];
    for (let n = 0; n < 25; n++) replies.push(await someone.post(`/deliveries/${body.id}/replay`));
    expect(replies.filter(({ status }) => status === 409)).toHaveLength(19);
    expect(replies.at(-1)).toMatchObject({
      status: 429,
      body: { error: { code: "rate_limited", details: { retry_after: 60 } } },
    });
    expect((await someone.post(`/webhooks/${webhook.id}/replay`, {})).status).toBe(429);
    const theirs = await other.webhook(receiver.url("/theirs-too"), ["job.failed"]);
    expect((await somebodyElse.post(`/webhooks/${theirs.id}/test`)).status).toBe(202);
  });
});

describe("a new secret", () => {
  it("loses no delivery, whether the receiver knows the old or the new one", async () => {
    const [late, early] = [await hook("/late", knows(OLD)), await hook("/early", knows(NEW))];
    for (const webhook of [late, early]) {
      expect((await rotate(webhook, { secret: NEW })).status).toBe(200);
      // A third secret would leave a receiver that knows the first one without any.
      expect((await rotate(webhook, {})).status).toBe(409);
    }
    await client.deposit(100);
    expect(await arrived(late)).toMatchObject({ attempts: 1 });
    expect(await arrived(early)).toMatchObject({ attempts: 2 });
    // Each request has one signature, in the form of the specification.
    for (const { headers } of receiver.to("/early")) {
      expect(headers["service-signature"]).toMatch(/^t=\d+,v1=[0-9a-f]{64}$/);
    }
    expect((await owner.request("DELETE", `/webhooks/${early.id}/old-secret`)).status).toBe(204);
    await client.deposit(100);
    await eventually(
      () => logOf(early),
      (all) => all.length === 2 && all.every(({ status }) => status === "delivered"),
    );
    expect(receiver.to("/early").map((one) => isSigned(one, NEW))).toEqual([false, true, true]);
  });

  it("can end the old one at once, also during a rotation", async () => {
    const webhook = await hook("/leaked", knows(NEW));
    await rotate(webhook, {});
    expect((await rotate(webhook, { secret: NEW, overlap_hours: 0 })).body.secret).toBe(NEW);
    await test(webhook);
    await newest(webhook, ({ status }) => status === "delivered");
    const { rows } = await pool.query("SELECT old_secret FROM webhook WHERE id = $1", [webhook.id]);
    expect(rows).toEqual([{ old_secret: null }]);
  });

  it("is made where none is given, shown once, and only to the owner", async () => {
    const webhook = await hook("/made");
    const { body } = await rotate(webhook, { overlap_hours: 1 });
    expect(body.secret).toMatch(/^whsec_[\w-]{43}$/);
    const listed = [await owner.get("/webhooks"), await client.api.get("/v1/webhooks")];
    expect(JSON.stringify(listed)).not.toContain(body.secret);
    expect((await rotate(webhook, {}, stranger)).status).toBe(404);
    expect((await stranger.request("DELETE", `/webhooks/${webhook.id}/old-secret`)).status).toBe(404);
  });
});
