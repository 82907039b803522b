/** Which worker a job goes to, by how long jobs took there. */
import { describe, expect, it } from "vitest";
import { bestOf, type Candidate, chooseBest, WorkerHealth } from "../../../../api/workers/worker-health.ts";
import { Random } from "../../../support/random.ts";
import { beginJob, type Course, MODEL_NUMBER as MODEL, runJobAt, SIZE, workerWith } from "../../support/worker-jobs.ts";

const NOW = 1_700_000_000_000;
const SECOND = 1_000;
const MINUTE = 60_000;

/** A worker of so many places, and the course of its next job. */
type Served = { health: WorkerHealth; next: (now: number) => Course };

const worker = (firstMs: number, health = new WorkerHealth()): Served => ({ health, next: () => ({ firstMs }) });
/** A worker with so many places whose jobs take about a third of a second, as those of an honest one in these tests. */
function known(places = 100): Served {
  const health = workerWith(QUICK, NOW);
  health.probed()({ running: places, waiting: 0, taken: 0 });
  return { health, next: () => QUICK };
}
const QUICK = { firstMs: 70, writingMs: 250 };

/** Gives out `count` jobs, one every `everyMs`, by a clock of its own; the jobs of each worker by the second in which they began. */
function serve<W extends string>(pool: Record<W, Served>, count: number, everyMs: number, from = NOW) {
  const random = new Random(1);
  const names = Object.keys(pool) as W[];
  const candidates = names.map((name) => ({ worker: name, health: pool[name].health }));
  const hosts = candidates.map(({ health }) => health);
  const jobs = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<W, number[]>;
  const running = new Set<ReturnType<typeof beginJob>>();
  for (let n = 0, now = from; n < count; n++, now += everyMs) {
    for (const job of running) {
      job.at(now);
      if (job.isOver()) running.delete(job);
    }
    const chosen = chooseBest(MODEL, candidates, now, () => random.next()) as W;
    jobs[chosen].push(Math.floor((now - from) / SECOND));
    const { health, next } = pool[chosen];
    running.add(beginJob(health, next(now), now, hosts));
  }
  for (const job of running) job.at(Number.POSITIVE_INFINITY);
  return jobs;
}

describe("clients that ask one after the other", () => {
  it("are shared by workers that are about equally fast", () => {
    const jobs = serve({ a: worker(200), b: worker(220), c: worker(240) }, 300, SECOND);
    for (const name of ["a", "b", "c"] as const) expect(jobs[name].length).toBeGreaterThan(30);
  });

  it("find a newcomer, and leave it if it is slow", () => {
    const one = worker(200);
    serve({ one }, 50, SECOND);
    expect(serve({ one, newcomer: worker(190) }, 100, SECOND).newcomer.length).toBeGreaterThan(30);
    expect(serve({ one, slow: worker(20_000) }, 100, SECOND).slow.length).toBe(1);
  });

  it("come back to one that was slow once, also where there are only two", () => {
    const [fast, recovered] = [worker(200), worker(20_000)];
    serve({ fast, recovered }, 10, SECOND);
    recovered.next = () => ({ firstMs: 200 });
    expect(serve({ fast, recovered }, 60, MINUTE, NOW + MINUTE).recovered.length).toBeGreaterThan(10);
  });
});

describe("a new process, whose first answer is slow while it loads its model", () => {
  it("gets few jobs for some minutes while others have places, and then its share", () => {
    const started = { health: new WorkerHealth(), next: () => ({ firstMs: 20_000 }) as Course };
    const loading = serve({ known: known(), started }, 1_200, 100);
    expect(loading.started.length).toBe(1);
    started.next = () => QUICK;
    const { started: times } = serve({ known: known(), started }, 4_000, 100, NOW + 2 * MINUTE);
    expect(times[0]).toBeLessThan(4 * 60);
    expect(times.filter((second) => second > (times[0] as number) + 10).length).toBeGreaterThan(100);
  });

  it("gets jobs at once where no other worker has a place", () => {
    const started = workerWith({ firstMs: 20_000 }, NOW, 1);
    expect(chooseBest(MODEL, [{ worker: "started", health: started }], NOW)).toBe("started");
  });
});

describe("clients that ask at once", () => {
  it("are spread by the work outstanding, also where nothing is known of any worker", () => {
    const names = ["a", "b", "c", "d"];
    const pool = names.map((name) => ({ worker: name, health: new WorkerHealth() }));
    const random = new Random(2);
    for (let n = 0; n < 40; n++) {
      const chosen = chooseBest(MODEL, pool, NOW, () => random.next());
      pool.find((one) => one.worker === chosen)?.health.begin(MODEL, SIZE, NOW);
    }
    for (const { health } of pool) {
      expect(health.outstanding).toBeGreaterThanOrEqual(7);
      expect(health.outstanding).toBeLessThanOrEqual(13);
    }
  });

  it("leave all but one job to others than a newcomer, and also those once it answered", () => {
    const newcomer = new WorkerHealth();
    newcomer.probed()({ running: 100, waiting: 0, taken: 0 });
    const pool: Candidate<string>[] = [
      { worker: "known", health: known().health },
      { worker: "newcomer", health: newcomer },
    ];
    const begin = () => {
      const chosen = chooseBest(MODEL, pool, NOW, () => 0);
      const found = pool.find((one) => one.worker === chosen) as Candidate<string>;
      const job = beginJob(found.health, { firstMs: 0 }, NOW);
      return { chosen, job };
    };
    const burst = Array.from({ length: 20 }, begin);
    const first = burst.filter(({ chosen }) => chosen === "newcomer");
    expect(first.length).toBe(1);
    first[0]?.job.at(NOW);
    expect(Array.from({ length: 20 }, begin).filter(({ chosen }) => chosen === "newcomer").length).toBeGreaterThan(5);
  });

  it("count a place that is kept at a newcomer as its job", () => {
    const [sound, newcomer] = [known().health, new WorkerHealth()];
    newcomer.probed()({ running: 100, waiting: 0, taken: 0 });
    const pool = [
      { worker: "known", health: sound },
      { worker: "newcomer", health: newcomer },
    ];
    for (let n = 0; n < 5; n++) sound.begin(MODEL, SIZE, NOW);
    expect(chooseBest(MODEL, pool, NOW)).toBe("newcomer");
    const release = newcomer.keep(MODEL);
    expect(chooseBest(MODEL, pool, NOW)).toBe("known");
    release();
    expect(chooseBest(MODEL, pool, NOW)).toBe("newcomer");
  });

  it("wait in a queue before they go to an idle worker that fails its jobs", () => {
    const [sound, failing] = [workerWith(QUICK, NOW), workerWith(QUICK, NOW)];
    const pool = [
      { worker: "sound", health: sound },
      { worker: "failing", health: failing },
    ];
    sound.begin(MODEL, SIZE, NOW);
    const choose = () => chooseBest(MODEL, pool, NOW, () => 0);
    for (let n = 0; n < 3; n++) failing.failedJob(MODEL, bestOf(MODEL, [sound]), NOW);
    expect(choose()).toBe("failing");
    failing.failedJob(MODEL, bestOf(MODEL, [sound]), NOW);
    expect(choose()).toBe("sound");
    // However long that queue.
    for (let n = 0; n < 20; n++) sound.begin(MODEL, SIZE, NOW);
    expect(choose()).toBe("sound");
    expect(chooseBest(MODEL, pool.slice(1), NOW)).toBe("failing");
  });

  it("find every worker in its place after a broken request was sent to all of them", () => {
    const pool = ["a", "b", "c"].map((name) => ({ worker: name, health: workerWith(QUICK, NOW) }));
    for (const { health } of pool) {
      for (let n = 0; n < 10; n++) runJobAt(health, { firstMs: 30, lostMs: 10_000 }, NOW);
    }
    const random = new Random(3);
    const chosen = Array.from({ length: 90 }, () => chooseBest(MODEL, pool, NOW, () => random.next()));
    for (const { worker } of pool) expect(chosen.filter((one) => one === worker).length).toBeGreaterThan(10);
  });

  it("nobody is chosen where nobody is", () => {
    expect(chooseBest(MODEL, [], NOW)).toBeUndefined();
  });
});

/** Ten requests a second for ten minutes: how often a hostile worker beside two honest ones costs a client some seconds. */
describe("a hostile worker", () => {
  /** Jobs that it spoils, by the second. `isKnown`: it answered quickly until now. */
  function spoilt(sequence: readonly ("good" | "bad")[], bad: Course, isKnown: boolean): number[] {
    let at = 0;
    const times: number[] = [];
    const health = isKnown ? workerWith(QUICK, NOW) : new WorkerHealth();
    health.probed()({ running: 100, waiting: 0, taken: 0 });
    const hostile: Served = {
      health,
      next: (now) => {
        if (sequence[at++ % sequence.length] === "good") return QUICK;
        times.push(Math.floor((now - NOW) / SECOND));
        return bad;
      },
    };
    serve({ a: known(), b: known(), hostile }, 6_000, 100);
    return times;
  }
  const most = (times: readonly number[], seconds: number): number =>
    Math.max(...times.map((from) => times.filter((time) => time >= from && time < from + seconds).length));

  it.each<[string, ("good" | "bad")[], Course]>([
    ["takes each third job and says that it stops", ["bad", "good", "good"], { firstMs: 20, lostMs: 10_000 }],
    [
      "breaks off each third answer after its first token",
      ["bad", "good", "good"],
      { firstMs: 20, tokens: 1, writingMs: 20, lostMs: 10_000 },
    ],
    ["holds each second job for 9.5 s before it refuses it", ["bad", "good"], { firstMs: 9_500, lostMs: 9_500 }],
    ["writes a token a second", ["bad"], { firstMs: 20, tokens: 27, writingMs: 25_000 }],
    ["writes a token a second in each second job", ["good", "bad"], { firstMs: 20, tokens: 27, writingMs: 25_000 }],
    ["writes one token and ends its answer 25 s later", ["bad"], { firstMs: 20, tokens: 1, writingMs: 25_000 }],
  ])("that %s spoils one job in some minutes", (_what, sequence, bad) => {
    for (const isKnown of [false, true]) {
      const times = spoilt(sequence, bad, isKnown);
      expect(most(times, 10)).toBeLessThanOrEqual(3);
      expect(times.length).toBeLessThanOrEqual(8);
    }
  });
});
