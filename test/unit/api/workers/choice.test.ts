/** Which worker a job goes to, for clients that ask one after the other: nobody has work outstanding when the next is chosen. */
import { describe, expect, it } from "vitest";
import { type Candidate, chooseBest, WorkerHealth } from "../../../../api/workers/worker-health.ts";
import { Random } from "../../../support/random.ts";

const NOW = 1_700_000_000_000;
const MINUTE = 60_000;

/** Serves `count` jobs, one every `everyMs`, by workers that take so long to their first token; counts the jobs of each. */
function serve<W extends string>(
  pool: Record<W, { health: WorkerHealth; ms: number }>,
  count: number,
  everyMs: number,
  from = NOW,
) {
  const random = new Random(1);
  const jobs = {} as Record<W, number>;
  const candidates = (Object.keys(pool) as W[]).map((worker) => ({ worker, health: pool[worker].health }));
  for (let n = 0, now = from; n < count; n++, now += everyMs) {
    const worker = chooseBest(candidates, now, () => random.next()) as W;
    jobs[worker] = (jobs[worker] ?? 0) + 1;
    const { health, ms } = pool[worker];
    const job = health.begin(now);
    job.firstToken(now + ms);
    job.end(now + ms);
  }
  return jobs;
}

const worker = (ms: number) => ({ health: new WorkerHealth(), ms });

describe("clients that ask one after the other", () => {
  it("are shared by workers that are about equally fast", () => {
    const jobs = serve({ a: worker(200), b: worker(220), c: worker(240) }, 300, 1_000);
    for (const name of ["a", "b", "c"] as const) expect(jobs[name]).toBeGreaterThan(30);
  });

  it("come back to a worker whose first answer was slow", () => {
    const started = worker(900);
    serve({ started }, 1, 1_000);
    started.ms = 20;
    expect(serve({ known: worker(20), started }, 100, 1_000, NOW + 1_000).started).toBeGreaterThan(30);
  });

  it("find a newcomer, and leave it if it is slow", () => {
    const known = worker(200);
    serve({ known }, 50, 1_000);
    expect(serve({ known, newcomer: worker(190) }, 100, 1_000).newcomer).toBeGreaterThan(30);
    expect(serve({ known, slow: worker(20_000) }, 100, 1_000).slow).toBe(2);
  });

  it("come back to one that was slow once, also where there are only two", () => {
    const fast = worker(200);
    const recovered = worker(20_000);
    serve({ fast, recovered }, 10, 1_000);
    recovered.ms = 200;
    expect(serve({ fast, recovered }, 60, MINUTE, NOW + MINUTE).recovered).toBeGreaterThan(10);
  });
});

describe("clients that ask at once", () => {
  it("are spread by the work outstanding", () => {
    const names = ["a", "b", "c", "d"];
    const pool = names.map((name) => ({ worker: name, health: new WorkerHealth() }));
    const random = new Random(2);
    for (let n = 0; n < 40; n++) {
      const chosen = chooseBest(pool, NOW, () => random.next());
      pool.find((one) => one.worker === chosen)?.health.begin(NOW);
    }
    for (const { health } of pool) {
      expect(health.outstanding).toBeGreaterThanOrEqual(7);
      expect(health.outstanding).toBeLessThanOrEqual(13);
    }
  });

  it("wait in a queue before they go to an idle worker that fails its jobs", () => {
    const [sound, failing] = ["sound", "failing"].map((name) => ({ worker: name, health: new WorkerHealth() }));
    sound?.health.begin(NOW);
    const choose = () => chooseBest([sound, failing] as Candidate<string>[], NOW, () => 0);
    for (let n = 0; n < 3; n++) failing?.health.failedJob(NOW);
    expect(choose()).toBe("failing");
    failing?.health.failedJob(NOW);
    expect(choose()).toBe("sound");
    // However long that queue: an offer that is held costs its client ten seconds.
    for (let n = 0; n < 20; n++) sound?.health.begin(NOW);
    expect(choose()).toBe("sound");
    expect(chooseBest([failing] as Candidate<string>[], NOW)).toBe("failing");
  });

  it("nobody is chosen where nobody is", () => {
    expect(chooseBest([], NOW)).toBeUndefined();
  });
});
