/**
 * Gateways that end while they deliver: one is told to stop, then two are killed again and again while events flow.
 * WEBHOOK_CRASH_EVENTS sets how many events (60), WEBHOOK_CRASH_KILLS how many kills (3: one of each kind).
 */
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { Hex } from "viem";
import { afterAll, beforeAll, expect, it } from "vitest";
import { eventually } from "../../support/api-client.ts";
import { Client, openStore } from "../../support/client.ts";
import { answer, Receiver } from "../../support/receiver.ts";
import { MASTER_KEY, SECOND_KEY, SecondGateway } from "../../support/second-gateway.ts";
import { startTestStack, type TestStack } from "../../support/stack.ts";

const EVENTS = Number(process.env["WEBHOOK_CRASH_EVENTS"] ?? 60);
const KILLS = Number(process.env["WEBHOOK_CRASH_KILLS"] ?? 3);
const PATHS = ["/one", "/two", "/three", "/four", "/five"];

let stack: TestStack;
let pool: pg.Pool;
let receiver: Receiver;
let second: SecondGateway;

beforeAll(async () => {
  stack = await startTestStack({
    workers: [],
    gatewayKeys: [SECOND_KEY],
    env: { api: { MASTER_KEY, LOG_LEVEL: "warn" } },
  });
  pool = openStore(stack);
  receiver = await Receiver.open();
  second = new SecondGateway(stack);
});
afterAll(async () => {
  receiver?.close();
  await second?.kill();
  await pool?.end();
  await stack?.remove();
});

const first = {
  kill: () => stack.kill("api"),
  stop: () => stack.kill("api", "SIGTERM"),
  start: () => stack.restart("api"),
  /** Whether it takes requests: not any more once it knows that it stops. */
  isReady: () =>
    fetch(`${stack.info.base_url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    ),
};

/** How many deliveries of these webhooks there are in each state. */
async function deliveries(ids: string[]): Promise<Record<string, number>> {
  const text = "SELECT status, count(*) FROM webhook_delivery WHERE webhook_id = ANY ($1) GROUP BY status";
  const { rows } = await pool.query<{ status: string; count: number }>(text, [ids]);
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}

it("a gateway that is stopped waits for the answers it has asked for, and leaves what is due to the next one", async () => {
  const client = await Client.create(stack, pool, 1_000);
  const asked = new Promise<ServerResponse>((resolve) => receiver.behave("/stopped", resolve));
  const { id } = await client.webhook(receiver.url("/stopped"), ["credit.topup"]);
  await client.deposit(100);
  const response = await asked;
  const stopped = first.stop();
  // The answer comes to a gateway that has been told to stop.
  await eventually(first.isReady, (ready) => !ready);
  response.end("in the end");
  await stopped;
  receiver.behave("/stopped", answer(200));
  expect(await deliveries([id])).toEqual({ delivered: 1 });
  await client.deposit(100);
  await first.start();
  await eventually(
    () => deliveries([id]),
    ({ delivered }) => delivered === 2,
  );
  expect(receiver.to("/stopped")).toHaveLength(2);
});

/** Runs `action` when the next request is there: `during` keeps its answer back, `after` sends it first. */
function atNextRequest(when: "during" | "after", action: () => Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    let armed = true;
    for (const path of PATHS) {
      receiver.behave(path, (response) => {
        if (!armed) return void response.end();
        armed = false;
        if (when === "after") response.end();
        // An answer that is kept back is never given: the process that waits for it is gone.
        action().then(resolve, reject);
      });
    }
  });
}

it("gateways that are killed lose no event and deliver each under one id", async () => {
  const client = await Client.create(stack, pool, EVENTS * 100 + 1_000);
  await client.deposit(100);
  const webhooks = await Promise.all(PATHS.map((path) => client.webhook(receiver.url(path), ["credit.topup"])));
  await second.start();

  const sent: Hex[] = [];
  const gateways = [first, second];
  for (let kill = 0; kill < KILLS; kill += 1) {
    const victim = gateways[kill % 2] as (typeof gateways)[number];
    const dead =
      kill % 3 === 2
        ? sleep(Math.random() * 300).then(() => victim.kill())
        : atNextRequest(kill % 3 === 0 ? "during" : "after", () => victim.kill());
    const share = Math.floor((EVENTS - sent.length) / (KILLS - kill));
    const [hashes] = await Promise.all([client.depositOften(share, 100), dead]);
    sent.push(...hashes);
    await victim.start();
  }

  const missing = () =>
    PATHS.map((path) => {
      const told = new Set(receiver.to(path).map(({ event }) => event.data.topup_tx));
      return sent.filter((hash) => !told.has(hash)).length;
    });
  // What a killed gateway held is free again when its lease of 20 s is over.
  expect(sent).toHaveLength(EVENTS);
  await eventually(
    async () => missing(),
    (counts) => counts.every((count) => count === 0),
    150_000,
  );

  for (const path of PATHS) {
    const told = receiver.to(path).map(({ event }) => `${event.data.topup_tx} ${event.id}`);
    // Nothing but these events, and dropping repeated ids leaves each exactly once.
    expect(new Set(told).size).toBe(EVENTS);
    expect(new Set(receiver.to(path).map(({ event }) => event.id)).size).toBe(EVENTS);
  }
  const left = await eventually(
    () => deliveries(webhooks.map(({ id }) => id)),
    (counts) => Object.keys(counts).every((status) => status === "delivered"),
  );
  expect(left).toEqual({ delivered: EVENTS * PATHS.length });
  const lost = await pool.query("SELECT count(*) FROM webhook_attempt WHERE error LIKE 'the gateway stopped%'");
  expect(lost.rows[0].count).toBeGreaterThan(0);
});
