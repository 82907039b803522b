import { describe, expect, it } from "vitest";
import { AT_ONCE, BatchTiming, holdingUp, MAX_IN_FLIGHT } from "../../../../api/chain/queue.ts";

/** How long an operation that was just queued gathers while `AT_ONCE` transactions are in flight, after these confirmation times. */
const gathered = (...confirmations: number[]): number => {
  const timing = new BatchTiming();
  for (const ms of confirmations) timing.observe(ms);
  return timing.wait({ inFlight: AT_ONCE, oldestMs: 10_000, queuedMs: 0 });
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

  it("remembers the longest time for a while", () => {
    expect(gathered(1_000, 50)).toBeGreaterThan(140);
    expect(gathered(1_000, ...Array(40).fill(10))).toBe(20);
  });

  it("is bounded, however long a stuck transaction took", () => {
    expect(gathered(3_600_000)).toBe(1_500);
  });

  it("is zero until the only transaction in flight is 20 ms old", () => {
    const timing = new BatchTiming();
    expect(timing.wait({ inFlight: 0, oldestMs: 0, queuedMs: 0 })).toBe(0);
    expect(timing.wait({ inFlight: 1, oldestMs: 19, queuedMs: 0 })).toBe(1);
    expect(timing.wait({ inFlight: 1, oldestMs: 20, queuedMs: 0 })).toBe(0);
  });

  it.each([
    [1, 0],
    [2, 10],
    [9, 45],
    [10, 50],
    [128, 50],
  ])("spaces batches by the size of the last one: %i operations, %i ms", (items, ms) => {
    const timing = new BatchTiming();
    timing.sent(items, 1_000);
    const idle = { inFlight: 0, oldestMs: 0, queuedMs: 0 };
    expect(timing.wait(idle, 1_000)).toBe(ms);
    expect(timing.wait(idle, 1_000 + ms)).toBe(0);
  });
});

describe("transactions that hold others up", () => {
  const waiting = { since: 7, isPromised: false };
  const promised = (count: number) => Array.from({ length: count }, (_, since) => ({ since, isPromised: true }));

  it("are those that the sequencer does not promise", () => {
    expect(holdingUp([])).toEqual([]);
    expect(holdingUp([...promised(3), waiting, ...promised(2), waiting])).toEqual([waiting, waiting]);
  });

  it("are the promised ones beyond the eighth, too", () => {
    expect(holdingUp([...promised(8), waiting])).toEqual([waiting]);
    expect(holdingUp([...promised(10), waiting])).toEqual([...promised(10).slice(8), waiting]);
  });
});
