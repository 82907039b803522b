/** How workers are asked one after the other, and what stays of it when the gateway itself fails. */

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { Answer } from "../../../../api/jobs/answer.ts";
import { type AttemptInput, type AttemptParts, runAttempt } from "../../../../api/jobs/attempt.ts";
import { type DispatchEvents, WorkerFailure } from "../../../../api/workers/worker-client.ts";
import type { Dispatch } from "../../../../protocol/dispatch.ts";
import { newJobId } from "../../../../protocol/job-id.ts";
import {
  DISPATCHED,
  type Dispatching,
  fakeGateway,
  type JobParts,
  MODEL as model,
  PLACE_GONE,
  placeAt,
  registered,
  rowsInMemory,
  TIMES,
} from "../../../support/fake-gateway.ts";
import { runJob, type SigningWorker, signingWorker } from "../../support/jobs.ts";

const request = { messages: [], max_tokens: 100 };
const jobId = newJobId();

/** A gateway with so many workers, all of which refuse; and what it told them, and of them. */
function gateway(failure = new WorkerFailure("draining", "no", false), most = Number.POSITIVE_INFINITY) {
  const asked: number[] = [];
  const reports: string[] = [];
  let outstanding = 0;
  const dispatched = () => {
    outstanding += 1;
    const end = () => {
      outstanding -= 1;
    };
    return { ...DISPATCHED, end };
  };
  const context = fakeGateway({
    choose: ({ size }) =>
      size < most ? registered({ signer: `0x${size.toString(16).padStart(40, "0")}` }) : undefined,
    dispatched,
    workers: {
      report: (_worker: string, { code }: { code: string }) => void reports.push(code),
    },
    client: {
      dispatch: async (_endpoint: string, { assignment }: { assignment: { attempt: number } }) => {
        asked.push(assignment.attempt);
        throw failure;
      },
    },
  });
  return { context, asked, reports, dispatched, outstanding: () => outstanding };
}

const clientOf = (dispatch: Dispatching) => ({ ...fakeGateway({}).client, dispatch });
/** What a worker says at the end of an answer of one token. */
const answered = () => signingWorker().complete(jobId, "text", { completedAt: 0, completionTokens: 1 });

/** One attempt at a worker of this context; its answer. */
function attempt(
  parts: AttemptParts,
  number = 1,
  signal = new AbortController().signal,
  more: Partial<AttemptInput> = {},
) {
  const answer = new Answer();
  const place = placeAt(registered());
  const input: AttemptInput = {
    jobId,
    attempt: number,
    place,
    model,
    request,
    answer,
    signal,
    unwanted: new AbortController().signal,
    onFirstToken() {},
    mined: Promise.resolve(),
    wasMined: true,
    settleBefore: 0,
    hasAlternative: () => true,
    ...more,
  };
  return { answer, result: runAttempt(parts, input) };
}

it.each([
  ["refused it, as far as it says", false, "refused"],
  ["may have taken it", true, "taken"],
])("a worker whose offer ends without an answer %s", async (_what, offered, end) => {
  const { context } = gateway(new WorkerFailure("busy", "full", offered));
  const ends: string[] = [];
  const dispatched = () => ({ ...DISPATCHED, end: (how: string) => void ends.push(how) });
  await attempt(context, 1, undefined, { place: placeAt(registered(), dispatched) }).result;
  expect(ends).toEqual([end]);
});

it("a job that could not be signed is neither kept by its worker nor its fault", async () => {
  const { context, asked, reports, dispatched, outstanding } = gateway();
  const sign = () => Promise.reject(new Error("no key"));
  const signless = { ...context, account: { ...context.account, sign } };
  const place = placeAt(registered(), dispatched);
  await expect(attempt(signless, 1, undefined, { place }).result).rejects.toThrow("no key");
  expect([outstanding(), asked, reports]).toEqual([0, [], []]);
});

/** The attempt of a worker that sends these events at once, and a delta after `ms`; a first token may take 100 ms. */
async function slowly(events: ("acknowledged" | "begun")[], ms: number, hasAlternative = true) {
  const { context, reports } = gateway();
  const dispatch: Dispatching = async (_endpoint, _body, on, signal) => {
    for (const event of events) on[event]("0x");
    await new Promise((resolve, reject) => {
      setTimeout(resolve, ms);
      signal.addEventListener("abort", () => reject(signal.reason));
    });
    on.delta("text");
    return answered();
  };
  const quick = { ...context, client: clientOf(dispatch), times: { ...context.times, firstToken: 0.1 } };
  const { ok } = await attempt(quick, 1, undefined, { hasAlternative: () => hasAlternative }).result;
  return { ok, stalled: reports.includes("stalled") };
}

it("a worker that took the job and says nothing more has stalled", async () => {
  expect(await slowly(["acknowledged"], 2_000)).toEqual({ ok: false, stalled: true });
});

it("a worker that is slow to its first token keeps the job where there is no other", async () => {
  expect(await slowly(["acknowledged"], 300, false)).toEqual({ ok: true, stalled: false });
});

it("a model that has written nothing but newlines so far has not", async () => {
  expect(await slowly(["acknowledged", "begun"], 300)).toEqual({ ok: true, stalled: false });
});

it("a worker that does not acknowledge before its offer runs out is silent", async () => {
  const { context, reports } = gateway();
  const dispatch: Dispatching = (_endpoint, _body, _on, signal) =>
    new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  const hasty = { ...context, client: clientOf(dispatch), times: { ...context.times, acknowledge: 1 } };
  expect(await attempt(hasty).result).toMatchObject({ ok: false, failure: { code: "silent", offered: true } });
  expect(reports).toEqual(["silent"]);
});

it.each([
  ["is named where it had its share of that time", 0, ["never_finished"]],
  ["is not where the job was late when the worker got it", 120, []],
])("a worker that has not finished when the job's time is over %s", async (_what, completion, named) => {
  const { context, reports } = gateway();
  const dispatch = () => Promise.reject(new Error("broken off"));
  const over = { ...context, client: clientOf(dispatch), times: { ...context.times, completion } };
  const { result } = attempt(over, 1, AbortSignal.abort());
  expect(await result).toMatchObject({ ok: false, failure: { code: "never_finished" } });
  expect(reports).toEqual(named);
});

it.each([
  ["`busy` at once is full", 0, false, "busy", "busy"],
  ["`busy` when a job has waited there as long as it may is full", 6_000, false, "busy", "busy"],
  ["`busy` later has held the job, which has stalled", 6_001, false, "busy", "stalled"],
  ["`draining` so late has stalled as well", 6_001, false, "draining", "stalled"],
  ["that it cannot read the chain, so late, rests as before", 6_001, false, "chain_unavailable", "chain_unavailable"],
  ["`busy` after it took the job has stalled", 0, true, "busy", "stalled"],
])("a worker that says %s", async (_what, ms, offered, code, reported) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "performance", "Date"], now: 1_800_000_000_000 });
  try {
    const { context, reports } = gateway();
    const dispatch = async () => {
      vi.advanceTimersByTime(ms);
      throw new WorkerFailure(code, "full", offered);
    };
    const { result } = attempt({ ...context, client: clientOf(dispatch) });
    expect(await result).toMatchObject({ ok: false, failure: { code: reported, offered } });
    expect(reports).toEqual([reported]);
  } finally {
    vi.useRealTimers();
  }
});

describe("what an attempt without an answer cost its client", () => {
  /** The time that the worker counts as having lost, ms; null if none. `offered`: it may still take the job on chain. */
  async function lost(
    failure: WorkerFailure,
    afterMs: number,
    { pieces = 0, ...more }: Partial<AttemptInput> & { pieces?: number } = {},
  ) {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"], now: 1_800_000_000_000 });
    try {
      const { context } = gateway();
      let ms: number | null = null;
      const dispatch: Dispatching = async (_endpoint, _body, on) => {
        for (let n = 0; n < pieces; n++) on.delta("text");
        vi.advanceTimersByTime(afterMs);
        throw failure;
      };
      const dispatched = { ...DISPATCHED, lost: (so: number) => (ms = so) };
      const place = placeAt(registered(), () => dispatched);
      await attempt({ ...context, client: clientOf(dispatch) }, 1, undefined, { place, ...more }).result;
      return ms;
    } finally {
      vi.useRealTimers();
    }
  }

  it.each(["stopping", "draining", "backend_failed", "superseded", "unfinished"])(
    "is the time until the offer runs out, where the worker took the job and says `%s` at once",
    async (code) => {
      expect(await lost(new WorkerFailure(code, "", true), 20)).toBe(10_000);
      // A client whose answer breaks off loses no less.
      expect(await lost(new WorkerFailure(code, "", true), 50, { pieces: 1 })).toBe(10_000);
    },
  );

  it.each([true, false])(
    "is the time that the worker held it before `not_locked`, also of a mined lock: %s",
    async (wasMined) => {
      expect(await lost(new WorkerFailure("not_locked", "", false), 9_500, { wasMined })).toBe(9_500);
      expect(await lost(new WorkerFailure("not_locked", "", false), 5, { wasMined })).toBe(5);
    },
  );

  it("is nothing where the job came so late that nobody could have finished it", async () => {
    const late = { signal: AbortSignal.abort() };
    expect(await lost(new WorkerFailure("unreachable", "", true), 20, late)).toBeNull();
  });
});

it("tells at which pace an answer and its reasoning come, and when the lock is mined", async () => {
  const { context } = gateway();
  const noted: string[] = [];
  const dispatched = {
    ...DISPATCHED,
    mined: () => void noted.push("mined"),
    firstToken: () => void noted.push("first"),
    wrote: (characters: number) => void noted.push(`${characters}`),
    answered: () => void noted.push("answered"),
  };
  const lock = Promise.withResolvers<void>();
  const dispatch: Dispatching = async (_endpoint, _body, on) => {
    on.acknowledged("0x");
    on.reasoning("Hm");
    on.delta("text");
    lock.resolve();
    await sleep(0);
    return answered();
  };
  const place = placeAt(registered(), () => dispatched);
  const client = clientOf(dispatch);
  await attempt({ ...context, client }, 1, undefined, { place, wasMined: false, mined: lock.promise }).result;
  expect(noted).toEqual(["first", "2", "4", "mined", "answered"]);
});

describe("a worker that refuses a job which it has taken", () => {
  /** What is reported of it. `pieces`: so many of the answer came before it said so. */
  async function reportedOf(code: string, pieces: number): Promise<string[]> {
    const { context, reports } = gateway();
    const dispatch: Dispatching = async (_endpoint, _body, on) => {
      on.acknowledged("0x");
      for (let n = 0; n < pieces; n++) on.delta("text");
      throw new WorkerFailure(code, "no", true);
    };
    await attempt({ ...context, client: clientOf(dispatch) }).result;
    return reports;
  }

  it.each(["draining", "busy", "unknown_model", "ended_early"])(
    "has stalled before the first piece of the answer, and broken it off after that: %s",
    async (code) => {
      expect([await reportedOf(code, 0), await reportedOf(code, 1)]).toEqual([["stalled"], ["broken_stream"]]);
    },
  );

  it.each(["not_locked", "already_taken", "chain_unavailable", "unreachable"])(
    "has broken its answer off, and takes jobs: %s",
    async (code) => expect(await reportedOf(code, 1)).toEqual(["broken_stream"]),
  );

  it.each(["stopping", "backend_failed", "malformed"])("is taken at its word: %s", async (code) => {
    expect([await reportedOf(code, 0), await reportedOf(code, 1)]).toEqual([[code], [code]]);
  });
});

it("a worker whose acknowledgement is not its own is named, and its answer counts", async () => {
  const { context, reports } = gateway();
  const dispatch: Dispatching = async (_endpoint, _body, on) => {
    on.acknowledged(`0x${"11".repeat(65)}`);
    on.delta("text");
    // A job that is over needs no acknowledgement any more: the gateway looks at it while the job runs.
    await vi.waitFor(() => expect(reports).toEqual(["bad_acknowledgement"]), 10_000);
    return answered();
  };
  expect(await attempt({ ...context, client: clientOf(dispatch) }).result).toMatchObject({ ok: true });
});

it.each([
  ["to blame where the chain shows the job open", false, ["not_locked"]],
  ["right where an earlier worker has proven an answer", true, []],
])("a worker that finds the job closed is %s", async (_what, isClosed, blamed) => {
  const { context, reports } = gateway();
  const dispatch = () => Promise.reject(new WorkerFailure("not_locked", "no job open", false));
  const seeing = { ...context, client: clientOf(dispatch), isClosedToWorkers: async () => isClosed };
  expect(await attempt(seeing, 2).result).toMatchObject({ ok: false });
  expect(reports).toEqual(blamed);
});

describe("a worker that has no room for a job after all", () => {
  /** Runs a job at a gateway whose places are at these workers, one after the other; all but the last offer are refused as `busy`. */
  async function run(...workers: string[]) {
    const [offers, excluded]: [string[], string[][]] = [[], []];
    const noted: object[] = [];
    const time = Math.floor(Date.now() / 1000);
    const keys = new Map(["a", "b"].map((name, at) => [name, signingWorker(at + 1)]));
    const places = workers.map((name) => keys.get(name) as SigningWorker);
    const { store, rows } = rowsInMemory(async (step, change) => void (step === "taken" && noted.push(change)));
    const context = fakeGateway({
      time,
      choose: (without) => {
        excluded.push([...without]);
        return places[offers.length];
      },
      store,
      rows,
      client: {
        dispatch: async (endpoint: string, { assignment }: Dispatch, events: DispatchEvents) => {
          const worker = places.find((one) => one.endpoint === endpoint) as SigningWorker;
          const name = [...keys].find(([, one]) => one === worker)?.[0];
          offers.push(`${name}${assignment.attempt}`);
          if (offers.length < places.length) throw new WorkerFailure("busy", "full", false);
          events.acknowledged(await worker.acknowledge(assignment.jobId, assignment.attempt));
          events.delta("Hi");
          return worker.complete(assignment.jobId, "Hi", { completedAt: time, completionTokens: 1 });
        },
      },
    });
    await runJob(context).completed;
    return { offers, excluded, noted };
  }

  it("gets it again as the same attempt, without a new acknowledgement", async () => {
    const { offers, excluded, noted } = await run("a", "a", "a");
    expect(offers).toEqual(["a1", "a1", "a1"]);
    expect(excluded).toEqual([[], [], []]);
    expect(noted).toEqual([]);
  });

  it("stays one that may get it, and the next worker's is a later attempt", async () => {
    const { offers, noted } = await run("a", "b", "b", "a");
    expect(offers).toEqual(["a1", "b2", "b2", "a3"]);
    expect(noted).toMatchObject([{ attempt: 2 }, { attempt: 3 }, { attempt: 3, acknowledged: true }]);
  });
});

it("a locked job that finds no place before its time is over is refunded", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  try {
    const wanted: object[] = [];
    const again: JobParts["queue"]["again"] = (one, _excluded, signal) => {
      wanted.push(one);
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve(null)));
    };
    const told = runJob(fakeGateway({ queue: { again } }), { jobId }).completed.catch((error) => error);
    await vi.advanceTimersByTimeAsync((TIMES.completion + 30) * 1_000);
    expect(await told).toMatchObject({ code: "job_timeout", status: 504 });
    // By its id the job is known to a worker that refused it.
    expect(wanted).toMatchObject([{ jobId }]);
  } finally {
    vi.useRealTimers();
  }
});

it("a job whose worker left before the offer counts as the worker's fault", async () => {
  const { context } = gateway(undefined, 0);
  const failed = vi.fn();
  const { completed } = runJob({ ...context, standings: { ...context.standings, failed } });
  await expect(completed).rejects.toMatchObject({ code: "no_workers_available" });
  expect(failed.mock.calls).toEqual([[expect.anything(), { isWorkersFault: true }]]);
});

it("a job is offered 255 times at most: there is no number for another attempt", async () => {
  const { context, asked, outstanding } = gateway();
  await expect(runJob(context).completed).rejects.toMatchObject({ code: "no_workers_available" });
  expect(asked).toEqual(Array.from({ length: 255 }, (_, i) => i + 1));
  expect(outstanding()).toBe(0);
});

it("a job that three workers took and did not begin is offered to no other", async () => {
  const { context } = gateway();
  const [failed, offers] = [vi.fn(), vi.fn()];
  const client = clientOf(async (_endpoint, _body, events) => {
    offers();
    events.acknowledged("0x");
    throw new WorkerFailure("stopping", "it stops", false);
  });
  const { completed } = runJob({ ...context, client, standings: { ...context.standings, failed } });
  await expect(completed).rejects.toMatchObject({ code: "no_workers_available" });
  expect([offers.mock.calls.length, failed.mock.calls.length]).toEqual([3, 1]);
});

describe("a request that fails at the model", () => {
  type Outcome = "sound" | "broken" | "slow";
  /**
   * Runs it at a gateway whose own tests of the models end so, one after the other; what was tested, and how often its wallet failed without a
   * worker at fault. `hosts`: one worker can take the job of so many that host the model.
   */
  function run(failure: WorkerFailure, outcomes: readonly Outcome[] = ["sound"], hosts?: number) {
    const { context, asked, reports } = gateway(failure, hosts === undefined ? Number.POSITIVE_INFINITY : 1);
    const workers = { ...context.workers, ...(hosts !== undefined && { hosts: () => Array(hosts) }) };
    const [tested, turns]: [string[], string[]] = [[], []];
    const test: JobParts["workers"]["test"] = async ({ signer }) => {
      const outcome = outcomes[Math.min(tested.push(signer), outcomes.length) - 1];
      if (outcome === "slow") await new Promise(() => {});
      return outcome === "sound" ? { model: "sound" } : { model: "broken", why: "no answer" };
    };
    const failed: JobParts["standings"]["failed"] = (wallet, { isWorkersFault }) => {
      if (!isWorkersFault) turns.push(wallet);
    };
    const { completed } = runJob({
      ...context,
      standings: { ...context.standings, failed },
      workers: { ...workers, test },
    });
    return { completed, asked, reports, tested, turns };
  }
  const backend = (code = "backend_failed") => new WorkerFailure(code, "no", false);

  it.each(["backend_failed", "stalled", "answer_too_long", "broken_stream", "unfinished", "some_new_code"])(
    "is tried at two workers, then it is its client's error: %s",
    async (code) => {
      const { completed, asked, reports, tested, turns } = run(backend(code));
      await expect(completed).rejects.toMatchObject({ code: "request_failed_at_model", status: 422 });
      expect([asked, reports, tested.length, turns.length]).toEqual([[1, 2], [code, code], 2, 1]);
    },
  );

  it.each([
    ["the only one of its model", 1],
    ["the only one that can take it", 2],
  ])("is its client's error after one worker, and counts, where that is %s", async (_, hosts) => {
    const { completed, asked, turns } = run(backend(), ["sound"], hosts);
    await expect(completed).rejects.toMatchObject({ code: "request_failed_at_model", status: 422 });
    expect([asked, turns.length]).toEqual([[1], 1]);
  });

  it.each<[string, Outcome[]]>([
    ["both", ["broken"]],
    ["one of both", ["sound", "broken"]],
  ])(
    "is retryable, and costs its wallet no turn, where %s of the models fail the gateway's own test",
    async (_, outcomes) => {
      const { completed, turns } = run(backend(), outcomes);
      await expect(completed).rejects.toMatchObject({ code: "service_unavailable", status: 503 });
      expect(turns).toEqual([]);
    },
  );

  it("is retryable where the test takes too long", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    try {
      const { completed } = run(backend(), ["slow"]);
      const told = completed.catch((error) => error);
      await vi.advanceTimersByTimeAsync(11_000);
      expect(await told).toMatchObject({ code: "service_unavailable" });
    } finally {
      vi.useRealTimers();
    }
  });

  it.each(["unreachable", "chain_unavailable", "not_locked", "draining"])(
    "is not one that no worker took, which counts all the same: %s",
    async (code) => {
      const { completed, asked, turns } = run(backend(code));
      await expect(completed).rejects.toMatchObject({ code: "no_workers_available" });
      await vi.waitFor(() => expect([asked.length, turns.length]).toEqual([255, 1]));
    },
  );

  it.each<[string, number, Outcome[]]>([
    ["both", 4, ["broken", "broken", "sound"]],
    ["one", 3, ["broken", "sound", "sound"]],
  ])("goes to further workers where %s of its refusers fail the gateway's test", async (_, offers, outcomes) => {
    const { completed, asked, turns } = run(backend("request_refused"), outcomes);
    await expect(completed).rejects.toMatchObject({ code: "invalid_request", status: 400 });
    expect([asked.length, turns.length]).toEqual([offers, 1]);
  });

  it.each(["request_refused", "context_length_exceeded"])(
    "blames no wallet where every refuser fails the gateway's own test: %s",
    async (code) => {
      const { completed, asked, turns } = run(backend(code), ["broken"]);
      await expect(completed).rejects.toMatchObject({ code: "service_unavailable", status: 503 });
      expect([asked.length, turns]).toEqual([255, []]);
    },
  );

  it.each([
    ["the only one of its model", 1, "sound", 400, 1],
    ["the only one that can take it", 2, "sound", 400, 1],
    ["the only one of its model, and fails the gateway's own test", 1, "broken", 503, 0],
  ] as const)("is refused by one worker, where that is %s", async (_, hosts, outcome, status, turnsLost) => {
    const { completed, turns } = run(backend("request_refused"), [outcome], hosts);
    await expect(completed).rejects.toMatchObject({ status });
    expect(turns.length).toBe(turnsLost);
  });

  it("is too long if two model servers do not hold it", async () => {
    const { completed, asked, tested, turns } = run(backend("context_length_exceeded"));
    await expect(completed).rejects.toMatchObject({ code: "context_length_exceeded", status: 400, param: "messages" });
    expect([asked, tested.length, turns.length]).toEqual([[1, 2], 2, 1]);
  });

  it("is refused where two model servers do not take it", async () => {
    const { completed, asked, tested, turns } = run(backend("request_refused"));
    await expect(completed).rejects.toMatchObject({ code: "invalid_request", status: 400 });
    // It costs the operator the gas of two transactions, as a failure does.
    expect([asked, tested.length, turns.length]).toEqual([[1, 2], 2, 1]);
  });
});

describe("a job that ends without a charge after its first token", () => {
  /** Its client's error, and whether the worker is at fault, where the gateway's test of the model ends so. `breaks`: what it does after the token. */
  async function endOf(isSound: boolean, breaks: (signal: AbortSignal) => ReturnType<Dispatching>) {
    const { context } = gateway();
    const failed: { isWorkersFault: boolean }[] = [];
    const [begun, jobEnded] = [vi.fn(), vi.fn()];
    const test: JobParts["workers"]["test"] = async () =>
      isSound ? { model: "sound" } : { model: "broken", why: "no answer" };
    const { completed } = runJob(
      {
        ...context,
        standings: { ...context.standings, failed: (_wallet, why) => void failed.push(why) },
        workers: { ...context.workers, hosts: () => [registered(), registered()], test },
        client: clientOf((_endpoint, _body, events, signal) => {
          events.acknowledged("0x");
          for (const text of ["Hello", " you"]) events.delta(text);
          return breaks(signal);
        }),
      },
      { admission: { ...PLACE_GONE, begun, jobEnded } },
    );
    const error = await completed.catch((failure) => failure);
    await vi.waitFor(() => expect(jobEnded).toHaveBeenCalled());
    return { error, failed, begun: begun.mock.calls.length };
  }
  const saying = (code: string) => async () => {
    throw new WorkerFailure(code, "it broke", true);
  };

  it.each(["broken_stream", "superseded", "stopping", "draining", "not_running", "busy", "some_new_code"])(
    "counts against its wallet, whose own worker could break off without an end, whatever it says: %s",
    async (code) => {
      const { error, ...told } = await endOf(true, saying(code));
      expect(error).toMatchObject({ code: "service_unavailable", status: 503 });
      expect(told).toEqual({ failed: [{ isWorkersFault: false }], begun: 1 });
    },
  );

  it.each([
    ["the model fails the gateway's own test", false, "broken_stream"],
    ["the worker broke the protocol, and rests", true, "malformed"],
  ])("is the worker's fault where %s", async (_, isSound, code) => {
    expect(await endOf(isSound, saying(code))).toMatchObject({ failed: [{ isWorkersFault: true }], begun: 1 });
  });

  it.each([true, false])("counts likewise by the job's time, where the model's test is passed: %s", async (isSound) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const never = (signal: AbortSignal) =>
        new Promise<never>((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      const ended = endOf(isSound, never);
      await vi.advanceTimersByTimeAsync((TIMES.completion + 30) * 1_000);
      expect(await ended).toMatchObject({ error: { code: "job_timeout" }, failed: [{ isWorkersFault: !isSound }] });
    } finally {
      vi.useRealTimers();
    }
  });
});

it("a worker whose model reasons for long has not stalled", async () => {
  const { context } = gateway();
  const speeds: number[] = [];
  const reasoning = {
    ...context,
    times: { ...context.times, firstToken: 0.2 },
    workers: { ...context.workers, reportSpeed: (_w: string, _m: number, _t: number, ms: number) => speeds.push(ms) },
    client: clientOf(async (_endpoint, _body, events, signal) => {
      events.acknowledged("0x");
      events.reasoning("Hm");
      await sleep(500);
      signal.throwIfAborted();
      events.delta("42");
      return answered();
    }),
  };
  const began = performance.now();
  const { answer, result } = attempt(reasoning);
  expect((await result).ok).toBe(true);
  const whole = performance.now() - began;
  expect([answer.text, answer.reasoning]).toEqual(["42", "Hm"]);
  // Its speed is that of the answer: a client chooses how long a model reasons.
  // A timer may end a millisecond early.
  expect(whole - (speeds[0] as number)).toBeGreaterThan(490);
});
