import { describe, expect, it } from "vitest";
import { WorkerHealth } from "../../../../api/workers/worker-health.ts";

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
  job.end(NOW);
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

  it("rises with jobs that are held and then refused, not with those refused at once", () => {
    const refuse = (health: WorkerHealth, ms: number) => health.begin(NOW - ms).end(NOW);
    const [holding, full, fresh] = [observed(50), observed(50), healthy()];
    for (let n = 0; n < 2; n++) {
      refuse(holding, 6_000);
      refuse(full, 5);
      refuse(fresh, 5);
    }
    expect(fresh.firstTokenMs).toBeNull();
    expect(holding.score(50, NOW)).toBeGreaterThan(5 * observed(50).score(50, NOW));
    expect(full.score(50, NOW)).toBe(observed(50).score(50, NOW));
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
  it("whose model failed the gateway's test gets no job until it passes", () => {
    const health = healthy();
    health.tested(MODEL, false);
    expect([health.isOffered(MODEL, NOW + 3_600_000), health.isOffered(2, NOW)]).toEqual([false, true]);
    health.tested(MODEL, true);
    expect(health.isOffered(MODEL, NOW)).toBe(true);
  });

  it("by misconduct rests twice as long the next time, also after good answers", () => {
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
});

const SOON_MS = 5_000;
/** A worker that announces so many places. */
function announcing(running: number, waiting: number, taken = 0): WorkerHealth {
  const health = healthy();
  health.probed()({ running, waiting, taken });
  return health;
}
const begin = (health: WorkerHealth, count: number) => Array.from({ length: count }, () => health.begin(NOW));
/** Runs a job that takes so long from its start to its end. */
function run(health: WorkerHealth, ms: number): void {
  const job = health.begin(NOW - ms);
  job.taken(NOW - ms);
  job.end(NOW);
}

describe("the free places of a worker", () => {
  it("are one where it announces nothing", () => {
    expect(healthy().free(NOW, SOON_MS)).toBe(1);
  });

  it.each([
    ["those that run, and one more round before a job has shown how long it takes", 8, 64, null, 16],
    ["all in its queue, where that is emptied in time", 8, 64, 100, 72],
    ["as many in its queue as start in time", 8, 64, 10_000, 12],
    ["only those that run, where nothing in its queue starts in time", 8, 64, 60_000, 8],
    ["no more than it announces", 8, 2, 100, 10],
  ])("are %s", (_what, running, waiting, ms, expected) => {
    const health = announcing(running, waiting);
    if (ms !== null) run(health, ms);
    expect(health.free(NOW, SOON_MS)).toBe(expected);
  });

  it("are fewer by jobs that it has, those that are kept for one, and others' jobs", () => {
    const health = announcing(8, 8, 3);
    expect(health.free(NOW, SOON_MS)).toBe(13);
    begin(health, 4);
    const release = health.keep();
    expect(health.free(NOW, SOON_MS)).toBe(8);
    release();
    expect(health.free(NOW, SOON_MS)).toBe(9);
    begin(health, 20);
    expect(health.free(NOW, SOON_MS)).toBe(0);
  });

  it("do not count a job of the gateway's own twice that is on its way there or back", () => {
    const health = announcing(8, 8);
    const [early] = begin(health, 2);
    const announced = health.probed();
    begin(health, 3);
    early?.end(NOW);
    // The worker counted all five, and one of another gateway.
    announced({ running: 8, waiting: 8, taken: 6 });
    expect(health.free(NOW, SOON_MS)).toBe(16 - 1 - 4);
  });

  it("are none for a while after a refusal for want of room", () => {
    const health = announcing(8, 8);
    const pauses: (number | null)[] = [];
    for (let time = 0, now = NOW; time < 8; time++, now += 60_000) {
      const [job] = begin(health, 1);
      const pause = health.full(now);
      // What is refused together is one refusal.
      expect(health.full(now)).toBeNull();
      job?.end(now);
      pauses.push(pause);
      health.probed()({ running: 8, waiting: 8, taken: 0 });
      expect([health.free(now + (pause ?? 0) - 1, SOON_MS), health.free(now + (pause ?? 0), SOON_MS)]).toEqual([0, 16]);
    }
    expect(pauses).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
    // It is busy, not gone.
    expect(health.isOffered(MODEL, NOW)).toBe(true);
    health.succeeded();
    expect(health.full(NOW + 600_000)).toBe(250);
  });

  it("are after that only those of its own jobs that end, until it announces others", () => {
    const health = announcing(8, 64);
    run(health, 100);
    const jobs = begin(health, 72);
    for (const job of jobs.slice(0, 10)) job.taken(NOW);
    for (const job of jobs.slice(10)) {
      health.full(NOW);
      job.end(NOW);
    }
    expect(health.free(NOW + 250, SOON_MS)).toBe(0);
    for (const job of jobs.slice(0, 3)) job.end(NOW);
    for (const job of jobs.slice(0, 3)) job.end(NOW);
    expect(health.free(NOW, SOON_MS)).toBe(3);
    health.probed()({ running: 8, waiting: 64, taken: 20 });
    expect(health.free(NOW, SOON_MS)).toBe(72 - 20);
  });
});
