/**
 * Two gateways are killed again and again while events flow. WEBHOOK_CRASH_EVENTS sets how many events (500),
 * WEBHOOK_CRASH_KILLS how many kills (6).
 */
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { Hex } from "viem";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { eventually } from "../support/api-client.ts";
import { Client, openStore } from "../support/client.ts";
import { Receiver } from "../support/receiver.ts";
import { MASTER_KEY, SECOND_KEY, SecondGateway } from "../support/second-gateway.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";

vi.setConfig({ testTimeout: 300_000 });
const EVENTS = Number(process.env["WEBHOOK_CRASH_EVENTS"] ?? 500);
const KILLS = Number(process.env["WEBHOOK_CRASH_KILLS"] ?? 6);
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
  await second.start();
});
afterAll(async () => {
  receiver?.close();
  await second?.kill();
  await pool?.end();
  await stack?.remove();
});

const first = {
  kill: () => stack.kill("api"),
  start: () => stack.restart("api"),
};

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

it("loses no event and delivers each under one id", async () => {
  const client = await Client.create(stack, pool, EVENTS * 100 + 1_000);
  await client.deposit(100);
  for (const path of PATHS) await client.webhook(receiver.url(path), ["credit.topup"]);

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
  const rows = await eventually(
    async () => (await pool.query("SELECT status, count(*) FROM webhook_delivery GROUP BY status")).rows,
    (all) => all.every(({ status }) => status === "delivered"),
    60_000,
  );
  expect(rows).toEqual([{ status: "delivered", count: EVENTS * PATHS.length }]);
  const lost = await pool.query("SELECT count(*) FROM webhook_attempt WHERE error LIKE 'the gateway stopped%'");
  expect(lost.rows[0].count).toBeGreaterThan(0);
});
