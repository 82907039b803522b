import type { Hex } from "viem";
import { type Dispatch, JobErrorCode, RefusalCode } from "../../protocol/dispatch.ts";
import { type Backend, BackendError } from "../backends/backend.ts";
import { ChainClock } from "../chain/clock.ts";
import type { Identity } from "../chain/identity.ts";
import type { ChainReader, Sighting } from "../chain/reader.ts";
import type { Papers } from "../completions/record.ts";
import type { CompletionStore } from "../completions/store.ts";
import type { EventStream } from "../event-stream.ts";
import type { Logger } from "../log.ts";
import { Refusal } from "../refusal.ts";
import type { SettlementWatcher } from "../settlement/watcher.ts";
import type { AssignmentChecks, Gateway } from "./assignment.ts";
import { type Generated, Generation, JobError } from "./generation.ts";
import type { Slots } from "./slots.ts";

type Parts = {
  identity: Identity;
  reader: ChainReader;
  checks: AssignmentChecks;
  store: CompletionStore;
  watcher: SettlementWatcher;
  backend: Backend;
  slots: Slots;
  log: Logger;
};

/** The acknowledgement waits this long for the first token, so that a failure before it leaves nothing signed. */
const ACKNOWLEDGE_WITHIN_MS = 2_000;

/** Takes each dispatched job through its life: check, acknowledge, generate, sign, hand over. */
export class JobRunner {
  readonly #parts: Parts;
  readonly #running = new Map<Hex, AbortController>();

  constructor(parts: Parts) {
    this.#parts = parts;
    // The chain says that nobody will pay for it any more: stop working.
    parts.watcher.onOver = (jobId, why) => this.#running.get(jobId)?.abort(new JobError(JobErrorCode.Superseded, why));
  }

  /** Whether a job runs or waits here. */
  isRunning(jobId: string): boolean {
    return this.#running.has(jobId as Hex);
  }

  /** Runs one job. Throws a Refusal as long as nothing was signed; after that every end goes into the stream. */
  async run(dispatch: Dispatch, stream: EventStream): Promise<void> {
    const { checks, store, slots } = this.#parts;
    const { jobId } = dispatch.assignment;
    const model = checks.backendModel(dispatch.model);
    const gateway = await checks.gatewayOf(dispatch.assignment, dispatch.signature);
    if (this.#running.has(jobId)) throw alreadyTaken();
    const abort = new AbortController();
    this.#running.set(jobId, abort);
    try {
      if (store.isTaken(jobId)) throw alreadyTaken();
      const leave = await slots.enter(AbortSignal.any([stream.left, expiry(dispatch.assignment.acknowledgeBy)]));
      try {
        await this.#work(dispatch, model, gateway, stream, abort);
      } finally {
        leave();
      }
    } finally {
      this.#running.delete(jobId);
    }
  }

  /** Refuses new jobs, lets the running ones finish for `seconds`, then stops them. */
  async drain(seconds: number): Promise<void> {
    this.#parts.slots.close();
    const until = performance.now() + seconds * 1000;
    while (this.#running.size > 0 && performance.now() < until) await pause(50);
    this.stop();
    const unwound = performance.now() + 2_000;
    while (this.#running.size > 0 && performance.now() < unwound) await pause(10);
  }

  /** Stops the running jobs now. */
  stop(): void {
    for (const abort of this.#running.values())
      abort.abort(new JobError(JobErrorCode.Stopping, "the worker was stopped"));
  }

  async #work(
    dispatch: Dispatch,
    model: string,
    gateway: Gateway,
    stream: EventStream,
    abort: AbortController,
  ): Promise<void> {
    const { backend, checks } = this.#parts;
    const started = performance.now();
    const generation = new Generation(backend.generate(model, dispatch.request, abort.signal), dispatch.request);
    let papers: Papers;
    let seen: Sighting;
    try {
      seen = await checks.locked(dispatch, gateway);
      // A model server that fails at once is a refusal: the gateway can turn to another worker without waiting.
      const failure = await generation.failsWithin(ACKNOWLEDGE_WITHIN_MS, stream.left);
      if (failure !== null) throw new Refusal(RefusalCode.BackendFailed, failure.message, { cause: failure });
      if (stream.left.aborted) throw new Refusal(RefusalCode.Busy, "the gateway left before the job was taken");
      papers = await this.#acknowledge(dispatch, gateway);
    } catch (error) {
      abort.abort();
      await generation.cancel();
      throw error;
    }
    const log = this.#parts.log.child({
      jobId: papers.assignment.jobId,
      attempt: papers.assignment.attempt,
      model: dispatch.model,
    });
    log.info(
      { gateway: gateway.address, operator: gateway.operator, checkMs: Math.round(performance.now() - started) },
      "job taken",
    );
    stream.acknowledged(papers.byWorker);
    try {
      await this.#answer(generation, papers, seen, stream, abort, log);
    } catch (error) {
      abort.abort();
      await generation.cancel();
      this.#parts.watcher.forget(papers.assignment.jobId);
      const reason = asJobError(abort.signal.reason instanceof JobError ? abort.signal.reason : error);
      log.warn({ code: reason.code, err: error }, "job ended without a completion");
      stream.error(reason.code, reason.message);
    }
  }

  /** From here on the job is taken: remembered before the signature leaves. */
  async #acknowledge(dispatch: Dispatch, gateway: Gateway): Promise<Papers> {
    const { identity, store } = this.#parts;
    const { assignment, signature } = dispatch;
    const { jobId, attempt } = assignment;
    // Made while the file is written; it leaves only when that is there.
    const [taken, byWorker] = await Promise.all([store.take(jobId), identity.signAcknowledgement(jobId, attempt)]);
    if (!taken) throw alreadyTaken();
    return { assignment, gateway: gateway.address, byGateway: signature, byWorker };
  }

  async #answer(
    generation: Generation,
    papers: Papers,
    seen: Sighting,
    stream: EventStream,
    abort: AbortController,
    log: Logger,
  ): Promise<void> {
    const { watcher, reader } = this.#parts;
    const started = performance.now();
    const clock = new ChainClock(seen);
    const closes = seen.job.lockedAt + (await reader.windows()).completion;
    watcher.track(papers);
    const timer = setTimeout(() => abort.abort(tooLate()), Math.max(0, (closes - clock.exact()) * 1000));
    let firstTokenMs: number | null = null;
    try {
      const generated = await generation.drain((text) => {
        firstTokenMs ??= Math.round(performance.now() - started);
        stream.delta(text);
      });
      if (clock.exact() >= closes) throw tooLate();
      // The chain takes no time that is later than the block of the settlement: a block that was mined is never too late.
      const completedAt = Math.max(await reader.newestBlockTime(), seen.job.lockedAt);
      if (completedAt >= closes) throw tooLate();
      await this.#complete(generated, papers, { completedAt, finishedAt: clock.exact() }, stream);
      const { usage, finishReason } = generated;
      log.info({ ...usage, finishReason, firstTokenMs, ms: Math.round(performance.now() - started) }, "job completed");
    } finally {
      clearTimeout(timer);
    }
  }

  /** The signature leaves this process only after the Completion is on the disk. */
  async #complete(
    { answer, usage, finishReason }: Generated,
    papers: Papers,
    { completedAt, finishedAt }: { completedAt: number; finishedAt: number },
    stream: EventStream,
  ): Promise<void> {
    const { identity, store, watcher } = this.#parts;
    const completion = { jobId: papers.assignment.jobId, proofHash: answer.digest(), ...usage, completedAt };
    const signature = await identity.signCompletion(completion);
    const head = { version: 1, papers, completion, signature, finishReason, finishedAt } as const;
    await store.save({ ...head, text: answer.text() });
    watcher.completed(head);
    stream.completed({ completion, signature, finish_reason: finishReason });
  }
}

function asJobError(error: unknown): JobError {
  if (error instanceof JobError) return error;
  if (error instanceof BackendError) return new JobError(JobErrorCode.BackendFailed, error.message, { cause: error });
  return new JobError(JobErrorCode.Internal, "the worker failed; its log tells why", { cause: error });
}

function alreadyTaken(): Refusal {
  return new Refusal(RefusalCode.AlreadyTaken, "this worker took the job before; ask for its output");
}

/** A job that waits beyond this could not be acknowledged any more; a second of grace for clocks that differ. */
function expiry(acknowledgeBy: number): AbortSignal {
  return AbortSignal.timeout(Math.max(1_000, acknowledgeBy * 1_000 - Date.now()));
}

function tooLate(): JobError {
  return new JobError(JobErrorCode.Timeout, "the completion window closed before the answer was finished");
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));
