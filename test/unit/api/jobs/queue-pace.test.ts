/** How fast a queue moves. */
import { describe, expect, it } from "vitest";
import { QueuePace } from "../../../../api/jobs/place-queue.ts";

describe("the pace of a queue", () => {
  /** A queue that served one every `everyMs` for a minute. */
  function steady(everyMs: number): QueuePace {
    const pace = new QueuePace();
    for (let now = 0; now <= 60_000; now += everyMs) pace.served(now);
    return pace;
  }

  it.each([
    [100, 50, 5, 6],
    [10, 5_000, 49, 51],
    [1_000, 1, 1, 2],
  ])("one every %i ms: %i are served in %i to %i s", (everyMs, waiting, least, most) => {
    const seconds = steady(everyMs).secondsFor(waiting, 60_000);
    expect(seconds).toBeGreaterThanOrEqual(least);
    expect(seconds).toBeLessThanOrEqual(most);
  });

  it("is at least a second and at most a minute, also of a queue that never moved", () => {
    expect(steady(1).secondsFor(0, 60_000)).toBe(1);
    expect(steady(1_000).secondsFor(1_000_000, 60_000)).toBe(60);
    expect(new QueuePace().secondsFor(1, 0)).toBe(60);
  });

  it("is slower the longer nothing moves", () => {
    const pace = steady(100);
    expect(pace.secondsFor(50, 80_000)).toBeGreaterThan(4 * pace.secondsFor(50, 60_000));
  });
});
