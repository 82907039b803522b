/** Decides dispute requests: whether the job can be disputed and the hashes differ. Opens the dispute on chain. */
import type { Logger } from "pino";
import type { Address, ContractFunctionReturnType, Hex } from "viem";
import { type Delivery, deliveryTypes, type SignedDelivery } from "../../protocol/delivery.ts";
import { inferenceEscrowAbi, workerRegistryAbi } from "../../protocol/generated/abi.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import { compactSignature, escrowDomain, proofDigest } from "../../protocol/messages.ts";
import { decodePayee } from "../../protocol/words.ts";
import { jobDigests } from "../../shared/keccak.ts";
import { recoverSigner } from "../../shared/secp256k1.ts";
import { openDisputeOperation } from "../chain/operations.ts";
import type { Operator } from "../chain/operator.ts";
import type { Pipeline } from "../chain/pipeline.ts";
import type { Head, Rpc } from "../chain/rpc.ts";
import { provenIn, type Signed, settledIn } from "../chain/settlements.ts";
import type { DisputeRequest } from "../db/disputes.ts";
import type { IndexedJob } from "../db/index-reads.ts";
import type { JobStore, SignedCompletion, StoredJob } from "../db/jobs.ts";
import type { ErrorCode } from "../errors.ts";
import { type JobTimes, settleBefore } from "../jobs/next-step.ts";
import type { RowUpdater } from "../jobs/row-updater.ts";
import type { Signing, SigningDomain } from "../workers/signatures.ts";

/**
 * Makes the error that the client of a refused dispute gets. `seconds`: the time to dispute; `disputeTx`: the transaction of a dispute that
 * is open.
 */
export type RefusalMessage = (
  job: string,
  more: { seconds: number; disputeTx: Hex | null },
) => [ErrorCode, message: string, extra?: { param?: string; details?: Record<string, unknown> }];
const again = (retry_after: number) => ({ details: { retry_after } });

/** From so many disputes on that arbiters rejected in so many days, the wallet opens its own: each cost the service gas, and the wallet nothing. */
const LOST_LIMIT = 3;
const LOST_DAYS = 30;

/** Why a dispute was not opened, and what its client is told. The reason is stored with the request, so that every gateway gives the same answer. */
export const REFUSALS = {
  not_settled: (job) => [
    "job_not_settled",
    `${job} has not settled yet. Your request is recorded: send it again, it counts from its first arrival.`,
    again(5),
  ],
  already_open: (job, { disputeTx }) => [
    "dispute_already_open",
    `${job} was disputed already; a job can be disputed once.`,
    disputeTx === null ? {} : { details: { dispute_tx: disputeTx } },
  ],
  expired: (job, { seconds }) => [
    "dispute_window_expired",
    `The dispute of ${job} arrived later than ${seconds} seconds after its final output token.`,
  ],
  closed_on_chain: (job) => [
    "dispute_window_expired",
    `The settlement contract takes no dispute of ${job} any more: its window has closed.`,
  ],
  not_charged: (job) => ["conflict", `${job} ended without a charge: there is nothing to dispute.`],
  too_many: () => [
    "conflict",
    "This wallet has as many open disputes as the service may open for it; wait until one is ruled, or open this one " +
      "with the wallet itself (openDispute of the settlement contract, for a bond).",
  ],
  lost_before: () => [
    "conflict",
    `The arbiters have rejected ${LOST_LIMIT} disputes that the service opened for this wallet in the last ${LOST_DAYS} days. It opens another ` +
      "one when the first of them is older; until then open it with the wallet itself (openDispute of the settlement contract, for a bond).",
  ],
  other_hash: (job) => [
    "conflict",
    `Another hash for ${job} is being decided, and one text was received: wait for that answer.`,
    { param: "received_output_hash" },
  ],
  wallet_only: (job) => [
    "conflict",
    `The worker of ${job} was convicted of signing two answers: only the wallet itself can dispute the charge now, without a ` +
      "bond (openDispute of the settlement contract).",
  ],
  reserve_too_small: (job) => [
    "service_unavailable",
    `This service cannot put up the bond for a dispute of ${job} now. Your request is recorded: send it again later, or dispute ` +
      "with the wallet itself (openDispute of the settlement contract, for a bond).",
    again(60),
  ],
  other_service: (job) => [
    "conflict",
    `${job} was run by another operator of the protocol: dispute it there, or with the wallet itself.`,
  ],
  unavailable: (job) => [
    "service_unavailable",
    `The dispute of ${job} is recorded and could not be opened yet; look at the job, or send it again.`,
    again(5),
  ],
} satisfies Record<string, RefusalMessage>;
export type Refusal = keyof typeof REFUSALS;

export type Decision =
  | { kind: "opened"; tx: Hex; workerHash: Hex }
  | { kind: "equal"; workerHash: Hex }
  | { kind: "refused"; reason: Refusal };

export type DecisionContext = {
  jobs: Signing & {
    account: { readonly address: Address };
    operator: Pick<Operator, "id" | "inOffice" | "refresh">;
    head: Pick<Head, "time">;
    times: JobTimes;
    pipeline: Pick<Pipeline, "submit">;
    store: Pick<JobStore, "find">;
    rows: Pick<RowUpdater, "written">;
    logger: Logger;
  };
  rpc: Pick<Rpc, "client">;
  registry: Address;
  /** The job as the index has it; null if it does not (yet). */
  indexed: (jobId: Hex) => Promise<Pick<IndexedJob, "proofTx" | "settlementTx" | "proofHash" | "disputeTx"> | null>;
  /** How many disputes the service opened for a wallet and lost, from a time on (Unix seconds); 0 while the index cannot tell. */
  lost: (wallet: Address, from: number) => Promise<number>;
  /** How long a request waits for the job's settlement. */
  waitMs: number;
};

/** How often the chain is asked whether the job has settled. */
const POLL_MS = 200;
/** Longest time from a final token until the reply is sent and its row says so, unless the client reads slowly. */
const SENDING_MS = 5_000;

const refused = (reason: Refusal): Decision => ({ kind: "refused", reason });

/** The refusals that errors of `openDispute` lead to. */
const REVERTS: Record<string, Refusal> = {
  Dispute_AlreadyOpened: "already_open",
  Dispute_TooMany: "too_many",
  Dispute_NotAParty: "wallet_only",
  Job_TooLate: "closed_on_chain",
  Operator_ReserveTooSmall: "reserve_too_small",
};

type ChainJob = ContractFunctionReturnType<typeof inferenceEscrowAbi, "view", "jobOf">;

/** Decides requests of its operator's jobs. The chain says how far a job is; the contract has the last word. */
export class Decider {
  readonly #context: DecisionContext;
  /** Disputes that are being opened, by wallet (lower case): the contract takes a few of one account, and each refusal costs us gas. */
  readonly #opening = new Map<string, number>();

  constructor(context: DecisionContext) {
    this.#context = context;
  }

  /** Waits for the settlement, compares the hashes, opens the dispute. Rejects when the chain is out of reach. */
  async decide(request: DisputeRequest): Promise<Decision> {
    const { jobId } = request;
    const until = Date.now() + this.#context.waitMs;
    for (;;) {
      const [job, stored] = await Promise.all([this.#jobOf(jobId), this.#context.jobs.store.find(jobId)]);
      const reason = await this.#refusal(request, job, stored);
      if (reason !== null) return refused(reason);
      const signed = this.#canSettle(job) ? null : await this.#signed(jobId, job, stored);
      if (signed === null && Date.now() >= until) return refused("not_settled");
      if (signed === null || (isBeingSent(stored) && Date.now() < until)) {
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
        continue;
      }
      const workerHash = signed.completion.proofHash;
      if (workerHash === request.receivedHash) return { kind: "equal", workerHash };
      const decision = await this.#open(request, signed, { job, stored });
      if (decision !== null) return decision;
      // Another dispute of the job, or its refund, was mined before this one: the chain says which.
      return refused((await this.#refusal(request, await this.#jobOf(jobId), stored)) ?? "unavailable");
    }
  }

  /** Why chain and row say that the job cannot be disputed; null if it can, or may be later. */
  async #refusal(request: DisputeRequest, job: ChainJob, stored: StoredJob | null): Promise<Refusal | null> {
    const { jobs } = this.#context;
    // The job is there as soon as its lock is mined.
    if (job.status !== ChainStatus.None && job.operator !== jobs.operator.id) return "other_service";
    if (job.status === ChainStatus.Disputed) return "already_open";
    if (job.status === ChainStatus.Failed) return "not_charged";
    if (job.status === ChainStatus.Refunded) {
      return (await this.#wasDisputed(request.jobId)) ? "already_open" : "not_charged";
    }
    // The row's transaction proves nothing: a reorganisation can take a dispute back.
    if (stored?.disputeTx && (await this.#wasDisputed(request.jobId))) return "already_open";
    // An answer that never arrived has no final token: then only the contract's own window counts. Nor has one that the worker proved beside it.
    const arrived = job.status !== ChainStatus.Proven || (await this.#isProof(request.jobId, stored));
    const finalTokenAt = arrived ? stored?.finalTokenAt?.getTime() : undefined;
    const isLate = finalTokenAt !== undefined && request.arrivedAt.getTime() - finalTokenAt > jobs.times.dispute * 1000;
    return isLate ? "expired" : null;
  }

  /**
   * True if a proven job can still get its settlement: then no bond of the operator's is put up for its dispute. A worker and its client
   * could otherwise win the bond with an answer that is on its way.
   */
  #canSettle({ status, lockedAt, deadline }: ChainJob): boolean {
    const { head, times } = this.#context.jobs;
    if (status !== ChainStatus.Proven) return false;
    return head.time < Math.min(settleBefore(lockedAt, times), lockedAt + deadline - times.finalization / 2);
  }

  /** Opens it, counted among those of its wallet. Null when the job was in another state once the transaction was mined. */
  async #open(request: DisputeRequest, signed: Signed, disputable: Disputable): Promise<Decision | null> {
    const wallet = request.wallet.toLowerCase();
    const others = this.#opening.get(wallet) ?? 0;
    this.#opening.set(wallet, others + 1);
    try {
      return await this.#send(request, signed, { ...disputable, others });
    } finally {
      const left = (this.#opening.get(wallet) as number) - 1;
      if (left > 0) this.#opening.set(wallet, left);
      else this.#opening.delete(wallet);
    }
  }

  async #send(
    { jobId, receivedHash, wallet }: DisputeRequest,
    signed: Signed,
    { job, stored, others }: Disputable & { others: number },
  ): Promise<Decision | null> {
    const { pipeline, rows, head, operator, logger } = this.#context.jobs;
    const log = logger.child({ jobId, wallet });
    const deadline = job.lockedAt + job.deadline;
    if (head.time >= deadline) return refused("closed_on_chain");
    const hindrance = await this.#hindrance(jobId, wallet, { job, others });
    if (hindrance !== null) return refused(hindrance);
    const delivery = await signDelivery(this.#context.jobs, jobId, stored);
    const operation = openDisputeOperation(receivedHash, signed, delivery, deadline * 1000);
    const outcome = await pipeline.submit(operation).mined;
    if (outcome.status === "mined") {
      await rows.written(jobId);
      log.info({ disputeTx: outcome.hash }, "a dispute was opened");
      return { kind: "opened", tx: outcome.hash, workerHash: signed.completion.proofHash };
    }
    let reason = REVERTS[outcome.revert.name];
    if (reason === "wallet_only") {
      // The contract says the same of a key that was removed: then another gateway of the operator can open it.
      await operator.refresh();
      if (!operator.inOffice) reason = "unavailable";
    }
    log.warn({ revert: outcome.revert, reason }, "the contract refused a dispute");
    return outcome.revert.name === "Job_WrongState" ? null : refused(reason ?? "unavailable");
  }

  /**
   * Why the service does not open it; null for no reason. For a settled job: more open disputes of the account than the contract allows the
   * operator, with the `others` that are on their way, or too many that were lost. For a proven one: a bond that the operator's reserve does not cover.
   */
  async #hindrance(
    jobId: Hex,
    wallet: Address,
    { job, others }: { job: ChainJob; others: number },
  ): Promise<Refusal | null> {
    if (job.status === ChainStatus.Settled) {
      const from = this.#context.jobs.head.time - LOST_DAYS * 86_400;
      const [account, limit, lost] = await Promise.all([
        this.#client.readContract({ ...this.#escrow, functionName: "accountOf", args: [wallet] }),
        this.#client.readContract({ ...this.#escrow, functionName: "DISPUTE_LIMIT" }),
        this.#context.lost(wallet, from),
      ]);
      if (lost >= LOST_LIMIT) return "lost_before";
      return account.openDisputes + others >= limit ? "too_many" : null;
    }
    const { operator } = job;
    const [{ reserve }, [, charge], most] = await Promise.all([
      this.#client.readContract({ ...this.#escrow, functionName: "operatorOf", args: [operator] }),
      this.#client.readContract({ ...this.#escrow, functionName: "proofOf", args: [jobId] }),
      this.#client.readContract({ ...this.#escrow, functionName: "DISPUTE_BOND" }),
    ]);
    const bond = Math.min(charge, most);
    if (reserve >= bond) return null;
    this.#context.jobs.logger.error(
      { jobId, operator, reserve, bond },
      "a dispute cannot be opened: the operator's reserve does not cover its bond; add to it (fundReserve)",
    );
    return "reserve_too_small";
  }

  /** The Completion that the job was charged for, or is going to be; null while it cannot be had. */
  async #signed(jobId: Hex, job: ChainJob, stored: StoredJob | null): Promise<Signed | null> {
    const { jobs, rpc, registry, indexed } = this.#context;
    const own = stored?.completion ?? null;
    if (job.status === ChainStatus.Settled) {
      const known = own && (await storedCompletion(jobs, { rpc, registry }, own, job.worker));
      if (known !== null) return known;
      const settlementTx = stored?.settlementTx ?? (await indexed(jobId))?.settlementTx ?? null;
      return settlementTx === null ? null : settledIn(rpc, jobId, settlementTx);
    }
    if (job.status !== ChainStatus.Proven) return null;
    if (own !== null && (await this.#isProof(jobId, stored))) {
      return { completion: own.completion, byWorker: null };
    }
    const proofTx = (await indexed(jobId))?.proofTx ?? null;
    return proofTx === null ? null : provenIn(rpc, jobId, proofTx);
  }

  /** True if the proof on chain is of the Completion that the gateway stored. */
  async #isProof(jobId: Hex, stored: StoredJob | null): Promise<boolean> {
    if (!stored?.completion) return false;
    const [digest] = await this.#client.readContract({ ...this.#escrow, functionName: "proofOf", args: [jobId] });
    return digest === proofDigest(stored.completion.completion);
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

/** A job that can be disputed: on the chain, and in the gateway's row. */
type Disputable = { job: ChainJob; stored: StoredJob | null };

/** True if the reply may still be on its way to the client: the gateway stores what it sent when the connection ends. */
const isBeingSent = (stored: StoredJob | null): boolean =>
  stored?.sentHash === null && Date.now() - (stored.finalTokenAt?.getTime() ?? 0) < SENDING_MS;

/** Signs what this service sent to the job's client, for the arbiters to read. Null if that is not known. */
async function signDelivery(
  { account, chainId, escrow }: Signing,
  jobId: Hex,
  stored: StoredJob | null,
): Promise<SignedDelivery | null> {
  if (!stored?.sentHash) return null;
  const message: Delivery = { jobId, sentHash: stored.sentHash, complete: stored.sentComplete === true };
  const domain = escrowDomain(chainId, escrow);
  const signature = await account.signTypedData({ domain, types: deliveryTypes, primaryType: "Delivery", message });
  return { ...message, signature: compactSignature(signature) };
}

/** The stored Completion as a dispute needs it, if the chain's worker of the job signed it; null if another one did. */
async function storedCompletion(
  { chainId, escrow }: SigningDomain,
  { rpc, registry }: Pick<DecisionContext, "rpc" | "registry">,
  { completion, signature }: SignedCompletion,
  worker: number,
): Promise<Signed | null> {
  const signer = recoverSigner(jobDigests(chainId, escrow).completion(completion), signature);
  if (signer === null) return null;
  const contract = { address: registry, abi: workerRegistryAbi } as const;
  const payee = await rpc.client.readContract({ ...contract, functionName: "payeeOf", args: [signer, 0] });
  return decodePayee(payee)?.id === worker ? { completion, byWorker: compactSignature(signature) } : null;
}
