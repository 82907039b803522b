/** What a wallet allows its gateways, set by itself on chain: daily limit and freeze switch. */
import { beforeAll, beforeEach, expect, it } from "vitest";
import { chat, eventually } from "../support/api-client.ts";
import { chainReader } from "../support/chain-reader.ts";
import { Client } from "../support/client.ts";
import { MODEL } from "../support/service-stack.ts";
import { openService } from "./support/service.ts";

const DAY_MS = 86_400_000;
const { stack, pool } = await openService();
let client: Client;

// What is spent counts by the UTC day: all of this must be on one. The stack takes time of its own to start.
const ROOM_MS = 240_000;
const untilMidnight = () => DAY_MS - (Date.now() % DAY_MS);
beforeAll(async () => {
  if (untilMidnight() < ROOM_MS) await new Promise((resolve) => setTimeout(resolve, untilMidnight() + 2_000));
}, 2 * ROOM_MS);

beforeEach(async () => {
  client = await Client.funded(stack, pool, 1_000);
});

const ask = () => client.api.post("/v1/chat/completions", chat(MODEL, "Hello"));
const setLimits = (limited: boolean, dailyLimit: number, frozen: boolean) =>
  client.escrow("setLimits", [limited, dailyLimit, frozen]);
const balance = async () => {
  const { free, escrowed } = await chainReader(stack).account(client.account.address);
  return { free, escrowed };
};
const pause = () => new Promise((resolve) => setTimeout(resolve, 1_200));

it("a frozen wallet gets 403 spending_frozen, from the contract and then at once", async () => {
  expect((await ask()).status).toBe(200);
  await setLimits(false, 0, true);
  const before = await eventually(balance, ({ escrowed }) => escrowed === 0);
  // At once (the gateway may not know yet) and later (it does): the client cannot tell.
  for (const wait of [async () => {}, pause]) {
    await wait();
    const reply = await ask();
    expect(reply.status).toBe(403);
    expect(reply.body.error).toMatchObject({ code: "spending_frozen", type: "permission_error", param: null });
    expect(reply.headers.get("x-service-job-id")).toBeNull();
  }
  expect(await balance()).toEqual(before);
  await setLimits(false, 0, false);
  expect((await ask()).status).toBe(200);
});

it("beyond the daily limit gets 402 with the amount spent, until a higher limit", async () => {
  await setLimits(true, 14, false);
  expect((await ask()).status).toBe(200);
  await eventually(balance, ({ escrowed }) => escrowed === 0);
  for (const wait of [async () => {}, pause]) {
    await wait();
    const reply = await ask();
    expect(reply.status).toBe(402);
    expect(reply.body.error).toMatchObject({
      code: "daily_limit_reached",
      type: "payment_error",
      details: { daily_limit: 14, spent_today: 8, credits_required: 8 },
    });
  }
  await setLimits(true, 16, false);
  expect((await ask()).status).toBe(200);
});

it("many requests at once lock no more than is left of the daily limit, and none reverts", async () => {
  await setLimits(true, 8, false);
  const replies = await Promise.all(Array.from({ length: 80 }, ask));
  const counts = Object.groupBy(replies, ({ body }) => body.error?.code ?? "answered");
  expect([counts["answered"]?.length, counts["daily_limit_reached"]?.length]).toEqual([1, 79]);
  const { rows } = await pool.query("SELECT failure FROM job WHERE wallet = $1", [
    client.account.address.toLowerCase(),
  ]);
  expect(rows).toEqual([{ failure: null }]);
});
