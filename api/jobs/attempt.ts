import { SpanKind } from "@opentelemetry/api";
import type { Logger } from "pino";
import type { Hex } from "viem";
import { type ChatRequest, JobErrorCode, QUEUED_SHARE, RefusalCode } from "../../protocol/dispatch.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import type { Assignment } from "../../protocol/messages.ts";
import { inSpan, markFailed, spanEvent } from "../../shared/tracing.ts";
import type { Model } from "../chain/directory.ts";
import { acknowledgeOperation, type Outcome } from "../chain/operations.ts";
import type { Pipeline } from "../chain/pipeline.ts";
import type { Head } from "../chain/rpc.ts";
import { INCIDENTS, incidentCode } from "../db/incidents.ts";
import type { JobStore } from "../db/jobs.ts";
import type { OfferEnd } from "../workers/exposure-limit.ts";
import { type Signing, signAccess, signAssignment } from "../workers/signatures.ts";
import { type CompletedEvent, type WorkerClient, WorkerFailure } from "../workers/worker-client.ts";
import type { JobSize } from "../workers/worker-health.ts";
import type { Dispatched, Place, WorkerPool } from "../workers/worker-pool.ts";
import type { Answer } from "./answer.ts";
import type { JobTimes } from "./next-step.ts";
import { isAcknowledgedBy } from "./verdict.ts";

/** An offer or its acknowledgement is written to the job's row after this time. If the answer comes earlier, its row says both. */
const NOTE_DELAY_MS = 250;
/** After the first token the acknowledgement is relayed this much later, unless the completion is there first. */
const RELAY_DELAY_MS = 250;
/** It must be mined before `acknowledgeBy`: from this share of the offer's time on it no longer waits for the first token. */
const RELAY_SHARE = 0.4;

/** Longest time that an offer and its refusal are on their way together. */
const ON_THE_WAY_MS = 1_000;
/** Why `signal` ends an attempt whose lock was only promised. */
export const LOCK_NOT_MINED = "the lock is not mined";
/** A worker that is slow to its first token keeps the job while there is no other; one is looked for this often. */
const STALLED_LOOK_MS = 1_000;

export type AttemptParts = Signing & {
  head: Pick<Head, "time">;
  times: Pick<JobTimes, "acknowledge" | "completion" | "firstToken">;
  /** Whether the chain shows the job proven or ended. Rejects where the node does not answer. */
  isClosedToWorkers: (jobId: Hex) => Promise<boolean>;
  pipeline: Pick<Pipeline, "submit">;
  workers: Pick<WorkerPool, "report" | "reportSpeed">;
  /** The connection to workers. */
  client: Pick<WorkerClient, "dispatch" | "endJob">;
  store: Pick<JobStore, "taken">;
  logger: Logger;
};

export type AttemptInput = {
  jobId: Hex;
  attempt: number;
  /** At the worker that it is offered to. */
  place: Place;
  model: Model;
  request: ChatRequest;
  answer: Answer;
  signal: AbortSignal;
  /** Fires when the last client has left: the worker ends the answer where it is, and is paid for that. */
  unwanted: AbortSignal;
  /** Resolves when the job's lock is mined: until then nothing of the job goes on chain. */
  mined: Promise<unknown>;
  /** True if the lock was mined when the attempt began. If it was only promised, the worker need not believe the sequencer's promise. */
  wasMined: boolean;
  /** Chain time before which the job can be settled. */
  settleBefore: number;
  onFirstToken: () => void;
  /** Whether another worker could take the job now. */
  hasAlternative: () => boolean;
};

/**
 * A finished attempt. `acknowledgement`: the worker's signature that it took the job; null if it sent none. `acknowledged`: of a later
 * attempt than the first, what becomes of that on chain; null of the first, whose settlement needs no acknowledgement.
 */
export type Answered = {
  completed: CompletedEvent;
  acknowledgement: Hex | null;
  acknowledged: Promise<Outcome> | null;
};

/** A finished attempt, or its failure, whether the worker had taken the job, and until when it could still turn the assignment against a later attempt. */
type AttemptResult =
  | ({ ok: true } & Answered)
  | { ok: false; failure: WorkerFailure; wasTaken: boolean; acknowledgeBy: number };

/** Offers the job to one worker and follows it to its end. Never rejects for what a worker does. */
export async function runAttempt(parts: AttemptParts, input: AttemptInput): Promise<AttemptResult> {
  const { jobId, attempt, place } = input;
  const { worker } = place;
  const acknowledgeBy = parts.head.time + parts.times.acknowledge;
  const assignment: Assignment = { jobId, worker: worker.signer, attempt, acknowledgeBy };
  const dispatched = place.offer(jobId, sizeOf(input.request));
  let end: OfferEnd = "unsent";
  try {
    const signature = await signAssignment(parts, assignment);
    end = "taken";
    const offer = { assignment, signature, dispatched };
    const attributes = { "job.id": toApiJobId(jobId), "job.attempt": attempt, "worker.address": worker.signer };
    const result = await inSpan("dispatch", { kind: SpanKind.CLIENT, attributes }, () => follow(parts, input, offer));
    if (result.ok && !(await isOnChain(result.acknowledged, input.signal))) {
      return { ok: false, failure: inVain("settlement_refused"), wasTaken: true, acknowledgeBy };
    }
    if (!result.ok && !result.failure.offered) end = "refused";
    return result;
  } finally {
    dispatched.end(end);
  }
}

/** Waits for a later attempt's acknowledgement. False if the chain refused it, or if the signal aborts before. */
async function isOnChain(acknowledged: Promise<Outcome> | null, signal: AbortSignal): Promise<boolean> {
  if (acknowledged === null) return true;
  const over = new Promise<null>((resolve) => {
    if (signal.aborted) resolve(null);
    signal.addEventListener("abort", () => resolve(null), { once: true });
  });
  return (await Promise.race([acknowledged, over]))?.status === "mined";
}

const sizeOf = ({ messages, max_tokens: maxTokens }: ChatRequest): JobSize => ({
  promptCharacters: messages.reduce((sum, { content }) => sum + content.length, 0),
  maxTokens,
});

/** The chain refused the acknowledgement of a later attempt: its answer is of no use. */
const inVain = (code: string): WorkerFailure => new WorkerFailure(code, "the chain refused its acknowledgement", true);

type SignedOffer = { assignment: Assignment; signature: Hex; dispatched: Dispatched };

async function follow(
  parts: AttemptParts,
  input: AttemptInput,
  { assignment, signature, dispatched }: SignedOffer,
): Promise<AttemptResult> {
  const { jobId, answer } = input;
  const { worker } = input.place;
  const { acknowledgeBy } = assignment;
  const startedAt = performance.now();
  const leftMs = acknowledgeBy * 1000 - Date.now();
  let isAtWork = false;
  let wasTaken = false;
  /** Since when the model writes text: what is held back counts, reasoning does not. */
  let textSince = startedAt;
  // Ends the attempt where the gateway gives up first, with the failure as its reason.
  const patience = new AbortController();
  const giveUp = (code: string, message: string) => patience.abort(new WorkerFailure(code, message, true));
  let timer = setTimeout(() => giveUp("silent", "no acknowledgement before the offer ran out"), leftMs);
  // A model server can need longer for a long prompt. While no other worker could do better, the job's own time is the limit.
  const stalled = (): void => {
    if (input.hasAlternative()) giveUp("stalled", "no token after the acknowledgement");
    else timer = setTimeout(stalled, STALLED_LOOK_MS);
  };
  const relay = new AcknowledgementRelay(parts, assignment, input);
  const over = new AbortController();
  if (input.wasMined) dispatched.mined();
  else input.mined.then(dispatched.mined, () => {}); // The job is over.
  const endEarly = () => void endAtWorker(parts, input, { assignment, signature }, over.signal);
  // Whatever the model does: one that reasons for minutes is not stalled, nor slow to begin.
  const begun = (): void => {
    if (isAtWork) return;
    isAtWork = true;
    clearTimeout(timer);
    textSince = performance.now();
    spanEvent("first_token");
    dispatched.firstToken();
    relay.firstToken();
  };
  try {
    const body = { assignment, signature, model: input.model.id, request: input.request };
    const completed = await parts.client.dispatch(
      worker.endpoint,
      body,
      {
        acknowledged: (byWorker) => {
          spanEvent("acknowledged");
          wasTaken = true;
          dispatched.taken();
          relay.accepted(byWorker);
          relay.onceRefused((error) => {
            patience.abort(inVain(error === "Job_WorkerNotEligible" ? "settlement_refused" : JobErrorCode.Superseded));
          });
          if (input.unwanted.aborted) endEarly();
          else input.unwanted.addEventListener("abort", endEarly, { signal: over.signal });
          clearTimeout(timer);
          if (!isAtWork) timer = setTimeout(stalled, parts.times.firstToken * 1000);
        },
        begun,
        delta: (content) => {
          begun();
          if (answer.pieces === 0) relay.onceUncontested(input.onFirstToken);
          else if (answer.bytes === 0) textSince = performance.now(); // after its reasoning
          dispatched.wrote(content.length);
          answer.append(content);
        },
        reasoning: (content) => {
          begun();
          if (answer.pieces === 0) relay.onceUncontested(input.onFirstToken);
          dispatched.wrote(content.length);
          answer.reason(content);
        },
      },
      AbortSignal.any([input.signal, patience.signal]),
    );
    const { completionTokens } = completed.completion;
    const tokens = Math.min(completionTokens, answer.bytes, input.request.max_tokens);
    parts.workers.reportSpeed(worker.signer, input.model.number, tokens, performance.now() - textSince);
    const finished = relay.finished();
    dispatched.answered();
    return { ok: true, completed, ...finished };
  } catch (error) {
    const afterMs = performance.now() - startedAt;
    const seen = { pieces: answer.pieces, afterMs, leftMs };
    const failure = unlessTaken(explain(error, patience.signal, input.signal), seen);
    // A worker's own word may be anything.
    markFailed(incidentCode(failure.code));
    // A job that was late when the worker got it says nothing about the worker.
    const isShort = afterMs < fairShareMs(parts);
    const late = failure.code === "never_finished" && (isShort || input.signal.reason === LOCK_NOT_MINED);
    const incident = { code: failure.code, detail: failure.message, jobId };
    const isLater = assignment.attempt > 1;
    const mayBeClosed = isLater || failure.code === RefusalCode.NotLocked;
    const isClosed = mayBeClosed && (await parts.isClosedToWorkers(jobId).catch(() => false));
    // An earlier worker took the job on chain: whatever became of this attempt is not this worker's fault.
    const wasTakenAway = isLater && isClosed;
    // A worker need not see a lock that was only promised when it was offered the job.
    const isRight = wasTakenAway || (failure.code === RefusalCode.NotLocked && (isClosed || !input.wasMined));
    // A worker that may have the offer keeps the job from others until that has run out, whatever it says.
    if (!late && !wasTakenAway) dispatched.lost(failure.offered ? Math.max(afterMs, leftMs) : afterMs);
    if (!late && !isRight) parts.workers.report(worker.signer, incident, input.model.number);
    return { ok: false, failure, wasTaken, acknowledgeBy };
  } finally {
    clearTimeout(timer);
    relay.cancel();
    over.abort();
  }
}

/** Has the worker end its answer where it is. One that does not know how to goes on to the end of its answer. Never rejects. */
async function endAtWorker(
  parts: AttemptParts,
  { jobId, place: { worker } }: AttemptInput,
  offer: Pick<SignedOffer, "assignment" | "signature">,
  over: AbortSignal,
): Promise<void> {
  try {
    const access = await signAccess(parts, { jobId, worker: worker.signer });
    const { assignment, signature } = offer;
    await parts.client.endJob(worker.endpoint, { assignment, signature, access }, over);
  } catch (error) {
    if (over.aborted) return; // The answer ended first.
    const log = parts.logger.child({ jobId, worker: worker.signer });
    log.info({ err: error }, "a worker did not end an answer that nobody waits for: it is charged as it ends");
  }
}

/** A worker that had this long and did not finish is slow, also for a job that came late to it. */
const fairShareMs = ({ times }: Pick<AttemptParts, "times">): number => Math.min(30, times.completion / 2) * 1000;

/** Why the attempt failed: if the gateway gave up first, its own reason, otherwise what the worker did. */
function explain(error: unknown, patience: AbortSignal, deadline: AbortSignal): WorkerFailure {
  const own = error instanceof WorkerFailure && !["unreachable", "broken_stream"].includes(error.code);
  if (own) return error;
  if (deadline.aborted) return new WorkerFailure("never_finished", "the job's time ran out", true, error);
  if (patience.aborted) return patience.reason;
  if (error instanceof WorkerFailure) return error;
  return new WorkerFailure("broken_stream", `the attempt broke off: ${String(error)}`, true, error);
}

/**
 * A worker refuses a job before it takes it, and within the time that a job may wait there: later, other workers could have had the job. What it says
 * after that is no refusal: it broke off its answer, or stalled before the first piece. Only a worker that stops may say so, and rests. `leftMs`: how
 * long the offer was good for.
 */
function unlessTaken(
  failure: WorkerFailure,
  { pieces, afterMs, leftMs }: { pieces: number; afterMs: number; leftMs: number },
): WorkerFailure {
  const { code, offered } = failure;
  const { severity } = INCIDENTS[incidentCode(code)];
  if (severity === "failure" || severity === "misconduct" || code === JobErrorCode.Stopping) return failure;
  const said = `said \`${code}\` ${Math.round(afterMs)} ms after the offer`;
  if (pieces > 0) return new WorkerFailure("broken_stream", `${said}, in its answer`, offered, failure);
  const isLate = offered || afterMs > leftMs * QUEUED_SHARE + ON_THE_WAY_MS;
  return isLate && severity !== "absence" ? new WorkerFailure("stalled", said, offered, failure) : failure;
}

/**
 * Decides when a worker's acknowledgement goes on chain. A short job needs none: its settlement says it too. A later
 * attempt is relayed at once, because the earlier worker may have acknowledged the job on chain. That worker could copy
 * the hash from our settlement, prove it first and be paid.
 */
class AcknowledgementRelay {
  readonly #parts: AttemptParts;
  readonly #assignment: Assignment;
  readonly #lockMined: Promise<unknown>;
  readonly #minedBefore: number;
  #byWorker: Hex | undefined;
  #timer: NodeJS.Timeout | undefined;
  #noting: NodeJS.Timeout | undefined;
  /** The outcome of the acknowledgement on chain; null until it is submitted. */
  #mined: Promise<Outcome> | null = null;
  #over = false;

  constructor(
    parts: AttemptParts,
    assignment: Assignment,
    { mined, settleBefore }: Pick<AttemptInput, "mined" | "settleBefore">,
  ) {
    this.#parts = parts;
    this.#assignment = assignment;
    this.#lockMined = mined;
    this.#minedBefore = settleBefore;
    // After a crash only a worker on record is asked for the answer. Later attempts are noted before their offers leave.
    if (assignment.attempt === 1) this.#noteSoon();
  }

  accepted(byWorker: Hex): void {
    if (this.#byWorker !== undefined) return;
    this.#byWorker = byWorker;
    const { attempt, acknowledgeBy } = this.#assignment;
    if (attempt > 1) {
      this.#note();
      return this.#send();
    }
    this.#noteSoon();
    const left = acknowledgeBy * 1000 - Date.now();
    this.#schedule(Math.max(0, left * RELAY_SHARE));
  }

  #noteSoon(): void {
    clearTimeout(this.#noting);
    this.#noting = setTimeout(() => this.#note(), NOTE_DELAY_MS);
  }

  /** Notes in the job's row that the worker was offered it, or has it. Nobody waits for this write. */
  #note(): void {
    const { store, logger } = this.#parts;
    const { jobId, worker, attempt } = this.#assignment;
    const acknowledged = this.#byWorker !== undefined;
    store
      .taken({ jobId, worker, attempt, acknowledged })
      .catch((error) => logger.warn({ err: error, jobId, acknowledged }, "an offer was not noted"));
  }

  firstToken(): void {
    if (this.#byWorker === undefined) return;
    // The answer to a job whose lock is only promised comes with the lock's block, and is settled without a relay.
    this.#lockMined.then(
      () => this.#schedule(RELAY_DELAY_MS),
      () => {}, // The job is over.
    );
  }

  /**
   * Calls back once no other worker can take the job on chain: for a first attempt at once, for a later one when its acknowledgement is mined. Until
   * then the client is shown nothing: an earlier worker that refused the job still has its offer, and could leave the client with an unpaid answer.
   */
  onceUncontested(act: () => void): void {
    if (this.#assignment.attempt === 1) return act();
    this.#mined?.then(
      ({ status }) => {
        if (status === "mined") act();
      },
      () => {}, // The process stops.
    );
  }

  /** Calls back with the contract's error if the chain refuses the acknowledgement of a later attempt: then the worker's answer is of no use. */
  onceRefused(act: (error: string) => void): void {
    if (this.#assignment.attempt === 1) return;
    this.#mined?.then(
      (outcome) => {
        if (outcome.status === "reverted") act(outcome.revert.name);
      },
      () => {}, // The process stops.
    );
  }

  /** The worker has answered. Throws where a later attempt cannot be settled. */
  finished(): Pick<Answered, "acknowledgement" | "acknowledged"> {
    const acknowledgement = this.#byWorker ?? null;
    if (this.#assignment.attempt === 1) return { acknowledgement, acknowledged: null };
    if (this.#mined === null) {
      throw new WorkerFailure("bad_acknowledgement", "the worker did not acknowledge the job with its key", true);
    }
    return { acknowledgement, acknowledged: this.#mined };
  }

  cancel(): void {
    this.#over = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#noting);
  }

  #schedule(ms: number): void {
    if (this.#over) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#send(), ms);
  }

  #send(): void {
    this.#over = true;
    const { pipeline, logger, workers } = this.#parts;
    const { worker, jobId, attempt } = this.#assignment;
    const byWorker = this.#byWorker as Hex;
    if (!isAcknowledgedBy(this.#parts, { jobId, attempt }, byWorker, worker)) {
      // The worker gets no acknowledgement from us; the answer of a first attempt is judged by itself.
      const detail = "the acknowledgement is not signed by the worker's key";
      return workers.report(worker, { code: "bad_acknowledgement", detail, jobId });
    }
    const operation = acknowledgeOperation(this.#assignment, byWorker, this.#minedBefore);
    this.#mined = this.#lockMined.then(() => pipeline.submit(operation).mined);
    this.#mined.then(
      (outcome) => {
        if (outcome.status === "reverted") {
          logger.warn({ worker, revert: outcome.revert }, "the chain refused an acknowledgement");
        }
      },
      (error) => logger.warn({ err: error, worker }, "an acknowledgement was not sent"),
    );
  }
}
