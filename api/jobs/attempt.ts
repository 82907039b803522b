import type { Hex } from "viem";
import type { ChatRequest } from "../../protocol/dispatch.ts";
import type { Assignment } from "../../protocol/messages.ts";
import type { Model, RegisteredWorker } from "../chain/directory.ts";
import { acknowledgeOperation } from "../chain/operations.ts";
import type { Offer } from "../store/job-steps.ts";
import type { Answer } from "./answer.ts";
import { type JobContext, signAssignment } from "./context.ts";
import type { CompletedEvent } from "./dispatch-stream.ts";
import { isAcknowledgedBy } from "./verdict.ts";
import { WorkerFailure } from "./worker-failure.ts";

/** After the first token the acknowledgement is relayed this much later, unless the completion is there first. */
const RELAY_DELAY_MS = 250;
/** It must be mined before `acknowledgeBy`: from this share of the offer's time on it no longer waits for the first token. */
const RELAY_SHARE = 0.4;

export type AttemptInput = {
  jobId: Hex;
  attempt: number;
  worker: RegisteredWorker;
  model: Model;
  request: ChatRequest;
  answer: Answer;
  signal: AbortSignal;
  onFirstToken: () => void;
  /** Writes the offer into the job's row. The offer does not wait for it: without it, recovery asks every host of the model. */
  record: (offer: Offer) => Promise<void>;
};

/** A finished attempt, or its failure and whether the worker could still turn the assignment against a later attempt. */
export type AttemptResult =
  | { ok: true; completed: CompletedEvent }
  | { ok: false; failure: WorkerFailure; acknowledgeBy: number; acknowledged: boolean };

/** Offers the job to one worker and follows it to its end. Never rejects for what a worker does. */
export async function runAttempt(context: JobContext, input: AttemptInput): Promise<AttemptResult> {
  const { jobId, attempt, worker } = input;
  const acknowledgeBy = context.head.time + context.times.acknowledge;
  const assignment: Assignment = { jobId, worker: worker.signer, attempt, acknowledgeBy };
  // Counted from the moment of choosing: the jobs of one batch choose at once and must not all choose the same worker.
  const outstanding = context.workers.begin(worker, input.model.number);
  try {
    const signature = await signAssignment(context, assignment);
    return await follow(context, input, { assignment, signature, firstToken: outstanding.firstToken });
  } finally {
    outstanding.end();
  }
}

type SignedOffer = { assignment: Assignment; signature: Hex; firstToken: () => void };

async function follow(
  context: JobContext,
  input: AttemptInput,
  { assignment, signature, firstToken }: SignedOffer,
): Promise<AttemptResult> {
  const { jobId, attempt, worker, answer } = input;
  const { acknowledgeBy } = assignment;
  const recorded = input.record({ attempt, acknowledgeBy, worker: worker.signer, workerEndpoint: worker.endpoint });

  const startedAt = performance.now();
  // Ends the attempt of a worker that does not acknowledge in time, or does and then says nothing.
  const patience = new AbortController();
  let timer = setTimeout(() => patience.abort("silent"), acknowledgeBy * 1000 - Date.now());
  const relay = new AcknowledgementRelay(context, assignment, recorded);
  try {
    const body = { assignment, signature, model: input.model.id, request: input.request };
    const completed = await context.client.dispatch(
      worker.endpoint,
      body,
      {
        acknowledged: (byWorker) => {
          relay.accepted(byWorker);
          clearTimeout(timer);
          if (answer.pieces === 0) timer = setTimeout(() => patience.abort("stalled"), context.times.firstToken * 1000);
        },
        delta: (content) => {
          if (answer.pieces === 0) {
            clearTimeout(timer);
            firstToken();
            relay.firstToken();
            input.onFirstToken();
          }
          answer.append(content);
        },
      },
      AbortSignal.any([input.signal, patience.signal]),
    );
    // Nothing is no answer: nobody pays for it, and another worker may have one.
    if (answer.pieces === 0) throw new WorkerFailure("empty", "the worker completed the job without any text", true);
    return { ok: true, completed };
  } catch (error) {
    const failure = explain(error, patience.signal, input.signal);
    // A job that was late when the worker got it says nothing about the worker.
    const late = failure.code === "never_finished" && performance.now() - startedAt < fairShareMs(context);
    const incident = { code: failure.code, detail: failure.message, jobId };
    if (!late) context.workers.report(worker.signer, incident, input.model.number);
    return { ok: false, failure, acknowledgeBy, acknowledged: relay.isAccepted };
  } finally {
    clearTimeout(timer);
    relay.cancel();
  }
}

/** A worker that had this long and did not finish is slow, whatever became of the job before. */
const fairShareMs = ({ times }: JobContext): number => Math.min(30, times.completion / 2) * 1000;

/** The failure by its cause: who gave up first, if it was the gateway, else what the worker did. */
function explain(error: unknown, patience: AbortSignal, deadline: AbortSignal): WorkerFailure {
  const own = error instanceof WorkerFailure && !["unreachable", "broken_stream"].includes(error.code);
  if (own) return error;
  if (deadline.aborted) return new WorkerFailure("never_finished", "the job's time ran out", true, error);
  if (patience.aborted) {
    const silent = patience.reason === "silent";
    const message = silent ? "no acknowledgement before the offer ran out" : "no token after the acknowledgement";
    return new WorkerFailure(patience.reason, message, true, error);
  }
  if (error instanceof WorkerFailure) return error;
  return new WorkerFailure("broken_stream", `the attempt broke off: ${String(error)}`, true, error);
}

/**
 * Decides when a worker's acknowledgement goes on chain. A short job needs none: its settlement says it too. A later attempt
 * is relayed at once, because it must replace whatever the worker before it may still send.
 */
class AcknowledgementRelay {
  readonly #context: JobContext;
  readonly #assignment: Assignment;
  readonly #recorded: Promise<void>;
  #byWorker: Hex | undefined;
  #timer: NodeJS.Timeout | undefined;
  #over = false;

  constructor(context: JobContext, assignment: Assignment, recorded: Promise<void>) {
    this.#context = context;
    this.#assignment = assignment;
    this.#recorded = recorded;
  }

  get isAccepted(): boolean {
    return this.#byWorker !== undefined;
  }

  accepted(byWorker: Hex): void {
    if (this.#byWorker !== undefined) return;
    this.#byWorker = byWorker;
    const { store, logger } = this.#context;
    const { jobId, attempt, acknowledgeBy } = this.#assignment;
    const stored = this.#recorded.then(() => store.acknowledged(jobId));
    stored.catch((error) => logger.warn({ err: error }, "job state not stored"));
    const left = acknowledgeBy * 1000 - Date.now();
    this.#schedule(attempt > 1 ? 0 : Math.max(0, left * RELAY_SHARE));
  }

  firstToken(): void {
    if (this.#byWorker !== undefined) this.#schedule(RELAY_DELAY_MS);
  }

  cancel(): void {
    this.#over = true;
    clearTimeout(this.#timer);
  }

  #schedule(ms: number): void {
    if (this.#over) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#send(), ms);
  }

  #send(): void {
    this.#over = true;
    this.#relay().catch((error) =>
      this.#context.logger.warn({ err: error, worker: this.#assignment.worker }, "an acknowledgement was not sent"),
    );
  }

  async #relay(): Promise<void> {
    const { pipeline, logger, workers } = this.#context;
    const { worker, jobId, attempt } = this.#assignment;
    const byWorker = this.#byWorker as Hex;
    if (!isAcknowledgedBy(this.#context, { jobId, attempt }, byWorker, worker)) {
      // The worker gets no acknowledgement from us; its answer is judged by itself.
      const detail = "the acknowledgement is not signed by the worker's key";
      return workers.report(worker, { code: "bad_acknowledgement", detail, jobId });
    }
    const outcome = await pipeline.submit(acknowledgeOperation(this.#assignment, byWorker)).mined;
    if (outcome.status === "reverted") {
      logger.warn({ worker, revert: outcome.revert }, "the chain refused an acknowledgement");
    }
  }
}
