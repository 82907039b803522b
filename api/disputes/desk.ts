import type { Address, Hex } from "viem";
import { toApiJobId } from "../../protocol/job-id.ts";
import { ApiError } from "../errors.ts";
import type { JobRow } from "../index/index.ts";
import type { Metrics } from "../metrics.ts";
import type { AnsweredRequest, DisputeRequest, DisputeStore } from "../store/disputes.ts";
import type { StoredJob } from "../store/stored-job.ts";
import { Decider, type Decision, type DecisionContext } from "./decide.ts";
import { REFUSALS, type Refusal, refusalError } from "./refusal.ts";

/** After the wait for the settlement, a client waits this much longer for the dispute's transaction. */
const OPEN_WAIT_MS = 60_000;
/** How often requests are looked for that another process recorded, or an earlier one left behind. */
const SWEEP_MS = 1_000;

export type DisputeContext = DecisionContext & { disputes: DisputeStore; metrics: Metrics };
export type DisputedJob = { jobId: Hex; wallet: Address; stored: StoredJob | null; row: JobRow | null };
export type Disputed = Exclude<Decision, { kind: "refused" }>;

/**
 * Takes dispute requests: records each with its arrival before anything else, then has it decided by the gateway that locked
 * the job: this one, or another process on the same database, whose sweep finds it. What a killed process left is found too.
 */
export class DisputeDesk {
  readonly #context: DisputeContext;
  readonly #decider: Decider;
  readonly #busy = new Map<string, Promise<Decision>>();
  #timer: NodeJS.Timeout | undefined;
  #sweeping = false;

  constructor(context: DisputeContext) {
    this.#context = context;
    this.#decider = new Decider(context);
  }

  start(): void {
    this.#timer = setInterval(() => void this.#sweep(), SWEEP_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Answers a client's request; throws the ApiError of a refusal. */
  async request({ jobId, wallet, stored, row }: DisputedJob, receivedHash: Hex, arrivedAt: Date): Promise<Disputed> {
    const { jobs, disputes } = this.#context;
    const refuse = (reason: Refusal) =>
      refusalError(reason, toApiJobId(jobId), jobs.times.dispute, row?.disputeTx ?? stored?.disputeTx ?? null);
    if (stored === null) throw refuse(this.#withoutRow(row, arrivedAt));
    const request = { jobId, receivedHash, wallet, gateway: stored.gateway, arrivedAt };
    const first = await disputes.record(request);
    if (first === null) throw refuse("too_many_hashes");
    const own = stored.gateway.toLowerCase() === jobs.account.address.toLowerCase();
    const decided = own ? this.#process({ ...request, arrivedAt: first }) : this.#elsewhere(request);
    const decision = await Promise.race([decided, this.#patience()]);
    if (decision.kind === "refused") throw refuse(decision.reason);
    return decision;
  }

  /** The gateway's rows are kept for days: a job without one is over, or was never this service's. */
  #withoutRow(row: JobRow | null, arrivedAt: Date): Refusal {
    if (row?.disputeTx) return "already_open";
    if (row?.status === "failed" || row?.status === "refunded") return "not_charged";
    const settledAt = row?.completedAt ?? null;
    const late = settledAt !== null && arrivedAt.getTime() / 1000 > settledAt + this.#context.jobs.times.dispute;
    return late ? "expired" : "other_service";
  }

  /** Decides a request of one of this gateway's jobs and notes the answer. A sweep leaves it alone meanwhile. */
  async #process(request: DisputeRequest): Promise<Decision> {
    const { disputes, metrics } = this.#context;
    const { jobId, receivedHash } = request;
    const key = keyOf(request);
    const deciding = this.#decider.decide(request);
    this.#busy.set(key, deciding);
    try {
      const decision = await deciding;
      const outcome = decision.kind === "refused" ? decision.reason : decision.kind;
      await disputes.answer(jobId, receivedHash, outcome, decision.kind === "opened" ? decision.tx : null);
      metrics.disputes.inc({ outcome });
      return decision;
    } finally {
      if (this.#busy.get(key) === deciding) this.#busy.delete(key);
    }
  }

  /** Waits until the job's own gateway has answered the request. */
  async #elsewhere({ jobId, receivedHash }: DisputeRequest): Promise<Decision> {
    const { disputes, jobs } = this.#context;
    const end = Date.now() + this.#context.waitMs + OPEN_WAIT_MS;
    while (Date.now() < end) {
      const request = await disputes.find(jobId, receivedHash);
      const decision = request === null ? null : decisionOf(request, await jobs.store.find(jobId));
      if (decision !== null) return decision;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    return { kind: "refused", reason: "unavailable" };
  }

  #patience(): Promise<Decision> {
    const ms = this.#context.waitMs + OPEN_WAIT_MS;
    const late: Decision = { kind: "refused", reason: "unavailable" };
    return new Promise((resolve) => setTimeout(() => resolve(late), ms).unref());
  }

  /** Takes up what nobody answered. Never rejects. */
  async #sweep(): Promise<void> {
    if (this.#sweeping) return;
    this.#sweeping = true;
    const { disputes, jobs } = this.#context;
    try {
      for (const request of await disputes.unanswered(jobs.account.address)) {
        if (this.#busy.has(keyOf(request))) continue;
        this.#process(request).catch((error) =>
          jobs.logger.warn(
            { err: error, jobId: toApiJobId(request.jobId) },
            "a recorded dispute could not be decided yet; the next sweep tries again",
          ),
        );
      }
    } catch (error) {
      jobs.logger.warn({ err: error }, "recorded disputes could not be read");
    } finally {
      this.#sweeping = false;
    }
  }
}

const keyOf = ({ jobId, receivedHash }: DisputeRequest) => `${jobId}:${receivedHash}`;

/** The stored answer of another process; null while there is none. */
function decisionOf({ outcome, disputeTx }: AnsweredRequest, stored: StoredJob | null): Decision | null {
  if (outcome === null) return null;
  if (REFUSALS.includes(outcome as Refusal)) return { kind: "refused", reason: outcome as Refusal };
  const workerHash = stored?.completion?.completion.proofHash;
  if (workerHash === undefined) throw new ApiError("internal_error", "A decided dispute has no proof to show.");
  if (outcome === "opened" && disputeTx !== null) return { kind: "opened", tx: disputeTx, workerHash };
  return { kind: "equal", workerHash };
}
