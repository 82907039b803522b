import type { Address, Hex } from "viem";
import { answerHash } from "../../protocol/answer-hash.ts";
import { OUTPUT_ACCESS_SECONDS, outputAccessTypes, type WorkerOutput } from "../../protocol/dispatch.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { escrowDomain } from "../../protocol/messages.ts";
import { acknowledgeOperation } from "../chain/operations.ts";
import type { Outcome } from "../chain/outcome.ts";
import type { Offer } from "../store/job-steps.ts";
import type { StoredJob } from "../store/stored-job.ts";
import { type JobContext, signAssignment } from "./context.ts";
import { settle } from "./settle.ts";
import { isAcknowledgedBy, judge, knowsTime } from "./verdict.ts";

const FETCH_TIMEOUT_MS = 5_000;

/** What the chain says of a job that holds credits. */
export type OpenJob = {
  model: number;
  /** Who acknowledged it last, in which attempt; null and 0 while nobody did. */
  worker: Address | null;
  attempt: number;
  lockedAt: number;
  credits: number;
  creditsPerRequest: number;
  creditsPer1kTokens: number;
};

/** What came of asking: `later` where a worker is still at work or out of reach, and the next sweep asks again. */
type Asked = "settled" | "none" | "later";

/**
 * Settles a job of an earlier process, if its worker has the finished answer; if it has none, every other host of the model is
 * asked, for the process may have ended before its newest offer was on record.
 */
export async function settleLateAnswer(context: JobContext, job: StoredJob, chain: OpenJob): Promise<Asked> {
  const { worker, workerEndpoint, attempt, acknowledgeBy } = job;
  const hosts = context.workers.registered(chain.model);
  if (worker !== null && workerEndpoint !== null && acknowledgeBy !== null) {
    // Started again it may be somewhere else: where it is registered now counts, not where it took the job.
    const endpoint = hosts.find(({ signer }) => signer === worker)?.endpoint ?? workerEndpoint;
    const asked = await ask(context, job, chain, { worker, workerEndpoint: endpoint, attempt, acknowledgeBy });
    if (asked !== "none") return asked;
  }
  // An Assignment that has run out shows who asks, and that is all: a host that never had the job cannot take it with this one.
  const next = { attempt: attempt + 1, acknowledgeBy: chain.lockedAt };
  const others = hosts.filter(({ signer }) => signer !== worker);
  const all = await Promise.all(
    others.map(({ signer, endpoint }) =>
      ask(context, job, chain, { worker: signer, workerEndpoint: endpoint, ...next }),
    ),
  );
  return all.find((asked) => asked === "settled") ?? all.find((asked) => asked === "later") ?? "none";
}

async function ask(context: JobContext, job: StoredJob, chain: OpenJob, offer: Offer): Promise<Asked> {
  const { jobId } = job;
  const { worker } = offer;
  let output: WorkerOutput | null;
  try {
    output = await fetchOutput(context, jobId, offer);
  } catch (error) {
    context.logger.info({ err: error, jobId: toApiJobId(jobId), worker }, "the worker has no answer for us yet");
    return "later";
  }
  if (output === null) return "none";
  const { text, completion, signature, finish_reason, acknowledgement } = output;
  const papers = { jobId, worker, attempt: acknowledgement.attempt, acknowledgement: acknowledgement.signature };
  const bytes = Buffer.byteLength(text);
  await knowsTime(context, completion.completedAt);
  const seen = { jobId, worker, lockedAt: chain.lockedAt, hash: answerHash(text), text, bytes, maxTokens: null };
  const verdict = judge(context, seen, { completion, signature, finish_reason });
  const incident = verdict.fault ?? verdict.excess;
  if (incident !== null) context.workers.report(worker, { ...incident, jobId });
  // Nobody was offered a later attempt than the one after the last on record.
  if (verdict.fault !== null || papers.attempt > job.attempt + 1) return "none";
  const acknowledged = acknowledgedFirst(context, papers, chain);
  if (acknowledged === "replaced") return "none";
  const settling = await settle(context, {
    ...papers,
    acknowledged,
    wallet: job.wallet,
    lockedAt: chain.lockedAt,
    creditsLocked: chain.credits,
    model: chain,
    text,
    signed: { completion, signature, finish_reason },
    countedTokens: verdict.countedTokens,
  });
  await settling.done;
  return "settled";
}

/** Who answered, in which attempt, and its signature that it took that attempt. */
export type Papers = { jobId: Hex; worker: Address; attempt: number; acknowledgement: Hex | null };

/**
 * The acknowledgement that must be mined before a settlement's hash may be public: of a later attempt than the first, unless the chain has
 * it. Null where none is needed. `replaced`: the chain gave the job to a later attempt, or there is no acknowledgement to send.
 */
export function acknowledgedFirst(
  context: JobContext,
  { jobId, worker, attempt, acknowledgement }: Papers,
  chain: OpenJob,
): Promise<Outcome> | null | "replaced" {
  if (chain.worker?.toLowerCase() === worker.toLowerCase()) return null;
  if (chain.worker === null && attempt <= 1) return null;
  if (attempt <= chain.attempt || acknowledgement === null) return "replaced";
  if (!isAcknowledgedBy(context, { jobId, attempt }, acknowledgement, worker)) return "replaced";
  const minedBefore = chain.lockedAt + context.times.completion + context.times.inclusion;
  const assignment = { jobId, worker, attempt, acknowledgeBy: minedBefore };
  return context.pipeline.submit(acknowledgeOperation(assignment, acknowledgement, minedBefore)).mined;
}

/** Shows the worker that this is the job's gateway, and fetches what it has stored; null if it has nothing. */
async function fetchOutput(context: JobContext, jobId: Hex, offer: Offer): Promise<WorkerOutput | null> {
  const { worker, workerEndpoint, attempt, acknowledgeBy } = offer;
  const assignment = { jobId, worker, attempt, acknowledgeBy };
  const access = await signAccess(context, jobId, worker);
  const body = { assignment, signature: await signAssignment(context, assignment), access };
  return context.client.fetchOutput(workerEndpoint, body, AbortSignal.timeout(FETCH_TIMEOUT_MS));
}

async function signAccess({ account, chainId, escrow }: JobContext, jobId: Hex, worker: Address) {
  const expiresAt = Math.floor(Date.now() / 1000) + OUTPUT_ACCESS_SECONDS;
  const signature = await account.signTypedData({
    domain: escrowDomain(chainId, escrow),
    types: outputAccessTypes,
    primaryType: "OutputAccess",
    message: { jobId, worker, expiresAt },
  });
  return { expiresAt, signature };
}
