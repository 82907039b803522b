/** Wallets cost nothing to make, and what each leaves stays: so those that never had credits sign in at a bounded pace. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Newcomers } from "../../../../web/server/newcomers.ts";

let newcomers: Newcomers;
beforeEach(() => {
  vi.useFakeTimers({ now: Date.UTC(2026, 0, 1), toFake: ["Date"] });
  newcomers = new Newcomers(async (wallet) => wallet.startsWith("customer"));
});
afterEach(() => void vi.useRealTimers());

/** How many of so many sign-ins in a row are let in. */
async function signIns(count: number, from: (n: number) => string, name = "fresh"): Promise<number> {
  let admitted = 0;
  for (let n = 0; n < count; n++) {
    await newcomers.admit(`${name} ${n}`, { ip: from(n) }).then(
      () => {
        admitted += 1;
      },
      (error) => expect(error).toMatchObject({ code: "rate_limited" }),
    );
  }
  return admitted;
}

it("a hundred an hour of one address", async () => {
  expect(await signIns(101, () => "192.0.2.1")).toBe(100);
  expect(await signIns(1, () => "192.0.2.2")).toBe(1);
  vi.advanceTimersByTime(3_600_000);
  expect(await signIns(1, () => "192.0.2.1")).toBe(1);
});

it("three thousand an hour of all addresses", async () => {
  expect(await signIns(3_001, (n) => `192.0.2.${n % 250}`)).toBe(3_000);
  vi.advanceTimersByTime(3_599_999);
  await expect(newcomers.admit("fresh", { ip: "198.51.100.1" })).rejects.toMatchObject({ details: { retry_after: 1 } });
  vi.advanceTimersByTime(1);
  expect(await signIns(1, () => "198.51.100.1")).toBe(1);
});

it.each(["127.0.0.1", "::1", "::ffff:127.0.0.1"])(
  "those behind a proxy of this machine, %s, up to all",
  async (proxy) => {
    expect(await signIns(3_001, () => proxy)).toBe(3_000);
  },
);

it("a hundred an hour of one IPv6 network, whose addresses its owner chooses", async () => {
  expect(await signIns(101, (n) => `2001:db8::${n.toString(16)}`)).toBe(100);
});

it("a wallet that had credits always", async () => {
  await signIns(3_000, (n) => `192.0.2.${n % 250}`);
  expect(await signIns(1, () => "192.0.2.1", "customer")).toBe(1);
});
