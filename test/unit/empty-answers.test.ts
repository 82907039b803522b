/** Empty answers: a client can bring them about, so they say nothing of their worker. The gateway asks the worker's model itself. */
import { pino } from "pino";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { RegisteredWorker } from "../../api/chain/directory.ts";
import { type DispatchEvents, WorkerFailure } from "../../api/jobs/worker-client.ts";
import { WorkerPool } from "../../api/jobs/worker-pool.ts";
import type { Dispatch } from "../../protocol/dispatch.ts";
import { fakeGateway } from "../support/fake-gateway.ts";
import { runJob, signingWorker } from "./support/jobs.ts";

const signing = signingWorker();
const worker = {
  signer: signing.signer,
  endpoint: "http://worker.test",
  models: [1, 2],
} as unknown as RegisteredWorker;
const [model, other] = [
  { number: 1, id: "m" },
  { number: 2, id: "n" },
] as const;

let pool: WorkerPool;
let reported: string[];
/** Trials that were asked, by their model. */
let trials: string[];
/** What the model says to a trial. */
let says: () => Promise<string>;

beforeEach(async () => {
  vi.useFakeTimers();
  [reported, trials] = [[], []];
  says = async () => "One, two";
  const parts = {
    directory: { workers: () => [worker], workersOf: () => [worker] },
    client: { probe: async () => ({ status: "ok", worker: worker.signer, capacity: 4 }) },
    trial: (_worker: RegisteredWorker, id: string) => {
      trials.push(id);
      return says();
    },
    incidents: { record: (_worker: string, code: string) => void reported.push(code) },
    metrics: { workerFailures: { inc() {} } },
    logger: pino({ level: "silent" }),
  };
  pool = new WorkerPool(parts as never, { jobsPerWorker: 4, misconductRestMs: 1_000 });
  await pool.start();
});
afterEach(() => {
  pool.stop();
  vi.useRealTimers();
});

const isOffered = (): boolean => pool.hosts(model.number).length === 1;
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const fail = () => pool.report(worker.signer, { code: "broken_stream", detail: "", jobId: null });
/** Seconds until it is offered again, after it failed. */
async function restSeconds(): Promise<number> {
  for (let seconds = 0; ; seconds++) {
    if (isOffered()) return seconds;
    await pass(1_000);
  }
}

it("do not clear a worker that fails its other jobs", async () => {
  fail();
  const first = await restSeconds();
  pool.answeredEmpty(worker, model);
  await pass(0);
  fail();
  const second = await restSeconds();
  expect(second).toBeGreaterThan(first);
  // An answer with text does.
  pool.reportSuccess(worker.signer);
  fail();
  expect(await restSeconds()).toBe(first);
});

it("by the thousand are followed by one trial at a time, and none for a minute after a good one", async () => {
  const answers: ((text: string) => void)[] = [];
  says = () => new Promise((resolve) => answers.push(resolve));
  const flood = () => {
    for (let i = 0; i < 1_000; i++) pool.answeredEmpty(worker, model);
  };
  flood();
  await pass(30_000);
  flood();
  expect(trials).toEqual(["m"]);
  // Another model of the worker can fail alone.
  pool.answeredEmpty(worker, other);
  expect(trials).toEqual(["m", "n"]);
  for (const answer of answers) answer("One");
  await pass(59_000);
  flood();
  expect(trials).toEqual(["m", "n"]);
  await pass(1_000);
  flood();
  expect(trials).toEqual(["m", "n", "m"]);
  expect([reported, isOffered()]).toEqual([[], true]);
});

it("of a model that says nothing to the gateway either: the worker rests, longer each time", async () => {
  says = async () => " \n";
  const rests: number[] = [];
  for (let i = 0; i < 3; i++) {
    pool.answeredEmpty(worker, model);
    await pass(0);
    expect(isOffered()).toBe(false);
    rests.push(await restSeconds());
  }
  expect(reported).toEqual(["empty_trial", "empty_trial", "empty_trial"]);
  expect(rests).toEqual(rests.toSorted((a, b) => a - b));
  expect(rests[2]).toBeGreaterThan(rests[0] as number);
});

it("of a worker that knows no trials, or is full, count for nothing", async () => {
  says = () => Promise.reject(new WorkerFailure("not_found", "no such route", false));
  pool.answeredEmpty(worker, model);
  await pass(0);
  expect([reported, isOffered()]).toEqual([[], true]);
});

/** What the gateway notes of the worker after a job that it answered with this text. */
async function notedAfter(text: string): Promise<string[]> {
  vi.useRealTimers();
  const time = Math.floor(Date.now() / 1000);
  const noted: string[] = [];
  const dispatch = async (_endpoint: string, { assignment }: Dispatch, events: DispatchEvents) => {
    if (text !== "") events.delta(text);
    return signing.complete(assignment.jobId, text, { completedAt: time, completionTokens: text.length });
  };
  const context = fakeGateway({
    time,
    workers: {
      choose: () => worker,
      reportSuccess: () => void noted.push("success"),
      answeredEmpty: () => void noted.push("empty"),
    },
    client: { dispatch },
  });
  await runJob(context).completed;
  return noted;
}

it("are neither a success nor a failure of their worker; an answer with text is a success", async () => {
  expect(await notedAfter("")).toEqual(["empty"]);
  expect(await notedAfter("text")).toEqual(["success"]);
});
