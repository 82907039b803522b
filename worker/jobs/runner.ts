/** A job from the gateway's offer to the signed Completion. */
import { type Address, isAddressEqual } from "viem";
import {
  ALWAYS_REASONING,
  asksReasoning,
  type Dispatch,
  finishMargin,
  type Health,
  JobErrorCode,
  type OutputRequest,
  QUEUED_SHARE,
  RefusalCode,
  type Ticket,
  TRIAL,
  type TrialRequest,
  type WorkerOutput,
} from "../../protocol/dispatch.ts";
import { retryUntil } from "../../shared/retry.ts";
import { markFailed } from "../../shared/tracing.ts";
import { type Backend, BackendError, ContextExceeded, RequestRefused, ServerBusy } from "../backends/backend.ts";
import { ChainClock, type ChainReader, type Sighting } from "../chain.ts";
import type { Config } from "../config.ts";
import type { Logger } from "../console.ts";
import type { Identity } from "../keys.ts";
import { type EventStream, Refusal } from "../reply.ts";
import type { SettlementWatcher } from "../settlement.ts";
import type { Agreement, CompletionStore } from "../store.ts";
import { type Answer, type Ends, emptyAnswer, type Generated, Generation, JobError, type Send } from "./answer.ts";
import { AssignmentChecks, type CheckSettings, CLOCK_SKEW, type Gateway, type SeenLock } from "./checks.ts";
import { Slots } from "./slots.ts";

type Parts = {
  config: Pick<Config, "concurrency" | "queue" | "abilities"> & CheckSettings;
  identity: Identity;
  reader: ChainReader;
  store: CompletionStore;
  watcher: SettlementWatcher;
  backend: Backend;
  log: Logger;
};
/** A job while it is here. */
type Run = {
  dispatch: Dispatch;
  gateway: Gateway;
  stream: EventStream;
  /** Ends the job. */
  abort: AbortController;
  /** Lets the model server go, while the job goes on. */
  modelDone: AbortController;
  /** Has the model server begin an answer. */
  begin: () => Generation;
  /** Gives the job's slot to the next one, once the model server is done with it. */
  leaveSlot: (how: { isDone: boolean }) => void;
  /** Fires when the job has waited for room as long as it may. */
  until: AbortSignal;
  log: Logger;
};

/** The acknowledgement waits this long for the first token, so that a failure before it leaves nothing signed. */
const ACKNOWLEDGE_WITHIN_MS = 2_000;

/** A trial waits so long for a slot, and its model has so long for the answer. */
const TRIAL_MS = 20_000;

/** Takes each dispatched job through its life: check, acknowledge, generate, sign, hand over. */
export class JobRunner {
  readonly #parts: Parts;
  readonly #checks: AssignmentChecks;
  readonly #slots: Slots;
  #onTrial = false;
  /** Models that reasoned unasked; each is noted once. */
  readonly #unaskedReasoners = new Set<string>();
  readonly #running = new Map<string, AbortController>();
  /** Acknowledged jobs whose answer is under way: who dispatched each, and what ends it where it is. */
  readonly #answering = new Map<string, { gateway: Address; end: AbortController }>();

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#checks = new AssignmentChecks(parts.identity, parts.reader, parts.config);
    this.#slots = new Slots(parts.config.concurrency, parts.config.queue);
  }

  /** How busy this worker is. */
  get load(): Pick<Health, "in_flight" | "queued" | "capacity" | "queue_capacity"> {
    const { running, waiting, limit, queueLimit } = this.#slots;
    return { in_flight: running, queued: waiting, capacity: limit, queue_capacity: queueLimit };
  }

  /** True if the worker takes no more jobs. */
  get isDraining(): boolean {
    return this.#slots.closed;
  }

  /** The gateway that signed an assignment. Throws a Refusal when its dispatch would be refused, whatever the body says. */
  async admit({ assignment, signature }: Ticket): Promise<Gateway> {
    const { jobId, acknowledgeBy } = assignment;
    const gateway = await this.#checks.gatewayOf(assignment, signature);
    // On the chain it can be read later; until then it is good for a few seconds.
    if (acknowledgeBy + CLOCK_SKEW < Date.now() / 1000) {
      throw new Refusal(RefusalCode.NotAssigned, "the assignment has expired");
    }
    if (this.#running.has(jobId) || this.#parts.store.isTaken(jobId)) throw alreadyTaken();
    return gateway;
  }

  /** Runs one job of a gateway that was admitted. Throws a Refusal as long as nothing was signed; after that every end goes into the stream. */
  async run(dispatch: Dispatch, gateway: Gateway, stream: EventStream): Promise<void> {
    const { jobId, attempt, acknowledgeBy } = dispatch.assignment;
    const model = this.#checks.backendModel(dispatch.model);
    if (this.#running.has(jobId)) throw alreadyTaken();
    const abort = new AbortController();
    this.#running.set(jobId, abort);
    try {
      if (this.#parts.store.isTaken(jobId)) throw alreadyTaken();
      const until = AbortSignal.any([stream.left, endOfWait(acknowledgeBy)]);
      await this.#slots.enter(until);
      let hasLeft = false;
      const leaveSlot = (how: { isDone: boolean }) => {
        if (!hasLeft) this.#slots.leave(how);
        hasLeft = true;
      };
      try {
        const log = this.#parts.log.child({ jobId, attempt, model: dispatch.model });
        const modelDone = new AbortController();
        const ends = AbortSignal.any([abort.signal, modelDone.signal]);
        const pieces = () => this.#parts.backend.generate(model, dispatch.request, ends);
        const begin = () => new Generation(pieces(), dispatch.request);
        await this.#work({ dispatch, gateway, stream, abort, modelDone, begin, leaveSlot, until, log });
      } finally {
        leaveSlot({ isDone: false });
      }
    } finally {
      this.#running.delete(jobId);
    }
  }

  /**
   * The answer of a finished job, for a gateway of its operator that lost the connection, its memory, or its fellow.
   * Throws a Refusal when there is none, or when the asker has not shown that it is such a gateway.
   */
  async output(request: OutputRequest): Promise<WorkerOutput> {
    const { assignment, signature } = request;
    const gateway = await this.#checks.gatewayOf(assignment, signature);
    // Before anything is read or told: an assignment and its signature are public.
    await this.#checks.outputAccess(request, gateway);
    if (this.#running.has(assignment.jobId)) {
      throw new Refusal(RefusalCode.NotFinished, "the job still runs; ask again");
    }
    const record = await this.#parts.store.read(assignment.jobId);
    if (record === null) throw new Refusal(RefusalCode.NoOutput, "no answer of this job is stored here");
    const { agreement } = record;
    if ((await this.#checks.operatorOf(agreement.gateway)) !== gateway.operator) {
      throw new Refusal(RefusalCode.NotAssigned, "the job was dispatched by another operator");
    }
    return {
      text: record.text,
      completion: record.completion,
      signature: record.signature,
      finish_reason: record.finishReason,
      acknowledgement: { attempt: agreement.assignment.attempt, signature: agreement.byWorker },
    };
  }

  /** Ends the answer of a running job where it is, for a gateway whose client has left. Throws a Refusal as `output` does. */
  async end(request: OutputRequest): Promise<void> {
    const { assignment, signature } = request;
    const gateway = await this.#checks.gatewayOf(assignment, signature);
    await this.#checks.outputAccess(request, gateway);
    const answering = this.#answering.get(assignment.jobId);
    if (answering === undefined) throw new Refusal(RefusalCode.NotRunning, "the job has no answer under way here");
    if (!isAddressEqual(answering.gateway, gateway.address)) {
      throw new Refusal(RefusalCode.NotAssigned, "another gateway dispatched the job");
    }
    answering.end.abort();
  }

  /** Answers a gateway's test prompt with the model. One test runs at a time, and only where a job would have room. Throws a Refusal. */
  async trial(request: TrialRequest): Promise<{ text: string }> {
    const model = this.#checks.backendModel(request.model);
    await this.#checks.trialAccess(request);
    if (this.#onTrial) throw new Refusal(RefusalCode.Busy, "another trial runs");
    this.#onTrial = true;
    const patience = AbortSignal.timeout(TRIAL_MS);
    try {
      // A trial that waited in vain says nothing of the model.
      await this.#slots.enter(patience).catch((error: unknown) => {
        throw patience.aborted
          ? new Refusal(RefusalCode.Busy, "no slot was free for a trial", { cause: error })
          : error;
      });
      const over = AbortSignal.timeout(TRIAL_MS);
      try {
        const question = { ...TRIAL, messages: [...TRIAL.messages] };
        const generation = new Generation(this.#parts.backend.generate(model, question, over), question);
        let reasoned = "";
        const { answer } = await generation.drain(
          (kind, text) => {
            if (kind === "reasoning") reasoned += text;
          },
          { cut: over },
        );
        // One that only reasons within so few tokens is at work, too.
        return { text: answer.text() || reasoned };
      } catch (error) {
        throw refusalOf(error);
      } finally {
        this.#slots.leave();
      }
    } finally {
      this.#onTrial = false;
    }
  }

  /** Refuses new jobs, lets the running ones finish for `seconds`, then stops them. */
  async drain(seconds: number): Promise<void> {
    this.#slots.close();
    const isIdle = () => this.#running.size === 0;
    await retryUntil(isIdle, { pauseMs: 50, timeoutMs: seconds * 1000 });
    this.stop();
    await retryUntil(isIdle, { pauseMs: 10, timeoutMs: 2_000 });
  }

  /** Stops the running jobs now. */
  stop(): void {
    for (const abort of this.#running.values()) {
      abort.abort(new JobError(JobErrorCode.Stopping, "the worker was stopped"));
    }
  }

  async #work(run: Run): Promise<void> {
    const { dispatch, gateway, stream, abort, log } = run;
    const started = performance.now();
    // The model server works while the chain is asked about the lock.
    let generation = run.begin();
    let agreement: Agreement;
    let lock: SeenLock | undefined;
    try {
      lock = await this.#checks.locked(dispatch, gateway);
      generation = await this.#begun(run, generation);
      if (stream.left.aborted) throw new Refusal(RefusalCode.Busy, "the gateway left before the job was taken");
      agreement = await this.#acknowledge(dispatch, gateway);
    } catch (error) {
      lock?.giveBack?.();
      abort.abort();
      await generation.cancel();
      throw error;
    }
    const checkMs = Math.round(performance.now() - started);
    const isPromised = lock.giveBack !== null;
    log.info({ gateway: gateway.address, operator: gateway.operator, isPromised, checkMs }, "job taken");
    stream.acknowledged(agreement.byWorker);
    try {
      await this.#answer(run, generation, agreement, lock);
    } catch (error) {
      abort.abort();
      await generation.cancel();
      this.#parts.watcher.forget(agreement.assignment.jobId);
      const reason = asJobError(abort.signal.reason instanceof JobError ? abort.signal.reason : error);
      markFailed(reason.code);
      log.warn({ code: reason.code, err: error }, "job ended without a completion");
      stream.error(reason.code, reason.message);
    } finally {
      lock.giveBack?.();
    }
  }

  /** The lock once it is mined, which for a promised one takes until its block. It ends the job if it does not pay for it after all. */
  async #minedLock({ dispatch, gateway, abort }: Run, lock: SeenLock): Promise<Sighting> {
    if (lock.giveBack === null) return lock;
    try {
      const mined = await this.#checks.mined(dispatch, gateway, lock, abort.signal);
      lock.giveBack();
      return mined;
    } catch (error) {
      const { message } = error as Error;
      if (error instanceof Refusal) abort.abort(new JobError(JobErrorCode.Superseded, message, { cause: error }));
      throw error;
    }
  }

  /**
   * A generation that has begun, or has not failed for two seconds. A full model server is asked again when it wants to be, as long as the job may
   * wait. Whatever else fails at once is a refusal: the gateway can turn to another worker without waiting. Throws a Refusal.
   */
  async #begun({ stream, begin, until, log }: Run, first: Generation): Promise<Generation> {
    for (let generation = first, isAgain = false; ; generation = begin(), isAgain = true) {
      const failure = await generation.failsWithin(ACKNOWLEDGE_WITHIN_MS, stream.left);
      if (failure === null) return generation;
      if (!(failure instanceof ServerBusy)) throw refusalOf(failure);
      log.debug({ retryAfterMs: failure.retryAfterMs, running: this.#slots.running }, "the model server is full");
      if (!(await this.#slots.refused(failure.retryAfterMs, { isAgain, until }))) {
        throw new Refusal(RefusalCode.Busy, "the model server had no room in time; route the job elsewhere");
      }
    }
  }

  /**
   * Hands out an answer. A model server that says late that it is full gets the job again, as long as nothing of the answer is out. When the gateway
   * ends the job while it waits for room, the answer is empty.
   */
  async #drain(run: Run, first: Generation, send: Send, ends: Required<Ends>): Promise<Generated> {
    const { dispatch, begin, abort } = run;
    const until = AbortSignal.any([abort.signal, ends.end]);
    let hasBegun = false;
    const note: Send = (kind, text) => {
      hasBegun = true;
      send(kind, text);
    };
    for (let generation = first, isAgain = false; ; generation = begin(), isAgain = true) {
      try {
        return await generation.drain(note, ends);
      } catch (error) {
        await generation.cancel();
        if (hasBegun || !(error instanceof ServerBusy)) throw error;
        const mayGoOn = await this.#slots.refused(error.retryAfterMs, { isAgain, until });
        if (ends.end.aborted) return emptyAnswer(dispatch.request);
        if (!mayGoOn) throw error;
      }
    }
  }

  /** Nobody pays for reasoning that was not asked for. Throws a BackendError where it was all that came. */
  #judgeReasoning({ model, request }: Dispatch, answer: Answer): void {
    const { config, log } = this.#parts;
    const isDeclared = config.abilities.get(model)?.includes(ALWAYS_REASONING) ?? false;
    if (isDeclared || asksReasoning(request)) return;
    if (!this.#unaskedReasoners.has(model)) {
      this.#unaskedReasoners.add(model);
      const help = `switch its reasoning off at the model server, or declare --abilities ${model}=${ALWAYS_REASONING}`;
      log.warn({ model }, `the model reasons although it was told not to, and nobody pays for that: ${help}`);
    }
    if (answer.bytes === 0) throw new BackendError("the model only reasoned, which nobody had asked for");
  }

  /** Takes the job: the mark that it is taken is written before the acknowledgement leaves. */
  async #acknowledge({ assignment, signature }: Dispatch, gateway: Gateway): Promise<Agreement> {
    const { identity, store } = this.#parts;
    const { jobId, attempt } = assignment;
    const [taken, byWorker] = await Promise.all([store.take(jobId), identity.signAcknowledgement(jobId, attempt)]);
    if (!taken) throw alreadyTaken();
    return { assignment, gateway: gateway.address, byGateway: signature, byWorker };
  }

  /**
   * Streams the answer and signs it, once its lock is mined: a signature would stand also where the sequencer broke its promise. The Completion's
   * signature leaves this process only after it is on the disk.
   */
  async #answer(run: Run, generation: Generation, agreement: Agreement, seen: SeenLock): Promise<void> {
    const { dispatch, stream, abort, log } = run;
    const { identity, reader, store, watcher } = this.#parts;
    const { jobId } = agreement.assignment;
    const started = performance.now();
    const clock = new ChainClock(seen);
    const { completion: seconds } = await reader.windows();
    const closes = seen.job.lockedAt + seconds;
    // When the chain shows that nobody will pay for the job, the work stops.
    watcher.track(agreement, (why) => abort.abort(new JobError(JobErrorCode.Superseded, why)));
    const after = (time: number, act: () => void) => setTimeout(act, Math.max(0, (time - clock.now()) * 1000));
    const minedLock = this.#minedLock(run, seen);
    minedLock.catch(() => {}); // It is awaited below, or the job has ended.
    const [cut, end] = [new AbortController(), new AbortController()];
    this.#answering.set(jobId, { gateway: agreement.gateway, end });
    const timers = [
      after(closes - finishMargin(seconds), () => cut.abort()),
      after(closes, () => abort.abort(tooLate())),
    ];
    let firstTokenMs: number | null = null;
    try {
      const send: Send = (kind, text) => {
        firstTokenMs ??= Math.round(performance.now() - started);
        stream.piece(kind, text);
      };
      const ends = { cut: cut.signal, end: end.signal };
      const { answer, usage, finishReason, reasoned } = await this.#drain(run, generation, send, ends);
      if (cut.signal.aborted || end.signal.aborted) run.modelDone.abort();
      run.leaveSlot({ isDone: true });
      // An answer that was ended is what there is of it.
      if (reasoned > 0 && !end.signal.aborted) this.#judgeReasoning(dispatch, answer);
      const finishedAt = clock.now();
      const { job } = await minedLock;
      // The chain takes no time later than the settlement's block: the time of a block that was mined is never too late.
      const completedAt = Math.max(await reader.newestBlockTime(), job.lockedAt);
      if (Math.max(finishedAt, completedAt) >= closes) throw tooLate();
      const completion = { jobId, proofHash: answer.digest(), ...usage, completedAt };
      const signature = await identity.signCompletion(completion);
      const head = { agreement, completion, signature, finishReason, finishedAt } as const;
      await store.save({ ...head, text: answer.text() });
      watcher.completed(head);
      stream.completed({ completion, signature, finish_reason: finishReason });
      log.info({ ...usage, finishReason, firstTokenMs, ms: Math.round(performance.now() - started) }, "job completed");
    } finally {
      this.#answering.delete(jobId);
      for (const timer of timers) clearTimeout(timer);
    }
  }
}

/** Why a job is not taken, by what its model server did. */
function refusalOf(error: unknown): Refusal {
  const message = error instanceof BackendError ? error.message : "the model server failed";
  const code =
    error instanceof ServerBusy
      ? RefusalCode.Busy
      : error instanceof ContextExceeded
        ? RefusalCode.ContextExceeded
        : error instanceof RequestRefused
          ? RefusalCode.RequestRefused
          : RefusalCode.BackendFailed;
  return new Refusal(code, message, { cause: error });
}

function asJobError(error: unknown): JobError {
  if (error instanceof JobError) return error;
  if (error instanceof RequestRefused)
    return new JobError(JobErrorCode.RequestRefused, error.message, { cause: error });
  if (error instanceof ContextExceeded)
    return new JobError(JobErrorCode.ContextExceeded, error.message, { cause: error });
  if (error instanceof BackendError) return new JobError(JobErrorCode.BackendFailed, error.message, { cause: error });
  return new JobError(JobErrorCode.Internal, "the worker failed; its log tells why", { cause: error });
}

function alreadyTaken(): Refusal {
  return new Refusal(RefusalCode.AlreadyTaken, "this worker took the job before; ask for its output");
}

function tooLate(): JobError {
  return new JobError(JobErrorCode.Timeout, "the completion window closed before the answer was finished");
}

/** Fires when a job has waited for room as long as it may. Where this machine's clock is ahead of the gateway's, that is a second at least. */
function endOfWait(acknowledgeBy: number): AbortSignal {
  const leftMs = acknowledgeBy * 1_000 - Date.now();
  return AbortSignal.timeout(Math.max(1_000, Math.floor(leftMs * QUEUED_SHARE)));
}
