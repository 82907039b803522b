import type { Address, Hex } from "viem";
import { answerHash } from "../../protocol/answer-hash.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { type Repeated, repeat } from "../../shared/repeat.ts";
import { sleep } from "../../shared/sleep.ts";
import { type SignerLock, signerLockKey } from "../chain/signer-lock.ts";
import type { AnsweredRequest, DisputeRequest, DisputeStore } from "../db/disputes.ts";
import type { IndexedJob } from "../db/index-reads.ts";
import type { StoredJob } from "../db/jobs.ts";
import { ApiError } from "../errors.ts";
import { Decider, type Decision, type DecisionContext, REFUSALS, type Refusal, type RefusalMessage } from "./decide.ts";

/** After the wait for the settlement, a client waits this much longer for the dispute's transaction. */
const OPEN_WAIT_MS = 60_000;
/** How often this gateway looks for requests that another process recorded, or that an earlier process left behind. */
const SWEEP_MS = 1_000;
/**
 * How often the record is read for an answer: another gateway's, or, for a request of this gateway, that of a gateway that took it over.
 */
const LOOK_MS = 250;
const OWN_LOOK_MS = 1_000;
/** So long after the chain, the transaction of somebody else's dispute is known here, unless the index is away. */
const NOTED_MS = 5_000;

const HASH_OF_NOTHING = answerHash("");

export type DisputeContext = DecisionContext & {
  disputes: Pick<DisputeStore, "answer" | "claimFrom" | "find" | "othersUnanswered" | "record" | "unanswered">;
  metrics: { disputes: { inc: (labels: { outcome: string }) => void } };
  /** Without its signer to itself (`held`), this process's requests may be another's by now. */
  signer: Pick<SignerLock, "held" | "left">;
};
export type DisputedJob = { jobId: Hex; wallet: Address; stored: StoredJob | null; row: IndexedJob | null };
export type Disputed = Exclude<Decision, { kind: "refused" }>;

/**
 * Takes dispute requests: records each with its arrival before anything else, then decides it. Any gateway of the job's
 * operator can. A repetition that reaches another gateway waits for the first one's answer. What a killed process left
 * unanswered its next start decides, or another gateway of the operator within a second. The gateway that took a request over answers it.
 */
export class DisputeDesk {
  readonly #context: DisputeContext;
  readonly #decider: Decider;
  readonly #busy = new Map<string, Promise<Decision>>();
  #sweeping: Repeated | undefined;

  constructor(context: DisputeContext) {
    this.#context = context;
    this.#decider = new Decider(context);
  }

  start(): void {
    this.#sweeping = repeat(() => this.#sweep(), SWEEP_MS);
  }

  stop(): void {
    void this.#sweeping?.stop();
  }

  /** Answers a client's request; throws the ApiError of a refusal. */
  async request({ jobId, wallet, stored, row }: DisputedJob, receivedHash: Hex, arrivedAt: Date): Promise<Disputed> {
    const { jobs, disputes } = this.#context;
    const refuse = (reason: Refusal, disputeTx: Hex | null = null) =>
      refusalError(reason, toApiJobId(jobId), jobs.times.dispute, disputeTx);
    const over = stored === null ? this.#withoutRow(row, arrivedAt) : null;
    if (over !== null) throw refuse(over, row?.disputeTx);
    const { address: gateway } = jobs.account;
    const patience = (this.#context.waitMs + OPEN_WAIT_MS) / 1000;
    const request = await disputes.record({ jobId, receivedHash, wallet, gateway, arrivedAt }, patience);
    if (request === null) throw refuse("other_hash");
    const own = request.gateway.toLowerCase() === gateway.toLowerCase();
    const decided = own ? this.#process(request) : this.#elsewhere(request);
    const decision = await Promise.race([decided, this.#patience()]);
    if (decision.kind !== "refused") return decision;
    const { reason } = decision;
    throw refuse(reason, reason === "already_open" ? await this.#disputeTx(jobId) : null);
  }

  /** Disputes, for its wallet, the charge of an answer that its worker proved and withholds: what was received is nothing. */
  async withheld(jobId: Hex, wallet: Address): Promise<string> {
    const gateway = this.#context.jobs.account.address;
    const arrivedAt = new Date();
    const decision = await this.#decider.decide({ jobId, receivedHash: HASH_OF_NOTHING, wallet, gateway, arrivedAt });
    return decision.kind === "refused" ? decision.reason : decision.kind;
  }

  /** The transaction that opened the job's dispute. The job's row or the index has it a moment after the chain; null if neither has it by then. */
  async #disputeTx(jobId: Hex): Promise<Hex | null> {
    const { jobs, indexed } = this.#context;
    const end = Date.now() + NOTED_MS;
    for (;;) {
      const [stored, row] = await Promise.all([jobs.store.find(jobId), indexed(jobId)]);
      const tx = row?.disputeTx ?? stored?.disputeTx ?? null;
      if (tx !== null || Date.now() > end) return tx;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /**
   * The gateways' rows are kept for days: a job without one is over, was another operator's, or was lost with a
   * database.
   */
  #withoutRow(row: IndexedJob | null, arrivedAt: Date): Refusal | null {
    const { jobs } = this.#context;
    if (row?.disputeTx) return "already_open";
    if (row?.status === "failed" || row?.status === "refunded") return "not_charged";
    const settledAt = row?.completedAt ?? null;
    if (settledAt !== null && arrivedAt.getTime() / 1000 > settledAt + jobs.times.dispute) return "expired";
    return row?.operator === jobs.operator.id ? null : "other_service";
  }

  /**
   * Decides a request and notes the answer; once, however often it is repeated meanwhile. If this gateway loses its signer, another
   * gateway takes the requests over, and its decision is the answer.
   */
  #process(request: DisputeRequest): Promise<Decision> {
    const key = keyOf(request);
    const running = this.#busy.get(key);
    if (running !== undefined) return running;
    let decided = false;
    const own = this.#decide(request).finally(() => {
      decided = true;
    });
    // If the others' decision cannot be read, this gateway's own is the answer.
    const others = this.#answered(request, OWN_LOOK_MS, () => decided).then(
      (decision) => decision ?? own,
      () => own,
    );
    const deciding = Promise.race([own, others]).finally(() => this.#busy.delete(key));
    this.#busy.set(key, deciding);
    return deciding;
  }

  async #decide(request: DisputeRequest): Promise<Decision> {
    const { disputes, metrics } = this.#context;
    const decision = await this.#decider.decide(request);
    const outcome = decision.kind === "refused" ? decision.reason : decision.kind;
    if (!(await disputes.answer(request, outcome))) return this.#elsewhere(request);
    metrics.disputes.inc({ outcome });
    return decision;
  }

  /** Waits until the gateway that has the request has answered it. */
  async #elsewhere(request: DisputeRequest): Promise<Decision> {
    const end = Date.now() + this.#context.waitMs + OPEN_WAIT_MS;
    const decision = await this.#answered(request, LOOK_MS, () => Date.now() >= end);
    return decision ?? { kind: "refused", reason: "unavailable" };
  }

  /** The answer on record, as soon as there is one; null if `isOver` before. */
  async #answered(
    { jobId, receivedHash }: DisputeRequest,
    lookMs: number,
    isOver: () => boolean,
  ): Promise<Decision | null> {
    while (!isOver()) {
      const request = await this.#context.disputes.find(jobId, receivedHash);
      if (request === null) return { kind: "refused", reason: "other_hash" };
      const decision = await this.#decisionOf(request);
      if (decision !== null) return decision;
      await new Promise((resolve) => setTimeout(resolve, lookMs));
    }
    return null;
  }

  /** The stored answer of another process; null while there is none. */
  async #decisionOf({ jobId, outcome }: AnsweredRequest): Promise<Decision | null> {
    if (outcome === null) return null;
    if (outcome in REFUSALS) return { kind: "refused", reason: outcome as Refusal };
    const { jobs, indexed } = this.#context;
    const stored = await jobs.store.find(jobId);
    const workerHash = stored?.completion?.completion.proofHash ?? (await indexed(jobId))?.proofHash;
    if (!workerHash) throw new ApiError("internal_error", "A decided dispute has no proof to show.");
    if (outcome === "equal") return { kind: "equal", workerHash };
    const tx = await this.#disputeTx(jobId);
    return tx === null ? { kind: "refused", reason: "already_open" } : { kind: "opened", tx, workerHash };
  }

  async #patience(): Promise<Decision> {
    await sleep(this.#context.waitMs + OPEN_WAIT_MS);
    return { kind: "refused", reason: "unavailable" };
  }

  /** Takes over requests without an answer, also those of the operator's other gateways that no process runs any more. Never rejects. */
  async #sweep(): Promise<void> {
    const { disputes, jobs, signer } = this.#context;
    if (!signer.held) return;
    const self = { gateway: jobs.account.address, operator: jobs.operator.id };
    try {
      for (const other of await signer.left(await disputes.othersUnanswered(self.gateway, self.operator))) {
        const claimed = await disputes.claimFrom(other, signerLockKey(jobs.chainId, other), self);
        if (claimed > 0)
          jobs.logger.warn(
            { gateway: other, requests: claimed },
            "no gateway runs with this signer: its disputes are taken over",
          );
      }
      for (const request of await disputes.unanswered(jobs.account.address)) {
        if (this.#busy.has(keyOf(request))) continue;
        this.#process(request).catch((error) =>
          jobs.logger.warn(
            { err: error, jobId: request.jobId },
            "a recorded dispute could not be decided yet; the next sweep tries again",
          ),
        );
      }
    } catch (error) {
      jobs.logger.warn({ err: error }, "recorded disputes could not be read");
    }
  }
}

const keyOf = ({ jobId, receivedHash }: DisputeRequest) => `${jobId}:${receivedHash}`;

/** The error for the client of a refused dispute. `seconds`: the time to dispute. */
export function refusalError(reason: Refusal, jobId: string, seconds: number, disputeTx: Hex | null): ApiError {
  const message: RefusalMessage = REFUSALS[reason];
  return new ApiError(...message(jobId, { seconds, disputeTx }));
}
