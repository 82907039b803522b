/** Who is asked for the answer of a job whose gateway was killed: workers that were offered it, and nobody else. A settlement pays who signed. */
import { generatePrivateKey } from "viem/accounts";
import { afterEach, expect, it, vi } from "vitest";
import type { JobInput } from "../../../../api/jobs/lock.ts";
import { type AnswerableJob, askWorkers } from "../../../../api/jobs/worker-answers.ts";
import type { DispatchEvents } from "../../../../api/workers/worker-client.ts";
import { newJobId } from "../../../../protocol/job-id.ts";
import { ChainStatus } from "../../../../protocol/job-status.ts";
import { signingAccount } from "../../../../shared/secp256k1.ts";
import { fakeGateway, rowsInMemory } from "../../../support/fake-gateway.ts";
import { runJob, type SigningWorker, signingWorker } from "../../support/jobs.ts";

const gateway = signingAccount(generatePrivateKey());
const [offered, stranger] = [signingWorker(1), signingWorker(2)];
const lockedAt = Math.floor(Date.now() / 1000);

afterEach(() => void vi.useRealTimers());

type Row = { worker: SigningWorker | null; onChain?: SigningWorker; has?: SigningWorker };

/** Whom a gateway asks for a job with this worker in its row and on chain, and whose answer it takes. `has`: who has one. */
async function ask({ worker, onChain, has }: Row) {
  const jobId = newJobId();
  const asked: string[] = [];
  const fetchOutput = async (endpoint: string) => {
    asked.push(endpoint);
    if (endpoint !== has?.endpoint) return null;
    const acknowledgement = { attempt: 1, signature: await has.acknowledge(jobId, 1) };
    return {
      text: "An answer.",
      acknowledgement,
      ...(await has.complete(jobId, "An answer.", { completedAt: lockedAt })),
    };
  };
  const context = fakeGateway({
    account: gateway,
    time: lockedAt,
    client: { fetchOutput },
    workers: { registered: () => [offered, stranger] },
  });
  const chain: AnswerableJob = {
    status: onChain === undefined ? ChainStatus.Locked : ChainStatus.Acknowledged,
    isOurs: true,
    isAbsent: false,
    model: 1,
    worker: onChain?.signer ?? null,
    attempt: onChain === undefined ? 0 : 1,
    lockedAt,
    proof: null,
    finalizeFrom: null,
    contextWindow: 4_096,
    credits: 8,
    creditsPerRequest: 8,
    creditsPer1kTokens: 4,
  };
  const row = { jobId, worker: worker?.signer ?? null, attempt: worker === null ? 0 : 1, maxTokens: 100 };
  const job = { ...row, sentHash: null, sentCharacters: null };
  const answer = await askWorkers(context, job, chain);
  return { asked, answer: typeof answer === "object" ? answer.worker : answer };
}

it.each<[string, Row, { asked: string[]; answer: string }]>([
  ["nobody, where nobody is on record", { worker: null, has: stranger }, { asked: [], answer: "none" }],
  ["the worker in the row", { worker: offered, has: offered }, { asked: [offered.endpoint], answer: offered.signer }],
  [
    "no other host, if the worker in the row has no answer",
    { worker: offered, has: stranger },
    { asked: [offered.endpoint], answer: "none" },
  ],
  [
    "the worker that acknowledged it on chain, which an offer alone allows",
    { worker: null, onChain: offered, has: offered },
    { asked: [offered.endpoint], answer: offered.signer },
  ],
])("asked is %s", async (_, row, expected) => {
  expect(await ask(row)).toEqual(expected);
});

/** What the row of a running job says of its worker after so long. */
async function noted(worker: (events: DispatchEvents) => Promise<never>, ms: number, more: Partial<JobInput> = {}) {
  vi.useFakeTimers();
  const steps: object[] = [];
  const context = fakeGateway({
    account: gateway,
    choose: () => offered,
    client: { dispatch: (_endpoint: string, _body: object, events: DispatchEvents) => worker(events) },
    ...rowsInMemory(async (step, change) => void (step === "taken" && steps.push(change))),
  });
  const job = runJob(context, more);
  await job.locked;
  await vi.advanceTimersByTimeAsync(ms);
  return steps;
}

it("records an offer before it leaves if a key lets a repetition ask for it", async () => {
  const steps = await noted(() => new Promise(() => {}), 0, { claimedUntil: Date.now() + 60_000 });
  expect(steps).toMatchObject([{ worker: offered.signer, attempt: 1, acknowledged: false }]);
});

it("an offer is on record although its worker says nothing", async () => {
  const silent = () => new Promise<never>(() => {});
  expect(await noted(silent, 200)).toEqual([]);
  expect(await noted(silent, 300)).toMatchObject([{ worker: offered.signer, attempt: 1, acknowledged: false }]);
});

it("an acknowledgement follows within the moment, and is noted in its place", async () => {
  const working = (events: DispatchEvents) => {
    events.acknowledged(`0x${"11".repeat(65)}`);
    return new Promise<never>(() => {});
  };
  expect(await noted(working, 300)).toMatchObject([{ worker: offered.signer, attempt: 1, acknowledged: true }]);
});
