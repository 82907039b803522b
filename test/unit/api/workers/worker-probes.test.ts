import { pino } from "pino";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { RegisteredWorker } from "../../../../api/chain/directory.ts";
import type { WorkerPool } from "../../../../api/workers/worker-pool.ts";
import type { Ability, ProbedHealth } from "../../../../protocol/dispatch.ts";
import { MODEL, registered } from "../../../support/fake-gateway.ts";
import { directoryOf, workerPool } from "../../support/worker-pool.ts";

const worker = registered({ signer: `0x${"aa".repeat(20)}`, endpoint: "http://worker.test" });
/** Another worker of the model, in tests that register it. It has no abilities but those it is given. */
const second = registered({ signer: `0x${"bb".repeat(20)}`, endpoint: "http://second.test" });
let listed: RegisteredWorker[];
let abilitiesOfSecond: Record<string, string[]>;

type Answer = "ok" | "late" | "refused";
let pool: WorkerPool;
let answers: Answer[];
let abilities: Record<string, string[]>;
let counting: Record<string, { by: "server"; window: number | null }> | undefined;
/** What the worker announces beside its capacity of 4 and a queue of 16. */
let announced: object;
let logged: Record<string, unknown>[];
/** A job that the worker refused: what it locks does not stand in its own way. */
const REFUSED_JOB = "0x01";
/** Credits that are kept for jobs. */
let kept: number;

async function probe(endpoint: string): Promise<ProbedHealth> {
  if (endpoint === second.endpoint) {
    return {
      status: "ok",
      worker: second.signer,
      capacity: 4,
      queue_capacity: 16,
      abilities: abilitiesOfSecond,
      demo: false,
    };
  }
  switch (answers.shift() ?? "ok") {
    case "late":
      throw new DOMException("The operation was aborted due to timeout", "TimeoutError");
    case "refused":
      throw new Error("connect ECONNREFUSED");
    default:
      return {
        status: "ok",
        worker: worker.signer,
        capacity: 4,
        queue_capacity: 16,
        abilities,
        counting,
        demo: false,
        ...announced,
      };
  }
}

async function start(list: Answer[] = []): Promise<void> {
  logged = [];
  const logger = pino({ level: "info" }, { write: (line) => logged.push(JSON.parse(line)) });
  counting = undefined;
  announced = {};
  [answers, abilities] = [list, { m: ["json_object"], "not-listed": ["reasoning"] }];
  listed = [worker];
  abilitiesOfSecond = {};
  kept = 0;
  const keep = (_worker: RegisteredWorker, credits: number) => {
    kept += credits;
    return () => {
      kept -= credits;
    };
  };
  const room = (_worker: RegisteredWorker, jobId?: string) => (jobId === REFUSED_JOB ? 1 : 1 - kept);
  const exposure = {
    largest: () => 1,
    room,
    keep,
    offered: () => {},
    charged: () => {},
    over: () => {},
    left: () => {},
  };
  pool = workerPool({ directory: directoryOf(() => listed), client: { probe }, exposure, logger });
  await pool.start();
}

beforeEach(async () => {
  vi.useFakeTimers();
  await start();
});
afterEach(() => {
  pool.stop();
  vi.useRealTimers();
});

const isOffered = (): boolean => pool.hosts(MODEL.number).length === 1;
/** Until every probe of the list was made. */
async function probed(list: Answer[]): Promise<void> {
  answers = [...list];
  while (answers.length > 0) await vi.advanceTimersByTimeAsync(1_000);
}

it("keeps a worker that is late with one probe, and asks it again soon", async () => {
  await probed(["late"]);
  expect(isOffered()).toBe(true);
  answers = ["ok"];
  await vi.advanceTimersByTimeAsync(1_000);
  expect(answers).toEqual([]);
  expect(isOffered()).toBe(true);
  // Late, in time, late: never two in a row.
  await probed(["late", "ok", "late"]);
  expect(isOffered()).toBe(true);
});

it("loses a worker that is late two times in a row, until it answers again", async () => {
  await probed(["late", "late"]);
  expect(isOffered()).toBe(false);
  await probed(["late"]);
  expect(isOffered()).toBe(false);
  await probed(["ok"]);
  expect(isOffered()).toBe(true);
});

it("loses a worker whose host refuses the connection at once", async () => {
  await probed(["refused"]);
  expect(isOffered()).toBe(false);
});

it("asks a worker that stays away a second later each time, at last every 30 s", async () => {
  const away = (count: number): Answer[] => Array.from({ length: count }, () => "refused");
  await probed(away(30));
  answers = away(100);
  await vi.advanceTimersByTimeAsync(300_000);
  expect(100 - answers.length).toBeGreaterThanOrEqual(9);
  expect(100 - answers.length).toBeLessThanOrEqual(11);
  await probed(["ok"]);
  expect(isOffered()).toBe(true);
});

it("starts with a worker that was late once, without one that stays away", async () => {
  pool.stop();
  await start(["late", "ok"]);
  expect(isOffered()).toBe(true);
  pool.stop();
  await start(["late", "late"]);
  expect(isOffered()).toBe(false);
});

it("says why it has no worker, once", async () => {
  pool.stop();
  await start(["refused", "refused"]);
  await probed(["refused"]);
  expect(logged).toEqual([expect.objectContaining({ healthy: false, reason: "connect ECONNREFUSED" })]);
});

it("says how many tokens fit a time, at twice the speed that was seen", () => {
  expect(pool.mostTokens(MODEL.number, 30)).toBeNull();
  pool.reportSpeed(worker.signer, MODEL.number, 200, 10_000);
  expect(pool.mostTokens(MODEL.number, 30)).toBe(1_200);
});

it("knows how many tokens a model's servers hold, once all of them say so", async () => {
  expect(pool.largestWindow(MODEL.number)).toBeNull();
  counting = { m: { by: "server", window: 4_096 }, "not-listed": { by: "server", window: 1 } };
  await probed(["ok"]);
  expect(pool.largestWindow(MODEL.number)).toBe(4_096);
  expect(pool.counting(worker.signer, MODEL.number)).toEqual({ by: "server", window: 4_096 });
  counting = { m: { by: "server", window: null } };
  await probed(["ok"]);
  expect(pool.largestWindow(MODEL.number)).toBeNull();
});

it("knows whether a model's workers reason unasked", async () => {
  expect(pool.alwaysReasons(MODEL.number)).toBe(false);
  abilities = { m: ["reasoning", "always_reasoning"] };
  await probed(["ok"]);
  expect([pool.alwaysReasons(MODEL.number), pool.abilities(MODEL.number)]).toEqual([true, ["reasoning"]]);
});

it("believes that a model always reasons once all of its workers say so", async () => {
  listed = [worker, second];
  abilities = { m: ["reasoning", "always_reasoning"] };
  await probed(["ok"]);
  expect(pool.hosts(MODEL.number)).toHaveLength(2);
  expect(pool.alwaysReasons(MODEL.number)).toBe(false);
  abilitiesOfSecond = abilities;
  await probed(["ok", "ok"]);
  expect(pool.alwaysReasons(MODEL.number)).toBe(true);
});

it("keeps room for as many jobs as its workers' stakes cover", () => {
  const keep = (credits = 1) => pool.keep(MODEL.number, { credits, needs: [] });
  const place = keep();
  expect([place?.worker, place?.isOpen(), keep()]).toEqual([worker, true, null]);
  place?.release();
  place?.release();
  expect(keep()).not.toBeNull();
  // It is busy, not gone.
  expect(isOffered()).toBe(true);
  expect(pool.capable(MODEL.number, { credits: 1, needs: [] })).toEqual([worker]);
  // Its stake covers no such job, whenever.
  expect(pool.capable(MODEL.number, { credits: 2, needs: [] })).toEqual([]);
});

it("keeps a place for a job at the worker that refused it, whose cover that job has", () => {
  expect(pool.keep(MODEL.number, { credits: 1, needs: [] })).not.toBeNull();
  expect(pool.keep(MODEL.number, { credits: 1, needs: [], jobId: "0x02" })).toBeNull();
  expect(pool.keep(MODEL.number, { credits: 1, needs: [], jobId: REFUSED_JOB })?.worker).toBe(worker);
});

it("tells when a place becomes free: given back, by a job's end, or announced", async () => {
  let freed = 0;
  pool.onFreed(() => {
    freed += 1;
  });
  const place = pool.keep(MODEL.number, { credits: 1, needs: [] });
  expect(pool.places(MODEL.number)).toEqual({ free: 7, spare: 0 });
  place?.release();
  expect([freed, pool.places(MODEL.number).free]).toEqual([1, 8]);
  await probed(["ok"]);
  expect(freed).toBe(2);
});

it("gives a job only to a worker that declares the abilities it needs", async () => {
  const chosen = (...needs: Ability[]) => pool.candidates(MODEL.number, { credits: 1, needs })[0]?.signer;
  expect([chosen(), chosen("json_object")]).toEqual([worker.signer, worker.signer]);
  expect([chosen("reasoning"), chosen("json_object", "reasoning")]).toEqual([undefined, undefined]);
  expect([pool.abilities(MODEL.number), pool.modelsWith(["json_object"])]).toEqual([["json_object"], ["m"]]);
  await probed(["refused", "refused"]);
  // Away, and expected back: a client is told to retry, not that there is no such thing.
  expect([pool.abilities(MODEL.number), pool.modelsWith(["json_object"])]).toEqual([[], []]);
  expect([pool.isDeclared(MODEL.number, ["json_object"]), pool.isDeclared(MODEL.number, ["reasoning"])]).toEqual([
    true,
    false,
  ]);
  abilities = {};
  await probed(["ok"]);
  expect(pool.isDeclared(MODEL.number, ["json_object"])).toBe(false);
});

it("makes no place spare at others by what a full worker announces", async () => {
  await start();
  announced = { capacity: 300, queue_capacity: 300, in_flight: 300, queued: 300 };
  await vi.advanceTimersByTimeAsync(5_000);
  expect(pool.places(MODEL.number)).toEqual({ free: 0, spare: 0 });
});

it("leaves the spare places of each worker to wallets that hold none", async () => {
  await start();
  listed = [worker, second];
  announced = { capacity: 16, queue_capacity: 16 };
  await vi.advanceTimersByTimeAsync(5_000);
  // The second one cannot do it: its places stay free.
  const take = (leavesSpare: boolean) => pool.keep(MODEL.number, { credits: 0, needs: ["json_object"], leavesSpare });
  const count = (leavesSpare: boolean): number => (take(leavesSpare) === null ? 0 : 1 + count(leavesSpare));
  expect([count(true), count(false)]).toEqual([30, 2]);
});

it("asks a worker every second while others' jobs leave only its spare places", async () => {
  await start();
  announced = { capacity: 16, queue_capacity: 16, in_flight: 16, queued: 14 };
  await vi.advanceTimersByTimeAsync(5_000);
  expect(pool.places(MODEL.number)).toEqual({ free: 2, spare: 2 });
  announced = { capacity: 16, queue_capacity: 16, in_flight: 16, queued: 0 };
  await vi.advanceTimersByTimeAsync(1_000);
  expect(pool.places(MODEL.number)).toEqual({ free: 16, spare: 2 });
});
