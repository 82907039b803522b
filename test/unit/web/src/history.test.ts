/** Histories in words. */
import { expect, it } from "vitest";
import type { HistoryEvent } from "../../../../web/contract.ts";
import { inWords } from "../../../../web/src/explorer/history.ts";

const DAY = 86_400;
const event = (kind: string, day: number, data: object): HistoryEvent => ({
  kind: `model.${kind}`,
  block_number: day,
  occurred_at: new Date(day * DAY * 1_000).toISOString(),
  tx: "0x1",
  data: data as Record<string, unknown>,
});
const prices = (day: number, flat: number, rate: number) =>
  event("prices_scheduled", day, {
    credits_per_request: flat,
    credits_per_1k_tokens: rate,
    effective_at: (day + 7) * DAY,
  });
const listed = event("listed", 1, {
  tier: "max",
  listing: { id: "m", tier: 3, context_window: 32_768, credits_per_request: 40, credits_per_1k_tokens: 20 },
});
/** Newest first, as the service tells them. */
const told = (...events: HistoryEvent[]) => {
  const newest = events.toReversed();
  const said = inWords(newest);
  return newest
    .map((one) =>
      said
        .get(one)
        ?.says.join("")
        .replace(/ from .*/, ""),
    )
    .toReversed();
};

it("says what a model cost, what changed and since when", () => {
  expect(
    told(listed, prices(10, 50, 25), prices(30, 50, 30), event("retirement_scheduled", 40, { retires_at: 50 * DAY })),
  ).toEqual([
    "20 credits per 1,000 output tokens; least charge 40 credits; context window of 32,768 tokens; tier max",
    "20 → 25 credits per 1,000 output tokens; least charge 40 → 50 credits; in force",
    "25 → 30 credits per 1,000 output tokens; least charge 50 credits; in force",
    "takes no jobs",
  ]);
});

it("compares with the price in force, not with a replaced announcement", () => {
  expect(told(listed, prices(10, 99, 99), prices(12, 40, 21))).toEqual([
    expect.stringContaining("tier max"),
    "20 → 99 credits per 1,000 output tokens; least charge 40 → 99 credits; replaced before it was in force",
    "20 → 21 credits per 1,000 output tokens; least charge 40 credits; in force",
  ]);
});

it("names no earlier price where the history begins later", () => {
  expect(told(prices(10, 50, 25))).toEqual(["25 credits per 1,000 output tokens; least charge 50 credits; in force"]);
});

it("says what wallets, workers and operators did, with links", () => {
  const address = `0x${"ab".repeat(20)}`;
  const one = (kind: string, data: object) => [
    ...inWords([{ ...event("", 1, { sequence: 1, ...data }), kind }]).values(),
  ];
  expect(one("account.withdrawn", { credits: 1_000, free: 50, receiver: address })).toEqual([
    { title: "withdrawn", says: ["1,000 credits paid out to ", { address }, "; 50 free afterwards"] },
  ]);
  expect(one("account.operator_chosen", { operator: 2 })[0]?.says).toEqual([{ operator: 2 }, " may lock its credits"]);
  expect(one("account.limits_set", { daily_limit: null, frozen: true })[0]?.says.join("")).toBe(
    "no limit a day; frozen: nothing is locked",
  );
  expect(one("worker.hosting_set", { hosted: false, models: [3, 5] })[0]?.says).toEqual([
    "hosts no more ",
    { model: 3 },
    ", ",
    { model: 5 },
  ]);
  expect(one("worker.stake_added", { added: "500000", stake: "2000500000" })[0]?.says).toEqual([
    "0.5 SVC more; the stake is 2,000.5 SVC",
  ]);
  expect(one("operator.reserve_leaving", { credits: 0, leaves_at: 0 })[0]?.says).toEqual([
    "the announced withdrawal is called off",
  ]);
  expect(one("operator.earnings_withdrawn", { units: "4000", receiver: address })[0]?.says).toEqual([
    "0.004 USDG that it earned paid out to ",
    { address },
  ]);
  expect(one("operator.renamed", {})).toEqual([{ title: "renamed", says: [] }]);
});
