import { describe, expect, it } from "vitest";
import { toUnits, usdgText, usdgValue } from "../../protocol/money.ts";
import { charge, DEFAULT_MAX_TOKENS, payouts, quote } from "../../protocol/pricing.ts";
import { TIERS, tierName } from "../../protocol/tiers.ts";

const PRICES = {
  max: { creditsPerRequest: 40, creditsPer1kTokens: 20 },
  pro: { creditsPerRequest: 18, creditsPer1kTokens: 9 },
  standard: { creditsPerRequest: 8, creditsPer1kTokens: 4 },
  lite: { creditsPerRequest: 2, creditsPer1kTokens: 1 },
} as const;

describe("price", () => {
  // Worked out by hand: flat up to 500, above it ceil(tokens × price / 1000) but never below the flat price.
  it.each([
    ["max", 0, 40],
    ["max", 500, 40],
    ["max", 501, 40],
    ["max", 700, 40],
    ["max", 2_000, 40],
    ["max", 2_001, 41],
    ["max", 3_000, 60],
    ["max", 4_000, 80],
    ["pro", 500, 18],
    ["pro", 2_000, 18],
    ["pro", 2_112, 20],
    ["standard", 2_001, 9],
    ["standard", 128_000, 512],
    ["lite", 1, 2],
    ["lite", 2_001, 3],
  ] as const)("of %s, %i tokens is %i credits", (tier, tokens, credits) => {
    expect(quote(tokens, PRICES[tier])).toBe(credits);
  });

  it("can be above the flat price at 501 tokens when the catalog says so", () => {
    expect(quote(501, { creditsPerRequest: 1, creditsPer1kTokens: 1_000 })).toBe(501);
  });

  it("never exceeds what was locked", () => {
    expect(charge(4_000, PRICES.max, 60)).toBe(60);
    expect(charge(10, PRICES.max, 80)).toBe(40);
  });

  it("of a request that names no max_tokens is the flat price on every tier", () => {
    for (const prices of Object.values(PRICES))
      expect(quote(DEFAULT_MAX_TOKENS, prices)).toBe(prices.creditsPerRequest);
  });
});

describe("payouts", () => {
  it.each([
    [40, 1_000, 0, 360_000n, 40_000n, 0n],
    [40, 1_000, 10, 360_000n, 40_000n, 20_000n],
    [1, 0, 10, 10_000n, 0n, 0n],
    // A part is rounded down: 999 × 3 / 20 is 149.85.
    [3, 333, 3, 29_001n, 999n, 149n],
    [0xffff_ffff, 2_000, 10, 34_359_738_360_000n, 8_589_934_590_000n, 4_294_967_295_000n],
  ])("of %i credits at %i hundredths of a percent, %i twentieths of them the operator's, are exact", (...row) => {
    const [credits, feeBps, operatorShare, workerUnits, feeUnits, operatorUnits] = row;
    const treasuryUnits = feeUnits - operatorUnits;
    expect(payouts(credits, { feeBps, operatorShare })).toEqual({
      workerUnits,
      feeUnits,
      operatorUnits,
      treasuryUnits,
    });
    expect(workerUnits + operatorUnits + treasuryUnits).toBe(toUnits(credits));
  });
});

describe("credits", () => {
  it("are worth a hundredth of a stablecoin each", () => {
    expect([0, 1, 8, 40, 1_234, 999_999_999].map(usdgValue)).toEqual([0, 0.01, 0.08, 0.4, 12.34, 9_999_999.99]);
    expect(toUnits(100)).toBe(1_000_000n);
  });
});

describe("token units", () => {
  it.each([
    [0n, "0 USDG"],
    [1n, "0.000001 USDG"],
    [999_999n, "0.999999 USDG"],
    [1_000_000n, "1 USDG"],
    [72_000n, "0.072 USDG"],
    [-1_500_000n, "-1.5 USDG"],
  ])("%s are written as %s", (units, text) => {
    expect(usdgText(units)).toBe(text);
  });
});

describe("tiers", () => {
  it("have the numbers of the contracts", () => {
    expect(TIERS.map((_, i) => tierName(i))).toEqual(["lite", "standard", "pro", "max"]);
    expect(() => tierName(4)).toThrow(RangeError);
  });
});
