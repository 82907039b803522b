/**
 * Fetches the finished answer of a job after the request that ran the job is gone: from the worker that its row names, and from the one that
 * acknowledged it on chain. Nobody else is asked: the settlement pays whoever signed the answer, so a worker that was never offered the job could
 * be paid for one that it invents. Of a job that a worker proved, only that worker is asked, and only the proven answer is taken. An answer must begin
 * with what its client was sent before.
 */
import type { Address, Hex } from "viem";
import { answerHash } from "../../protocol/answer-hash.ts";
import type { WorkerOutput } from "../../protocol/dispatch.ts";
import { proofDigest } from "../../protocol/messages.ts";
import type { RegisteredWorker } from "../chain/directory.ts";
import { type Signing, signAccess, signAssignment } from "../workers/signatures.ts";
import type { WorkerClient } from "../workers/worker-client.ts";
import type { WorkerPool } from "../workers/worker-pool.ts";
import { beginsAsSent } from "./answer.ts";
import type { FetchedAnswer, PricedJob } from "./job-ending.ts";
import { type JobTimes, settlementOf } from "./next-step.ts";
import { type ClockParts, isAcknowledgedBy, judge, knowsTime } from "./verdict.ts";

export type AskParts = Signing &
  ClockParts & {
    times: Pick<JobTimes, "completion" | "finalization">;
    workers: Pick<WorkerPool, "declares" | "registered" | "report">;
    client: Pick<WorkerClient, "fetchOutput">;
  };

const FETCH_TIMEOUT_MS = 5_000;

/** The fields of a job's row that are needed to fetch and judge its answer. */
type AskedJob = {
  jobId: Hex;
  /** The last attempt on record and its worker. */
  worker: Address | null;
  attempt: number;
  /** Output tokens that its request asked for; null if they limit reasoning, too. */
  maxTokens: number | null;
  /** What its client was sent. */
  sentHash: Hex | null;
  sentCharacters: number | null;
};

/** The job on chain, with what decides who may have answered it and how much. */
export type AnswerableJob = PricedJob & { model: number; contextWindow: number };

/** The answer, `none` if no worker that was offered the job has one, or `later` if one of them is still at work or out of reach. */
export async function askWorkers(
  parts: AskParts,
  job: AskedJob,
  chain: AnswerableJob,
): Promise<FetchedAnswer | "none" | "later"> {
  const hosts = parts.workers.registered(chain.model);
  if (chain.proof !== null) {
    const prover = hosts.find(({ signer }) => signer === chain.worker);
    const answer = prover === undefined ? "none" : await askWorker(parts, job, chain, prover);
    const isProven = typeof answer !== "object" || proofDigest(answer.signed.completion) === chain.proof;
    return isProven ? answer : "none";
  }
  const offered = [job.worker, chain.worker].map((worker) => worker?.toLowerCase());
  const asked = hosts.filter(({ signer }) => offered.includes(signer.toLowerCase()));
  const answers = await Promise.all(asked.map((host) => askWorker(parts, job, chain, host)));
  return answers.find((answer) => typeof answer === "object") ?? answers.find((answer) => answer === "later") ?? "none";
}

/** The finished answer that this worker delivers, if it is the job's and can be charged. */
export async function askWorker(
  parts: AskParts,
  job: AskedJob,
  chain: AnswerableJob,
  { signer: worker, endpoint }: RegisteredWorker,
): Promise<FetchedAnswer | "none" | "later"> {
  const { jobId } = job;
  let output: WorkerOutput | null;
  try {
    output = await fetchOutput(parts, { jobId, worker, lockedAt: chain.lockedAt }, endpoint);
  } catch (error) {
    parts.logger.info({ err: error, jobId, worker }, "the worker has no answer for us yet");
    return "later";
  }
  if (output === null) return "none";
  const { text, completion, signature, finish_reason } = output;
  const { lockedAt, finalizeFrom, contextWindow } = chain;
  await knowsTime(parts, completion.completedAt);
  const seen = {
    jobId,
    worker,
    lockedAt,
    hash: answerHash(text),
    text,
    bytes: Buffer.byteLength(text),
    // Neither kept nor shown to anybody who pays for it.
    reasoning: null,
    shownReasoning: 0,
    // A model that reasons unasked uses it up, too.
    maxTokens: parts.workers.declares(worker, chain.model, ["reasoning"]) ? null : job.maxTokens,
    contextWindow,
    isUnwanted: false,
    finishedBy: finalizeFrom === null ? parts.head.time : finalizeFrom - parts.times.finalization,
  };
  const verdict = judge(parts, seen, { completion, signature, finish_reason });
  const incident = verdict.fault ?? verdict.excess;
  if (incident !== null) parts.workers.report(worker, { ...incident, jobId });
  if (!beginsAsSent(text, job)) {
    parts.workers.report(worker, {
      code: "hash_mismatch",
      detail: "its answer begins otherwise than it sent it",
      jobId,
    });
    return "none";
  }
  const { attempt } = output.acknowledgement;
  // A later attempt than the first is in the row before it is offered: a worker cannot invent one.
  if (verdict.fault !== null || attempt > Math.max(1, job.attempt)) return "none";
  const isSigned = isAcknowledgedBy(parts, { jobId, attempt }, output.acknowledgement.signature, worker);
  const acknowledgement = isSigned ? output.acknowledgement.signature : null;
  const signed = { completion, signature, finish_reason };
  const answer = { worker, attempt, acknowledgement, signed, countedTokens: verdict.countedTokens, text };
  return settlementOf(answer, chain) === "impossible" ? "none" : answer;
}

/**
 * Shows the worker that a signer of the job's operator asks, and fetches what it has stored; null if it has nothing. The Assignment has run
 * out: nobody can take the job on chain with it.
 */
async function fetchOutput(
  parts: AskParts,
  { jobId, worker, lockedAt }: { jobId: Hex; worker: Address; lockedAt: number },
  endpoint: string,
): Promise<WorkerOutput | null> {
  const assignment = { jobId, worker, attempt: 1, acknowledgeBy: lockedAt };
  const body = {
    assignment,
    signature: await signAssignment(parts, assignment),
    access: await signAccess(parts, { jobId, worker }),
  };
  return parts.client.fetchOutput(endpoint, body, AbortSignal.timeout(FETCH_TIMEOUT_MS));
}
