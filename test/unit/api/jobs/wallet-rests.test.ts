/** When a wallet rests whose jobs fail one after the other. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { WalletStandings } from "../../../../api/jobs/wallet-standing.ts";

const NOW = 1_700_000_000_000;
const [ONE, TWO] = [`0x${"A1".repeat(20)}`, `0x${"A2".repeat(20)}`] as const;

let standings: WalletStandings;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  standings = new WalletStandings();
});
afterEach(() => void vi.useRealTimers());

/** A job of the wallet fails at this time. */
function fail(wallet: string, now: number): void {
  vi.setSystemTime(now);
  standings.failed(wallet, { isWorkersFault: false });
}
/** Milliseconds that are left of the wallet's rest at this time. */
function left(wallet: string, now: number): number {
  vi.setSystemTime(now);
  return standings.rest(wallet)?.ms ?? 0;
}

it("two failures are free, each further one doubles the pause to five minutes", () => {
  const lengths = Array.from({ length: 13 }, (_, n) => {
    // Each failure is five minutes after the one before.
    const now = NOW + n * 300_000;
    fail(ONE, now);
    return left(ONE, now);
  });
  expect(lengths).toEqual([0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map((seconds) => seconds * 1_000));
  expect(left(TWO, NOW)).toBe(0);
});

it("a pause is no longer for failures that come within it, and over to the millisecond", () => {
  for (let n = 0; n < 40; n++) fail(ONE, NOW + n);
  const end = NOW + 2 + 1_000;
  expect([left(ONE, end - 1), left(ONE, end)]).toEqual([1, 0]);
  fail(ONE, end - 1);
  fail(ONE, end);
  expect(left(ONE, end)).toBe(2_000);
});

it("knows a wallet in any letters, and forgets it after half an hour", () => {
  for (let n = 0; n < 3; n++) fail(ONE, NOW);
  expect(left(ONE.toLowerCase(), NOW)).toBe(1_000);
  fail(ONE, NOW + 1_800_000);
  expect(left(ONE, NOW + 1_800_000)).toBe(2_000);
  for (let n = 1; n < 3; n++) fail(ONE, NOW + n * 1_800_000 + 1_800_001);
  expect(left(ONE, NOW + 2 * 1_800_000 + 1_800_001)).toBe(0);
});

it("an answer ends the rest, and makes up for half of the failures", () => {
  const failAfterRests = (times: number) => {
    let now = NOW;
    for (let n = 0; n < times; n++) {
      fail(ONE, now);
      now += left(ONE, now);
    }
    return now;
  };
  const now = failAfterRests(7);
  fail(ONE, now);
  standings.settled(ONE);
  expect(left(ONE, now)).toBe(0);
  fail(ONE, now);
  // The fifth in a row: four of eight are left.
  expect(left(ONE, now)).toBe(4_000);
  for (let n = 0; n < 3; n++) standings.settled(ONE);
  for (let n = 0; n < 2; n++) fail(ONE, now);
  expect(left(ONE, now)).toBe(0);
});

it("remembers a bounded number of wallets", () => {
  const wallet = (n: number) => `0x${n.toString(16).padStart(40, "0")}`;
  for (let i = 0; i <= 10_000; i++) for (let n = 0; n < 3; n++) fail(wallet(i), NOW);
  expect([left(wallet(0), NOW), left(wallet(10_000), NOW)]).toEqual([0, 1_000]);
});
