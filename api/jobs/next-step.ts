/**
 * Decides the next step of a job after its lock was sent. The request that runs a job and the sweep over unfinished jobs both ask this
 * table, with what the job's row, the chain and the clock say. `JobEnding` (job-ending.ts) does the step and asks again. A request that
 * runs a job takes it for Locked, and learns that the chain has it in another state when the chain refuses a step. Times are chain time
 * from the lock, with the specification's windows. A line that begins with `…` goes on with the line above.
 *
 *   on chain      what the gateway knows                        time             step
 *   ------------  --------------------------------------------  ---------------  ----------------------------------------------------
 *   None          a lock may still be mined, or a node is late  any              wait
 *                 two looks at named blocks: never locked       after validUntil close the row as `unlocked`
 *   Locked,       the id is another wallet's or operator's job  any              close the row as `unlocked`
 *   Acknowledged  the client was refused: its time was over     < 120            wait until 120
 *                 …                                             ≥ 120            refund
 *                 the client was refused for another reason,    any              fail, for that reason
 *                   or a claim found that it had waited for
 *                   a process that is gone (db/jobs.ts)
 *                 after a restart, answers are not kept         any              fail: answer_lost, with an answer or without
 *                 an answer of the worker that has the job, or  < 150            settle
 *                   of a first attempt that nobody
 *                   acknowledged on chain
 *                 an answer of a later attempt than the         < 150            settle, once the worker's acknowledgement
 *                   chain has, which its worker acknowledged                       is mined
 *                 no answer that could be settled               < 135            ask the workers for it
 *                 … no worker has one                           < 120            fail: answer_lost, or routing_failed if no worker
 *                                                                                  is on record
 *                 … a worker is at work, or out of reach        < 120            wait
 *                 … none could be had                           ≥ 120            refund
 *                 no answer, or one that comes too late         ≥ 135, ≥ 150     refund
 *   Proven        the id is another wallet's or operator's job  any              close the row as `unlocked`
 *                 the proven answer, and a refusal              any              withdraw the refusal: the client can have the answer
 *                 the proven answer                             < 150            settle, if the prover signed it
 *                 …                                             until proof      wait: the worker finalizes its proof
 *                                                                 + 3,630
 *                 …                                             later            finalize
 *                 another answer, which its client has, or the  < 150            wait: the contract takes no dispute yet
 *                   prover had refused the job
 *                 …                                             ≥ 150            dispute the charge
 *                 no answer, and answers are kept               any              ask the worker that proved it
 *                 … it does not deliver                         proof < 2,700    wait: the worker withholds its answer
 *                 … answers are not kept                        proof < 2,700    wait: nobody asked the worker
 *                 … either                                      proof ≥ 2,700    dispute the charge
 *                 … no dispute was opened, and the worker does  proof + 3,630    finalize: the charge stands, and what the lock held
 *                     not finalize                                                 beyond it goes back to the client
 *   Settled       the worker's proof was charged, and its       any              ask the worker that proved it
 *                   answer is not here
 *                 … the worker is out of reach                  < 600 s of       wait
 *                                                                 asking
 *                 anything else                                 any              close the row as `settled`
 *   Failed        –                                             any              close the row as `failed`
 *   Refunded      –                                             any              close the row as `refunded`
 *   Disputed      –                                             any              wait: the arbiters or the contract's window end it
 *
 * A settlement that the chain refuses becomes a refusal (`worker_failed`) and is decided again, unless only its sender was refused.
 */
import type { Address, Hex } from "viem";
import { KEEP_PROVEN_SECONDS } from "../../protocol/dispatch.ts";
import { ChainStatus, type FailureReasonName } from "../../protocol/job-status.ts";
import { proofDigest } from "../../protocol/messages.ts";
import { type SignedCompletion, TOOK_REFUSED } from "../db/jobs.ts";

/** Why a job ends without a charge: `timeout` is refunded, every other reason goes on chain with `fail`. `why` is for the operator. */
export type Refusal = { reason: FailureReasonName | "timeout"; why: string };

/** An answer whose hash its worker signed. */
export type KnownAnswer = {
  worker: Address;
  attempt: number;
  /** The worker's valid signature that it took this attempt; null if there is none. */
  acknowledgement: Hex | null;
  signed: SignedCompletion;
  /** Output tokens that are billed: the worker's count, as the gateway bounds it. */
  countedTokens: number;
};

/** What the gateway knows of a job: its row, and what came of asking the workers since the row was read. */
export type JobFacts = {
  /** Set once the client got an error. */
  refusal: Refusal | null;
  answer: KnownAnswer | null;
  /** Whether the client has the answer or can fetch it; false with a retention of 0 hours after a restart. */
  isDeliverable: boolean;
  /** Whether a worker was offered the job, as far as the row says. */
  wasOffered: boolean;
  /** What the workers said in this round; null before they were asked. `later`: a worker is still at work on the job, or out of reach. */
  asked: "none" | "later" | null;
  /** For how long an answer that was charged has been asked for, seconds. */
  askingFor: number;
};

/** A job as the chain shows it. */
export type JobOnChain = {
  status: number;
  /** True if wallet and operator are those of the row: another gateway could lock a job with the same id. */
  isOurs: boolean;
  lockedAt: number;
  /** The worker that acknowledged it last, and in which attempt; null and 0 while nobody did. */
  worker: Address | null;
  attempt: number;
  /** Digest of the Completion that its worker proved by itself; null for none. */
  proof: Hex | null;
  /** Chain time from which that proof can be finalized; null unless the job is Proven. */
  finalizeFrom: number | null;
  /** True if the job was never locked and will not be. One look at one node does not show that (chain/job-sightings.ts). */
  isAbsent: boolean;
};

/** Windows of the deployed contracts that decide how a job ends, seconds. */
export type Windows = {
  /** 120: an answer must be finished before lockedAt + this. */
  completion: number;
  /** 30: how much later its proof may be mined. */
  inclusion: number;
  /** 3,600: what a worker proved without delivering it can be disputed until its proof + this, and is charged then. */
  finalization: number;
};
/** All time windows of the deployment and of this gateway, seconds. */
export type JobTimes = Windows & {
  /** 60: a client may dispute until its final token + this. */
  dispute: number;
  /** 86,400: a dispute must be ruled before it was opened + this. */
  arbitration: number;
  /** How long a worker may take to acknowledge an assignment. */
  acknowledge: number;
  /** After how long without a first token another worker is tried, if there is one. */
  firstToken: number;
  /** How long a request may wait for a place at a worker, before its lock. */
  queue: number;
  /** How long a lock may take to be mined. */
  lock: number;
};

/** Chain time before which a job can be settled: its answer in time, and its proof within the time that the chain may need for it. */
export const settleBefore = (
  lockedAt: number,
  { completion, inclusion }: Pick<Windows, "completion" | "inclusion">,
): number => lockedAt + completion + inclusion;

export type Step =
  /** Nothing to do before `until` (chain time), or before the next look if that is null. `isWithheld`: the worker withholds what it proved. */
  | { do: "wait"; until: number | null; isWithheld?: true }
  | { do: "settle"; acknowledgeFirst: boolean }
  | { do: "ask" }
  | { do: "withdraw-refusal" }
  | { do: "fail"; refusal: Refusal & { reason: FailureReasonName } }
  | { do: "refund" }
  | { do: "finalize" }
  | { do: "dispute"; isWithheld?: true }
  | { do: "close"; state: "settled" | "failed" | "refunded" | "unlocked"; why?: string };

/** Seconds before a proof can be finalized at which a withheld answer is disputed, or half the time to finalization. */
const DISPUTE_MARGIN = 900;

/** The next step of a job; see the table above. Pure. `now` is chain time, Unix seconds. */
export function nextStep(job: JobFacts, chain: JobOnChain, now: number, windows: Windows): Step {
  switch (chain.status) {
    case ChainStatus.None:
      return chain.isAbsent ? { do: "close", state: "unlocked", why: "the lock was never mined" } : WAIT;
    case ChainStatus.Settled:
      return chargedStep(job, chain);
    case ChainStatus.Failed:
      return { do: "close", state: "failed" };
    case ChainStatus.Refunded:
      return { do: "close", state: "refunded" };
    case ChainStatus.Disputed:
      return WAIT;
    default:
      if (!chain.isOurs) return { do: "close", state: "unlocked", why: "the id is another job's" };
      return chain.status === ChainStatus.Proven
        ? provenStep(job, chain, now, windows)
        : openStep(job, chain, now, windows);
  }
}

const WAIT: Step = { do: "wait", until: null };

/** Locked or Acknowledged: the credits are in escrow, and this gateway's operator can charge or return them. */
function openStep(job: JobFacts, chain: JobOnChain, now: number, windows: Windows): Step {
  const { completion, inclusion } = windows;
  const timeOver = chain.lockedAt + completion;
  if (job.refusal?.reason === "timeout") return now >= timeOver ? { do: "refund" } : { do: "wait", until: timeOver };
  if (job.refusal !== null) return fail(job.refusal.reason, job.refusal.why);
  if (!job.isDeliverable) return fail("answer_lost", "no answer can be had");
  const settlement = job.answer === null ? "impossible" : settlementOf(job.answer, chain);
  if (settlement !== "impossible" && now < settleBefore(chain.lockedAt, windows)) {
    return { do: "settle", acknowledgeFirst: settlement === "acknowledge-first" };
  }
  // An answer that was finished in time is not lost to a gateway that was away, as long as there is time to have it mined.
  if (job.asked === null && now < timeOver + inclusion / 2) return { do: "ask" };
  if (now >= timeOver) return { do: "refund" };
  if (job.asked === "later") return WAIT;
  return fail(job.wasOffered ? "answer_lost" : "routing_failed", "the gateway restarted and no answer could be had");
}

/** Proven: the worker put the hash of its answer on chain before the gateway settled. It is charged for what its client can have. */
function provenStep(job: JobFacts, chain: JobOnChain, now: number, windows: Windows): Step {
  const finalizeFrom = chain.finalizeFrom as number;
  if (job.answer !== null && proofDigest(job.answer.signed.completion) === chain.proof) {
    if (job.refusal !== null) return { do: "withdraw-refusal" };
    const isInTime = now < settleBefore(chain.lockedAt, windows);
    // Another worker that copied the hash has the proof: only that worker can be paid, when it finalizes.
    const isProvers = settlementOf(job.answer, chain) === "possible";
    if (isInTime) return isProvers ? { do: "settle", acknowledgeFirst: false } : WAIT;
    return now >= finalizeFrom + windows.inclusion ? { do: "finalize" } : WAIT;
  }
  const isForged = job.answer !== null || job.refusal?.why === TOOK_REFUSED;
  // With a retention of 0 hours the answer would not be kept, so it is not asked for, and its charge is disputed.
  if (job.asked === null && job.isDeliverable && !isForged) return { do: "ask" };
  if (now >= finalizeFrom + windows.inclusion) return { do: "finalize" };
  const disputeFrom = finalizeFrom - Math.min(DISPUTE_MARGIN, windows.finalization / 2);
  // A worker that was not asked withholds nothing. One that proved a text which it did not send as it should is not asked: it would be paid for that.
  const blamed = job.asked === null && !isForged ? {} : { isWithheld: true as const };
  const from = isForged ? settleBefore(chain.lockedAt, windows) : disputeFrom;
  return now >= from ? { do: "dispute", ...blamed } : { do: "wait", until: null, ...blamed };
}

/** Settled. Where the worker finalized its own proof while no gateway ran, the client has paid for an answer that is still to be fetched. */
function chargedStep(job: JobFacts, chain: JobOnChain): Step {
  const isMissing = job.answer === null && job.isDeliverable && chain.proof !== null && chain.isOurs;
  if (isMissing && job.asked === null) return { do: "ask" };
  if (isMissing && job.asked === "later" && job.askingFor <= KEEP_PROVEN_SECONDS) return WAIT;
  return { do: "close", state: "settled" };
}

const fail = (reason: FailureReasonName, why: string): Step => ({ do: "fail", refusal: { reason, why } });

/**
 * How an answer can be settled, by who has the job on chain. `acknowledge-first`: a settlement makes the answer's hash public, and a worker that
 * acknowledged an earlier attempt on chain could prove that hash first. `impossible`: the chain gave the job to a later attempt, or the worker
 * never signed that it took this one.
 */
export function settlementOf(
  { worker, attempt, acknowledgement }: Pick<KnownAnswer, "worker" | "attempt" | "acknowledgement">,
  chain: Pick<JobOnChain, "worker" | "attempt">,
): "possible" | "acknowledge-first" | "impossible" {
  if (chain.worker?.toLowerCase() === worker.toLowerCase()) return "possible";
  if (chain.worker === null && attempt <= 1) return "possible";
  return attempt <= chain.attempt || acknowledgement === null ? "impossible" : "acknowledge-first";
}
