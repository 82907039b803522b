import type { Address } from "viem";
import { expect, it } from "vitest";
import { WalletTurns } from "../../api/jobs/wallet-turns.ts";

const NOW = 1_700_000_000_000;
const [ONE, TWO] = [`0x${"A1".repeat(20)}`, `0x${"A2".repeat(20)}`] as [Address, Address];

it("two failures cost a wallet nothing, each further one doubles its pause up to a minute", () => {
  const turns = new WalletTurns();
  const pauses = Array.from({ length: 11 }, (_, n) => {
    // Each failure is a minute after the one before.
    const now = NOW + n * 60_000;
    turns.failed(ONE, now);
    return turns.take(ONE, now);
  });
  expect(pauses).toEqual([0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60].map((seconds) => seconds * 1_000));
  expect(turns.take(TWO, NOW)).toBe(0);
});

it("a wallet that fails gets one job a pause, however many it asks for at once", () => {
  const turns = new WalletTurns();
  for (let n = 0; n < 4; n++) turns.failed(ONE, NOW);
  const later = NOW + 2_000;
  expect([turns.take(ONE, later - 1), turns.take(ONE, later), turns.take(ONE, later)]).toEqual([1, 0, 2_000]);
});

it("is the same wallet in any letters, and starts anew five minutes after its last failure", () => {
  const turns = new WalletTurns();
  for (let n = 0; n < 3; n++) turns.failed(ONE, NOW);
  expect(turns.take(ONE.toLowerCase() as Address, NOW)).toBe(1_000);
  turns.take(ONE, NOW + 300_000);
  expect(turns.take(ONE, NOW + 300_001)).toBe(0);
});

it("starts anew with its next answer", () => {
  const turns = new WalletTurns();
  for (let n = 0; n < 5; n++) turns.failed(ONE, NOW);
  turns.succeeded(ONE);
  expect([turns.take(ONE, NOW), turns.take(ONE, NOW)]).toEqual([0, 0]);
});

it("remembers a bounded number of wallets", () => {
  const turns = new WalletTurns();
  const wallet = (n: number) => `0x${n.toString(16).padStart(40, "0")}` as Address;
  for (let i = 0; i <= 10_000; i++) for (let n = 0; n < 3; n++) turns.failed(wallet(i), NOW);
  expect([turns.take(wallet(0), NOW), turns.take(wallet(10_000), NOW)]).toEqual([0, 1_000]);
});
