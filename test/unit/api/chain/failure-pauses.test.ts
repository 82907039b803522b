import type { Address } from "viem";
import { expect, it } from "vitest";
import { FailurePauses } from "../../../../api/chain/failure-pauses.ts";

const NOW = 1_700_000_000_000;
const [ONE, TWO] = [`0x${"A1".repeat(20)}`, `0x${"A2".repeat(20)}`] as [Address, Address];

it("two failures are free, each further one doubles the pause to a minute", () => {
  const pauses = new FailurePauses();
  const lengths = Array.from({ length: 11 }, (_, n) => {
    // Each failure is a minute after the one before.
    const now = NOW + n * 60_000;
    pauses.failed(ONE, now);
    return pauses.take(ONE, now);
  });
  expect(lengths).toEqual([0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60].map((seconds) => seconds * 1_000));
  expect(pauses.take(TWO, NOW)).toBe(0);
});

it("a wallet that fails gets one job a pause, however many it asks for at once", () => {
  const pauses = new FailurePauses();
  for (let n = 0; n < 4; n++) pauses.failed(ONE, NOW);
  const later = NOW + 2_000;
  expect([pauses.left(ONE, later - 1), pauses.left(ONE, later)]).toEqual([1, 0]);
  expect([pauses.take(ONE, later - 1), pauses.take(ONE, later), pauses.take(ONE, later)]).toEqual([1, 0, 2_000]);
});

it("knows a wallet in any letters, and forgets it after five minutes", () => {
  const pauses = new FailurePauses();
  for (let n = 0; n < 3; n++) pauses.failed(ONE, NOW);
  expect(pauses.take(ONE.toLowerCase() as Address, NOW)).toBe(1_000);
  pauses.take(ONE, NOW + 300_000);
  expect(pauses.take(ONE, NOW + 300_001)).toBe(0);
});

it("starts anew with its next answer", () => {
  const pauses = new FailurePauses();
  for (let n = 0; n < 5; n++) pauses.failed(ONE, NOW);
  pauses.succeeded(ONE);
  expect([pauses.take(ONE, NOW), pauses.take(ONE, NOW)]).toEqual([0, 0]);
});

it("remembers a bounded number of wallets", () => {
  const pauses = new FailurePauses();
  const wallet = (n: number) => `0x${n.toString(16).padStart(40, "0")}` as Address;
  for (let i = 0; i <= 10_000; i++) for (let n = 0; n < 3; n++) pauses.failed(wallet(i), NOW);
  expect([pauses.take(wallet(0), NOW), pauses.take(wallet(10_000), NOW)]).toEqual([0, 1_000]);
});
