/**
 * A settlement makes the worker's hash public. Where an earlier worker can have the job on chain, it could prove that hash before us and
 * be paid: so the acknowledgement of a later attempt is mined first.
 */
import { decodeFunctionData, type Hex } from "viem";
import { generatePrivateKey } from "viem/accounts";
import { beforeEach, expect, it } from "vitest";
import type { Operation, Outcome } from "../../../../api/chain/operations.ts";
import { type DispatchEvents, WorkerFailure } from "../../../../api/workers/worker-client.ts";
import type { Dispatch } from "../../../../protocol/dispatch.ts";
import { inferenceEscrowAbi } from "../../../../protocol/generated/abi.ts";
import { newJobId } from "../../../../protocol/job-id.ts";
import { ChainStatus } from "../../../../protocol/job-status.ts";
import { signingAccount } from "../../../../shared/secp256k1.ts";
import {
  type Dispatching,
  fakeGateway,
  minedAt,
  type Replaced,
  reverted,
  submission,
} from "../../../support/fake-gateway.ts";
import { runJob, type SigningWorker, signingWorker } from "../../support/jobs.ts";

const TEXT = "The answer.";
const gateway = signingAccount(generatePrivateKey());
const [silent, honest] = [signingWorker(1), signingWorker(2)];

const lockedAt = Math.floor(Date.now() / 1000);
const jobId = newJobId();
let sent: Operation[];
let mine: Map<string, (outcome: Outcome) => void>;
beforeEach(() => {
  [sent, mine] = [[], new Map()];
});
const kinds = () => sent.map(({ kind }) => kind);
const mined: Outcome = { status: "mined", hash: "0x10", blockNumber: 1, blockTime: lockedAt, events: [] };

/** Runs a job at a gateway whose chain mines the lock, and everything else when the test says so. */
function run(dispatch: Dispatching, more: Replaced = {}) {
  const submit = (operation: Operation) => {
    sent.push(operation);
    const { kind } = operation;
    if (kind === "lock") return submission(minedAt(lockedAt, kind));
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    mine.set(kind, resolve);
    return submission(promise, { signed: "0x11" });
  };
  const parts = fakeGateway({
    time: lockedAt,
    account: gateway,
    pipeline: { submit },
    choose: (excluded) => [silent, honest].find(({ signer }) => !excluded.has(signer)),
    client: { dispatch },
    ...more,
  });
  return runJob(parts, { jobId });
}

/** Answers as an honest worker does, with whatever signature of the attempt. */
async function answer(worker: SigningWorker, { assignment }: Dispatch, events: DispatchEvents, byWorker?: Hex) {
  events.acknowledged(byWorker ?? (await worker.acknowledge(jobId, assignment.attempt)));
  events.delta(TEXT);
  return worker.complete(jobId, TEXT, { completedAt: lockedAt });
}

const firstRefuses: Dispatching = async (endpoint, body, events) => {
  if (endpoint === silent.endpoint) throw new WorkerFailure("draining", "stops", false);
  return answer(honest, body, events);
};

it("the first attempt's settlement is one transaction: nobody else can have the job", async () => {
  const { settling } = await run((_endpoint, body, events) => answer(silent, body, events)).completed;
  expect(kinds()).toEqual(["lock", "complete"]);
  mine.get("complete")?.(mined);
  expect((await settling.done).isSettled).toBe(true);
});

it("a later attempt's waits until its acknowledgement is mined, and so does its client", async () => {
  const job = run(firstRefuses);
  let told: unknown;
  void job.firstToken.then(() => {
    told = "a token";
  });
  await expect.poll(kinds).toEqual(["lock", "acknowledge"]);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect([told, kinds()]).toEqual([undefined, ["lock", "acknowledge"]]);
  const { functionName, args } = decodeFunctionData({ abi: inferenceEscrowAbi, data: sent[1]?.data as Hex });
  // It must be mined in time for the settlement, whatever the offer said.
  expect([functionName, args?.[0]]).toMatchObject([
    "acknowledge",
    { jobId, worker: honest.signer, attempt: 2, acknowledgeBy: lockedAt + 150 },
  ]);
  mine.get("acknowledge")?.(mined);
  const { settling, worker } = await job.completed;
  expect([told, worker]).toEqual(["a token", honest.signer]);
  expect(await settling.signed).toBe("0x11");
  expect(kinds()).toEqual(["lock", "acknowledge", "complete"]);
  mine.get("complete")?.(mined);
  expect((await settling.done).isSettled).toBe(true);
});

it("whose job the first worker took on chain after it had refused it is not answered, and that worker is called to account", async () => {
  const withheld: string[] = [];
  const [reported, noted] = [[] as unknown[], [] as unknown[]];
  const thief: Replaced = {
    workerOf: async () => silent.signer,
    workers: {
      withholds: (worker) => void withheld.push(worker),
      report: (worker, { code }) => void reported.push([worker, code]),
    },
    store: { refused: async ({ why }) => void noted.push(why) },
  };
  const { completed } = run(firstRefuses, thief);
  const told = completed.catch((error) => error);
  await expect.poll(kinds).toEqual(["lock", "acknowledge"]);
  mine.get("acknowledge")?.(reverted("Job_WrongState", jobId, ChainStatus.Proven));
  await expect.poll(kinds).toEqual(["lock", "acknowledge", "fail"]);
  mine.get("fail")?.(reverted("Job_WrongState", jobId, ChainStatus.Proven));
  expect(await told).toMatchObject({ code: "answer_withheld" });
  expect(withheld).toEqual([silent.signer]);
  expect(reported.at(-1)).toEqual([silent.signer, "took_refused"]);
  // Its text is not asked for, since it would be charged then.
  expect(noted.at(-1)).toBe("took_refused");
});

it("a worker that sees on chain that its job was taken is not blamed, and the worker that took it is", async () => {
  const reported: unknown[] = [];
  const noted: string[] = [];
  let isTaken = false;
  const { completed } = run(
    async (endpoint, { assignment }, events) => {
      if (endpoint === silent.endpoint) throw new WorkerFailure("not_running", "does not run", false);
      events.acknowledged(await honest.acknowledge(jobId, assignment.attempt));
      events.delta("The ans");
      isTaken = true;
      throw new WorkerFailure("superseded", "the job went to another worker", true);
    },
    {
      isClosedToWorkers: async () => isTaken,
      workerOf: async () => silent.signer,
      workers: { report: (worker, { code }) => void reported.push([worker, code]) },
      store: { refused: async ({ why }) => void noted.push(why) },
    },
  );
  const told = completed.catch((error) => error);
  await expect.poll(kinds).toEqual(["lock", "acknowledge", "fail"]);
  mine.get("fail")?.(reverted("Job_WrongState", jobId, ChainStatus.Proven));
  expect(await told).toMatchObject({ code: "answer_withheld" });
  expect(reported).toEqual([
    [silent.signer, "not_running"],
    [silent.signer, "took_refused"],
  ]);
  expect(noted.at(-1)).toBe("took_refused");
});

it.each([
  ["Job_WrongState", "superseded"],
  // The worker's owner took it off its model.
  ["Job_WorkerNotEligible", "settlement_refused"],
])("a later attempt ends as soon as the chain refuses its acknowledgement: %s", async (error, code) => {
  let ended: unknown;
  const { completed } = run(async (endpoint, { assignment }, events, signal) => {
    if (endpoint === silent.endpoint) throw new WorkerFailure("draining", "stops", false);
    events.acknowledged(await honest.acknowledge(jobId, assignment.attempt));
    events.delta("A long");
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    ended = signal.reason;
    throw new Error("aborted");
  });
  completed.catch(() => {});
  await expect.poll(kinds).toEqual(["lock", "acknowledge"]);
  mine.get("acknowledge")?.(reverted(error, jobId, ChainStatus.Proven));
  await expect.poll(() => ended).toMatchObject({ code });
  await expect.poll(kinds).toEqual(["lock", "acknowledge", "fail"]);
});

it("a worker that was full, and took the job when it was offered again, is not taken for a thief", async () => {
  const reported: string[] = [];
  let offers = 0;
  const dispatch: Dispatching = async () => {
    offers += 1;
    throw offers === 1 ? new WorkerFailure("busy", "full", false) : new WorkerFailure("broken_stream", "gone", true);
  };
  const { completed } = run(dispatch, {
    choose: (excluded) => (excluded.has(silent.signer) ? undefined : silent),
    isClosedToWorkers: async () => true,
    workerOf: async () => silent.signer,
    workers: { report: (_worker, { code }) => void reported.push(code) },
  });
  const told = completed.catch((error) => error);
  await expect.poll(kinds).toEqual(["lock", "fail"]);
  mine.get("fail")?.(reverted("Job_WrongState", jobId, ChainStatus.Proven));
  expect(await told).toMatchObject({ code: "answer_withheld" });
  expect(reported).not.toContain("took_refused");
});

it("that answers a request contradicts the worker which had failed at it", async () => {
  const contradicted: string[] = [];
  const { completed } = run(
    async (endpoint, body, events) => {
      if (endpoint === silent.endpoint) throw new WorkerFailure("request_refused", "no", false);
      return answer(honest, body, events);
    },
    { workers: { contradicted: (worker) => void contradicted.push(worker) } },
  );
  await expect.poll(kinds).toEqual(["lock", "acknowledge"]);
  mine.get("acknowledge")?.(mined);
  await completed;
  expect(contradicted).toEqual([silent.signer]);
});

it("is not its client's error where only workers that were contradicted have failed at it", async () => {
  const { completed } = run(
    async () => {
      throw new WorkerFailure("request_refused", "no", false);
    },
    { workers: { wasContradicted: () => true } },
  );
  const told = completed.catch((error) => error);
  await expect.poll(kinds).toEqual(["lock", "fail"]);
  mine.get("fail")?.(mined);
  expect(await told).toMatchObject({ code: "no_workers_available" });
});

it("whose worker has not signed that it took the job comes to nothing", async () => {
  const { completed } = run(async (endpoint, body, events) => {
    if (endpoint === silent.endpoint) throw new WorkerFailure("draining", "stops", false);
    return answer(honest, body, events, `0x${"11".repeat(64)}1b`);
  });
  await expect.poll(kinds).toEqual(["lock", "fail"]);
  mine.get("fail")?.(mined);
  await expect(completed).rejects.toMatchObject({ code: "service_unavailable" });
});

it("refuses an answer dated later than the chain's time", async () => {
  const { completed } = run(async (_endpoint, body, events) => {
    await answer(silent, body, events);
    return silent.complete(jobId, TEXT, { completedAt: lockedAt + 1 });
  });
  await expect.poll(kinds).toEqual(["lock", "fail"]);
  mine.get("fail")?.(mined);
  await expect(completed).rejects.toMatchObject({ code: "service_unavailable" });
});
