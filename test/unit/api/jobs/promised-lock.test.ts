/** A job that begins on the promise of its lock: what may happen before the lock is mined, and what comes of it if it never is. */
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, expect, it, vi } from "vitest";
import type { Operation, Outcome, Promised } from "../../../../api/chain/operations.ts";
import { type CompletedEvent, type DispatchEvents, WorkerFailure } from "../../../../api/workers/worker-client.ts";
import { type Dispatch, RefusalCode } from "../../../../protocol/dispatch.ts";
import { newJobId } from "../../../../protocol/job-id.ts";
import { PreconfirmationLimit } from "../../../../shared/preconfirmation-limit.ts";
import { fakeGateway, minedAt, type Replaced, reverted, submission, TIMES } from "../../../support/fake-gateway.ts";
import { runJob, signingWorker } from "../../support/jobs.ts";

const TEXT = "The answer.";
const CREDITS = 8;
const lockedAt = Math.floor(Date.now() / 1000);
const jobId = newJobId();
const worker = signingWorker();

let sent: string[];
let reports: string[];
let closed: object[];
let promises: PreconfirmationLimit;
let lock: { promised: PromiseWithResolvers<Promised>; mined: PromiseWithResolvers<Outcome> };
beforeEach(() => {
  [sent, reports, closed] = [[], [], []];
  promises = new PreconfirmationLimit({ each: CREDITS, all: CREDITS });
  lock = { promised: Promise.withResolvers(), mined: Promise.withResolvers() };
});

const isMined = (blockTime = lockedAt) => lock.mined.resolve(minedAt(blockTime, "lock"));
const isPromised = () => lock.promised.resolve({ ...minedAt(lockedAt, "lock"), status: "promised" });

type Dispatching = (body: Dispatch, events: DispatchEvents, signal: AbortSignal) => Promise<CompletedEvent>;
function run(dispatch: Dispatching, more: Replaced = {}) {
  const submit = ({ kind }: Operation) => {
    sent.push(kind);
    if (kind === "lock") return submission(lock.mined.promise, { promised: lock.promised.promise });
    return submission(minedAt(lockedAt, kind));
  };
  const parts = fakeGateway({
    time: lockedAt,
    promises,
    pipeline: { submit },
    choose: (excluded) => (excluded.has(worker.signer) ? undefined : worker),
    workers: { report: (_worker: string, { code }: { code: string }) => void reports.push(code) },
    client: {
      dispatch: (_endpoint: string, body: Dispatch, events: DispatchEvents, signal: AbortSignal) =>
        dispatch(body, events, signal),
    },
    rows: { neverLocked: async (_jobId, why) => void closed.push({ why }) },
    ...more,
  });
  return runJob(parts, { jobId });
}

const answer: Dispatching = async (_body, events) => {
  events.acknowledged(await worker.acknowledge(jobId, 1));
  events.delta(TEXT);
  return worker.complete(jobId, TEXT, { completedAt: lockedAt });
};

it("the first token comes with the promise, and the settlement with the block", async () => {
  const job = run(answer);
  isPromised();
  expect(await job.firstToken).toBe(worker.signer);
  await sleep(300);
  // Neither settled nor acknowledged: both would refer to a job that the chain does not have.
  expect(sent).toEqual(["lock"]);
  isMined();
  const { settling } = await job.completed;
  expect((await settling.done).isSettled).toBe(true);
  expect(sent).toEqual(["lock", "complete"]);
});

it("without room in the operator's limit the job waits for its block", async () => {
  promises = new PreconfirmationLimit({ each: CREDITS, all: CREDITS - 1 });
  const job = run(answer);
  let isLocked = false;
  void job.locked.then(() => {
    isLocked = true;
  });
  isPromised();
  await sleep(50);
  expect(isLocked).toBe(false);
  isMined();
  await job.completed;
});

it("the room of a job is free again when its lock is mined", async () => {
  const job = run(answer);
  isPromised();
  await job.locked;
  expect(promises.take(1)).toBeNull();
  isMined();
  await job.completed;
  expect(promises.take(CREDITS)).not.toBeNull();
});

it("a worker that waits for the block gets the job again then, and is not reported", async () => {
  let offers = 0;
  const job = run((body, events, signal) => {
    offers += 1;
    if (offers === 1) throw new WorkerFailure(RefusalCode.NotLocked, "the chain shows no job", false);
    return answer(body, events, signal);
  });
  isPromised();
  await vi.waitFor(() => expect(offers).toBe(1));
  await sleep(50);
  expect(offers).toBe(1);
  isMined();
  expect((await job.completed).worker).toBe(worker.signer);
  expect([offers, reports]).toEqual([2, []]);
});

it("a worker that does not find a mined lock is reported, and no longer asked", async () => {
  const job = run(() => Promise.reject(new WorkerFailure(RefusalCode.NotLocked, "the chain shows no job", false)));
  isMined();
  await expect(job.completed).rejects.toMatchObject({ code: "no_workers_available" });
  expect(reports).toEqual([RefusalCode.NotLocked]);
});

it("a promised lock that the chain then refuses ends the job as one that never was", async () => {
  const job = run(async (body, events, signal) => {
    await answer(body, events, signal);
    await once(signal, "abort");
    throw new WorkerFailure("broken_stream", "aborted", true);
  });
  isPromised();
  await job.firstToken;
  lock.mined.resolve(reverted("Ledger_InsufficientCredits", 0, 8));
  await expect(job.completed).rejects.toMatchObject({ code: "insufficient_credits" });
  expect([sent, reports, closed]).toEqual([["lock"], [], [{ why: "Ledger_InsufficientCredits" }]]);
  expect(promises.take(CREDITS)).not.toBeNull();
});

it("a promised lock not mined in time ends the job, and is failed if mined later", async () => {
  const job = run(answer, { times: { ...TIMES, lock: 1 } });
  isPromised();
  await expect(job.completed).rejects.toMatchObject({ code: "service_unavailable" });
  expect([sent, reports]).toEqual([["lock"], []]);
  isMined();
  await vi.waitFor(() => expect(sent).toEqual(["lock", "fail"]));
});
