/** How a process shares its attempts at once among wallets and their webhooks. */
import { describe, expect, it } from "vitest";
import { type DueWebhook, type Pace, type Places, Running, shareOut } from "../../../webhooks/places.ts";

const PLACES: Places = {
  free: 8,
  notPrompt: 4,
  unpaid: 2,
  perLane: 4,
  running: new Running(),
  served: new Map(),
  hasCredits: (wallet) => !wallet.startsWith("free"),
  hasLapsed: () => false,
};

const webhook = (id: string, wallet: string, pace: Pace, { due = 10, since = 0 } = {}): DueWebhook => ({
  id,
  wallet,
  pace,
  due,
  since,
});
const given = (due: readonly DueWebhook[], places: Partial<Places> = {}) =>
  Object.fromEntries([...shareOut(due, { ...PLACES, ...places })].map(([id, { most }]) => [id, most]));

describe("places", () => {
  it("are shared by wallet, however many webhooks one has", () => {
    const crowd = Array.from({ length: 20 }, (_, n) => webhook(`crowd${n}`, "crowd", "prompt"));
    const shares = given([...crowd, webhook("lone", "alone", "prompt", { due: 4, since: 99 })]);
    expect(shares).toEqual({ crowd0: 1, crowd1: 1, crowd2: 1, crowd3: 1, lone: 4 });
  });

  it("are by half for prompt webhooks alone, however many others wait", () => {
    const others = (["new", "slow", "silent"] as const).flatMap((pace) =>
      Array.from({ length: 9 }, (_, n) => webhook(`${pace}${n}`, `${pace}${n}`, pace)),
    );
    const shares = given([...others, webhook("prompt", "prompt", "prompt", { since: 99 })]);
    expect(shares["prompt"]).toBe(4);
    expect(Object.values(shares).reduce((sum, most) => sum + most)).toBe(8);
  });

  it("of the prompt are not for wallets without credits: these share a quarter of all", () => {
    const free = (["prompt", "new"] as const).flatMap((pace) =>
      Array.from({ length: 9 }, (_, n) => webhook(`${pace}${n}`, `free${n}`, pace)),
    );
    const most = (places: Partial<Places> = {}) =>
      Object.values(given(free, places)).reduce((sum, one) => sum + one, 0);
    expect(most()).toBe(2);
    expect(most({ unpaid: 1 })).toBe(1);
    expect(most({ unpaid: -1 })).toBe(0);
    const paying = webhook("paying", "paying", "slow");
    expect(given([...free, paying], { notPrompt: 5 })).toMatchObject({ paying: 4 });
  });

  it("of the prompt are closed to a wallet whose prompt webhook was late", () => {
    const due = ["lapsed", "steady"].map((name) => webhook(name, name, "prompt"));
    const hasLapsed = (wallet: string) => wallet === "lapsed";
    expect(given(due, { hasLapsed, notPrompt: 1 })).toEqual({ lapsed: 1, steady: 4 });
  });

  it("count by whether they are prompt and paid", () => {
    const running = new Running();
    running.change("a", { wallet: "a", kind: "prompt" }, 1);
    running.change("b", { wallet: "b", kind: "others" }, 1);
    running.change("c", { wallet: "c", kind: "unpaid" }, 1);
    expect([running.notPrompt, running.unpaid]).toEqual([2, 1]);
    running.change("c", { wallet: "c", kind: "unpaid" }, -1);
    expect([running.notPrompt, running.unpaid]).toEqual([1, 0]);
  });

  it("go to paying wallets first where neither has shown that it answers", () => {
    const free = Array.from({ length: 9 }, (_, n) => webhook(`free${n}`, `free${n}`, "new"));
    const shares = given([...free, webhook("paying", "paying", "new", { due: 1, since: 99 })]);
    expect(shares["paying"]).toBe(1);
  });

  it("come round to everybody: whoever was served longest ago is first", () => {
    const due = ["a", "b", "c"].map((name) => webhook(name, name, "silent"));
    const served = new Map([
      ["a", 3],
      ["b", 1],
      ["c", 2],
    ]);
    expect(given(due, { notPrompt: 1, served })).toEqual({ b: 1 });
  });

  it("for a webhook that did not answer are two, also beside its wallet's other ones", () => {
    const due = [webhook("silent", "same", "silent"), webhook("new", "same", "new", { since: 99 })];
    expect(given(due)).toEqual({ silent: 2, new: 2 });
  });

  it("that are taken count: a wallet with attempts running comes behind one without", () => {
    const running = new Running();
    for (const _ of [1, 2]) running.change("used", { wallet: "used", kind: "prompt" }, 1);
    const due = [webhook("used", "used", "prompt"), webhook("idle", "idle", "prompt", { since: 99 })];
    expect(given(due, { running, free: 2 })).toEqual({ idle: 2 });
    running.change("used", { wallet: "used", kind: "prompt" }, -1);
    expect(given(due, { running, free: 8 })).toEqual({ used: 3, idle: 4 });
  });

  it("of one wallet go to its webhook with the fewest running attempts", () => {
    const running = new Running();
    for (const _ of [1, 2, 3]) running.change("used", { wallet: "same", kind: "prompt" }, 1);
    const due = [webhook("used", "same", "prompt"), webhook("idle", "same", "prompt", { since: 99 })];
    expect(given(due, { running })).toEqual({ idle: 1 });
  });

  it("that are not free are given to nobody", () => {
    expect(given([webhook("a", "a", "prompt")], { free: 0 })).toEqual({});
    expect(given([webhook("a", "a", "new")], { notPrompt: -1 })).toEqual({});
  });
});
