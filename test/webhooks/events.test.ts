/** From what happens on chain to a signed request at an endpoint: routes, events and their data, signature. */
import type pg from "pg";
import Stripe from "stripe";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EVENT_DATA, EVENT_NAMES, type EventName, envelopeSchema } from "../../api/webhooks/event-schemas.ts";
import { setLowCreditThreshold } from "../../api/webhooks/index.ts";
import { chat, eventually } from "../support/api-client.ts";
import { Client, openStore } from "../support/client.ts";
import { Receiver } from "../support/receiver.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { contextOf } from "./support/context.ts";

let stack: TestStack;
let pool: pg.Pool;
let receiver: Receiver;
let client: Client;

beforeAll(async () => {
  stack = await startTestStack({ workers: [{ models: ["qwen3-8b"] }] });
  pool = openStore(stack);
  receiver = await Receiver.open();
  client = await Client.create(stack, pool, 2_000);
  await client.deposit(1_000);
});
afterAll(async () => {
  receiver?.close();
  await pool?.end();
  await stack?.remove();
});

const SECRET = "a secret that the client chose";
/** Waits until a path has got `count` requests. */
const got = (path: string, count: number) =>
  eventually(
    async () => receiver.to(path),
    (all) => all.length >= count,
    15_000,
  );

describe("POST /v1/webhooks", () => {
  it("answers the webhook, without the secret that was given", async () => {
    const url = "https://example.com/hook?for=me";
    const { status, body } = await client.api.post("/v1/webhooks", { url, events: ["job.completed"], secret: SECRET });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^wh_[0-9a-f]{32}$/),
      url,
      events: ["job.completed"],
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      status: "active",
    });
    const { rows } = await pool.query("SELECT secret FROM webhook WHERE id = $1", [body.id]);
    expect(rows[0].secret.includes(Buffer.from(SECRET))).toBe(false);
    expect((await client.api.request("DELETE", `/v1/webhooks/${body.id}`)).status).toBe(200);
  });

  it("makes a secret where none is given, and shows it once", async () => {
    const created = await client.webhook("https://example.com/", ["job.failed"]);
    expect(created.secret).toMatch(/^whsec_[\w-]{43}$/);
    const { body } = await client.api.get("/v1/webhooks");
    expect(body).toEqual({
      object: "list",
      data: [{ ...created, secret: undefined }],
      has_more: false,
      next_cursor: null,
    });
    expect(JSON.stringify(body)).not.toContain("secret");
    const removed = await client.api.request("DELETE", `/v1/webhooks/${created.id}`);
    expect(await removed.json()).toEqual({ id: created.id, deleted: true });
    expect((await client.api.get("/v1/webhooks")).body.data).toEqual([]);
  });

  it.each([
    ["no URL", { events: ["job.completed"] }, "url"],
    ["no events", { url: "https://example.com/" }, "events"],
    ["an empty list of events", { url: "https://example.com/", events: [] }, "events"],
    ["an unknown event", { url: "https://example.com/", events: ["job.done"] }, "events[0]"],
    ["a short secret", { url: "https://example.com/", events: ["job.failed"], secret: "short" }, "secret"],
    ["an unknown field", { url: "https://example.com/", events: ["job.failed"], event: "job.failed" }, null],
    ["another scheme", { url: "ftp://example.com/", events: ["job.failed"] }, "url"],
    ["a private address", { url: "https://10.0.0.1/", events: ["job.failed"] }, "url"],
    ["the metadata service as a number", { url: "https://2852039166/", events: ["job.failed"] }, "url"],
    ["a name and password", { url: "https://me:pass@example.com/", events: ["job.failed"] }, "url"],
  ])("refuses %s", async (_name, body, param) => {
    const reply = await client.api.post("/v1/webhooks", body);
    expect(reply.status).toBe(400);
    expect(reply.body.error).toMatchObject({ code: "invalid_request", param });
  });

  it("refuses more than 20 of a wallet, also at once", async () => {
    const replies = await Promise.all(
      Array.from({ length: 23 }, () =>
        client.api.post("/v1/webhooks", { url: "https://example.com/", events: ["worker.slashed"] }),
      ),
    );
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(20);
    expect(replies.find(({ status }) => status !== 201)?.body.error).toMatchObject({
      code: "conflict",
      type: "conflict_error",
    });
    for (const { body } of replies) if (body.id) await client.api.request("DELETE", `/v1/webhooks/${body.id}`);
  });

  it("knows another wallet's webhooks as little as unknown ones", async () => {
    const { id } = await client.webhook("https://example.com/", ["job.failed"]);
    const other = await Client.create(stack, pool, 0);
    for (const unknown of [id, "wh_0", "%20"]) {
      const reply = await other.api.request("DELETE", `/v1/webhooks/${unknown}`);
      expect(reply.status).toBe(404);
      expect(await reply.json()).toMatchObject({ error: { code: "webhook_not_found", type: "not_found_error" } });
    }
    expect((await other.api.get("/v1/webhooks")).body.data).toEqual([]);
    await client.api.request("DELETE", `/v1/webhooks/${id}`);
  });
});

describe("a job", () => {
  it("tells of its lock, its worker and its settlement, with what the API says of it", async () => {
    await client.webhook(receiver.url("/jobs"), ["job.submitted", "job.processing", "job.completed"], SECRET);
    const reply = await client.api.post("/v1/chat/completions", chat("qwen3-8b", "Hello"));
    expect(reply.status).toBe(200);
    const received = await got("/jobs", 3);
    const jobId = reply.headers.get("x-service-job-id");
    const { body: job } = await eventually(
      () => client.api.get(`/v1/jobs/${jobId}`),
      ({ body }) => body.status === "settled" && body.on_chain.block_number !== null,
    );
    const data = (name: EventName) => received.find(({ event }) => event.event === name)?.event.data;
    expect(data("job.submitted")).toMatchObject({
      job_id: jobId,
      model: "qwen3-8b",
      tier: "standard",
      credits_locked: 8,
      usdg_value: 0.08,
      escrow_tx: job.on_chain.escrow_tx,
      credits_remaining: 992,
    });
    expect(data("job.processing")).toMatchObject({ job_id: jobId, worker_address: job.worker_address, attempt: 1 });
    // All fields of the specification, and no other.
    expect(data("job.completed")).toEqual({
      job_id: jobId,
      model: "qwen3-8b",
      tier: "standard",
      credits_charged: 8,
      usdg_value: 0.08,
      worker_address: job.worker_address,
      settlement_tx: job.on_chain.settlement_tx,
      block_number: job.on_chain.block_number,
      prompt_tokens: job.usage.prompt_tokens,
      completion_tokens: job.usage.completion_tokens,
      credits_remaining: 992,
    });
    for (const { event } of received) {
      expect(envelopeSchema(event.event).parse(event)).toEqual(event);
      expect(Object.keys(event)).toEqual(["id", "event", "created_at", "api_version", "data"]);
      expect(Object.keys(event.data).toSorted()).toEqual(Object.keys(EVENT_DATA[event.event].shape).toSorted());
    }
  });

  it("is signed so that Stripe's own library accepts the exact bytes and nothing else", async () => {
    const [{ headers, body }] = (await got("/jobs", 1)) as [(typeof receiver.received)[number]];
    const signature = String(headers["service-signature"]);
    expect(signature).toMatch(/^t=\d{10},v1=[0-9a-f]{64}$/);
    expect(headers["content-type"]).toBe("application/json");
    const { webhooks } = new Stripe("sk_test_unused");
    expect(webhooks.constructEvent(body, signature, SECRET)).toMatchObject({ event: "job.submitted" });
    const changed = Buffer.from(body);
    changed[changed.length - 3] = (changed[changed.length - 3] as number) ^ 1;
    expect(() => webhooks.constructEvent(changed, signature, SECRET)).toThrow(/signature/i);
    expect(() => webhooks.constructEvent(body, signature, `${SECRET}!`)).toThrow(/signature/i);
    const later = signature.replace(/t=(\d+)/, (_, t) => `t=${Number(t) + 1}`);
    expect(() => webhooks.constructEvent(body, later, SECRET)).toThrow(/signature/i);
  });

  it("that nobody can answer tells of its failure", async () => {
    await client.webhook(receiver.url("/failed"), ["job.failed", "job.timeout"]);
    await stack.kill("worker-1");
    const reply = await client.api.post("/v1/chat/completions", chat("qwen3-8b", "Hello"));
    await stack.restart("worker-1");
    expect(reply.status).toBe(503);
    const [{ event }] = (await got("/failed", 1)) as [(typeof receiver.received)[number]];
    expect(event).toMatchObject({
      event: "job.failed",
      data: {
        job_id: reply.headers.get("x-service-job-id"),
        reason: "routing_failed",
        credits_refunded: 8,
        worker_address: null,
      },
    });
  });
});

describe("credits", () => {
  it("that are added are told of", async () => {
    await client.webhook(receiver.url("/topup"), ["credit.topup"]);
    const transaction = await client.deposit(100);
    const [{ event }] = (await got("/topup", 1)) as [(typeof receiver.received)[number]];
    expect(event.data).toEqual({
      credits_added: 100,
      usdg_value: 1,
      source: "deposit",
      related_job_id: null,
      topup_tx: transaction,
      block_number: expect.any(Number),
      credits_remaining: 1_092,
    });
  });

  it("that fall below the threshold are told of once, at the crossing", async () => {
    const low = await Client.create(stack, pool, 1_000);
    await low.deposit(300);
    await low.webhook(receiver.url("/low"), ["credit.low"]);
    await low.withdraw(200); // 100 left: not below
    await low.withdraw(1); // 99: below
    await low.withdraw(1); // still below
    await low.deposit(100);
    await low.withdraw(100); // below again
    const events = (await got("/low", 2)).map(({ event }) => event.data);
    expect(events).toEqual([
      { credits_remaining: 99, usdg_value: 0.99, threshold: 100 },
      { credits_remaining: 98, usdg_value: 0.98, threshold: 100 },
    ]);

    // The wallet's own threshold holds for what comes after it.
    await setLowCreditThreshold(contextOf(stack, pool), low.account.address, 50);
    await low.deposit(100);
    await low.withdraw(140); // 58: between the old threshold and the new one
    await low.withdraw(10); // 48
    await low.deposit(100); // told of by nobody, but when it is there, everything before is
    expect((await got("/low", 3)).slice(2).map(({ event }) => event.data)).toEqual([
      { credits_remaining: 48, usdg_value: 0.48, threshold: 50 },
    ]);
  });

  it("in escrow count: a lock is no loss", async () => {
    const low = await Client.create(stack, pool, 200);
    await low.deposit(102);
    await low.webhook(receiver.url("/escrow"), ["credit.low", "job.submitted", "job.completed"]);
    // The worker may rest from the failures of the tests before: a refusal locks nothing and is asked again.
    const ask = () => low.api.post("/v1/chat/completions", chat("qwen3-8b", "Hello"));
    await eventually(ask, ({ status }) => status === 200, 60_000);
    const received = await got("/escrow", 3);
    expect(received.map(({ event }) => event.event).toSorted()).toEqual([
      "credit.low",
      "job.completed",
      "job.submitted",
    ]);
    const submitted = received.find(({ event }) => event.event === "job.submitted");
    const fell = received.find(({ event }) => event.event === "credit.low");
    expect(submitted?.event.data.credits_remaining).toBe(94);
    // The settlement, not the lock before it, crossed the threshold: it is one row of the index and two events.
    expect((fell?.event.created_at as string) >= (submitted?.event.created_at as string)).toBe(true);
    expect(new Set(received.map(({ event }) => event.id)).size).toBe(3);
  });
});

describe("a webhook", () => {
  it("gets only what it names, only of its wallet, and nothing from before its creation", async () => {
    const other = await Client.create(stack, pool, 1_000);
    await other.deposit(200);
    await other.webhook(receiver.url("/other"), ["credit.topup"]);
    await client.withdraw(10);
    await client.deposit(100);
    await other.deposit(100);
    await other.withdraw(10);
    const received = await got("/other", 1);
    expect(received.map(({ event }) => event.data.credits_remaining)).toEqual([300]);
  });

  it("that names events of the network gets them, whoever's worker it is", async () => {
    expect(EVENT_NAMES).toHaveLength(10);
    const { rows } = await pool.query(
      "SELECT count(*) FROM webhook_delivery d JOIN webhook_event e ON e.id = d.event_id WHERE e.name LIKE 'worker.%'",
    );
    expect(rows[0].count).toBe(0);
  });
});

describe("/metrics", () => {
  it("counts attempts and shows backlog and lag", async () => {
    const text = await (await fetch(`${stack.info.base_url}/metrics`)).text();
    const value = (name: string) =>
      Number(new RegExp(`^${name.replace(/[{}"]/g, "\\$&")} (\\S+)$`, "m").exec(text)?.[1]);
    expect(value('gateway_webhook_attempts_total{result="delivered"}')).toBe(receiver.received.length);
    expect(value('gateway_webhook_backlog{state="due"}')).toBe(0);
    expect(value("gateway_webhook_lag_blocks")).toBe(0);
  });
});
