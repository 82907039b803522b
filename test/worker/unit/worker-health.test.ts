import { describe, expect, it } from "vitest";
import { WorkerHealth } from "../../../api/jobs/worker-health.ts";

const MODEL = 1;
const NOW = 1_700_000_000_000;

function healthy(): WorkerHealth {
  const health = new WorkerHealth();
  health.healthy = true;
  return health;
}
/** A worker that took so long to the first tokens of two finished jobs. */
function observed(ms: number): WorkerHealth {
  const health = healthy();
  finish(health, ms);
  finish(health, ms);
  return health;
}
function finish(health: WorkerHealth, ms: number): void {
  const job = health.begin(NOW - ms);
  job.firstToken(NOW);
  job.end();
}

describe("a worker's score", () => {
  it("prefers the fast one, and the idle one among equals", () => {
    expect(observed(50).score(100, NOW)).toBeLessThan(observed(5_000).score(100, NOW));
    const busy = observed(50);
    busy.begin(NOW).firstToken(NOW + 50);
    expect(observed(50).score(100, NOW + 50)).toBeLessThan(busy.score(100, NOW + 50));
  });

  it("falls while a job waits for its first token, before anything is over", () => {
    const slow = healthy();
    slow.begin(NOW);
    expect(slow.score(100, NOW + 20_000)).toBeGreaterThan(20 * slow.score(100, NOW));
  });

  it("takes no notice of one slow answer, but of two in a row", () => {
    const health = observed(50);
    finish(health, 20_000);
    expect(health.score(50, NOW)).toBe(observed(50).score(50, NOW));
    finish(health, 20_000);
    expect(health.score(50, NOW)).toBeGreaterThan(10 * observed(50).score(50, NOW));
  });

  it("forgets: one that was slow long ago is tried again", () => {
    const slow = observed(30_000);
    const ordinary = observed(100);
    expect(slow.score(100, NOW + 1_000)).toBeGreaterThan(100 * ordinary.score(100, NOW + 1_000));
    expect(slow.score(100, NOW + 15 * 60_000)).toBeLessThan(2 * ordinary.score(100, NOW + 15 * 60_000));
  });
});

describe("a worker that is absent", () => {
  it("rests longer each time in a row; what comes together is one rest", () => {
    const health = healthy();
    const rests: number[] = [];
    let now = NOW;
    for (let time = 0; time < 9; time++) {
      for (let n = 0; n < 5; n++) health.absent(now);
      health.healthy = true;
      const begun = now;
      while (!health.isOffered(MODEL, now)) now += 500;
      rests.push((now - begun) / 1_000);
    }
    expect(rests).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
    health.succeeded();
    health.absent(now);
    health.healthy = true;
    expect(health.isOffered(MODEL, now + 1_000)).toBe(true);
  });

  it("needs a good probe as well", () => {
    const health = healthy();
    health.absent(NOW);
    expect(health.isOffered(MODEL, NOW + 60_000)).toBe(false);
    health.healthy = true;
    expect(health.isOffered(MODEL, NOW + 60_000)).toBe(true);
  });
});

describe("a worker", () => {
  it("whose model failed the gateway's test is offered no job of it until a test finds it sound", () => {
    const health = healthy();
    health.tested(MODEL, false);
    expect([health.isOffered(MODEL, NOW + 3_600_000), health.isOffered(2, NOW)]).toEqual([false, true]);
    health.tested(MODEL, true);
    expect(health.isOffered(MODEL, NOW)).toBe(true);
  });

  it("by misconduct rests twice as long the next time, whatever it did well in between", () => {
    const health = healthy();
    health.suspended(NOW, 60_000);
    health.healthy = true;
    expect(health.isOffered(MODEL, NOW + 59_999)).toBe(false);
    expect(health.isOffered(MODEL, NOW + 60_000)).toBe(true);
    health.succeeded();
    health.suspended(NOW + 60_000, 60_000);
    health.healthy = true;
    expect(health.isOffered(MODEL, NOW + 179_999)).toBe(false);
    expect(health.isOffered(MODEL, NOW + 180_000)).toBe(true);
  });
});

describe("a worker that says no", () => {
  it("to a model keeps the others", () => {
    const health = healthy();
    health.doesNotHost(MODEL, NOW);
    expect([health.isOffered(MODEL, NOW), health.isOffered(2, NOW)]).toEqual([false, true]);
    expect(health.isOffered(MODEL, NOW + 60_000)).toBe(true);
  });

  it("because it is full is asked last for a moment, and while it has as many jobs as it runs", () => {
    const health = healthy();
    health.full(NOW);
    expect([health.isFull(NOW + 999), health.isFull(NOW + 1_000)]).toEqual([true, false]);
    health.capacity = 1;
    const job = health.begin(NOW);
    expect(health.isFull(NOW + 1_000)).toBe(true);
    job.end();
    job.end();
    expect([health.isFull(NOW + 1_000), health.outstanding]).toEqual([false, 0]);
  });

  it("because it is full, time after time with no job finished, rests like one that fails: each no costs a lock", () => {
    const health = healthy();
    const rests: number[] = [];
    let now = NOW;
    for (let time = 0; time < 9; time++) {
      // What is refused together is one no.
      for (let n = 0; n < 5; n++) health.full(now);
      const begun = now;
      now += 1_000;
      while (!health.isOffered(MODEL, now)) now += 500;
      rests.push((now - begun) / 1_000);
    }
    expect(rests).toEqual([1, 1, 2, 4, 8, 16, 32, 60, 60]);
  });

  it("because it is full, and finishes jobs in between, never rests", () => {
    const health = healthy();
    for (let now = NOW; now < NOW + 60_000; now += 2_000) {
      health.full(now);
      expect(health.isOffered(MODEL, now)).toBe(true);
      health.succeeded();
    }
  });
});
