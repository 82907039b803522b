import type { Hex, PublicClient } from "viem";
import { generatePrivateKey } from "viem/accounts";
import type { ChainJob } from "../../../api/chain/job-sightings.ts";
import type { IndexedJob } from "../../../api/db/index-rows.ts";
import type { Reader } from "../../../api/db/pool.ts";
import type { DisputeContext } from "../../../api/disputes/desk.ts";
import { EarlierAnswers } from "../../../api/jobs/earlier-answers.ts";
import { RunningJob } from "../../../api/jobs/job.ts";
import { type JobInput, Timings } from "../../../api/jobs/lock.ts";
import { RunningJobs } from "../../../api/jobs/running-jobs.ts";
import { type ChatDependencies, completeChat } from "../../../api/routes/chat.ts";
import { answerHash } from "../../../protocol/answer-hash.ts";
import { jobDigests } from "../../../protocol/digests.ts";
import { newJobId } from "../../../protocol/job-id.ts";
import type { Completion } from "../../../protocol/messages.ts";
import { signingAccount } from "../../../shared/secp256k1.ts";
import { ESCROW, type JobParts, MODEL, PLACE_GONE, registered } from "../../support/fake-gateway.ts";

const digests = jobDigests(1, ESCROW);

/** A worker of model 1 whose key the test has, and what it signs. */
export function signingWorker(id = 1) {
  const account = signingAccount(generatePrivateKey());
  return {
    ...registered({ id, signer: account.address, endpoint: `https://${id}.example` }),
    acknowledge: (jobId: Hex, attempt: number) => account.sign({ hash: digests.acknowledgement({ jobId, attempt }) }),
    /** Its answer, as a gateway gets it. */
    complete: async (jobId: Hex, text: string, more: Answered) => {
      const tokens = { promptTokens: 3, completionTokens: 4, reasoningTokens: 0 };
      const completion = { jobId, proofHash: answerHash(text), ...tokens, textBytes: Buffer.byteLength(text), ...more };
      const signature = await account.sign({ hash: digests.completion(completion) });
      return { completion, signature, finish_reason: "stop" as const };
    },
  };
}
type Answered = Partial<Completion> & Pick<Completion, "completedAt">;
export type SigningWorker = ReturnType<typeof signingWorker>;

/** What the balances of a `fakeGateway` say of a wallet that may spend a thousand credits; `known` after its lock. */
export const spending = (known: { free: number } | null) => ({
  terms: () => ({ frozen: false, dailyLimit: null, operator: 1, authorized: false, spentToday: 0, spentDay: 0 }),
  known: () => known && { ...known, escrowed: 0 },
});

/** A locked job as the index has it. */
export const indexedJob = (more: Partial<IndexedJob> = {}): IndexedJob => ({
  id: newJobId(),
  wallet: ESCROW,
  model: MODEL.id,
  tier: MODEL.tier,
  status: "pending",
  operator: 1,
  creditsCharged: 0,
  creditsCompensated: 0,
  compensationPaid: 0,
  compensationOwed: 0,
  worker: null,
  createdAt: 1,
  answeredAt: null,
  completedAt: null,
  escrowTx: "0x10",
  proofTx: null,
  settlementTx: null,
  disputedAt: null,
  disputeTx: null,
  equivocated: false,
  settlementBlock: null,
  proofHash: null,
  promptTokens: null,
  completionTokens: null,
  billedTokens: null,
  failureReason: null,
  ...more,
});

/** A database that answers each statement with these rows. */
export function readerOf(answer: object[] | ((statement: { name: string; values: unknown[] }) => unknown[])): Reader {
  const query = async (statement: { name: string; values: unknown[] }) => ({
    rows: Array.isArray(answer) ? answer : answer(statement),
  });
  return { query } as unknown as Reader;
}

/** What the chat route takes of a gateway that keeps no answers and is asked everything for the first time. */
export const chatParts = (jobs: JobParts, more: Partial<ChatDependencies> = {}): ChatDependencies => ({
  jobs,
  directory: { model: () => MODEL, models: () => [MODEL] },
  idempotency: { claim: async () => ({ status: "new" }), isClaimed: async () => true, release: async () => {} },
  earlier: new EarlierAnswers(jobs),
  kept: { read: async () => null },
  reader: readerOf([]),
  docsUrl: "",
  runs: new RunningJobs(),
  phase: { stopping: false, recovered: true },
  ...more,
});

/** Sends a chat request to this gateway's route. Rejects with the error of its reply. */
export function ask(
  jobs: JobParts,
  response: object,
  headers: object = {},
  more: Partial<ChatDependencies> = {},
): Promise<void> {
  const request = {
    client: { wallet: jobs.account.address },
    receivedAt: 0,
    headers,
    kept: {
      keep: () => {},
      until: () => {},
      whileWaiting: (work: (signal: AbortSignal) => unknown) => work(new AbortController().signal),
    },
    bodyHash: Buffer.alloc(32),
    body: { model: "m", messages: [{ role: "user", content: "Hi" }], max_tokens: 100 },
  };
  const sink = { once: () => {}, setHeader: () => {}, ...response };
  return (completeChat(chatParts(jobs, more)) as (...parts: unknown[]) => Promise<void>)(request, sink, () => {});
}

/** Runs a job at this gateway, for the credits that a `fakeGateway` locks. */
export function runJob(parts: JobParts, more: Partial<JobInput> = {}): RunningJob {
  return new RunningJob(parts, {
    jobId: newJobId(),
    wallet: parts.account.address,
    model: MODEL,
    request: { messages: [], max_tokens: 100 },
    credits: 8,
    showReasoning: false,
    authorization: null,
    claimedUntil: null,
    admission: PLACE_GONE,
    timings: new Timings(),
    ...more,
  });
}

/** A record of disputes that has none. */
export const noRequests: DisputeContext["disputes"] = {
  record: async () => null,
  answer: async () => false,
  find: async () => null,
  unanswered: async () => [],
  othersUnanswered: async () => [],
  claimFrom: async () => 0,
};

/** A node whose contracts answer so, by the name of their function. */
export function contractClient(answer: (functionName: string) => unknown): PublicClient {
  const readContract = async ({ functionName }: { functionName: string }) => answer(functionName);
  return { readContract } as unknown as PublicClient;
}

/** What a sweep over unfinished jobs sees of a chain whose contract answers so, by the function's name; without an index. */
export function chainOf(answers: Record<string, unknown> = {}) {
  const block = { number: 1, hash: "0x01", timestamp: 0 } as const;
  return {
    rpc: { client: contractClient((name) => answers[name]) },
    registry: ESCROW,
    sightings: {
      at: async (jobId: Hex) => ({ jobId, job: answers["jobOf"] as ChainJob, block, at: Date.now(), known: 0 }),
      isAbsent: () => false,
    },
    index: {} as never,
    indexIsWhole: () => false,
    contextWindow: () => 4_096,
    isRunning: () => false,
    signer: { held: true, left: async () => [] },
  };
}
