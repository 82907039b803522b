import { expect, it } from "vitest";
import { FailurePauses } from "../../../../api/chain/failure-pauses.ts";

const NOW = 1_700_000_000_000;
const [ONE, TWO] = [`0x${"A1".repeat(20)}`, `0x${"A2".repeat(20)}`] as const;
/** Milliseconds that are left of the wallet's rest. */
const left = (pauses: FailurePauses, wallet: string, now: number) => pauses.rest(wallet, now)?.ms ?? 0;

it("two failures are free, each further one doubles the pause to five minutes", () => {
  const pauses = new FailurePauses();
  const lengths = Array.from({ length: 13 }, (_, n) => {
    // Each failure is five minutes after the one before.
    const now = NOW + n * 300_000;
    pauses.failed(ONE, null, now);
    return left(pauses, ONE, now);
  });
  expect(lengths).toEqual([0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map((seconds) => seconds * 1_000));
  expect(left(pauses, TWO, NOW)).toBe(0);
});

it("a pause is no longer for failures that come within it, and over to the millisecond", () => {
  const pauses = new FailurePauses();
  for (let n = 0; n < 40; n++) pauses.failed(ONE, null, NOW + n);
  const end = NOW + 2 + 1_000;
  expect([left(pauses, ONE, end - 1), left(pauses, ONE, end)]).toEqual([1, 0]);
  pauses.failed(ONE, null, end - 1);
  pauses.failed(ONE, null, end);
  expect(left(pauses, ONE, end)).toBe(2_000);
});

it("knows a wallet in any letters, and forgets it after half an hour", () => {
  const pauses = new FailurePauses();
  for (let n = 0; n < 3; n++) pauses.failed(ONE, null, NOW);
  expect(left(pauses, ONE.toLowerCase(), NOW)).toBe(1_000);
  pauses.failed(ONE, null, NOW + 1_800_000);
  expect(left(pauses, ONE, NOW + 1_800_000)).toBe(2_000);
  for (let n = 1; n < 3; n++) pauses.failed(ONE, null, NOW + n * 1_800_000 + 1_800_001);
  expect(left(pauses, ONE, NOW + 2 * 1_800_000 + 1_800_001)).toBe(0);
});

it("an answer ends the rest, and makes up for half of the failures", () => {
  const pauses = new FailurePauses();
  const failAfterRests = (times: number) => {
    let now = NOW;
    for (let n = 0; n < times; n++) {
      pauses.failed(ONE, null, now);
      now += left(pauses, ONE, now);
    }
    return now;
  };
  const now = failAfterRests(7);
  pauses.failed(ONE, null, now);
  pauses.succeeded(ONE);
  expect(left(pauses, ONE, now)).toBe(0);
  pauses.failed(ONE, null, now);
  // The fifth in a row: four of eight are left.
  expect(left(pauses, ONE, now)).toBe(4_000);
  for (let n = 0; n < 3; n++) pauses.succeeded(ONE);
  for (let n = 0; n < 2; n++) pauses.failed(ONE, null, now);
  expect(left(pauses, ONE, now)).toBe(0);
});

it("remembers a bounded number of wallets", () => {
  const pauses = new FailurePauses();
  const wallet = (n: number) => `0x${n.toString(16).padStart(40, "0")}`;
  for (let i = 0; i <= 10_000; i++) for (let n = 0; n < 3; n++) pauses.failed(wallet(i), null, NOW);
  expect([left(pauses, wallet(0), NOW), left(pauses, wallet(10_000), NOW)]).toEqual([0, 1_000]);
});
