import type { Address, ContractFunctionReturnType, Hex } from "viem";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import { openDisputeOperation } from "../chain/operations.ts";
import type { Rpc } from "../chain/rpc.ts";
import type { JobRow } from "../index/index.ts";
import type { JobContext } from "../jobs/context.ts";
import type { DisputeRequest } from "../store/disputes.ts";
import type { StoredJob } from "../store/stored-job.ts";
import { proofDigest, provenCompletion, type Signed, settledCompletion, storedCompletion } from "./proof.ts";
import type { Refusal } from "./refusal.ts";

/** What came of a request. */
export type Decision =
  | { kind: "opened"; tx: Hex; workerHash: Hex }
  | { kind: "equal"; workerHash: Hex }
  | { kind: "refused"; reason: Refusal };

export type DecisionContext = {
  jobs: JobContext;
  rpc: Rpc;
  /** The worker registry. */
  registry: Address;
  /** The job as the index has it; null if it does not (yet). */
  indexed: (jobId: Hex) => Promise<Pick<JobRow, "proofTx" | "settlementTx" | "proofHash"> | null>;
  /** How long a request waits for the job's settlement. */
  waitMs: number;
};

/** How often the chain is asked whether the job has settled. */
const POLL_MS = 200;

const refused = (reason: Refusal): Decision => ({ kind: "refused", reason });

/** What the errors of `openDispute` mean for the client. */
const REVERTS: Record<string, Refusal> = {
  Dispute_AlreadyOpened: "already_open",
  Dispute_TooMany: "too_many",
  Dispute_NotAParty: "wallet_only",
  Job_TooLate: "closed_on_chain",
  Operator_ReserveTooSmall: "reserve_too_small",
};

type ChainJob = ContractFunctionReturnType<typeof inferenceEscrowAbi, "view", "jobOf">;

/** Decides requests of jobs of this gateway's operator. The chain says how far a job is; the contract has the last word. */
export class Decider {
  readonly #context: DecisionContext;
  readonly #opening = new Map<Hex, Promise<Decision>>();

  constructor(context: DecisionContext) {
    this.#context = context;
  }

  /** Waits for the settlement if there is none yet, compares, and opens the dispute. Rejects when the chain is out of reach. */
  async decide(request: DisputeRequest): Promise<Decision> {
    const { jobId } = request;
    const until = Date.now() + this.#context.waitMs;
    for (;;) {
      const [job, stored] = await Promise.all([this.#jobOf(jobId), this.#context.jobs.store.find(jobId)]);
      // The job is there as soon as its lock is mined.
      if (job.status !== ChainStatus.None && job.operator !== this.#context.jobs.operator.id)
        return refused("other_service");
      if (job.status === ChainStatus.Disputed) return refused("already_open");
      // Its transaction may be gone: a reorganisation can take a dispute back.
      if (stored?.disputeTx && (await this.#wasDisputed(jobId))) return refused("already_open");
      if (job.status === ChainStatus.Failed) return refused("not_charged");
      if (job.status === ChainStatus.Refunded) {
        return refused((await this.#wasDisputed(jobId)) ? "already_open" : "not_charged");
      }
      if (this.#isLate(request, stored)) return refused("expired");
      const signed = await this.#signed(jobId, job, stored);
      if (signed !== null) {
        const before = this.#opening.get(jobId);
        // Another request of the same job is on its way to the chain: look again when that is over.
        if (before === undefined) return this.#compare(request, signed, job);
        await before.catch(() => {});
        continue;
      }
      if (Date.now() >= until) return refused("not_settled");
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  #compare(request: DisputeRequest, signed: Signed, job: ChainJob): Promise<Decision> {
    const { jobId, receivedHash } = request;
    const workerHash = signed.completion.proofHash;
    if (workerHash === receivedHash) return Promise.resolve({ kind: "equal", workerHash });
    const opening = this.#open(request, signed, job);
    this.#opening.set(jobId, opening);
    const over = () => this.#opening.delete(jobId);
    opening.then(over, over);
    return opening;
  }

  async #open({ jobId, receivedHash, wallet }: DisputeRequest, signed: Signed, job: ChainJob): Promise<Decision> {
    const { pipeline, store, head, logger } = this.#context.jobs;
    const log = logger.child({ jobId: toApiJobId(jobId), wallet });
    const deadline = job.lockedAt + job.deadline;
    if (head.time >= deadline) return refused("closed_on_chain");
    const hindrance = await this.#hindrance(jobId, wallet, job);
    if (hindrance !== null) return refused(hindrance);
    const operation = openDisputeOperation(receivedHash, signed.completion, signed.byWorker, deadline * 1000);
    const outcome = await pipeline.submit(operation).mined;
    if (outcome.status === "mined") {
      await store.update(jobId, { disputeTx: outcome.hash });
      log.info({ disputeTx: outcome.hash }, "a dispute was opened");
      return { kind: "opened", tx: outcome.hash, workerHash: signed.completion.proofHash };
    }
    const reason = REVERTS[outcome.revert.name];
    log.warn({ revert: outcome.revert, reason }, "the contract refused a dispute");
    return refused(reason ?? "unavailable");
  }

  /**
   * What the contract would refuse: of a settled job, one more open dispute of the account than the operator may have; of a proven one, a
   * bond of its charge that the operator's reserve does not cover. Null if nothing is in the way.
   */
  async #hindrance(jobId: Hex, wallet: Address, job: ChainJob): Promise<Refusal | null> {
    if (job.status === ChainStatus.Settled) {
      const [account, limit] = await Promise.all([
        this.#client.readContract({ ...this.#escrow, functionName: "accountOf", args: [wallet] }),
        this.#client.readContract({ ...this.#escrow, functionName: "DISPUTE_LIMIT" }),
      ]);
      return account.openDisputes >= limit ? "too_many" : null;
    }
    const { operator } = job;
    const [{ reserve }, [, bond]] = await Promise.all([
      this.#client.readContract({ ...this.#escrow, functionName: "operatorOf", args: [operator] }),
      this.#client.readContract({ ...this.#escrow, functionName: "proofOf", args: [jobId] }),
    ]);
    if (reserve >= bond) return null;
    this.#context.jobs.logger.error(
      { jobId: toApiJobId(jobId), operator, reserve, bond },
      "a dispute cannot be opened: the operator's reserve does not cover its bond; add to it (fundReserve)",
    );
    return "reserve_too_small";
  }

  /** An answer that never arrived has no final token: then only the contract's own window counts. */
  #isLate({ arrivedAt }: DisputeRequest, stored: StoredJob | null): boolean {
    const finalTokenAt = stored?.finalTokenAt;
    if (!finalTokenAt) return false;
    return arrivedAt.getTime() - finalTokenAt.getTime() > this.#context.jobs.times.dispute * 1000;
  }

  /** The Completion that the job was charged for, or is going to be; null while it cannot be had. */
  async #signed(jobId: Hex, job: ChainJob, stored: StoredJob | null): Promise<Signed | null> {
    const { jobs, rpc, registry, indexed } = this.#context;
    const own = stored?.completion ?? null;
    if (job.status === ChainStatus.Settled) {
      const known = own && (await storedCompletion(jobs, { rpc, registry }, own, job.worker));
      if (known !== null) return known;
      const settlementTx = stored?.settlementTx ?? (await indexed(jobId))?.settlementTx ?? null;
      return settlementTx === null ? null : settledCompletion(rpc, jobId, settlementTx);
    }
    if (job.status !== ChainStatus.Proven) return null;
    if (own !== null && (await this.#digest(jobId)) === proofDigest(own.completion)) {
      return { completion: own.completion, byWorker: null };
    }
    const proofTx = (await indexed(jobId))?.proofTx ?? null;
    return proofTx === null ? null : provenCompletion(rpc, jobId, proofTx);
  }

  async #digest(jobId: Hex): Promise<Hex> {
    const [digest] = await this.#client.readContract({ ...this.#escrow, functionName: "proofOf", args: [jobId] });
    return digest;
  }

  async #wasDisputed(jobId: Hex): Promise<boolean> {
    const dispute = await this.#client.readContract({ ...this.#escrow, functionName: "disputeOf", args: [jobId] });
    return dispute.openedAt !== 0;
  }

  #jobOf(jobId: Hex) {
    return this.#client.readContract({ ...this.#escrow, functionName: "jobOf", args: [jobId] });
  }

  get #client() {
    return this.#context.rpc.client;
  }

  get #escrow() {
    return { address: this.#context.jobs.escrow, abi: inferenceEscrowAbi } as const;
  }
}
