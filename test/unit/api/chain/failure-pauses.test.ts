import { expect, it } from "vitest";
import { FailurePauses } from "../../../../api/chain/failure-pauses.ts";

const NOW = 1_700_000_000_000;
const [ONE, TWO] = [`0x${"A1".repeat(20)}`, `0x${"A2".repeat(20)}`] as const;

it("two failures are free, each further one doubles the pause to five minutes", () => {
  const pauses = new FailurePauses();
  const lengths = Array.from({ length: 13 }, (_, n) => {
    // Each failure is five minutes after the one before.
    const now = NOW + n * 300_000;
    pauses.failed(ONE, now);
    return pauses.left(ONE, now);
  });
  expect(lengths).toEqual([0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map((seconds) => seconds * 1_000));
  expect(pauses.left(TWO, NOW)).toBe(0);
});

it("a pause is no longer for failures that come within it, and over to the millisecond", () => {
  const pauses = new FailurePauses();
  for (let n = 0; n < 40; n++) pauses.failed(ONE, NOW + n);
  const end = NOW + 2 + 1_000;
  expect([pauses.left(ONE, end - 1), pauses.left(ONE, end)]).toEqual([1, 0]);
  pauses.failed(ONE, end - 1);
  pauses.failed(ONE, end);
  expect(pauses.left(ONE, end)).toBe(2_000);
});

it("knows a wallet in any letters, and forgets it after half an hour", () => {
  const pauses = new FailurePauses();
  for (let n = 0; n < 3; n++) pauses.failed(ONE, NOW);
  expect(pauses.left(ONE.toLowerCase(), NOW)).toBe(1_000);
  pauses.failed(ONE, NOW + 1_800_000);
  expect(pauses.left(ONE, NOW + 1_800_000)).toBe(2_000);
  for (let n = 1; n < 3; n++) pauses.failed(ONE, NOW + n * 1_800_000 + 1_800_001);
  expect(pauses.left(ONE, NOW + 2 * 1_800_000 + 1_800_001)).toBe(0);
});

it("an answer ends the rest, and makes up for half of the failures", () => {
  const pauses = new FailurePauses();
  const failAfterRests = (times: number) => {
    let now = NOW;
    for (let n = 0; n < times; n++) {
      pauses.failed(ONE, now);
      now += pauses.left(ONE, now);
    }
    return now;
  };
  const now = failAfterRests(7);
  pauses.failed(ONE, now);
  pauses.succeeded(ONE);
  expect(pauses.left(ONE, now)).toBe(0);
  pauses.failed(ONE, now);
  // The fifth in a row: four of eight are left.
  expect(pauses.left(ONE, now)).toBe(4_000);
  for (let n = 0; n < 3; n++) pauses.succeeded(ONE);
  for (let n = 0; n < 2; n++) pauses.failed(ONE, now);
  expect(pauses.left(ONE, now)).toBe(0);
});

it("remembers a bounded number of wallets", () => {
  const pauses = new FailurePauses();
  const wallet = (n: number) => `0x${n.toString(16).padStart(40, "0")}`;
  for (let i = 0; i <= 10_000; i++) for (let n = 0; n < 3; n++) pauses.failed(wallet(i), NOW);
  expect([pauses.left(wallet(0), NOW), pauses.left(wallet(10_000), NOW)]).toEqual([0, 1_000]);
});
