import { describe, expect, it } from "vitest";
import { WorkerHealth } from "../../../../api/workers/worker-health.ts";
import { beginJob, type Course, MODEL_NUMBER as MODEL, runJobAt, SIZE, workerWith } from "../../support/worker-jobs.ts";

const NOW = 1_700_000_000_000;

function healthy(): WorkerHealth {
  const health = new WorkerHealth();
  health.healthy = true;
  return health;
}
const BEST = { firstTokenMs: 50, answerMs: 500 };
/** What a job takes at the worker, as it is known at NOW or later. */
const jobMs = (health: WorkerHealth, afterMs = 0) => Math.round(health.jobMs(MODEL, BEST, NOW + afterMs));
/** A worker that answered ten jobs so. */
const observed = (course: Course) => workerWith(course, NOW);
const QUICK = { firstMs: 50, writingMs: 500 };

describe("the time that a job takes at a worker", () => {
  it("is that of the first token and of 100 tokens; where nothing is known, the best worker's", () => {
    expect(jobMs(observed(QUICK))).toBe(550);
    expect(jobMs(observed({ firstMs: 50, tokens: 400, writingMs: 2_000 }))).toBe(550);
    expect(jobMs(observed({ firstMs: 4_000 }))).toBe(4_000);
    expect(jobMs(healthy())).toBe(550);
  });

  it("is not longer by a long prompt, nor shorter by a short answer", () => {
    const health = observed(QUICK);
    const job = health.begin(MODEL, { promptCharacters: 120_000, maxTokens: 100 }, NOW);
    job.firstToken(NOW + 1_500);
    expect(jobMs(health, 1_500)).toBe(550);
    job.end(NOW);
    for (let n = 0; n < 20; n++) runJobAt(health, { firstMs: 50, tokens: 3, writingMs: 5 }, NOW);
    expect(jobMs(health)).toBe(550);
    // It shows that its worker is slow all the same.
    runJobAt(health, { firstMs: 50, tokens: 3, writingMs: 10_000 }, NOW);
    expect(jobMs(health)).toBeGreaterThan(2_000);
  });

  it("has no part for what a worker claims to have written beyond `max_tokens`", () => {
    const health = observed(QUICK);
    const job = health.begin(MODEL, { promptCharacters: 0, maxTokens: 20 }, NOW - 10_000);
    job.mined(NOW - 10_000);
    job.firstToken(NOW - 10_000);
    job.wrote(100_000, NOW);
    job.answered(BEST, NOW);
    job.end(NOW);
    expect(jobMs(health)).toBeGreaterThan(10_000);
  });

  it("does not include the wait for the lock's block, but a silence after it", () => {
    const health = observed(QUICK);
    const job = health.begin(MODEL, { promptCharacters: 0, maxTokens: 100 }, NOW);
    job.firstToken(NOW + 50);
    job.wrote(400, NOW + 50);
    expect(jobMs(health, 12_000)).toBe(550);
    job.mined(NOW + 12_000);
    expect(jobMs(health, 22_000)).toBe(10_050);
  });

  it("rises with a job that has no first token yet, or writes slowly, before it is over", () => {
    const [waiting, dripping] = [observed(QUICK), observed(QUICK)];
    beginJob(waiting, { firstMs: 60_000 }, NOW);
    expect(jobMs(waiting, 20_000)).toBe(20_000);
    beginJob(dripping, { firstMs: 20, tokens: 27, writingMs: 26_000 }, NOW).at(NOW + 5_020);
    expect(jobMs(dripping, 5_020)).toBe(5_020);
  });

  it("rises by a fifth of what a job costs that is not answered, and not by a quick refusal", () => {
    const [holding, full, fresh] = [observed({ firstMs: 550 }), observed(QUICK), healthy()];
    runJobAt(holding, { firstMs: 20, lostMs: 10_000 }, NOW);
    for (let n = 0; n < 10; n++) {
      runJobAt(full, { firstMs: 5, lostMs: 5 }, NOW);
      runJobAt(fresh, { firstMs: 5, lostMs: 5 }, NOW);
    }
    expect(fresh.firstTokenMs).toBeNull();
    expect([jobMs(holding), jobMs(full), jobMs(fresh)]).toEqual([2_440, 550, 550]);
  });

  it("is another one for another model", () => {
    const slow = observed({ firstMs: 20_000 });
    expect(slow.jobMs(MODEL + 1, BEST, NOW)).toBe(550);
  });

  it("is forgotten: one that was slow long ago is tried again", () => {
    const slow = observed({ firstMs: 30_050 });
    expect(jobMs(slow)).toBe(30_050);
    expect(jobMs(slow, 60_000)).toBe(15_300);
    expect(jobMs(slow, 15 * 60_000)).toBe(551);
  });

  it("is at most that of four jobs after failures that cost little time", () => {
    const health = observed(QUICK);
    for (let n = 0; n < 50; n++) health.failedJob(MODEL, BEST, NOW);
    expect(jobMs(health)).toBe(4 * 650 + 500);
  });
});

describe("a worker on trial", () => {
  it("has a job of a model of which nobody knows how long it takes there", () => {
    const health = healthy();
    const isOnTrial = (afterMs: number, model = MODEL) => health.isOnTrial(model, NOW + afterMs);
    expect(isOnTrial(0)).toBe(false);
    const first = beginJob(health, { firstMs: 20, tokens: 100, writingMs: 1_000 }, NOW);
    first.at(NOW + 100);
    expect([isOnTrial(100), isOnTrial(100, MODEL + 1)]).toEqual([true, false]);
    // Twenty tokens tell its pace.
    first.at(NOW + 250);
    expect(isOnTrial(250)).toBe(false);
    first.at(NOW + 2_000);
    const release = health.keep(MODEL);
    expect(isOnTrial(2_000)).toBe(false);
    // Of a worker that had no job for a minute, as little is known as of a new one.
    expect(isOnTrial(62_000)).toBe(true);
    release();
    expect(isOnTrial(62_000)).toBe(false);
  });

  it("stays one after a refusal that took no time", () => {
    const health = healthy();
    runJobAt(health, { firstMs: 5, lostMs: 5 }, NOW);
    health.keep(MODEL);
    expect(health.isOnTrial(MODEL, NOW)).toBe(true);
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
const begin = (health: WorkerHealth, count: number) =>
  Array.from({ length: count }, () => health.begin(MODEL, SIZE, NOW));
/** Runs a job that takes so long from its start to its end. */
function run(health: WorkerHealth, ms: number): void {
  const job = health.begin(MODEL, SIZE, NOW - ms);
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
    const release = health.keep(MODEL);
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

it("a worker that another one contradicted says nothing of requests for ten minutes", () => {
  const health = healthy();
  expect(health.wasContradicted(NOW)).toBe(false);
  health.contradicted(NOW);
  expect([599_999, 600_000].map((afterMs) => health.wasContradicted(NOW + afterMs))).toEqual([true, false]);
});
