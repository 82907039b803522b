import { describe, expect, it } from "vitest";
import { Gathering, MAX_IN_FLIGHT } from "../../api/chain/gathering.ts";

const after = (...confirmations: number[]): number => {
  const gathering = new Gathering();
  for (const ms of confirmations) gathering.observe(ms);
  return gathering.ms;
};

describe("how long operations gather", () => {
  it("is 20 ms before anything is known, and on a chain that mines at once", () => {
    expect(after()).toBe(20);
    expect(after(6, 4, 9)).toBe(20);
  });

  it("lets the transactions in flight last until the next block", () => {
    expect(after(250) * MAX_IN_FLIGHT).toBe(250);
    expect(after(2_000) * MAX_IN_FLIGHT).toBe(2_000);
  });

  it("remembers the longest for a while: transactions sent just before a block are no faster chain", () => {
    expect(after(1_000, 50)).toBeGreaterThan(100);
    expect(after(1_000, ...Array(40).fill(10))).toBe(20);
  });

  it("is bounded, however long a stuck transaction took", () => {
    expect(after(3_600_000)).toBe(1_500);
  });
});
