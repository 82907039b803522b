/**
 * Ends jobs: the only place that sends what ends a job, and that says what its client is told. Which step is next is decided by the table in
 * next-step.ts. The row gets its end from our mined transactions (row-updater.ts), whether or not a request waits.
 */

import type { Logger } from "pino";
import { type Address, type Hex, isAddressEqual } from "viem";
import { toApiJobId } from "../../protocol/job-id.ts";
import { ChainStatus, failureReason } from "../../protocol/job-status.ts";
import { type Completion, proofDigest } from "../../protocol/messages.ts";
import { charge, type Prices } from "../../protocol/pricing.ts";
import type { Cipher } from "../../shared/cipher.ts";
import { sleep } from "../../shared/sleep.ts";
import type { Balances } from "../chain/balances.ts";
import {
  acknowledgeOperation,
  completeOperation,
  failOperation,
  finalizeOperation,
  NotSent,
  type Outcome,
  proveEquivocationOperation,
  refundOperation,
  type Submission,
} from "../chain/operations.ts";
import type { Pipeline } from "../chain/pipeline.ts";
import type { Head } from "../chain/rpc.ts";
import { JobLost, type JobStore, TOOK_REFUSED } from "../db/jobs.ts";
import { ApiError } from "../errors.ts";
import type { WorkerPool } from "../workers/worker-pool.ts";
import {
  type JobFacts,
  type JobOnChain,
  type JobTimes,
  type KnownAnswer,
  nextStep,
  type Refusal,
  settleBefore,
} from "./next-step.ts";
import type { RowUpdater } from "./row-updater.ts";

export type EndingParts = {
  pipeline: Pick<Pipeline, "submit">;
  store: Pick<JobStore, "answered" | "refused" | "retry" | "withdrawRefusal">;
  rows: Pick<RowUpdater, "closed" | "neverLocked" | "written">;
  workers: Pick<WorkerPool, "withholds" | "released" | "over" | "report">;
  balances: Pick<Balances, "expectReturn">;
  head: Pick<Head, "time" | "block">;
  times: JobTimes;
  /** Encrypts the answers that are kept. */
  cipher: Pick<Cipher, "encrypt">;
  /** Hours for which an answer is kept; 0 keeps none. */
  outputRetentionHours: number;
  /** The Completion that a job's worker proved, as the chain tells it; null while the index does not have it. */
  proven: (jobId: Hex) => Promise<Completion | null>;
  /** Signing key of the worker that has the job by the chain; null if none does. Rejects where the node does not answer. */
  workerOf: (jobId: Hex) => Promise<Address | null>;
  /** Disputes the charge of an answer that its worker proved and withholds; resolves with what came of it, for the log. */
  dispute: (jobId: Hex, wallet: Address) => Promise<string>;
  logger: Logger;
};

/** A job on chain, with what its lock holds and what its answer costs. */
export type PricedJob = JobOnChain & Prices & { credits: number };

/** A job to be ended: what is known of it, and what the chain says. */
export type EndingJob = {
  jobId: Hex;
  wallet: Address;
  facts: JobFacts;
  chain: PricedJob;
  /** Asks the workers for the answer of a job that no request of this process runs. */
  askWorkers: () => Promise<FetchedAnswer | "none" | "later">;
};

/** `relayed`: the outcome of its worker's acknowledgement, where that is on its way to the chain already. */
type Settleable = KnownAnswer & { relayed?: Promise<Outcome> | null };
/** An answer and its text. */
export type FetchedAnswer = Settleable & { text: string };

/**
 * The result of one look at a job's end. `outcome` is that of the last transaction; null if none was sent, and a later look goes on. `refusedAs`: the
 * contract's error, where it refused the job's settlement.
 */
export type Ending = {
  did: "settle" | "fail" | "refund" | "finalize" | "nothing";
  outcome: Outcome | null;
  refusedAs?: string | undefined;
};

/** A settlement on its way. `signed`: hash of its transaction, before that is on record; `done`: whether it was mined as a settlement, or was refused. */
export type Settling = { signed: Promise<Hex>; done: Promise<Settled>; charged: number; countedTokens: number };
type Settled = { isSettled: boolean } & Pick<Ending, "refusedAs">;

/** A client waits this long for its job's end on chain. */
const CLIENT_WAIT_MS = 10_000;
/**
 * How long the gateway retries to store a refusal while the database is unreachable. By then the job's own time is over, and it is
 * refunded.
 */
const NOTE_MS = 150_000;
/** The most times that one round sends a refund that comes too early for the chain's time. */
const REFUND_TRIES = 3;
/** Shorter waits, in seconds, are waited for in place: the round does not end for them. */
const SHORT_WAIT = 2;
const NOTHING: Ending = { did: "nothing", outcome: null };

export class JobEnding {
  readonly #parts: EndingParts;
  /** Jobs whose end is on its way from here, and how many times over. */
  readonly #underWay = new Map<Hex, number>();
  /** Proven jobs whose finalization the chain refused. */
  readonly #notFinalizable = new Set<Hex>();
  /** Proven jobs whose workers the chain did not convict. */
  readonly #notConvicted = new Set<Hex>();

  constructor(parts: EndingParts) {
    this.#parts = parts;
  }

  /** Whether this process is ending the job now. */
  isUnderWay(jobId: Hex): boolean {
    return this.#underWay.has(jobId);
  }

  /** Stores a delivered answer, then settles it. Resolves once the answer is safe; the settlement goes on. Rejects with JobLost. */
  async answered(job: EndingJob, answer: FetchedAnswer): Promise<Settling> {
    const { jobId } = job;
    const charged = await this.#keep(job, answer);
    const signed = Promise.withResolvers<Hex>();
    signed.promise.catch(() => {}); // Not every caller wants the hash.
    const done = this.#underWayWith(jobId, () => this.#end(job, { ...job.facts, answer }, signed)).then(
      ({ did, outcome, refusedAs }) => ({ isSettled: did === "settle" && outcome?.status === "mined", refusedAs }),
    );
    done.catch((error) =>
      this.#log(jobId).error({ err: error }, "a settlement is not finished; the next sweep takes the job up again"),
    );
    return { signed: signed.promise, done, charged, countedTokens: answer.countedTokens };
  }

  /**
   * The client gets an error: nobody may charge the job any more, and its credits go back. Resolves when that is mined or cannot be done now.
   * Rejects with NotSent where the process stops.
   */
  endUncharged(job: EndingJob, refusal: Refusal): Promise<Ending> {
    return this.#underWayWith(job.jobId, () => this.#end(job, { ...job.facts, refusal }));
  }

  /** Takes the steps of a job that no request of this process runs, as far as they can be taken now. */
  proceed(job: EndingJob): Promise<Ending> {
    return this.#underWayWith(job.jobId, () => this.#end(job, job.facts));
  }

  /** Returns the credits of a job whose time is over and that no row leads to. */
  refundOverdue(jobId: Hex): Promise<Outcome | null> {
    return this.#underWayWith(jobId, () => this.#refund(jobId, null));
  }

  /**
   * Refuses a job, waits for its end on chain for at most ten seconds, and returns the error for its client: `error`, or what the chain made of the
   * job instead. `refusedBy`: the workers that said they would not do it.
   */
  async refuse(
    job: EndingJob,
    refusal: Refusal,
    { error, refusedBy }: { error: (refundTx: Hex | null) => ApiError; refusedBy: ReadonlySet<Address> },
  ): Promise<ApiError> {
    const ended = this.endUncharged(job, refusal).catch((failure) => {
      this.#log(job.jobId).warn({ err: failure }, "a refused job could not be ended yet; the next sweep does it");
      return NOTHING;
    });
    // A chain that stands still must not hold the client; the operation stays on its way.
    const { outcome } = await Promise.race([ended, sleep(CLIENT_WAIT_MS).then(() => NOTHING)]);
    if (outcome?.status === "mined") return error(outcome.hash);
    const status = outcome?.revert.name === "Job_WrongState" ? outcome.revert.args[1] : undefined;
    if (status === ChainStatus.Proven || status === ChainStatus.Disputed) {
      const heldUntil = this.#parts.head.time + this.#parts.times.finalization;
      await this.#blameProver(job.jobId, heldUntil, refusedBy);
      return withheldError(job, heldUntil);
    }
    return isOver(status) ? takenOver(job.jobId) : error(null);
  }

  /**
   * The worker that proved the job gets no other one for now. One that had refused it took it behind the back of the worker that has it: whatever became
   * of that one's attempt, the prover is not asked for its text, and the charge is disputed.
   */
  async #blameProver(jobId: Hex, heldUntil: number, refusedBy: ReadonlySet<Address>): Promise<void> {
    const { workerOf, workers } = this.#parts;
    try {
      const worker = await workerOf(jobId);
      if (worker === null) return;
      workers.withholds(worker, jobId, heldUntil * 1000);
      if (!refusedBy.has(worker)) return;
      workers.report(worker, { code: TOOK_REFUSED, detail: "it proved a text of its own", jobId });
      this.#note(jobId, { reason: "worker_failed", why: TOOK_REFUSED });
    } catch (error) {
      this.#log(jobId).warn({ err: error }, "which worker proved a job could not be read: the next sweep asks again");
    }
  }

  // ---------------------------------------------------------------- steps

  /** Takes one step after the other until the job is over, or has to wait. `signed` gets the hash of its settlement's transaction. */
  async #end(job: EndingJob, given: JobFacts, signed?: PromiseWithResolvers<Hex>): Promise<Ending> {
    const { head, times, rows, store, workers } = this.#parts;
    const { jobId, chain } = job;
    if (isOver(chain.status)) workers.over(jobId, chain.status === ChainStatus.Settled);
    let facts = given;
    let refusedAs: string | undefined;
    for (;;) {
      const now = head.time;
      const step = nextStep(facts, chain, now, times);
      if (step.do !== "settle") signed?.reject(new NotSent("the job ended without a settlement"));
      switch (step.do) {
        case "wait":
          if (step.isWithheld) this.#withheld(job);
          if (step.until === null || step.until - now > SHORT_WAIT) return NOTHING;
          await sleep(100);
          continue;
        case "ask": {
          const answer = await job.askWorkers();
          if (typeof answer === "string") {
            facts = { ...facts, asked: answer };
            continue;
          }
          if (chain.status === ChainStatus.Proven) workers.released(jobId);
          await this.#keep(job, answer);
          facts = { ...facts, answer };
          continue;
        }
        case "withdraw-refusal":
          await store.withdrawRefusal(jobId);
          facts = { ...facts, refusal: null };
          continue;
        case "settle": {
          const outcome = await this.#settle(job, facts.answer as Settleable, step.acknowledgeFirst, signed);
          if (outcome.status === "mined") return { did: "settle", outcome };
          const { name } = outcome.revert;
          const log = this.#log(jobId).child({ revert: outcome.revert });
          if (name === "Job_NotItsOperator") {
            log.error("this gateway's key is no signer any more: another gateway of the operator settles the job");
            return { did: "settle", outcome };
          }
          log.error("the chain refused a settlement: the job is failed, unless its worker proved the answer");
          if (chain.status === ChainStatus.Proven) return { did: "settle", outcome };
          refusedAs = name;
          facts = { ...facts, refusal: { reason: "worker_failed", why: `settlement refused: ${name}` } };
          continue;
        }
        case "fail":
          return { did: "fail", outcome: await this.#fail(jobId, step.refusal), refusedAs };
        case "refund":
          return { did: "refund", outcome: await this.#refund(jobId, chain.lockedAt), refusedAs };
        case "finalize":
          return { did: "finalize", outcome: await this.#finalize(jobId, facts.answer, chain) };
        case "dispute": {
          if (step.isWithheld) this.#withheld(job);
          if (await this.#convicted(job, facts.answer)) return NOTHING;
          const disputed = await this.#parts.dispute(jobId, job.wallet);
          this.#log(jobId).warn({ worker: chain.worker, disputed }, "the charge of a withheld answer is disputed");
          return NOTHING;
        }
        case "close":
          if (step.state === "unlocked") await rows.neverLocked(jobId, step.why as string);
          else await rows.closed(jobId, step.state, step.state === "settled" ? chain.credits : null);
          return NOTHING;
      }
    }
  }

  /** Stores an answer and its charge, and returns that. Rejects with JobLost. */
  async #keep({ jobId, wallet, chain }: EndingJob, answer: FetchedAnswer): Promise<number> {
    const { store, cipher, times, balances, outputRetentionHours } = this.#parts;
    const { worker, attempt, acknowledgement, signed, countedTokens, text } = answer;
    const charged = charge(countedTokens, chain, chain.credits);
    const row = {
      jobId,
      worker,
      attempt,
      acknowledgement,
      completion: signed,
      countedTokens,
      creditsCharged: charged,
      output: outputRetentionHours > 0 ? cipher.encrypt(text, toApiJobId(jobId)) : null,
      retentionHours: outputRetentionHours,
    };
    const deadline = settleBefore(chain.lockedAt, times);
    // The client waits for this write: as long as the proof can still be mined in time, a failed one is made again.
    await store.retry(
      (deadline - times.inclusion / 2) * 1000,
      // Its client has the answer once this is written, and the window of a dispute from then on.
      () => store.answered({ ...row, finalTokenAt: new Date() }),
      (error) => this.#log(jobId).error({ err: error }, "an answer could not be stored; trying again"),
    );
    if (chain.status !== ChainStatus.Settled) {
      balances.expectReturn(wallet, jobId, chain.credits - charged, deadline);
    }
    return charged;
  }

  /** Sends the settlement of a stored answer, after its worker's acknowledgement where the chain needs that first. */
  async #settle(
    { jobId, wallet, chain }: EndingJob,
    { worker, attempt, acknowledgement, relayed, signed: answer, countedTokens }: Settleable,
    acknowledgeFirst: boolean,
    signed?: PromiseWithResolvers<Hex>,
  ): Promise<Outcome> {
    const { pipeline, times } = this.#parts;
    const deadline = settleBefore(chain.lockedAt, times);
    if (acknowledgeFirst) {
      const assignment = { jobId, worker, attempt, acknowledgeBy: deadline };
      const relay = () => pipeline.submit(acknowledgeOperation(assignment, acknowledgement as Hex, deadline)).mined;
      const outcome = await (relayed ?? relay());
      // A refused acknowledgement is a refused settlement.
      if (outcome.status === "reverted") return outcome;
    }
    const settlement = { completion: answer.completion, signature: answer.signature, countedTokens, wallet };
    const submission: Submission = pipeline.submit(completeOperation(settlement, deadline * 1000));
    submission.signed.then(signed?.resolve, signed?.reject);
    return submission.mined;
  }

  /** Ends a job without a charge; resolves when that is mined and in its row, or refused. */
  async #fail(
    jobId: Hex,
    { reason, why }: Refusal & { reason: Parameters<typeof failureReason>[0] },
  ): Promise<Outcome> {
    this.#note(jobId, { reason, why });
    const outcome = await this.#parts.pipeline.submit(failOperation(jobId, failureReason(reason))).mined;
    if (outcome.status === "mined") {
      this.#parts.workers.over(jobId, false);
      await this.#parts.rows.written(jobId);
    } else this.#log(jobId).warn({ revert: outcome.revert.name }, "a job could not be failed on chain");
    return outcome;
  }

  /**
   * Charges a job for the answer that its worker proved and did not finalize, whether or not that answer is here; resolves when that is mined or
   * refused. Null where the proof cannot be read yet, or where the chain refused once: another transaction would cost the same gas in vain.
   */
  async #finalize(jobId: Hex, answer: KnownAnswer | null, chain: JobOnChain): Promise<Outcome | null> {
    if (this.#notFinalizable.has(jobId)) return null;
    const isHere = answer !== null && proofDigest(answer.signed.completion) === chain.proof;
    const completion = isHere ? answer.signed.completion : await this.#parts.proven(jobId);
    if (completion === null) return null;
    const outcome = await this.#parts.pipeline.submit(finalizeOperation(completion)).mined;
    if (outcome.status === "reverted") {
      this.#notFinalizable.add(jobId);
      this.#log(jobId).error(
        { revert: outcome.revert },
        "a proven job could not be finalized: it stays open until its worker does it, or the next process of this gateway tries again",
      );
    }
    return outcome;
  }

  /**
   * Returns the escrow of a job whose time is over; resolves when that is mined or refused. A chain's time can be behind this machine's clock: a
   * refund that came too early is sent again when the chain's time should be there. Null where it is not there for long: a later look goes on.
   */
  async #refund(jobId: Hex, lockedAt: number | null): Promise<Outcome | null> {
    const { pipeline, rows, head, times, workers } = this.#parts;
    this.#note(jobId, { reason: "timeout", why: "job_timeout" });
    for (let attempt = 1; attempt <= REFUND_TRIES; attempt++) {
      const outcome = await pipeline.submit(refundOperation(jobId)).mined;
      if (outcome.status === "mined") {
        workers.over(jobId, false);
        await rows.written(jobId);
        return outcome;
      }
      if (outcome.revert.name !== "Job_TooEarly" || lockedAt === null) {
        this.#log(jobId).warn({ revert: outcome.revert.name }, "a job could not be refunded");
        return outcome;
      }
      const behind = lockedAt + times.completion - head.block.timestamp;
      if (behind > CLIENT_WAIT_MS / 1000) break;
      await sleep(Math.max(1, behind) * 1000);
    }
    this.#log(jobId).error("the chain's time is behind this machine's clock: the next sweep refunds the job");
    return null;
  }

  /**
   * Writes down that the client gets an error, before the chain has the job's end: nobody may charge it for an answer that turns up later, also
   * not the next process if this one is killed. The job counts as under way until that is written.
   */
  #note(jobId: Hex, refusal: Refusal): void {
    const { store } = this.#parts;
    const log = this.#log(jobId).child({ refusal });
    void this.#underWayWith(jobId, () =>
      store
        .retry(
          Date.now() + NOTE_MS,
          () => store.refused({ jobId, ...refusal }),
          (error) => log.warn({ err: error }, "a refusal could not be written down; trying again"),
        )
        .catch((error) => {
          // A job that this database has never seen, or that another process has claimed: nothing of it is charged here.
          if (error instanceof JobLost) log.debug({ err: error }, "the row belongs to another process");
          else
            log.error(
              { err: error },
              "a refusal was not written down: after a kill, the next process may charge the job",
            );
        }),
    );
  }

  /**
   * A worker that signed one answer for the client and proved another is slashed without a vote, and the escrow returns at once. False where it did not,
   * or where the chain refused that once.
   */
  async #convicted({ jobId, chain }: EndingJob, answer: KnownAnswer | null): Promise<boolean> {
    const { pipeline, proven, workers } = this.#parts;
    if (answer === null || chain.worker === null || !isAddressEqual(answer.worker, chain.worker)) return false;
    const completion = this.#notConvicted.has(jobId) ? null : await proven(jobId);
    if (completion === null) return false;
    const outcome = await pipeline.submit(proveEquivocationOperation(answer.signed, completion)).mined;
    if (outcome.status === "mined") {
      workers.report(chain.worker, { code: "signed_twice", detail: `slashed in ${outcome.hash}`, jobId });
      return true;
    }
    this.#notConvicted.add(jobId);
    this.#log(jobId).error({ revert: outcome.revert }, "a worker that signed two answers of a job was not convicted");
    return false;
  }

  /** The worker gets no job while it withholds an answer that it proved. */
  #withheld({ jobId, chain }: EndingJob): void {
    if (chain.worker !== null)
      this.#parts.workers.withholds(chain.worker, jobId, (chain.finalizeFrom as number) * 1000);
  }

  async #underWayWith<T>(jobId: Hex, work: () => Promise<T>): Promise<T> {
    this.#underWay.set(jobId, (this.#underWay.get(jobId) ?? 0) + 1);
    try {
      return await work();
    } finally {
      const others = (this.#underWay.get(jobId) as number) - 1;
      if (others > 0) this.#underWay.set(jobId, others);
      else this.#underWay.delete(jobId);
    }
  }

  #log(jobId: Hex): Logger {
    return this.#parts.logger.child({ jobId });
  }
}

const isOver = (status: unknown): boolean =>
  status === ChainStatus.Settled || status === ChainStatus.Failed || status === ChainStatus.Refunded;

/** 500: the worker proved an answer that it did not deliver. The credits stay in escrow until that is decided, at most until `heldUntil`. */
function withheldError({ jobId, chain: { credits } }: EndingJob, heldUntil: number): ApiError {
  const id = toApiJobId(jobId);
  const until = new Date(heldUntil * 1000).toISOString();
  return new ApiError(
    "answer_withheld",
    `The worker proved an answer on chain that it did not deliver. ${credits} credits stay in escrow until ${until} at most: ` +
      `the service asks the worker for the answer, and disputes the charge if it gets none. Follow it at GET /v1/jobs/${id}.`,
    { details: { job_id: id, credits_held: credits, held_until: until } },
  );
}

/** 503: this process lost its database or its chain for so long that another gateway ended its job. */
export function takenOver(jobId: Hex, cause?: JobLost): ApiError {
  const id = toApiJobId(jobId);
  return new ApiError(
    "service_unavailable",
    `This gateway lost its database, and another one took the job over; ask for ${id} at GET /v1/jobs/${id}.`,
    { details: { job_id: id }, cause },
  );
}
