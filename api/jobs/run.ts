import { once } from "node:events";
import type { Address, Hex } from "viem";
import { type ChatRequest, JobErrorCode } from "../../protocol/dispatch.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { FailureReason } from "../../protocol/job-status.ts";
import type { Model, RegisteredWorker } from "../chain/directory.ts";
import { ApiError } from "../errors.ts";
import { Answer } from "./answer.ts";
import { type Answered, runAttempt } from "./attempt.ts";
import type { SignedAuthorization } from "./authorization.ts";
import type { JobContext } from "./context.ts";
import type { CompletedEvent } from "./dispatch-stream.ts";
import { type Lock, lockCredits } from "./lock.ts";
import { OfferRecord } from "./offer-record.ts";
import { brokenOff, endUncharged, giveUp, noWorkers, timedOut } from "./refuse.ts";
import { type Settling, settle } from "./settle.ts";
import type { Stages } from "./stages.ts";
import { judge, knowsTime } from "./verdict.ts";

/** Seconds by which a worker's clock may close the window before ours. */
const CLOCK_SKEW = 5;
/** An attempt's number is a uint8 in the Assignment and on chain. */
const LAST_ATTEMPT = 255;

export type JobInput = {
  jobId: Hex;
  wallet: Address;
  model: Model;
  request: ChatRequest;
  credits: number;
  /** Of a wallet with an authorization key: what that key signed. */
  authorization: SignedAuthorization | null;
  /** Takes note of how long each stage took: `prepare`, `lock`, `first-token`, `answer`, `record`. */
  stages: Stages;
};

/** A completed job, its settlement on the way. */
export type CompletedJob = { worker: Address; completed: CompletedEvent; settling: Settling };

/**
 * A job from its lock to its settlement. `locked`, then `firstToken`, then `completed`, the last two once the lock is in the job's row
 * or after a second; each rejects with the ApiError of the client's answer. It runs to its end whether or not anybody still listens: proof and bill must be right.
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
      authorization: input.authorization,
      onSubmitted: () => input.stages.end("prepare"),
    });
    const first = new Promise<Address>((resolve) => {
      this.#firstToken = resolve;
    });
    this.completed = this.locked.then((lock) => {
      input.stages.end("lock");
      return this.#run(lock);
    });
    // An answer has a first token; what ends without one rejects both.
    this.firstToken = Promise.race([first, this.completed.then((job) => job.worker)]);
    for (const promise of [this.locked, this.firstToken, this.completed]) promise.catch(() => {});
    this.completed.catch((error) => {
      this.answer.abort();
      if (!(error instanceof ApiError)) giveUp(context, input.jobId, error);
    });
  }

  async #run(lock: Lock): Promise<CompletedJob> {
    const { times, head } = this.#context;
    const timeout = new AbortController();
    const left = (lock.lockedAt + times.completion) * 1000 - Date.now();
    const timer = setTimeout(() => timeout.abort(), Math.max(0, left));
    const row = new OfferRecord(this.#context, this.input.jobId, lock);
    try {
      const result = await this.#attempts(lock, row, timeout.signal);
      if (result !== "timeout") return result;
    } finally {
      clearTimeout(timer);
      // Whatever the client hears now names the job: it must be there when it is asked for.
      await row.lockRecorded();
    }
    head.refresh().catch((error) => this.#context.logger.warn({ err: error }, "head not refreshed"));
    throw await timedOut(this.#context, { jobId: this.input.jobId, worker: this.worker }, lock.credits);
  }

  /** Worker after worker until one answers; from the first token on there is no other. */
  async #attempts(lock: Lock, row: OfferRecord, signal: AbortSignal): Promise<CompletedJob | "timeout"> {
    const { jobId, model } = this.input;
    const excluded = new Set<string>();
    for (let attempt = 1; !signal.aborted; attempt++) {
      const worker = attempt > LAST_ATTEMPT ? undefined : this.#context.workers.choose(model.number, excluded);
      if (worker === undefined) {
        void row.write(null);
        throw await this.#uncharged(FailureReason.RoutingFailed, "no worker took the job", noWorkers(model));
      }
      excluded.add(worker.signer);
      this.worker = worker.signer;
      const result = await runAttempt(this.#context, {
        ...this.input,
        attempt,
        worker,
        answer: this.answer,
        signal,
        settleBefore: this.#settleBefore(lock),
        record: (offer) => row.write(offer),
        onFirstToken: () => {
          this.input.stages.end("first-token");
          void row.lockRecorded().then(() => this.#firstToken(worker.signer));
        },
      });
      if (result.ok) return this.#complete(lock, attempt, worker, result);
      if (signal.aborted) break;
      const log = this.#context.logger.child({ jobId: toApiJobId(jobId), worker: worker.signer, attempt });
      log.warn({ code: result.failure.code }, `attempt failed: ${result.failure.message}`);
      if (this.answer.pieces > 0) {
        throw await this.#uncharged(FailureReason.WorkerFailed, result.failure.code, brokenOff());
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
    { completed, acknowledgement, acknowledged }: Answered,
  ): Promise<CompletedJob> {
    const { jobId, wallet, model, request } = this.input;
    const { completion, signature, finish_reason } = completed;
    const { bytes, text } = this.answer;
    await knowsTime(this.#context, completion.completedAt);
    const seen = { jobId, worker: worker.signer, lockedAt: lock.lockedAt, hash: this.answer.end(), text, bytes };
    const verdict = judge(this.#context, { ...seen, maxTokens: request.max_tokens }, completed);
    const incident = verdict.fault ?? verdict.excess;
    if (incident !== null) this.#context.workers.report(worker.signer, { ...incident, jobId });
    if (verdict.fault !== null) {
      const { code, detail } = verdict.fault;
      const reason = code === "hash_mismatch" ? FailureReason.HashMismatch : FailureReason.WorkerFailed;
      throw await this.#uncharged(reason, `${code}: ${detail}`, brokenOff());
    }
    if (incident?.code !== "tokens_over_reported") this.#context.workers.reportSuccess(worker.signer);
    this.input.stages.end("answer");
    const settling = await settle(this.#context, {
      jobId,
      wallet,
      worker: worker.signer,
      attempt,
      acknowledgement,
      acknowledged,
      lockedAt: lock.lockedAt,
      creditsLocked: lock.credits,
      model,
      text,
      signed: { completion, signature, finish_reason },
      countedTokens: verdict.countedTokens,
    });
    this.input.stages.end("record");
    return { worker: worker.signer, completed, settling };
  }

  /** Chain time before which the job's settlement must be mined. */
  #settleBefore({ lockedAt }: Lock): number {
    const { completion, inclusion } = this.#context.times;
    return lockedAt + completion + inclusion;
  }

  #uncharged(reason: FailureReason, why: string, error: ApiError): Promise<ApiError> {
    return endUncharged(this.#context, { jobId: this.input.jobId, worker: this.worker }, { reason, why }, error);
  }

  /** Waits until the chain no longer accepts an acknowledgement of the failed attempt. */
  async #offerExpired(acknowledgeBy: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.#context.head.time < acknowledgeBy) await sleep(100);
  }
}

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms).unref());
