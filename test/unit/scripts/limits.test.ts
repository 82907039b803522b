/** The specification's numbers that tests elsewhere shorten. */
import { describe, expect, it } from "vitest";
import { MINIMUM_DEPOSIT_CREDITS, usdgValue } from "../../../protocol/money.ts";
import { DEFAULT_DURATIONS } from "../../../scripts/deploy/protocol-settings.ts";

describe("a deployment without settings of its own", () => {
  it("the deployed windows are those of the specification", () => {
    // An answer in 120 seconds; a dispute in 60 seconds (and 30 more for its transaction); a ruling in 24 hours.
    expect(DEFAULT_DURATIONS).toMatchObject({ completion: 120, inclusion: 30, dispute: 60, arbitration: 86_400 });
  });

  it("models retire with at least 14 days' notice", () => {
    expect(DEFAULT_DURATIONS.retirementNotice).toBe(14 * 86_400);
  });

  it("the smallest deposit is one stablecoin", () => {
    expect(usdgValue(MINIMUM_DEPOSIT_CREDITS)).toBe(1);
  });
});
