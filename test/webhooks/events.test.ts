/** What a wallet's webhooks are told of its jobs and its credits, and who is told. */
import Stripe from "stripe";
import { beforeAll, describe, expect, it } from "vitest";
import { EVENTS, type EventName, envelopeSchema } from "../../webhooks/events.ts";
import { setLowCreditThreshold } from "../../webhooks/receivers.ts";
import { openWebhooks } from "../api/support/service.ts";
import { chat, eventually } from "../support/api-client.ts";
import { Client } from "../support/client.ts";
import type { Received } from "../support/receiver.ts";
import { MODEL } from "../support/service-stack.ts";
import { contextOf } from "../support/webhook-service.ts";

/** The secret of a client that chose its own. */
const SECRET = "a secret that the client chose";

const { stack, pool, receiver } = await openWebhooks();

/** Waits until a path has got `count` requests. */
const got = (path: string, count: number): Promise<Received[]> =>
  eventually(
    async () => receiver.to(path),
    (all) => all.length >= count,
  );

describe("a job", () => {
  let client: Client;
  beforeAll(async () => {
    client = await Client.funded(stack, pool, 1_000);
  });

  it("tells of its lock, its worker and its settlement, with what the API says of it", async () => {
    await client.webhook(receiver.url("/jobs"), ["job.submitted", "job.processing", "job.completed"], SECRET);
    const reply = await client.api.post("/v1/chat/completions", chat(MODEL, "Hello"));
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
      model: MODEL,
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
      model: MODEL,
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
    // Whether the worker's acknowledgement was relayed or its settlement came first: it is told before the settlement.
    const { rows } = await pool.query(
      `SELECT e.name FROM webhook_delivery d JOIN webhook_event e ON e.id = d.event_id WHERE e.id = ANY ($1) ORDER BY d.id`,
      [received.map(({ event }) => event.id)],
    );
    expect(rows.map(({ name }) => name)).toEqual(["job.submitted", "job.processing", "job.completed"]);
    for (const { event } of received) {
      expect(envelopeSchema(event.event).parse(event)).toEqual(event);
      expect(Object.keys(event)).toEqual(["id", "event", "created_at", "api_version", "data"]);
      expect(Object.keys(event.data).toSorted()).toEqual(Object.keys(EVENTS[event.event].data.shape).toSorted());
    }
  });

  it("is signed so that Stripe's own library accepts the exact bytes and nothing else", async () => {
    const { headers, body } = receiver.to("/jobs").find(({ event }) => event.event === "job.submitted") as Received;
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
});

describe("credits", () => {
  it("that are added are told of", async () => {
    const client = await Client.create(stack, pool, 100);
    await client.webhook(receiver.url("/topup"), ["credit.topup"]);
    const transaction = await client.deposit(100);
    const [{ event }] = (await got("/topup", 1)) as [Received];
    expect(event.data).toEqual({
      credits_added: 100,
      credits_due: null,
      credits_outstanding: null,
      usdg_value: 1,
      source: "deposit",
      related_job_id: null,
      topup_tx: transaction,
      block_number: expect.any(Number),
      credits_remaining: 100,
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
    // Two that are derived together are sent at once, and may overtake each other.
    expect(events.toSorted((a, b) => b.credits_remaining - a.credits_remaining)).toEqual([
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
    expect((await low.api.post("/v1/chat/completions", chat(MODEL, "Hello"))).status).toBe(200);
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

it("a webhook gets only what it names, of its wallet, after its creation", async () => {
  const client = await Client.create(stack, pool, 300);
  const other = await Client.create(stack, pool, 1_000);
  await client.deposit(200);
  await other.deposit(200);
  await other.webhook(receiver.url("/other"), ["credit.topup"]);
  await client.withdraw(10);
  await client.deposit(100);
  await other.deposit(100);
  await other.withdraw(10);
  const received = await got("/other", 1);
  expect(received.map(({ event }) => event.data.credits_remaining)).toEqual([300]);
});

it("/metrics counts attempts and shows backlog and lag", async () => {
  const client = await Client.create(stack, pool, 300);
  await client.webhook(receiver.url("/counted"), ["credit.topup"]);
  const shown = async () => {
    const text = await (await fetch(`${stack.info.base_url}/metrics`)).text();
    const value = (name: string) =>
      Number(new RegExp(`^${name.replace(/[{}"]/g, "\\$&")} (\\S+)$`, "m").exec(text)?.[1]);
    return {
      delivered: value('gateway_webhook_attempts_total{result="delivered"}'),
      due: value('gateway_webhook_backlog{state="due"}'),
      lag: value("gateway_webhook_lag_blocks"),
    };
  };
  const { delivered: before } = await shown();
  for (let i = 0; i < 3; i += 1) await client.deposit(100);
  // Deliveries of the wallets above may count as well: these three are waited for by themselves.
  await got("/counted", 3);
  await eventually(shown, ({ delivered, due, lag }) => delivered >= before + 3 && due === 0 && lag === 0);
});
