/** What a settlement costs in credits, and at which gas price a share of the charge pays for it. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { breakEven, gasCost, JOB_GAS } from "../../../operator/economics.ts";

const GWEI = 10n ** 9n;

it("uses the gas of a job that earns, as docs/gas.md has it", () => {
  const page = readFileSync(new URL("../../../docs/gas.md", import.meta.url), "utf8");
  const row = page.split("\n").find((line) => line.startsWith("| job, fused, operator earns |")) ?? "";
  const measured = row.split("|").slice(2, 6);
  expect(measured.map((cell) => BigInt(cell.trim().replaceAll(",", "")))).toEqual(Object.values(JOB_GAS));
});

it("counts a settlement in thousandths of a credit, rounded up", () => {
  // 100,000 gas at 1 gwei are 0.0001 of the currency: 0.30 stablecoins at 3,000, which are 30 credits.
  expect(gasCost(100_000n, { gasPrice: GWEI, etherPrice: 3_000n })).toBe(30_000n);
  expect(gasCost(100_000n, { gasPrice: 1n, etherPrice: 1n })).toBe(1n);
  expect(gasCost(100_000n, { gasPrice: 0n, etherPrice: 3_000n })).toBe(0n);
});

it("names the highest gas price that a share still pays", () => {
  for (const gas of Object.values(JOB_GAS)) {
    const price = breakEven(2_000n, gas, 3_000n);
    expect(gasCost(gas, { gasPrice: price, etherPrice: 3_000n })).toBeLessThanOrEqual(2_000n);
    expect(gasCost(gas, { gasPrice: price + 1n, etherPrice: 3_000n })).toBeGreaterThan(2_000n);
  }
});
