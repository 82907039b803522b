import type { Hex } from "viem";
import { generatePrivateKey } from "viem/accounts";
import type { JobSighting } from "../../../api/chain/job-sightings.ts";
import type { JobContext } from "../../../api/jobs/context.ts";
import { RunningJob } from "../../../api/jobs/job.ts";
import { Timings } from "../../../api/jobs/lock.ts";
import { RunningJobs } from "../../../api/jobs/running-jobs.ts";
import { completeChat } from "../../../api/routes/chat.ts";
import { answerHash } from "../../../protocol/answer-hash.ts";
import { jobDigests } from "../../../protocol/digests.ts";
import { newJobId } from "../../../protocol/job-id.ts";
import type { Completion } from "../../../protocol/messages.ts";
import { signingAccount } from "../../../shared/secp256k1.ts";
import { ESCROW, MODEL, PLACE_GONE } from "../../support/fake-gateway.ts";

const digests = jobDigests(1, ESCROW);

/** A worker of model 1 whose key the test has, and what it signs. */
export function signingWorker(id = 1) {
  const account = signingAccount(generatePrivateKey());
  const listed = { id, signer: account.address, stake: 0, endpoint: `https://${id}.example`, models: new Set([1]) };
  return {
    ...listed,
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
  current: async () => ({ free: 1_000 }),
  bounded: async () => ({ free: 1_000 }),
  terms: () => ({ frozen: false, dailyLimit: null, operator: 1, authorized: false }),
  known: () => known,
  expectReturn: () => {},
});

/** Sends a chat request to this gateway's route. Rejects with the error of its reply. */
export function ask(jobs: JobContext, response: object, headers: object = {}, idempotency: object = {}): Promise<void> {
  const phase = { stopping: false, recovered: true };
  const directory = { model: () => MODEL };
  const dependencies = { jobs, directory, idempotency, docsUrl: "", runs: new RunningJobs(), phase };
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
  return (completeChat(dependencies as never) as (...parts: unknown[]) => Promise<void>)(request, sink, () => {});
}

/** Runs a job at this gateway, for the credits that a `fakeGateway` locks. */
export function runJob(context: JobContext, more: object = {}): RunningJob {
  const request = { messages: [], max_tokens: 100 };
  const job = { jobId: newJobId(), wallet: context.account.address, model: MODEL, request, credits: 8 };
  const rest = { authorization: null, claimedUntil: null, admission: PLACE_GONE, timings: new Timings() };
  return new RunningJob(context, { ...job, ...rest, ...more } as never);
}

/** Shows this job at block 1. */
export const sightingsOf = (job: unknown) => ({
  at: async (jobId: Hex) =>
    ({ jobId, job, block: { number: 1, hash: "0x01", timestamp: 0 }, at: Date.now(), known: 0 }) as JobSighting,
  isAbsent: () => false,
});
