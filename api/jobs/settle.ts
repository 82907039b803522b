import type { Hex } from "viem";
import { toApiJobId } from "../../protocol/job-id.ts";
import { FailureReason } from "../../protocol/job-status.ts";
import { charge } from "../../protocol/pricing.ts";
import type { Model } from "../chain/directory.ts";
import { completeOperation } from "../chain/operations.ts";
import type { Outcome } from "../chain/outcome.ts";
import { NotSent, type Submission } from "../chain/submission.ts";
import type { SignedCompletion, StoredJob } from "../store/stored-job.ts";
import type { JobContext } from "./context.ts";
import { failJob } from "./end.ts";
import { untilStored } from "./stored.ts";

/** A finished answer whose hash is the one its worker signed. */
export type Finished = {
  jobId: Hex;
  wallet: StoredJob["wallet"];
  worker: `0x${string}`;
  attempt: number;
  /** The worker's signature that it took this attempt; null if it gave none. */
  acknowledgement: Hex | null;
  /**
   * What becomes of that acknowledgement on chain. The settlement waits for it: it makes the worker's hash public, and an earlier
   * worker that acknowledged the job could prove the same hash first. Null where no other worker can have the job.
   */
  acknowledged: Promise<Outcome> | null;
  lockedAt: number;
  creditsLocked: number;
  model: Pick<Model, "creditsPerRequest" | "creditsPer1kTokens">;
  text: string;
  signed: SignedCompletion;
  /** Output tokens as the gateway bounds them. */
  countedTokens: number;
};

/** A settlement on its way. `sent`: hash of its transaction; `done`: whether it was mined as a settlement. */
export type Settling = { credits: number; billedTokens: number; sent: Promise<Hex>; done: Promise<boolean> };

/** Stores the answer, then sends its settlement. Resolves once the answer is safe; the settlement goes on. */
export async function settle(context: JobContext, job: Finished): Promise<Settling> {
  const { jobId, worker, attempt, acknowledgement, signed } = job;
  const billed = Math.min(job.countedTokens, signed.completion.completionTokens);
  const credits = charge(billed, job.model, job.creditsLocked);
  const keep = context.outputRetentionHours > 0;
  const row = {
    jobId,
    worker,
    attempt,
    acknowledgement,
    completion: signed,
    countedTokens: job.countedTokens,
    finalTokenAt: new Date(),
    creditsCharged: credits,
    output: keep ? context.cipher.encrypt(job.text, toApiJobId(jobId)) : null,
    retentionHours: context.outputRetentionHours,
  };
  // The client waits for this write: as long as the proof can still be mined in time, a failed one is tried again.
  const until = (job.lockedAt + context.times.completion + context.times.inclusion / 2) * 1000;
  await untilStored(context, jobId, until, () => context.store.answered(row));
  return submitSettlement(context, job, credits);
}

/** Sends the settlement of a stored answer. */
export function submitSettlement(
  context: JobContext,
  job: Omit<Finished, "text" | "model" | "worker" | "attempt" | "acknowledgement">,
  credits: number,
): Settling {
  const { jobId, wallet, signed } = job;
  const until = job.lockedAt + context.times.completion + context.times.inclusion;
  context.balances.expectReturn(wallet, jobId, job.creditsLocked - credits, until);
  const send = () =>
    context.pipeline.submit(
      completeOperation(signed.completion, signed.signature, job.countedTokens, wallet, until * 1000),
    );
  const submission = job.acknowledged === null ? send() : sendAfter(job.acknowledged, send);
  const done = submission.mined.then((outcome) => finish(context, job, outcome));
  done.catch((error) => {
    context.balances.dropReturn(jobId);
    context.logger.error({ err: error, jobId: toApiJobId(jobId) }, "a settlement is open; a restart takes it up again");
  });
  const billedTokens = Math.min(job.countedTokens, signed.completion.completionTokens);
  return { credits, billedTokens, sent: submission.sent, done };
}

/** Sends a settlement once its worker's acknowledgement is mined. A refused acknowledgement is a refused settlement. */
function sendAfter(acknowledged: Promise<Outcome>, send: () => Submission): Submission {
  const submission = acknowledged.then((outcome): Submission => {
    if (outcome.status === "mined") return send();
    const sent = Promise.reject(new NotSent("its worker's acknowledgement was refused"));
    return { sent, mined: Promise.resolve(outcome) };
  });
  const sent = submission.then((settlement) => settlement.sent);
  // A caller may care for its outcome only.
  sent.catch(() => {});
  return { sent, mined: submission.then((settlement) => settlement.mined) };
}

async function finish(context: JobContext, { jobId }: Pick<Finished, "jobId">, outcome: Outcome): Promise<boolean> {
  if (outcome.status === "reverted") {
    context.balances.dropReturn(jobId);
    context.logger.error(
      { jobId: toApiJobId(jobId), revert: outcome.revert },
      "the chain refused a settlement: the job is failed",
    );
    await failJob(context, jobId, FailureReason.WorkerFailed, `settlement refused: ${outcome.revert.name}`);
    return false;
  }
  const settled = outcome.events.find((event) => event.name === "JobSettled");
  context.balances.dropReturn(jobId);
  // A repetition is a no-op without an event: the first one settled it, and the row says so or the index will.
  if (settled === undefined) await context.store.update(jobId, { state: "settled" });
  else {
    await context.store.settled({
      jobId,
      settlementTx: outcome.hash,
      settlementBlock: outcome.blockNumber,
      settledAt: outcome.blockTime,
      creditsCharged: settled.args.credits as number,
    });
  }
  return true;
}
