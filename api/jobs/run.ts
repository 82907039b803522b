import { once } from "node:events";
import type { Address, Hex } from "viem";
import { type ChatRequest, JobErrorCode } from "../../protocol/dispatch.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { FailureReason } from "../../protocol/job-status.ts";
import type { Model, RegisteredWorker } from "../chain/directory.ts";
import { ApiError } from "../errors.ts";
import { Answer } from "./answer.ts";
import { runAttempt } from "./attempt.ts";
import type { JobContext } from "./context.ts";
import type { CompletedEvent } from "./dispatch-stream.ts";
import { failJob, JOB_TIMEOUT, refundJob, refuseJob } from "./end.ts";
import { type Lock, lockCredits } from "./lock.ts";
import { OfferRecord } from "./offer-record.ts";
import { type Settling, settle } from "./settle.ts";
import type { Stages } from "./stages.ts";
import { judge } from "./verdict.ts";

/** How long a client waits for the refund's transaction after a timeout. */
const REFUND_WAIT_MS = 10_000;
/** Seconds after which a client that found no worker may ask again: one probe interval. */
export const RETRY_AFTER_SECONDS = 5;

/** Seconds by which a worker's clock may close the window before ours. */
const CLOCK_SKEW = 5;

export type JobInput = {
  jobId: Hex;
  wallet: Address;
  model: Model;
  request: ChatRequest;
  credits: number;
  /** Takes note of how long each stage took: `prepare`, `lock`, `first-token`. */
  stages: Stages;
};

/** A completed job, its settlement on the way. */
export type CompletedJob = { worker: Address; completed: CompletedEvent; settling: Settling };

/**
 * A job from its lock to its settlement. `locked`, then `firstToken`, then `completed`; each rejects with the ApiError of
 * the client's answer. It runs to its end whether or not anybody still listens: proof and bill must be right.
 */
export class JobRun {
  readonly input: JobInput;
  readonly answer = new Answer();
  readonly locked: Promise<Lock>;
  readonly firstToken: Promise<Address>;
  readonly completed: Promise<CompletedJob>;
  readonly #context: JobContext;
  /** The worker that has the job now. */
  worker: Address | undefined;
  #firstToken!: (worker: Address) => void;

  constructor(context: JobContext, input: JobInput) {
    this.#context = context;
    this.input = input;
    this.locked = lockCredits(context, {
      jobId: input.jobId,
      wallet: input.wallet,
      model: input.model,
      maxTokens: input.request.max_tokens,
      credits: input.credits,
      onSubmitted: () => input.stages.end("prepare"),
    });
    const first = new Promise<Address>((resolve) => {
      this.#firstToken = resolve;
    });
    this.completed = this.locked.then((lock) => {
      input.stages.end("lock");
      return this.#run(lock);
    });
    // An empty answer has no first token: its completion counts as one.
    this.firstToken = Promise.race([first, this.completed.then((job) => job.worker)]);
    for (const promise of [this.locked, this.firstToken, this.completed]) promise.catch(() => {});
    this.completed.catch((error) => {
      this.answer.abort();
      if (!(error instanceof ApiError)) this.#giveUp(error);
    });
  }

  async #run(lock: Lock): Promise<CompletedJob> {
    const { times, head } = this.#context;
    const timeout = new AbortController();
    const left = (lock.lockedAt + times.completion) * 1000 - Date.now();
    const timer = setTimeout(() => timeout.abort(), Math.max(0, left));
    try {
      const result = await this.#attempts(lock, timeout.signal);
      if (result !== "timeout") return result;
    } finally {
      clearTimeout(timer);
    }
    head.refresh().catch((error) => this.#context.logger.warn({ err: error }, "head not refreshed"));
    throw await this.#timedOut(lock);
  }

  /** A fault of ours. The client gets an error, so the job must never be charged: it is failed now, or by the next sweep. */
  #giveUp(error: unknown): void {
    const { jobId } = this.input;
    const log = this.#context.logger.child({ jobId: toApiJobId(jobId) });
    log.error({ err: error }, "a job broke off on our side: it is failed");
    const why = "the gateway broke off";
    void refuseJob(this.#context, jobId, why);
    failJob(this.#context, jobId, FailureReason.AnswerLost, why).catch((failure) =>
      log.warn({ err: failure }, "the job could not be failed yet; the next sweep does it"),
    );
  }

  /** Worker after worker until one answers; from the first token on there is no other. */
  async #attempts(lock: Lock, signal: AbortSignal): Promise<CompletedJob | "timeout"> {
    const { jobId, model } = this.input;
    const excluded = new Set<string>();
    const row = new OfferRecord(this.#context, jobId, lock);
    for (let attempt = 1; !signal.aborted; attempt++) {
      const worker = this.#context.workers.choose(model.number, excluded);
      if (worker === undefined) {
        void row.write(null);
        throw await this.#failed(FailureReason.RoutingFailed, "no worker took the job", noWorkers(model));
      }
      excluded.add(worker.signer);
      this.worker = worker.signer;
      const result = await runAttempt(this.#context, {
        ...this.input,
        attempt,
        worker,
        answer: this.answer,
        signal,
        record: (offer) => row.write(offer),
        onFirstToken: () => {
          this.input.stages.end("first-token");
          this.#firstToken(worker.signer);
        },
      });
      if (result.ok) return this.#complete(lock, attempt, worker, result.completed);
      if (signal.aborted) break;
      const log = this.#context.logger.child({ jobId: toApiJobId(jobId), worker: worker.signer, attempt });
      log.warn({ code: result.failure.code }, `attempt failed: ${result.failure.message}`);
      if (this.answer.pieces > 0) {
        throw await this.#failed(FailureReason.WorkerFailed, result.failure.code, brokenOff());
      }
      // The worker's clock closed the window a moment before ours: the job is over for every worker.
      const left = lock.lockedAt + this.#context.times.completion - this.#context.head.time;
      if (result.failure.code === JobErrorCode.Timeout && left <= CLOCK_SKEW) return this.#untilDeadline(signal);
      // A worker that went silent may still hold a valid offer: the next attempt starts when that has run out.
      if (result.failure.offered) await this.#offerExpired(result.acknowledgeBy, signal);
    }
    return "timeout";
  }

  async #untilDeadline(signal: AbortSignal): Promise<"timeout"> {
    if (!signal.aborted) await once(signal, "abort");
    return "timeout";
  }

  async #complete(
    lock: Lock,
    attempt: number,
    worker: RegisteredWorker,
    completed: CompletedEvent,
  ): Promise<CompletedJob> {
    const { jobId, wallet, model, request } = this.input;
    const { completion, signature, finish_reason } = completed;
    const { bytes, text } = this.answer;
    const seen = { jobId, worker: worker.signer, lockedAt: lock.lockedAt, hash: this.answer.end(), text, bytes };
    const verdict = judge(this.#context, { ...seen, maxTokens: request.max_tokens }, completed);
    const incident = verdict.fault ?? verdict.excess;
    if (incident !== null) this.#context.workers.report(worker.signer, { ...incident, jobId });
    if (verdict.fault !== null) {
      const { code, detail } = verdict.fault;
      const reason = code === "hash_mismatch" ? FailureReason.HashMismatch : FailureReason.WorkerFailed;
      throw await this.#failed(reason, `${code}: ${detail}`, brokenOff());
    }
    if (incident?.code !== "tokens_over_reported") this.#context.workers.reportSuccess(worker.signer);
    const settling = await settle(this.#context, {
      jobId,
      wallet,
      worker: worker.signer,
      attempt,
      lockedAt: lock.lockedAt,
      creditsLocked: lock.credits,
      model,
      text,
      signed: { completion, signature, finish_reason },
      countedTokens: verdict.countedTokens,
    });
    return { worker: worker.signer, completed, settling };
  }

  /** Ends the job without a charge, then gives the error back: no 5xx leaves a live job. */
  async #failed(reason: FailureReason, why: string, error: ApiError): Promise<ApiError> {
    const { jobId } = this.input;
    void refuseJob(this.#context, jobId, why);
    const failing = failJob(this.#context, jobId, reason, why);
    failing.catch((failure) => this.#context.logger.warn({ err: failure }, "a job could not be failed yet"));
    // The operation is on its way; a chain that stands still must not hold the client.
    const outcome = await Promise.race([failing, sleep(REFUND_WAIT_MS).then(() => null)]);
    return outcome?.status === "reverted" ? this.#claimedByWorker() : error;
  }

  /** The worker proved a completion on chain that it never delivered: the escrow is held until that is decided. */
  #claimedByWorker(): ApiError {
    const jobId = toApiJobId(this.input.jobId);
    this.#context.logger.error({ jobId, worker: this.worker }, "a worker proved an answer that it did not deliver");
    return new ApiError(
      "job_timeout",
      "The worker claims an answer on chain that it did not deliver; the charge can be disputed.",
      {
        details: { job_id: jobId, credits_refunded: 0, refund_tx: null },
      },
    );
  }

  async #timedOut(lock: Lock): Promise<ApiError> {
    const jobId = toApiJobId(this.input.jobId);
    // A refund that is not mined while the client waits, or is too early for the chain's clock, must not be overtaken by a late answer.
    void refuseJob(this.#context, this.input.jobId, JOB_TIMEOUT);
    const refund = refundJob(this.#context, this.input.jobId);
    refund.catch((error) =>
      this.#context.logger.error({ err: error, jobId }, "a refund is open; a restart takes it up again"),
    );
    const refundTx = await Promise.race([refund, sleep(REFUND_WAIT_MS).then(() => "pending" as const)]);
    // The refund was refused: the job ended in another way, which only a proof of its worker can have been.
    if (refundTx === null) return this.#claimedByWorker();
    const seconds = this.#context.times.completion;
    return new ApiError(
      "job_timeout",
      `No worker completed the job within ${seconds} seconds; the credits are refunded.`,
      {
        details: { job_id: jobId, credits_refunded: lock.credits, refund_tx: refundTx === "pending" ? null : refundTx },
      },
    );
  }

  /** Waits until the chain no longer accepts an acknowledgement of the failed attempt. */
  async #offerExpired(acknowledgeBy: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.#context.head.time < acknowledgeBy) await sleep(100);
  }
}

/** 503 with the details of the specification. */
export function noWorkers(model: Model): ApiError {
  return new ApiError(
    "no_workers_available",
    `No worker is available for '${model.id}' now; retry in ${RETRY_AFTER_SECONDS} seconds.`,
    {
      details: { model: model.id, retry_after: RETRY_AFTER_SECONDS },
    },
  );
}

function brokenOff(): ApiError {
  return new ApiError(
    "service_unavailable",
    "The worker broke off before the answer was complete; nothing is charged. Retry.",
  );
}

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms).unref());
