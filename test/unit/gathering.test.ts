import { describe, expect, it } from "vitest";
import { AT_ONCE, Gathering, MAX_IN_FLIGHT } from "../../api/chain/queue.ts";

const gathered = (...confirmations: number[]): number => {
  const gathering = new Gathering();
  for (const ms of confirmations) gathering.observe(ms);
  return gathering.ms;
};

describe("how long operations gather", () => {
  it("is 20 ms before anything is known, and on a chain that mines at once", () => {
    expect(gathered()).toBe(20);
    expect(gathered(6, 4, 9)).toBe(20);
  });

  it("lets the transactions in flight last until the next block", () => {
    const others = MAX_IN_FLIGHT - AT_ONCE;
    expect(gathered(300) * others).toBeCloseTo(300);
    expect(gathered(2_000) * others).toBeCloseTo(2_000);
  });

  it("remembers the longest for a while: transactions sent just before a block are no faster chain", () => {
    expect(gathered(1_000, 50)).toBeGreaterThan(140);
    expect(gathered(1_000, ...Array(40).fill(10))).toBe(20);
  });

  it("is bounded, however long a stuck transaction took", () => {
    expect(gathered(3_600_000)).toBe(1_500);
  });
});
