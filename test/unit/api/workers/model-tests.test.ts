/** Failed and empty answers: a client can bring them about, so they say nothing of their worker. The gateway tests the worker's model itself. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type DispatchEvents, WorkerFailure } from "../../../../api/workers/worker-client.ts";
import type { WorkerPool } from "../../../../api/workers/worker-pool.ts";
import type { Dispatch } from "../../../../protocol/dispatch.ts";
import { fakeGateway, registered } from "../../../support/fake-gateway.ts";
import { runJob, signingWorker } from "../../support/jobs.ts";
import { directoryOf, workerPool } from "../../support/worker-pool.ts";

const signing = signingWorker();
const worker = registered({ signer: signing.signer, models: new Set([1, 2]) });
const [model, other] = [
  { number: 1, id: "m" },
  { number: 2, id: "n" },
] as const;

let pool: WorkerPool;
let reported: string[];
/** Tests that were made, by their model. */
let tests: string[];
/** What the model says to a test prompt. */
let says: () => Promise<string>;

beforeEach(async () => {
  vi.useFakeTimers();
  [reported, tests] = [[], []];
  says = async () => "One, two";
  pool = workerPool({
    directory: directoryOf(() => [worker]),
    client: { probe: async () => ({ status: "ok", worker: worker.signer, capacity: 4, demo: false }) },
    testPrompt: (_worker, id) => {
      tests.push(id);
      return says();
    },
    incidents: { record: (_worker, code) => void reported.push(code) },
  });
  await pool.start();
});
afterEach(() => {
  pool.stop();
  vi.useRealTimers();
});

const isOffered = (): boolean => pool.hosts(model.number).length === 1;
/** The result of a test that begins now or within two seconds. */
async function tested() {
  const result = pool.test(worker, model);
  await pass(2_000);
  return result;
}
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
/** Seconds until it is offered again. */
async function awaySeconds(): Promise<number> {
  for (let seconds = 0; seconds < 120; seconds++) {
    if (isOffered()) return seconds;
    await pass(1_000);
  }
  throw new Error("it is not offered again within two minutes");
}

it("a failed job takes no worker away, whatever its code", async () => {
  for (const code of [
    "backend_failed",
    "cut_short",
    "stalled",
    "broken_stream",
    "answer_too_long",
    "never_finished",
    "unheard_of",
    "request_refused",
    "context_length_exceeded",
  ]) {
    pool.report(worker.signer, { code, detail: "", jobId: null }, model.number);
    expect([code, isOffered()]).toEqual([code, true]);
  }
});

it.each(["unreachable", "not_locked", "chain_unavailable"])("a worker that takes no jobs rests: %s", async (code) => {
  pool.report(worker.signer, { code, detail: "", jobId: null }, model.number);
  expect(isOffered()).toBe(false);
});

it("tests once for a flood of failures: one at a time, two seconds apart", async () => {
  const answers: ((text: string) => void)[] = [];
  says = () => new Promise((resolve) => answers.push(resolve));
  const results = Array.from({ length: 100 }, () => pool.test(worker, model));
  await pass(0);
  expect(tests).toEqual(["m"]);
  const later = Array.from({ length: 100 }, () => pool.test(worker, model));
  // Another model of the worker can fail alone.
  void pool.test(worker, other);
  await pass(0);
  expect(tests).toEqual(["m", "n"]);
  answers[0]?.("One");
  expect(new Set(await Promise.all(results))).toEqual(new Set([{ model: "sound" }]));
  await pass(1_999);
  expect(tests).toEqual(["m", "n"]);
  await pass(1);
  expect(tests).toEqual(["m", "n", "m"]);
  answers[2]?.("One");
  await Promise.all(later);
  expect([reported, isOffered()]).toEqual([[], true]);
});

it.each<[string, () => Promise<string>]>([
  ["says nothing to the gateway", async () => " \n"],
  ["fails for the gateway", () => Promise.reject(new WorkerFailure("backend_failed", "500", false))],
  ["refuses the gateway's prompt", () => Promise.reject(new WorkerFailure("request_refused", "400", false))],
  ["holds no prompt at all", () => Promise.reject(new WorkerFailure("context_length_exceeded", "400", false))],
  ["does not answer the gateway", () => Promise.reject(new DOMException("timeout", "TimeoutError"))],
])("a model that %s is offered no job until it answers a later test", async (_, answer) => {
  says = answer;
  const result = await tested();
  expect([result.model, isOffered(), pool.hosts(other.number).length]).toEqual(["broken", false, 1]);
  // It is tested again after 1, 2, 4 and 8 s, and not more often.
  await pass(18_000);
  expect(isOffered()).toBe(false);
  expect(tests.length).toBeGreaterThanOrEqual(4);
  expect(tests.length).toBeLessThanOrEqual(6);
  says = async () => "One";
  expect(await awaySeconds()).toBeLessThanOrEqual(16);
  expect(new Set(reported)).toEqual(new Set(["failed_test"]));
});

describe("a model that is broken again and again", () => {
  /** It fails a test, and passes those that follow; the seconds that it is away. */
  async function flips(): Promise<number> {
    await pass(2_000);
    says = async () => "";
    void pool.test(worker, model);
    await pass(100);
    says = async () => "One";
    return awaySeconds();
  }

  it("is away longer each time, until ten minutes have passed without a failed test", async () => {
    const away: number[] = [];
    for (let n = 0; n < 8; n++) away.push(await flips());
    // Two tests begin no sooner than two seconds after each other.
    expect(away).toEqual([2, 2, 4, 8, 16, 32, 60, 60]);
    await pass(600_000);
    expect(await flips()).toBe(2);
  });

  it("is not back sooner because jobs fail there meanwhile", async () => {
    for (let n = 0; n < 4; n++) await flips();
    await pass(2_000);
    let answer: (text: string) => void = () => {};
    says = () =>
      new Promise((resolve) => {
        answer = resolve;
      });
    const results = [pool.test(worker, model)];
    await pass(0);
    results.push(pool.test(worker, model));
    answer("");
    says = async () => "One";
    await pass(3_100);
    results.push(pool.test(worker, model));
    expect((await Promise.all(results)).map((result) => result.model)).toEqual(["broken", "broken", "broken"]);
    expect(await awaySeconds()).toBe(13);
  });
});

it("tests once after thousands of empty answers, and no more for a minute", async () => {
  const flood = () => {
    for (let i = 0; i < 1_000; i++) pool.answeredEmpty(worker, model);
  };
  flood();
  await pass(30_000);
  flood();
  expect(tests).toEqual(["m"]);
  await pass(30_000);
  flood();
  await pass(0);
  expect(tests).toEqual(["m", "m"]);
});

it("a worker that knows no tests, or is full, says nothing of its model", async () => {
  says = () => Promise.reject(new WorkerFailure("not_found", "no such route", false));
  expect(await tested()).toEqual({ model: "unknown" });
  says = () => Promise.reject(new WorkerFailure("busy", "full", false));
  expect([await tested(), reported, isOffered()]).toEqual([{ model: "unknown" }, [], true]);
  // Nor does it make a broken one sound.
  says = async () => "";
  await tested();
  says = () => Promise.reject(new WorkerFailure("busy", "full", false));
  await pass(10_000);
  expect(isOffered()).toBe(false);
});

type Given = { text?: string; reasoning?: string; end?: "stop" | "length"; showReasoning?: boolean };

/** What the gateway notes of the worker after a job that it answered with this. The client asked for a hundred tokens at most. */
async function notedAfter({
  text = "",
  reasoning = "",
  end = "stop",
  showReasoning = false,
}: Given): Promise<string[]> {
  vi.useRealTimers();
  const time = Math.floor(Date.now() / 1000);
  const noted: string[] = [];
  const dispatch = async (_endpoint: string, { assignment }: Dispatch, events: DispatchEvents) => {
    if (reasoning !== "") events.reasoning(reasoning);
    if (text !== "") events.delta(text);
    const counts = { completionTokens: text.length, reasoningTokens: reasoning === "" ? 0 : 100 };
    const answer = await signing.complete(assignment.jobId, text, { completedAt: time, ...counts });
    return { ...answer, finish_reason: end };
  };
  const context = fakeGateway({
    time,
    choose: () => worker,
    workers: {
      reportSuccess: () => void noted.push("success"),
      answeredEmpty: () => void noted.push("empty"),
    },
    client: { dispatch },
  });
  const job = runJob(context, { showReasoning });
  job.clientCame();
  await job.completed;
  return noted;
}

const reasoning = "thought ".repeat(100);
it.each<[string, Given, string]>([
  ["a text", { text: "text" }, "success"],
  ["nothing", {}, "empty"],
  ["reasoning alone, at its own end", { reasoning }, "empty"],
  ["reasoning alone that its client saw, at its own end", { reasoning, showReasoning: true }, "empty"],
  ["reasoning alone, cut by max_tokens", { reasoning, end: "length" }, "success"],
  [
    "reasoning alone that its client saw, cut by max_tokens",
    { reasoning, end: "length", showReasoning: true },
    "success",
  ],
])("tests a model after an empty answer that no limit explains: %s", async (_title, given, expected) => {
  expect(await notedAfter(given)).toEqual([expected]);
});
