/** A job from its lock to its settlement, run by the process that took its request. */

import { once } from "node:events";
import type { Logger } from "pino";
import type { Address, Hex } from "viem";
import { JobErrorCode, needsOf, RefusalCode } from "../../protocol/dispatch.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { sleep } from "../../shared/sleep.ts";
import { inSpan, markFailed } from "../../shared/tracing.ts";
import type { RegisteredWorker } from "../chain/directory.ts";
import type { AbandonedRequests } from "../db/abandoned-requests.ts";
import { INCIDENTS, incidentCode } from "../db/incidents.ts";
import { JobLost, type JobStore } from "../db/jobs.ts";
import { ApiError } from "../errors.ts";
import type { TestResult } from "../workers/model-tests.ts";
import type { CompletedEvent } from "../workers/worker-client.ts";
import type { Demand, Place, WorkerPool } from "../workers/worker-pool.ts";
import { Answer, type Sent } from "./answer.ts";
import { type Answered, type AttemptParts, LOCK_NOT_MINED, runAttempt } from "./attempt.ts";
import { type EndingJob, type JobEnding, type Settling, takenOver } from "./job-ending.ts";
import { type JobInput, type Lock, type LockParts, lockCredits, lockedJob } from "./lock.ts";
import { type JobTimes, type Refusal, settleBefore } from "./next-step.ts";
import type { PlaceQueue } from "./place-queue.ts";
import {
  contextExceeded,
  failedAtModel,
  jobTimeout,
  modelServersFailed,
  noWorkers,
  requestRefused,
  workerBrokeOff,
} from "./refusals.ts";
import type { RowUpdater } from "./row-updater.ts";
import { type ClockParts, judge, knowsTime } from "./verdict.ts";
import type { WalletStandings } from "./wallet-standing.ts";

/** Seconds by which a worker's clock may close the window before ours. */
const CLOCK_SKEW = 5;
/** An attempt's number is a uint8 in the Assignment and on chain. */
const LAST_ATTEMPT = 255;
/** How long a job goes on after its client left before the first byte of the answer, so that a repetition of the request can join it. */
const JOIN_MS = 10_000;
/** A request that failed at so many workers is tried at no other. */
const MOST_FAILURES = 2;
/** A job that so many workers took and did not begin is offered to no other: each later one's acknowledgement costs the operator a transaction. */
const MOST_TAKEN = 3;
/** Codes by which a worker says that its model server did not take the request. */
const REFUSALS: readonly string[] = [RefusalCode.RequestRefused, RefusalCode.ContextExceeded];
/** A client waits this long for the tests that tell whether its request or the models failed. */
const VERDICT_MS = 10_000;
/** While an offer may still be taken, the chain is asked this often whether its worker has proven an answer. */
const LOOK_MS = 250;

/** The parts that a job needs to run, with those of its lock and of its attempts. */
export type RunParts = LockParts &
  AttemptParts &
  ClockParts & {
    times: JobTimes;
    store: Pick<JobStore, "left" | "retry" | "returned">;
    /** Requests whose clients hung up, which a repetition can join. */
    abandoned: Pick<AbandonedRequests, "close">;
    rows: Pick<RowUpdater, "written">;
    /** The queue in which jobs wait for a place at a worker. */
    queue: Pick<PlaceQueue, "again">;
    workers: Pick<
      WorkerPool,
      | "answeredEmpty"
      | "candidates"
      | "charged"
      | "contradicted"
      | "hosts"
      | "reportSuccess"
      | "requestBegan"
      | "requestEnded"
      | "test"
      | "wasContradicted"
    >;
    standings: Pick<WalletStandings, "settled" | "failed">;
    ending: Pick<JobEnding, "answered" | "refuse">;
  };

/** The request failed there, by this code; the test of the worker's model began at once. */
type FailedAttempt = { code: string; test: Promise<TestResult> };
/** An attempt without an answer. `test`: that of the worker's model, if one began. */
type EndedAttempt = { worker: RegisteredWorker; isMisconduct: boolean; test: Promise<TestResult> | null };

/** A completed job, its settlement on the way. */
export type CompletedJob = { worker: Address; completed: CompletedEvent; settling: Settling };

/**
 * `locked` when the lock is enough to begin, `mined` when it is in the chain. After `locked` come `firstToken` and `completed`, both once a mined lock
 * is in the job's row or after a second, `completed` never before `mined`. Each rejects with the ApiError of the client's answer. Several clients can
 * follow one job; one under a key runs to its end whether or not anybody listens.
 */
export class RunningJob {
  readonly input: JobInput;
  readonly answer = new Answer();
  readonly locked: Promise<Lock>;
  readonly mined: Promise<Lock>;
  readonly firstToken: Promise<Address>;
  readonly completed: Promise<CompletedJob>;
  readonly #parts: RunParts;
  readonly #first = Promise.withResolvers<Address>();
  /** Fires when the last client has left: the worker then ends the answer where it is. */
  readonly #unwanted = new AbortController();
  #clients = 0;
  /** Characters of reasoning that a client had when it left, at most. */
  #sentReasoning = 0;
  #leaving: NodeJS.Timeout | undefined;
  #worker: Address | undefined;
  /** The workers that said they would not do the job, and were not offered it again. */
  readonly #refusedBy = new Set<Address>();
  /** Its lock, once that is mined. */
  #held: Lock | undefined;
  /** Its place at a worker, reserved or in use. */
  #place: Place;
  /** Resolves once it is known whether its end counts against its wallet. */
  #judged: Promise<void> = Promise.resolve();

  constructor(parts: RunParts, input: JobInput) {
    this.#parts = parts;
    this.input = input;
    this.#place = input.admission.place;
    const { seen, mined } = lockCredits(parts, input);
    const span = { attributes: { "job.id": toApiJobId(input.jobId) } };
    this.locked = inSpan("lock", span, () => seen);
    // If the lock fails, the job ends, and `jobEnded` releases what was reserved for it.
    this.mined = mined.then((lock) => {
      this.#held = lock;
      input.admission.lockEnded();
      return lock;
    });
    this.completed = this.locked
      .then((lock) => {
        input.timings.end("lock");
        return this.#run(lock);
      })
      .catch((error) => {
        this.answer.abort();
        if (error instanceof ApiError) throw error;
        if (error instanceof JobLost) {
          this.#log.error({ err: error }, "another gateway took over a job that ran here, and ends it");
          throw takenOver(input.jobId, error);
        }
        this.#breakOff(error);
        throw error;
      })
      .finally(() => {
        this.#place.release();
        // Until it is known whether this job failed, it counts as one of the wallet's jobs: otherwise others would begin, and fail, before that.
        void this.#judged.then(() => input.admission.jobEnded());
      });
    this.completed.then(
      () => parts.workers.requestEnded(input.model.number, true),
      (error) => this.#noteFailure(error),
    );
    // An answer has a first token; what ends without one rejects both.
    this.firstToken = Promise.race([this.#first.promise, this.completed.then((job) => job.worker)]);
    for (const promise of [this.locked, this.mined, this.firstToken, this.completed]) promise.catch(() => {});
  }

  /** The worker that has the job now. */
  get worker(): Address | undefined {
    return this.#worker;
  }

  /** A client waits for the answer: its request's, or that of a repetition. Call `clientLeft` when its connection has ended. */
  clientCame(): void {
    this.#clients += 1;
    clearTimeout(this.#leaving);
    if (this.#clients > 1 || this.#leaving === undefined) return;
    const { store, logger } = this.#parts;
    store
      .returned(this.input.jobId)
      .catch((error) =>
        logger.warn(
          { err: error, jobId: this.input.jobId },
          "a client's return was not noted: after a kill its job is charged",
        ),
      );
  }

  /**
   * A client's connection ended, with or without the answer: from now on the job is charged also after a crash. What it was sent is evidence in a
   * dispute. `isServed`: it had been sent some of the answer, or its whole reply. Without a key, the work ends: at once after such a client, else
   * after ten seconds in which a repetition of the request can join. Resolves once the leave is written down. Never rejects.
   */
  async clientLeft({ sentReasoning, ...sent }: Sent, isServed: boolean): Promise<void> {
    const { store, times, logger } = this.#parts;
    const { jobId, claimedUntil } = this.input;
    this.#clients -= 1;
    this.#sentReasoning = Math.max(this.#sentReasoning, sentReasoning);
    if (claimedUntil === null && this.#clients === 0) {
      if (isServed) this.#unwanted.abort();
      else this.#leaving = setTimeout(() => void this.#endUnlessJoined(), JOIN_MS).unref();
    }
    try {
      const { lockedAt } = await this.locked;
      const until = settleBefore(lockedAt, times) * 1000;
      await store.retry(
        until,
        () => store.left({ jobId, ...sent }),
        (error) => logger.warn({ err: error, jobId }, "a client's leave was not noted; trying again"),
      );
    } catch (error) {
      // Without a lock there is nothing to charge; a job that another gateway claimed is that gateway's.
      logger.debug({ err: error, jobId }, "a client's leave was not noted");
    }
  }

  /** Ends the answer if no repetition joined in time. One can also have joined at another gateway, which waits for the whole answer. Never rejects. */
  async #endUnlessJoined(): Promise<void> {
    const { abandoned, logger } = this.#parts;
    const { jobId } = this.input;
    try {
      if ((await abandoned.close(jobId)) && this.#clients === 0) this.#unwanted.abort();
    } catch (error) {
      logger.warn({ err: error, jobId }, "it is not known whether somebody waits: the answer runs to its end");
    }
  }

  async #run(lock: Lock): Promise<CompletedJob> {
    const { times, head, rows, logger } = this.#parts;
    const { jobId } = this.input;
    const timeout = new AbortController();
    const left = (lock.lockedAt + times.completion) * 1000 - Date.now();
    const timer = setTimeout(() => timeout.abort(), Math.max(0, left));
    // A lock that was promised and is not mined in time ends the job.
    this.mined.catch(() => timeout.abort(LOCK_NOT_MINED));
    try {
      const result = await this.#attempts(lock, timeout.signal);
      if (result !== "timeout") return result;
    } finally {
      clearTimeout(timer);
      // The client's reply names the job, so the job's row must be written before the client can ask for it.
      await rows.written(jobId);
    }
    const { credits } = await this.mined;
    head.refresh().catch((error) => logger.warn({ err: error }, "the newest block could not be read"));
    throw await this.#refuse({ reason: "timeout", why: "job_timeout" }, (refundTx) =>
      jobTimeout(jobId, { credits, refundTx, seconds: times.completion }),
    );
  }

  /** A place for the next attempt: the reserved one, or else the next that becomes free. Null if no other worker could take the job. */
  async #nextPlace(demand: Demand, excluded: ReadonlySet<string>, signal: AbortSignal): Promise<Place | null> {
    const { wallet, model } = this.input;
    if (this.#worker === undefined && this.#place.isOpen()) return this.#place;
    this.#place.release();
    const place = await this.#parts.queue.again({ wallet, model, ...demand }, excluded, signal);
    if (place !== null) this.#place = place;
    return place;
  }

  /**
   * Offers the job to one worker after the other until one answers. After the first token no other worker gets it. A worker that was full may be
   * offered it again, since it did not refuse the job itself.
   */
  async #attempts(lock: Lock, signal: AbortSignal): Promise<CompletedJob | "timeout"> {
    const { times, head, workers, rows, logger } = this.#parts;
    const { jobId, model, request, claimedUntil } = this.input;
    const demand = { credits: lock.credits, needs: needsOf(request), jobId };
    const excluded = new Set<string>();
    let failures: FailedAttempt[] = [];
    const failedAt: Address[] = [];
    let last: EndedAttempt | null = null;
    let taken = 0;
    for (let attempt = 0; !signal.aborted; ) {
      const place = taken < MOST_TAKEN ? await this.#nextPlace(demand, excluded, signal) : null;
      if (signal.aborted) break;
      // Offers to the same worker in a row are one attempt: it can take only one of them.
      const isNew = place?.worker.signer !== this.#worker;
      if (isNew) attempt += 1;
      if (place === null || attempt > LAST_ATTEMPT) {
        if (failures.length > 0) throw await this.#failedAtModels(failures, last);
        this.#countAgainstWallet(last);
        const refusal = { reason: "routing_failed", why: "no worker took the job" } as const;
        throw await this.#refuse(refusal, () => noWorkers(model));
      }
      const { worker } = place;
      this.#worker = worker.signer;
      this.#refusedBy.delete(worker.signer);
      if (isNew && (attempt > 1 || claimedUntil !== null)) await this.#noteAttempt(lock, worker.signer, attempt);
      const wasMined = this.#held !== undefined;
      const others = () => workers.candidates(model.number, demand, new Set([...excluded, worker.signer]));
      const result = await runAttempt(this.#parts, {
        ...this.input,
        attempt,
        place,
        answer: this.answer,
        signal,
        unwanted: this.#unwanted.signal,
        mined: this.mined,
        wasMined,
        settleBefore: settleBefore(lock.lockedAt, times),
        hasAlternative: () => others().length > 0,
        onFirstToken: () => {
          this.input.admission.begun();
          this.input.timings.end("first-token");
          workers.requestBegan(model.number, performance.now() - this.input.timings.startedAt);
          void rows.written(jobId).then(() => this.#first.resolve(worker.signer));
        },
      });
      if (result.ok) {
        for (const failed of failedAt) workers.contradicted(failed);
        return this.#complete(attempt, worker, result);
      }
      if (signal.reason === LOCK_NOT_MINED) break;
      if (result.wasTaken) taken += 1;
      if (!result.failure.offered) this.#refusedBy.add(worker.signer);
      const { code } = result.failure;
      const { severity } = INCIDENTS[incidentCode(code)];
      const test = severity === "failure" ? workers.test(worker, model) : null;
      if (test !== null) {
        failedAt.push(worker.signer);
        // With two hostile workers anybody's request would be its client's error.
        if (!workers.wasContradicted(worker.signer)) failures.push({ code, test });
      }
      last = { worker, isMisconduct: severity === "misconduct", test };
      if (signal.aborted) break;
      const log = logger.child({ jobId, worker: worker.signer, attempt });
      const level = code === RefusalCode.Busy ? "debug" : "warn";
      log[level]({ code }, `attempt failed: ${result.failure.message}`);
      // The worker was full, which is nobody's fault: the job waits for a place again, in front of all requests.
      if (code === RefusalCode.Busy) continue;
      // The worker has waited for the block of a lock that is only promised: it gets the job again when that is there.
      if (code === RefusalCode.NotLocked && !wasMined) {
        await this.mined;
        continue;
      }
      excluded.add(worker.signer);
      if (this.answer.pieces > 0) {
        this.#countAgainstWallet(last);
        throw await this.#refuse({ reason: "worker_failed", why: code }, workerBrokeOff);
      }
      // The worker's clock closed the window a moment before ours: the job is over for every worker.
      const left = lock.lockedAt + times.completion - head.time;
      if (code === JobErrorCode.Timeout && left <= CLOCK_SKEW) {
        if (!signal.aborted) await once(signal, "abort");
        break;
      }
      if (failures.length >= MOST_FAILURES) failures = await this.#confirmed(failures);
      if (failures.length >= MOST_FAILURES) throw await this.#failedAtModels(failures, last);
      // A worker that went silent may still hold a valid offer: the next attempt starts when that has run out, unless the worker proves an answer.
      for (;;) {
        if (await this.#isClosedToWorkers()) {
          // Its worker may be the wallet's own.
          this.#countAgainstWallet({ ...last, isMisconduct: true });
          const refusal = { reason: "worker_failed", why: "the job is over on chain" } as const;
          throw await this.#refuse(refusal, workerBrokeOff);
        }
        if (!result.failure.offered || signal.aborted || head.time >= result.acknowledgeBy) break;
        await sleep(LOOK_MS);
      }
    }
    if (signal.reason !== LOCK_NOT_MINED) this.#countAgainstWallet(last);
    return "timeout";
  }

  /**
   * The job ends without a charge, at the operator's expense. That counts against its wallet, whatever the worker said: with a worker of its own a
   * wallet could have jobs fail without an end. Where the worker's conduct or its model is at fault, or the worker left before it was offered the job,
   * the wallet is excused a bounded number of times.
   */
  #countAgainstWallet(last: EndedAttempt | null): void {
    const { standings, workers } = this.#parts;
    const { model, wallet } = this.input;
    if (last === null || last.isMisconduct) return standings.failed(wallet, { isWorkersFault: true });
    const test = last.test ?? workers.test(last.worker, model);
    this.#judged = Promise.race([test, sleep(VERDICT_MS).then(() => null)]).then((result) => {
      standings.failed(wallet, { isWorkersFault: result?.model === "broken" });
    });
  }

  /**
   * Leaves out the refusals of workers whose models fail the gateway's test: they say nothing about the request, and no model server failed at it.
   */
  async #confirmed(failures: readonly FailedAttempt[]): Promise<FailedAttempt[]> {
    const counts = failures.map(async (one) => !REFUSALS.includes(one.code) || areSound(await testResults([one])));
    const isConfirmed = await Promise.all(counts);
    return failures.filter((_one, at) => isConfirmed[at]);
  }

  /** The request failed at workers. Ends the job; resolves with the client's error, by what the gateway's own tests of the models say. */
  async #failedAtModels(failures: readonly FailedAttempt[], last: EndedAttempt | null): Promise<ApiError> {
    const { model } = this.input;
    const results = testResults(failures);
    this.#countAgainstWallet(last);
    const pending = new ApiError("internal_error", "The job was failed, and its cause is being tested.");
    const error = await this.#refuse({ reason: "worker_failed", why: "failed at the model" }, () => pending);
    if (error !== pending) return error;
    if (!areSound(await results)) return modelServersFailed();
    const codes = failures.map(({ code }) => code);
    if (!codes.every((code) => REFUSALS.includes(code))) return failedAtModel();
    return codes.includes(RefusalCode.ContextExceeded) ? contextExceeded(model) : requestRefused();
  }

  /** True if the chain shows that no other worker can have the job any more. False if the node does not answer. */
  async #isClosedToWorkers(): Promise<boolean> {
    const { isClosedToWorkers, logger } = this.#parts;
    const { jobId } = this.input;
    try {
      return await isClosedToWorkers(jobId);
    } catch (error) {
      logger.info({ err: error, jobId }, "a job was not found on chain; it is offered again");
      return false;
    }
  }

  /**
   * Writes an attempt into the job's row before its offer is sent. After a crash only a worker in the row is asked for the answer, and no answer of a
   * later attempt is accepted. The first attempt of a request without a key is noted a moment after its offer instead, and nobody waits for that. If
   * the gateway is killed before, its client gets no answer anyway, and is not charged.
   */
  async #noteAttempt(lock: Lock, worker: Address, attempt: number): Promise<void> {
    const { store, times, logger } = this.#parts;
    const { jobId } = this.input;
    await store.retry(
      (lock.lockedAt + times.completion) * 1000,
      () => store.taken({ jobId, worker, attempt, acknowledged: false }),
      (error) => logger.error({ err: error, jobId }, "an attempt could not be noted; trying again"),
    );
  }

  async #complete(attempt: number, worker: RegisteredWorker, answered: Answered): Promise<CompletedJob> {
    const lock = await this.mined;
    const { jobId, wallet, model, request, showReasoning, timings } = this.input;
    const { completed, acknowledgement, acknowledged } = answered;
    const { completion, signature, finish_reason } = completed;
    const { bytes, text, reasoning } = this.answer;
    // A client that waits gets all of the reasoning. It is not stored for a client that comes later, because that one would not pay for it.
    const shown = this.#clients > 0 ? reasoning.length : this.#sentReasoning;
    if (this.#clients === 0) this.answer.forgetReasoning();
    const shownReasoning = showReasoning ? shown : 0;
    await knowsTime(this.#parts, completion.completedAt);
    const verdict = judge(
      this.#parts,
      {
        jobId,
        worker: worker.signer,
        lockedAt: lock.lockedAt,
        hash: this.answer.end(),
        text,
        bytes,
        reasoning,
        shownReasoning,
        maxTokens: request.max_tokens,
        contextWindow: model.contextWindow,
        finishedBy: this.#parts.head.time,
        isUnwanted: this.#unwanted.signal.aborted,
      },
      completed,
    );
    const incident = verdict.fault ?? verdict.excess;
    if (incident !== null) this.#parts.workers.report(worker.signer, { ...incident, jobId }, model.number);
    if (verdict.fault !== null) {
      const { code, detail } = verdict.fault;
      const reason = code === "hash_mismatch" ? "hash_mismatch" : "worker_failed";
      const isMisconduct = INCIDENTS[incidentCode(code)].severity === "misconduct";
      this.#countAgainstWallet({ worker, isMisconduct, test: null });
      throw await this.#refuse({ reason, why: `${code}: ${detail}` }, workerBrokeOff);
    }
    const { workers } = this.#parts;
    // An empty text says nothing against the model if `max_tokens` ended the answer within its reasoning.
    const isCutShort = finish_reason === "length" && reasoning !== "";
    if (text === "" && !isCutShort) workers.answeredEmpty(worker, model);
    else if (incident?.code !== "tokens_over_reported") workers.reportSuccess(worker.signer, model.number);
    timings.end("answer");
    const settling = await this.#parts.ending.answered(this.#endingJob(lock), {
      worker: worker.signer,
      attempt,
      acknowledgement,
      relayed: acknowledged,
      signed: { completion, signature, finish_reason },
      countedTokens: verdict.countedTokens,
      text,
    });
    void inSpan("settlement", { attributes: { "job.id": toApiJobId(jobId) } }, async () => {
      if (!(await settling.done).isSettled) markFailed("settlement_refused");
    }).catch(() => {}); // `JobEnding` has logged it
    this.input.admission.answered();
    this.#judged = settling.done.then(
      ({ isSettled, refusedAs }) => {
        if (isSettled) this.#parts.standings.settled(wallet);
        else if (refusedAs !== undefined) this.#settlementRefused(worker, refusedAs);
      },
      () => {}, // `JobEnding` has logged it
    );
    workers.charged(jobId, worker, settling.charged);
    timings.end("record");
    return { worker: worker.signer, completed, settling };
  }

  /**
   * The chain refused the settlement, so the client has the answer without a charge. Unless the gateway was late, the worker's owner may have caused
   * that for the wallet: it is a failure of the wallet. A worker that no longer hosts the model rests. Other errors say nothing about the worker,
   * since a later attempt can be refused for what an earlier worker did.
   */
  #settlementRefused({ signer }: RegisteredWorker, error: string): void {
    const { workers, standings } = this.#parts;
    const { jobId, wallet, model } = this.input;
    if (error === "Job_TooLate") return;
    const incident = { code: "settlement_refused", detail: error, jobId };
    if (error === "Job_WorkerNotEligible") workers.report(signer, incident, model.number);
    standings.failed(wallet, { isWorkersFault: true });
  }

  /** Ends the job without a charge; resolves with the error for its client. Without a mined lock there is nothing to end, and the lock's error rejects. */
  async #refuse(refusal: Refusal, error: (refundTx: Hex | null) => ApiError): Promise<ApiError> {
    const lock = await this.mined;
    return this.#parts.ending.refuse(this.#endingJob(lock), refusal, { error, refusedBy: this.#refusedBy });
  }

  /** Counts the failure of a locked job in the model's record, unless the request was at fault. */
  #noteFailure(error: unknown): void {
    const { workers } = this.#parts;
    const { model } = this.input;
    const isOurs = !(error instanceof ApiError) || error.status >= 500;
    if (isOurs && this.#held !== undefined) workers.requestEnded(model.number, false);
  }

  /** A fault of ours: the client gets an error, so the job is failed now, or by the next sweep. Without a lock there is nothing to end. */
  #breakOff(error: unknown): void {
    this.#log.error({ err: error }, "a job broke off on our side: it is failed");
    const refusal = { reason: "answer_lost", why: "the gateway broke off" } as const;
    this.mined
      .then(
        (lock) => this.#parts.ending.endUncharged(this.#endingJob(lock), refusal),
        () => {}, // `lockCredits` has seen to it.
      )
      .catch((failure) => this.#log.warn({ err: failure }, "the job could not be failed yet; the next sweep does it"));
  }

  #endingJob(lock: Lock): EndingJob {
    return lockedJob(this.input, lock, this.#worker !== undefined);
  }

  get #log(): Logger {
    return this.#parts.logger.child({ jobId: this.input.jobId });
  }
}

/** Results of the tests of these models, if all are there within `VERDICT_MS`. */
async function testResults(failures: readonly FailedAttempt[]): Promise<TestResult[] | null> {
  const tests = Promise.all(failures.map(({ test }) => test));
  return Promise.race([tests, sleep(VERDICT_MS).then(() => null)]);
}

const areSound = (results: readonly TestResult[] | null): boolean =>
  results?.every(({ model }) => model === "sound") ?? false;
