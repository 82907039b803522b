/** A proof on chain of an answer that the gateway does not have: who is said to withhold it, and what becomes of its charge. */
import type { Hex } from "viem";
import { generatePrivateKey } from "viem/accounts";
import { beforeEach, expect, it, vi } from "vitest";
import type { Operation } from "../../api/chain/operations.ts";
import type { Rpc } from "../../api/chain/rpc.ts";
import type { JobContext } from "../../api/jobs/context.ts";
import { Recovery } from "../../api/jobs/recovery.ts";
import { WorkerFailure } from "../../api/jobs/worker-client.ts";
import { answerHash } from "../../protocol/answer-hash.ts";
import { newJobId } from "../../protocol/job-id.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import { signingAccount } from "../../shared/secp256k1.ts";
import { ESCROW, fakeGateway, MODEL, minedAt, TIMES } from "../support/fake-gateway.ts";
import { runJob, signingWorker } from "./support/jobs.ts";

const gateway = signingAccount(generatePrivateKey());
const hosts = [1, 2].map(signingWorker);
const now = Math.floor(Date.now() / 1000);

let jobId: Hex;
let withheld: string[];
beforeEach(() => {
  jobId = newJobId();
  withheld = [];
});

/** A gateway whose chain mines the lock, and refuses everything else because the job is in that state. */
function context(status: number, workers: typeof hosts): JobContext {
  const submit = ({ kind }: Operation) => {
    const revert = { name: "Job_WrongState", args: [jobId, status] };
    return {
      sent: Promise.resolve("0x10"),
      mined: Promise.resolve(kind === "lock" ? minedAt(now, kind) : { status: "reverted", revert }),
    };
  };
  return fakeGateway({
    time: now,
    account: gateway,
    times: { ...TIMES, finalization: 100 },
    pipeline: { congested: false, submit },
    workers: {
      choose: (_model: number, _credits: number, excluded: Set<string>) =>
        workers.find(({ signer }) => !excluded.has(signer)),
      registered: () => [],
      withholds: (worker: string) => void withheld.push(worker),
      released: () => {},
    },
    client: {
      dispatch: async () => {
        throw new WorkerFailure("broken_stream", "gone", false);
      },
    },
  });
}

const told = (jobs: JobContext) => runJob(jobs, { jobId }).completed.catch((error) => error);

it.each([
  ["the only worker that was offered the job", 1],
  ["nobody, of two that were: the chain knows, and recovery asks it", 2],
])("is held against %s", async (_, count) => {
  const workers = hosts.slice(0, count);
  expect(await told(context(ChainStatus.Proven, workers))).toMatchObject({
    code: "answer_withheld",
    details: { credits_held: 8 },
  });
  expect(withheld).toEqual(count === 1 ? [workers[0]?.signer] : []);
});

it("closes the job for every other worker: none is asked, and the client hears of it while the offer still runs", async () => {
  const base = context(ChainStatus.Proven, hosts);
  const asked: Hex[] = [];
  const dispatch = async (_endpoint: string, { assignment }: { assignment: { worker: Hex } }) => {
    asked.push(assignment.worker);
    throw new WorkerFailure("broken_stream", "gone", true);
  };
  const gateway = { ...base, client: { dispatch }, isOver: async () => true } as unknown as JobContext;
  expect(await told(gateway)).toMatchObject({ code: "answer_withheld" });
  expect(asked).toEqual([hosts[0]?.signer]);
  expect(withheld).toEqual([hosts[0]?.signer]);
});

it("is not assumed where another gateway ended the job", async () => {
  expect(await told(context(ChainStatus.Failed, hosts))).toMatchObject({ code: "service_unavailable" });
  expect(withheld).toEqual([]);
});

it("beside another answer that is stored: the settlement is refused, and the proof is disputed in time", async () => {
  const completion = { jobId, proofHash: answerHash("stored"), promptTokens: 1, completionTokens: 1, completedAt: now };
  const prover = hosts[0] as (typeof hosts)[number];
  const row = {
    jobId,
    wallet: gateway.address,
    worker: prover.signer,
    attempt: 1,
    acknowledgement: null,
    countedTokens: 1,
    creditsCharged: 8,
    failure: null,
    completion: { completion, signature: `0x${"11".repeat(64)}1b`, finish_reason: "stop" },
  };
  const chain: Record<string, unknown> = {
    // Half of the time to its finalization is over.
    jobOf: {
      ...MODEL,
      status: ChainStatus.Proven,
      model: 1,
      lockedAt: now - 50,
      deadline: 100,
      credits: 8,
      worker: 1,
      operator: 1,
    },
    walletOf: gateway.address,
    signerOf: prover.signer,
  };
  const base = context(ChainStatus.Proven, hosts);
  const store = {
    ...base.store,
    claimOwn: async () => 0,
    othersUnfinished: async () => [],
    unfinished: async () => [jobId],
    find: async () => row,
  };
  const disputed: Hex[] = [];
  const parts = {
    rpc: {
      client: { readContract: async ({ functionName }: { functionName: string }) => chain[functionName] },
    } as unknown as Rpc,
    registry: ESCROW,
    index: {} as never,
    indexIsWhole: () => false,
    contextWindow: () => 4_096,
    isRunning: () => false,
    ownsSigner: () => true,
    dispute: async (id: Hex) => {
      disputed.push(id);
      return "opened";
    },
  };
  await new Recovery({ ...base, store } as never, parts).sweep();
  await vi.waitFor(() => expect(disputed).toEqual([jobId]));
  expect(withheld).toEqual([prover.signer]);
});
