/** A wallet's statement by the month, what it may cost the database, and what is told of the wallet's spending. */
import express from "express";
import { pino } from "pino";
import { expect, it } from "vitest";
import { errorHandler } from "../../../../api/routes/errors.ts";
import type { Spending, Statement } from "../../../../web/contract.ts";
import { spendingRoutes } from "../../../../web/server/spending.ts";
import { serve } from "../../support/serve.ts";

const at = (iso: string): number => Date.parse(iso) / 1_000;
const dayNumber = (day: string): number => at(day) / 86_400;

type Change = { kind: string; day?: number; model?: string; events?: number; credits: number | null; tokens?: number };
const opening = (credits: number): Change => ({ kind: "opening", credits });
const closing = (credits: number): Change => ({ kind: "closing", credits });

type Scene = {
  now: string;
  changes?: Change[];
  indexed?: string;
  alerts?: { day: number | null; month: number | null };
};

/** The routes at a time of the chain, over an index with these changes; `asked`: the spans of the statements that were read. */
async function open({ now, changes = [], indexed = now, alerts }: Scene) {
  const asked: [from: number, until: number][] = [];
  const rows: Record<string, () => unknown[]> = {
    index_head: () => [{ blockNumber: 1, blockTime: at(indexed), ready: true }],
    index_statement: () => changes.map((one) => ({ day: null, model: null, events: 1, tokens: null, ...one })),
    "spend-alerts": () => (alerts ? [{ spend_alert_day: alerts.day, spend_alert_month: alerts.month }] : []),
  };
  const query = async ({ name, values }: { name: string; values: number[] }) => {
    if (name === "index_statement") asked.push([Number(values[1]), Number(values[2])]);
    return { rows: rows[name]?.() ?? [] };
  };
  const session: express.RequestHandler = (request, _response, next) => {
    request.client = { wallet: request.get("wallet") ?? "0xa" } as never;
    next();
  };
  const app = express()
    .use(spendingRoutes({ pool: { query }, head: { time: at(now) } } as never, session))
    .use(errorHandler("https://docs.example.com", pino({ level: "silent" })));
  const url = await serve(app);
  const get = async <T>(path: string, wallet = "0xa") => {
    const reply = await fetch(url + path, { headers: { wallet } });
    return { status: reply.status, body: (await reply.json()) as T };
  };
  return { get, asked };
}

it.each([
  ["2026-11-28T07:00:00Z", "", "2026-11-01", "2026-12-01"],
  ["2026-11-01T00:00:00Z", "", "2026-11-01", "2026-12-01"],
  ["2026-10-31T23:59:59Z", "", "2026-10-01", "2026-11-01"],
  ["2027-01-01T00:00:00Z", "?month=2026-12", "2026-12-01", "2027-01-01"],
  ["2028-03-01T00:00:00Z", "?month=2028-02", "2028-02-01", "2028-03-01"],
])("at %s a request for '%s' is of the days from %s to before %s", async (now, query, from, until) => {
  const { get, asked } = await open({ now });
  const { status, body } = await get<Statement>(`/statement${query}`);
  expect([status, body.month]).toEqual([200, from.slice(0, 7)]);
  expect(asked).toEqual([[at(from), at(until)]]);
});

it.each(["2026-12", "2026-13", "2026-00", "2026-1", "now", "2026-11-01"])(
  "refuses the month %s in November",
  async (month) => {
    const { get, asked } = await open({ now: "2026-11-30T23:59:59Z" });
    const { status, body } = await get<{ error: object }>(`/statement?month=${month}`);
    expect([status, body.error]).toEqual([400, expect.objectContaining({ code: "invalid_request", param: "month" })]);
    expect(asked).toEqual([]);
  },
);

it("sums by day and model, and each day begins where the one before ended", async () => {
  const [first, third] = ["2026-11-01", "2026-11-03"].map(dayNumber) as [number, number];
  const settled = (day: number, model: string, events: number, credits: number): Change => ({
    kind: "job.settled",
    day,
    model,
    events,
    credits,
    tokens: events * 10,
  });
  const changes = [
    settled(third, "small", 3, 6),
    { kind: "account.deposited", day: first, credits: 500 },
    settled(first, "small", 1, 2),
    settled(first, "large", 2, 80),
    { kind: "job.compensated", day: third, credits: 30 },
    { kind: "job.operator_charged", day: third, credits: 10 },
    { kind: "job.dispute_resolved", day: third, credits: 8 },
    { kind: "account.withdrawn", day: third, credits: 100 },
    opening(1_000),
    closing(1_344),
    { kind: "first", day: dayNumber("2026-02-14"), credits: null },
  ];
  const { get } = await open({ now: "2026-11-28T07:00:00Z", changes });
  const { body } = await get<Statement>("/statement");
  expect(body).toMatchObject({ opening: 1_000, closing: 1_344, first_month: "2026-02", complete: false });
  const none = { deposits: 0, refunds: 0, charges: 0, withdrawals: 0, forfeited_bonds: 0, jobs: 0 };
  expect(body.days).toEqual([
    { ...none, day: "2026-11-01", deposits: 500, charges: 82, jobs: 3, closing: 1_418 },
    {
      day: "2026-11-03",
      ...none,
      refunds: 40,
      charges: 6,
      withdrawals: 100,
      forfeited_bonds: 8,
      jobs: 3,
      closing: 1_344,
    },
  ]);
  expect(body.sums).toEqual({ deposits: 500, refunds: 40, charges: 88, withdrawals: 100, forfeited_bonds: 8, jobs: 6 });
  expect(body.models).toEqual([
    { model: "large", jobs: 2, credits: 80, tokens: 20 },
    { model: "small", jobs: 4, credits: 8, tokens: 40 },
  ]);
});

it("shows no statement that ends at another balance than the chain's", async () => {
  const changes = [opening(10), { kind: "job.settled", day: dayNumber("2026-11-01"), model: "m", credits: 2 }];
  const now = "2026-11-28T07:00:00Z";
  expect((await (await open({ now, changes: [...changes, closing(8)] })).get("/statement")).status).toBe(200);
  expect((await (await open({ now, changes: [...changes, closing(7)] })).get("/statement")).status).toBe(500);
});

it("is complete an hour after its month's end in the index, not earlier", async () => {
  const now = "2026-12-01T02:00:00Z";
  for (const [indexed, complete] of [
    ["2026-12-01T00:59:59Z", false],
    ["2026-12-01T01:00:00Z", true],
  ] as const) {
    const { get } = await open({ now, indexed });
    expect((await get<Statement>("/statement?month=2026-11")).body.complete).toBe(complete);
  }
});

it("reads a wallet's month once, however often it asks, beside other wallets'", async () => {
  const { get, asked } = await open({ now: "2026-11-28T07:00:00Z", alerts: { day: 5, month: 200 } });
  await Promise.all(Array.from({ length: 20 }, () => get("/statement")));
  await get("/spending");
  expect(asked).toHaveLength(1);
  expect((await get<Statement>("/statement", "0xb")).body.wallet).toBe("0xb");
  expect(asked).toHaveLength(2);
});

it("says what was charged today and this month, beside the wallet's alerts", async () => {
  const charged = (day: string, credits: number): Change => ({
    kind: "job.settled",
    day: dayNumber(day),
    model: "m",
    credits,
  });
  const changes = [opening(100), charged("2026-11-27", 30), charged("2026-11-28", 5), closing(65)];
  const { get } = await open({ now: "2026-11-28T23:59:59Z", changes, alerts: { day: 5, month: 200 } });
  const expected = { day: { charged: 5, alert: 5 }, month: { charged: 35, alert: 200 } };
  expect((await get<Spending>("/spending")).body).toEqual(expected);
  const next = await open({ now: "2026-11-29T00:00:00Z", changes, alerts: { day: 5, month: 200 } });
  expect((await next.get<Spending>("/spending")).body).toEqual({
    day: { charged: 0, alert: 5 },
    month: { charged: 35, alert: 200 },
  });
});

it("says nothing of a day or a month without an alert, and then reads no month", async () => {
  const now = "2026-11-28T23:59:59Z";
  const ofMonth = await open({ now, alerts: { day: null, month: 200 } });
  expect((await ofMonth.get<Spending>("/spending")).body).toEqual({ day: null, month: { charged: 0, alert: 200 } });
  const { get, asked } = await open({ now });
  expect((await get<Spending>("/spending")).body).toEqual({ day: null, month: null });
  expect(asked).toEqual([]);
});
