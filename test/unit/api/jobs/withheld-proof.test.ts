/** A proof on chain of an answer that the gateway does not have: who is said to withhold it, and what becomes of its charge. */
import type { Hex } from "viem";
import { generatePrivateKey } from "viem/accounts";
import { beforeEach, expect, it, vi } from "vitest";
import type { Operation } from "../../../../api/chain/operations.ts";
import { Recovery } from "../../../../api/jobs/recovery.ts";
import { WorkerFailure } from "../../../../api/workers/worker-client.ts";
import { answerHash } from "../../../../protocol/answer-hash.ts";
import { newJobId } from "../../../../protocol/job-id.ts";
import { ChainStatus } from "../../../../protocol/job-status.ts";
import { proofDigest } from "../../../../protocol/messages.ts";
import { signingAccount } from "../../../../shared/secp256k1.ts";
import {
  fakeGateway,
  MODEL,
  minedAt,
  type Replaced,
  reverted,
  rowsInMemory,
  storedJob,
  submission,
  TIMES,
} from "../../../support/fake-gateway.ts";
import { chainOf, runJob, type SigningWorker, signingWorker } from "../../support/jobs.ts";

const gateway = signingAccount(generatePrivateKey());
const hosts = [1, 2].map(signingWorker);
const now = Math.floor(Date.now() / 1000);

let jobId: Hex;
let withheld: string[];
/** What the pool of workers is told of the job. */
let ends: string[];
beforeEach(() => {
  jobId = newJobId();
  [withheld, ends] = [[], []];
});

/** A gateway whose chain mines the lock, and refuses everything else because the job is in that state. */
function context(status: number, workers: typeof hosts, more: Replaced = {}) {
  const submit = ({ kind }: Operation) =>
    submission(kind === "lock" ? minedAt(now, kind) : reverted("Job_WrongState", jobId, status));
  return fakeGateway({
    time: now,
    account: gateway,
    times: { ...TIMES, finalization: 100 },
    pipeline: { submit },
    choose: (excluded) => workers.find(({ signer }) => !excluded.has(signer)),
    workers: {
      withholds: (worker: string) => void withheld.push(worker),
    },
    client: {
      dispatch: async () => {
        throw new WorkerFailure("broken_stream", "gone", false);
      },
    },
    ...more,
  });
}

const told = (jobs: ReturnType<typeof context>) => runJob(jobs, { jobId }).completed.catch((error) => error);

it("closes the job for every other worker, while the offer still runs", async () => {
  const asked: Hex[] = [];
  const dispatch = async (_endpoint: string, { assignment }: { assignment: { worker: Hex } }) => {
    asked.push(assignment.worker);
    throw new WorkerFailure("broken_stream", "gone", true);
  };
  const workerOf = async () => hosts[0]?.signer as Hex;
  const gateway = context(ChainStatus.Proven, hosts, {
    client: { dispatch },
    isClosedToWorkers: async () => true,
    workerOf,
  });
  const failed = vi.spyOn(gateway.standings, "failed");
  expect(await told(gateway)).toMatchObject({ code: "answer_withheld" });
  // The worker may be the wallet's own, and close one job after the other so.
  expect(failed.mock.calls).toEqual([[gateway.account.address, { isWorkersFault: true }]]);
  expect(asked).toEqual([hosts[0]?.signer]);
  expect(withheld).toEqual([hosts[0]?.signer]);
});

/** `sent`: the worker of the other answer, which the client has. `refuses`: the chain refuses everything. */
type Swept = {
  age: number;
  delivers: "proven" | "other";
  retentionHours?: number;
  sent?: SigningWorker;
  /** What its client was sent before the stream broke. */
  begun?: string;
  refuses?: string;
};

/** A job that `prover` proved on chain, seconds after its lock, and that one sweep looks at. */
async function sweepProven({ age, delivers, retentionHours = 24, sent, begun, refuses }: Swept) {
  const finalization = 3_600;
  const prover = hosts[0] as SigningWorker;
  const lockedAt = now - age;
  const proven = await prover.complete(jobId, "proven", { completedAt: lockedAt });
  const other = await prover.complete(jobId, "other", { completedAt: lockedAt });
  const row = storedJob({
    jobId,
    wallet: gateway.address,
    worker: (sent ?? prover).signer,
    attempt: 1,
    countedTokens: 4,
    creditsCharged: 8,
    ...(begun !== undefined && { sentHash: answerHash(begun), sentCharacters: begun.length, sentComplete: false }),
    ...(sent && { completion: await sent.complete(jobId, "other", { completedAt: lockedAt }) }),
  });
  const chain = chainOf({
    jobOf: {
      ...MODEL,
      status: ChainStatus.Proven,
      model: 1,
      lockedAt,
      deadline: finalization,
      credits: 8,
      worker: 1,
      operator: 1,
    },
    walletOf: gateway.address,
    signerOf: prover.signer,
    proofOf: [proofDigest(proven.completion), 8],
  });
  const seen = { sent: [] as string[], written: [] as string[], disputed: [] as Hex[] };
  const rows = rowsInMemory(async (step) => void seen.written.push(step));
  const submit = ({ kind }: Operation) => {
    seen.sent.push(kind);
    return submission(refuses === undefined ? minedAt(now, kind) : reverted(refuses));
  };
  const acknowledgement = { attempt: 1, signature: await prover.acknowledge(jobId, 1) };
  const jobs = context(ChainStatus.Proven, hosts, {
    ...rows,
    times: { ...TIMES, finalization },
    outputRetentionHours: retentionHours,
    proven: async () => proven.completion,
    pipeline: { submit },
    workers: {
      withholds: (worker: string) => void withheld.push(worker),
      report: (_worker: string, { code }: { code: string }) => void ends.push(code),
      registered: () => [prover],
      released: () => void ends.push("released"),
      over: () => void ends.push("over"),
    },
    client: {
      fetchOutput: async () => ({ text: delivers, acknowledgement, ...(delivers === "proven" ? proven : other) }),
    },
    store: {
      ...rows.store,
      unfinished: async () => [jobId],
      find: async () => row,
    },
    dispute: async (id: Hex) => {
      seen.disputed.push(id);
      return "opened";
    },
  });
  await new Recovery({ ...jobs, ...chain }).sweep();
  return seen;
}

it("is settled if its answer is delivered while the contract takes it", async () => {
  const written = ["answered"];
  expect(await sweepProven({ age: 149, delivers: "proven" })).toEqual({ sent: ["complete"], written, disputed: [] });
  expect(await sweepProven({ age: 150, delivers: "proven" })).toEqual({ sent: [], written, disputed: [] });
  expect(withheld).toEqual([]);
});

it("that is delivered ends no job: what its worker has at risk stays there", async () => {
  await sweepProven({ age: 150, delivers: "proven" });
  expect(ends).toEqual(["released"]);
});

it("replaced by another answer is held against its worker, and disputed", async () => {
  expect(await sweepProven({ age: 2_699, delivers: "other" })).toEqual({ sent: [], written: [], disputed: [] });
  expect(withheld).toEqual([hosts[0]?.signer]);
  expect(await sweepProven({ age: 2_700, delivers: "other" })).toEqual({ sent: [], written: [], disputed: [jobId] });
});

it("that would not be kept is asked of nobody, and disputed without blame", async () => {
  const swept = (age: number) => sweepProven({ age, delivers: "proven", retentionHours: 0 });
  expect(await swept(2_699)).toEqual({ sent: [], written: [], disputed: [] });
  expect(await swept(2_700)).toEqual({ sent: [], written: [], disputed: [jobId] });
  expect(withheld).toEqual([]);
});

it("that is neither disputed nor finalized is finalized by the gateway", async () => {
  expect(await sweepProven({ age: 3_629, delivers: "other" })).toEqual({ sent: [], written: [], disputed: [jobId] });
  expect(await sweepProven({ age: 3_630, delivers: "other" })).toEqual({
    sent: ["finalize"],
    written: [],
    disputed: [],
  });
});

it("of a worker that signed another one for the client convicts that worker, without a vote", async () => {
  const swept = (age: number, refuses?: string) =>
    sweepProven({ age, delivers: "proven", sent: hosts[0] as SigningWorker, ...(refuses && { refuses }) });
  expect(await swept(149)).toEqual({ sent: [], written: [], disputed: [] });
  expect(await swept(150)).toEqual({ sent: ["proveEquivocation"], written: [], disputed: [] });
  expect(ends).toEqual(["signed_twice"]);
  // Should the chain refuse that, the arbiters decide.
  expect(await swept(150, "Registry_AlreadySlashed")).toEqual({
    sent: ["proveEquivocation"],
    written: [],
    disputed: [jobId],
  });
});

it("of another worker than the client's is disputed, and its text is never asked for", async () => {
  const swept = (age: number) => sweepProven({ age, delivers: "proven", sent: hosts[1] as SigningWorker });
  expect(await swept(149)).toEqual({ sent: [], written: [], disputed: [] });
  expect(await swept(150)).toEqual({ sent: [], written: [], disputed: [jobId] });
  expect(withheld).toEqual([hosts[0]?.signer, hosts[0]?.signer]);
});

it.each([
  ["goes on with it", "prov", [], ["complete"]],
  ["begins otherwise", "hello", ["hash_mismatch"], []],
])(
  "of an answer that broke off is charged only if it begins with what the client has: it %s",
  async (_what, begun, reported, sent) => {
    expect(await sweepProven({ age: 20, delivers: "proven", begun })).toMatchObject({ sent });
    expect(ends.filter((end) => end !== "released")).toEqual(reported);
  },
);
