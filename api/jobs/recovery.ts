/**
 * Ends jobs that no running request of this process ends: after a crash, a failed step, or a restored database. The
 * chain decides. An answer that can still be fetched is settled; all other jobs are returned.
 */
import { type Address, type ContractFunctionReturnType, type Hex, isAddressEqual } from "viem";
import { answerHash } from "../../protocol/answer-hash.ts";
import { KEEP_PROVEN_SECONDS, type WorkerOutput } from "../../protocol/dispatch.ts";
import { inferenceEscrowAbi, workerRegistryAbi } from "../../protocol/generated/abi.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { ChainStatus, FailureReason } from "../../protocol/job-status.ts";
import { proofDigest } from "../../protocol/messages.ts";
import type { RegisteredWorker } from "../chain/directory.ts";
import { acknowledgeOperation, type Outcome } from "../chain/operations.ts";
import type { Rpc } from "../chain/rpc.ts";
import { type SignerLock, signerLockKey } from "../chain/signer-lock.ts";
import { listOverdueJobs } from "../db/index-reads.ts";
import type { StoredJob } from "../db/jobs.ts";
import type { Reader } from "../db/pool.ts";
import { type JobContext, signAccess, signAssignment } from "./context.ts";
import { type Finished, fail, finalize, JOB_TIMEOUT, keepAnswer, refund, settle, submitSettlement } from "./ending.ts";
import { isAcknowledgedBy, judge, knowsTime } from "./verdict.ts";

const SWEEP_MS = 10_000;
/** Seconds before a proof can be finalized at which a withheld answer is disputed, or half the time to finalization. */
const DISPUTE_MARGIN = 900;

type ChainJob = ContractFunctionReturnType<typeof inferenceEscrowAbi, "view", "jobOf">;

type Parts = {
  rpc: Rpc;
  registry: Address;
  /** The index, and whether it has what the chain has. */
  index: Reader;
  indexIsWhole: () => boolean;
  /** Tokens that a model of the catalog takes, by its number. */
  contextWindow: (model: number) => number;
  /** Whether a request of this process runs the job. */
  isRunning: (jobId: Hex) => boolean;
  /** Disputes the charge of an answer that its worker withholds; says what came of it. */
  dispute: (jobId: Hex, wallet: Address) => Promise<string>;
  /** Without its signer to itself (`held`), this process's jobs may be another's by now. */
  signer: Pick<SignerLock, "held" | "mayTakeOver">;
};

export class Recovery {
  readonly #context: JobContext;
  readonly #parts: Parts;
  readonly #busy = new Set<Hex>();
  /** Overdue jobs whose refund the chain refused; it would do so again. */
  readonly #notRefundable = new Set<Hex>();
  /** When jobs were first seen settled without their answers, ms since the epoch. */
  readonly #settledSince = new Map<Hex, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(context: JobContext, parts: Parts) {
    this.#context = context;
    this.#parts = parts;
  }

  start(): void {
    const sweep = () => void this.sweep();
    sweep();
    this.#timer = setInterval(sweep, SWEEP_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Takes over what has no living gateway, and looks at every unfinished job of this process once. Never rejects. */
  async sweep(): Promise<void> {
    if (!this.#parts.signer.held) return;
    const { store, logger } = this.#context;
    try {
      await this.#takeOver();
      const jobs = await store.unfinished();
      await Promise.all(jobs.map((jobId) => this.#alone(jobId, () => this.#end(jobId))));
      await this.#refundOverdue();
    } catch (error) {
      logger.warn({ err: error }, "a sweep over unfinished jobs broke off; the next one begins anew");
    }
  }

  /** Claims the jobs of this signer's earlier process, and those of the operator's signers that no process uses. */
  async #takeOver(): Promise<void> {
    const { store, chainId, logger } = this.#context;
    const own = await store.claimOwn();
    if (own > 0) logger.info({ jobs: own }, "unfinished jobs of an earlier process are taken up");
    if (!this.#parts.signer.mayTakeOver) return;
    for (const signer of await store.othersUnfinished()) {
      const jobs = await store.claimFrom(signer, signerLockKey(chainId, signer));
      if (jobs > 0)
        logger.warn({ signer, jobs }, "no gateway runs with this signer: its unfinished jobs are taken over");
    }
  }

  async #alone(jobId: Hex, work: () => Promise<unknown>): Promise<void> {
    if (this.#parts.isRunning(jobId) || this.#busy.has(jobId)) return;
    this.#busy.add(jobId);
    try {
      await work();
    } catch (error) {
      this.#context.logger.warn({ err: error, jobId: toApiJobId(jobId) }, "a job could not be recovered yet");
    } finally {
      this.#busy.delete(jobId);
    }
  }

  async #end(jobId: Hex): Promise<void> {
    const { store, record, head, times, workers } = this.#context;
    // Taken before the job is read: a lock mined after it would be in a later block, when it is void.
    const seen = { block: head.block.timestamp, time: head.time };
    const chain = await this.#parts.rpc.client.readContract({ ...this.#escrow, functionName: "jobOf", args: [jobId] });
    // Read after the chain: what this process itself wrote or sent meanwhile is in it.
    const job = await store.find(jobId);
    if (job === null || this.#parts.isRunning(jobId)) return;
    const isOver = ([ChainStatus.Settled, ChainStatus.Failed, ChainStatus.Refunded] as number[]).includes(chain.status);
    if (isOver) workers.released(jobId);
    switch (chain.status) {
      case ChainStatus.None:
        // Until then the lock may still be mined, from a batch that an earlier process sent.
        if (seen.block >= job.validUntil || seen.time > job.validUntil + times.inclusion) {
          await record.neverLocked(jobId, "the lock was never mined");
        }
        return;
      case ChainStatus.Settled:
        if (!(await this.#keepSettled(job, chain))) return;
        this.#settledSince.delete(jobId);
        return record.found(jobId, { state: "settled", creditsCharged: chain.credits });
      case ChainStatus.Failed:
        return record.found(jobId, { state: "failed" });
      case ChainStatus.Refunded:
        return record.found(jobId, { state: "refunded" });
      case ChainStatus.Disputed:
        // The arbiters end it; clients see what the index has.
        return;
      default: {
        const open = await this.#openJob(jobId, chain);
        // Ids can be made elsewhere, too: another wallet's or operator's job of this id is none of this row's business.
        if (!isAddressEqual(open.wallet, job.wallet) || open.operator !== this.#context.operator.id) {
          return record.neverLocked(jobId, "the id is another job's");
        }
        return open.finalizeFrom === null ? this.#endOpen(job, open) : this.#endProven(job, open, open.finalizeFrom);
      }
    }
  }

  /**
   * A job whose worker proved an answer on chain before us. The answer is fetched, kept and settled, also where our client got an error: it is
   * charged for what it can have. Once the contract settles it no more, its worker finalizes it, or this gateway where the worker does not. Shortly
   * before that, the charge of an answer that nobody can have is disputed.
   */
  async #endProven(job: StoredJob, chain: OpenJob, finalizeFrom: number): Promise<void> {
    const { head, times, workers, logger, outputRetentionHours } = this.#context;
    const { jobId, completion: stored } = job;
    if (stored !== null && proofDigest(stored.completion) === chain.proof) {
      await this.#chargeAfterAll(job);
      if (head.time < chain.settleBefore) await this.#settleStored(job, chain);
      else if (head.time >= finalizeFrom + times.inclusion) await finalize(this.#context, jobId, stored);
      return;
    }
    const host = workers.registered(chain.model).find(({ signer }) => signer === chain.worker);
    // Nobody pays for an answer that would not be kept.
    const asks = host !== undefined && outputRetentionHours > 0;
    const answer = asks ? await provenAnswer(this.#context, job, chain, host) : "none";
    if (typeof answer === "object") {
      workers.released(jobId);
      if (head.time >= chain.settleBefore) await keepAnswer(this.#context, answer);
      else await (await settle(this.#context, answer)).done;
      return this.#chargeAfterAll(job);
    }
    if (chain.worker !== null) workers.withholds(chain.worker, jobId, finalizeFrom * 1000);
    if (head.time < finalizeFrom - Math.min(DISPUTE_MARGIN, times.finalization / 2)) return;
    const disputed = await this.#parts.dispute(jobId, job.wallet);
    logger.warn({ jobId: toApiJobId(jobId), worker: chain.worker, disputed }, "a withheld answer is disputed");
  }

  /** A kept answer that is proven can be fetched, also by a client that got an error. */
  async #chargeAfterAll({ jobId }: StoredJob): Promise<void> {
    this.#context.refused.delete(jobId);
    await this.#context.store.proven(jobId);
  }

  /**
   * A job that its worker proved and finalized while no gateway ran: its client paid, so the answer is fetched and kept. False while the worker
   * is out of reach: it is asked again, as long as workers keep such an answer.
   */
  async #keepSettled(job: StoredJob, settled: ChainJob): Promise<boolean> {
    const { workers, outputRetentionHours } = this.#context;
    const { jobId } = job;
    if (job.completion !== null || outputRetentionHours === 0) return true;
    const chain = await this.#openJob(jobId, settled);
    const host = workers.registered(chain.model).find(({ signer }) => signer === chain.worker);
    // Without a proof a gateway settled it, which had the answer.
    if (Number(chain.proof) === 0 || host === undefined || !isAddressEqual(chain.wallet, job.wallet)) return true;
    const answer = await provenAnswer(this.#context, job, chain, host);
    if (answer === "later") {
      const since = this.#settledSince.get(jobId) ?? Date.now();
      this.#settledSince.set(jobId, since);
      return Date.now() - since > KEEP_PROVEN_SECONDS * 1000;
    }
    if (answer !== "none") await keepAnswer(this.#context, answer);
    return true;
  }

  /** A job that holds credits: settle it, or give them back. */
  async #endOpen(job: StoredJob, chain: OpenJob): Promise<void> {
    const { head, times, refused } = this.#context;
    const { jobId } = job;
    const failure = job.failure ?? refused.get(jobId);
    if (failure === JOB_TIMEOUT) return void (await refund(this.#context, jobId));
    if (failure !== undefined) return void (await fail(this.#context, jobId, FailureReason.AnswerLost, failure));
    // Nobody pays for an answer that cannot be had any more.
    if (this.#context.outputRetentionHours === 0) {
      return void (await fail(this.#context, jobId, FailureReason.AnswerLost, "no answer can be had"));
    }
    const answerUntil = chain.lockedAt + times.completion;
    if (head.time < answerUntil + times.inclusion && (await this.#settleStored(job, chain)) !== "none") return;
    // An answer that was finished in time is not lost to a gateway that was away: there is still time to have it mined.
    const asked = head.time < answerUntil + times.inclusion / 2 ? await this.#askWorkers(job, chain) : "none";
    if (asked === "settled") return;
    if (head.time >= answerUntil) await refund(this.#context, jobId);
    else if (asked === "none") {
      const reason = job.worker === null ? FailureReason.RoutingFailed : FailureReason.AnswerLost;
      await fail(this.#context, jobId, reason, "the gateway restarted and no answer could be had");
    }
  }

  /** Settles the answer that is in the job's row. `none`: there is none, or the chain has given the job to another worker. */
  async #settleStored(job: StoredJob, chain: OpenJob): Promise<"settled" | "refused" | "none"> {
    const { jobId, wallet, worker, countedTokens, completion: signed } = job;
    if (signed === null || worker === null || countedTokens === null) return "none";
    const acknowledged = acknowledgedFirst(this.#context, { ...job, worker }, chain);
    if (acknowledged === "replaced") return "none";
    const { settleBefore } = chain;
    const { done } = submitSettlement(this.#context, {
      jobId,
      wallet,
      acknowledged,
      settleBefore,
      signed,
      countedTokens,
    });
    return (await done) ? "settled" : "refused";
  }

  /** Settles the job if a worker has its finished answer: the one on record, or else any host of the model. */
  async #askWorkers(job: StoredJob, chain: OpenJob): Promise<Asked> {
    const hosts = this.#context.workers.registered(chain.model);
    const recorded = hosts.filter(({ signer }) => signer.toLowerCase() === job.worker?.toLowerCase());
    for (const group of [recorded, hosts.filter((host) => !recorded.includes(host))]) {
      const all = await Promise.all(group.map((host) => askWorker(this.#context, job, chain, host)));
      const asked = all.find((one) => one === "settled") ?? all.find((one) => one === "later");
      if (asked !== undefined) return asked;
    }
    return "none";
  }

  /**
   * Refunds jobs of the operator that are long over and that no row leads to: a restored database has never seen them. Anyone may refund them,
   * and their wallets should not have to.
   */
  async #refundOverdue(): Promise<void> {
    if (!this.#parts.indexIsWhole()) return;
    const { head, times, operator, logger } = this.#context;
    // Once more the time in which anyone may: a job's own gateway and its worker come first.
    const lockedBefore = head.time - times.completion - 2 * times.inclusion;
    const overdue = await listOverdueJobs(this.#parts.index, operator.id, lockedBefore);
    const refundOne = async (jobId: Hex): Promise<void> => {
      logger.warn({ jobId: toApiJobId(jobId) }, "no gateway ended this job: its credits are returned");
      const outcome = await refund(this.#context, jobId);
      if (outcome?.status === "reverted" && outcome.revert.name === "Job_WrongState") this.#notRefundable.add(jobId);
    };
    const open = overdue.filter((jobId) => !this.#notRefundable.has(jobId));
    await Promise.all(open.map((jobId) => this.#alone(jobId, () => refundOne(jobId))));
  }

  async #openJob(jobId: Hex, job: ChainJob): Promise<OpenJob> {
    const { client } = this.#parts.rpc;
    const { completion, inclusion } = this.#context.times;
    const registry = { address: this.#parts.registry, abi: workerRegistryAbi } as const;
    const [wallet, worker, [proof]] = await Promise.all([
      client.readContract({ ...this.#escrow, functionName: "walletOf", args: [job.account] }),
      job.worker === 0 ? null : client.readContract({ ...registry, functionName: "signerOf", args: [job.worker] }),
      client.readContract({ ...this.#escrow, functionName: "proofOf", args: [jobId] }),
    ]);
    const settleBefore = job.lockedAt + completion + inclusion;
    const finalizeFrom = job.status === ChainStatus.Proven ? job.lockedAt + job.deadline : null;
    const contextWindow = this.#parts.contextWindow(job.model);
    return { ...job, wallet, worker, settleBefore, proof, finalizeFrom, contextWindow };
  }

  get #escrow() {
    return { address: this.#context.escrow, abi: inferenceEscrowAbi } as const;
  }
}

/** What the chain says of a job that holds credits, or held them. */
export type OpenJob = {
  wallet: Address;
  operator: number;
  model: number;
  /** Who acknowledged it last, in which attempt; null and 0 while nobody did. */
  worker: Address | null;
  attempt: number;
  lockedAt: number;
  /** Chain time before which a gateway can settle it. */
  settleBefore: number;
  /** Digest of the Completion that its worker proved by itself; zero for none. */
  proof: Hex;
  /** Chain time from which such a proof can be finalized; null unless the job waits for that. */
  finalizeFrom: number | null;
  contextWindow: number;
  credits: number;
  creditsPerRequest: number;
  creditsPer1kTokens: number;
};

/** What came of asking: `later` where a worker is still at work or out of reach, and the next sweep asks again. */
type Asked = "settled" | "none" | "later";

/** Settles a job of an earlier process, if this worker has the finished answer. */
export async function askWorker(
  context: JobContext,
  job: StoredJob,
  chain: OpenJob,
  host: RegisteredWorker,
): Promise<Asked> {
  const answer = await deliveredAnswer(context, job, chain, host);
  if (answer === "none" || answer === "later") return answer;
  const settling = await settle(context, answer);
  await settling.done;
  return "settled";
}

/** The answer that this worker proved, if it delivers it: another one is not paid. */
async function provenAnswer(
  context: JobContext,
  job: StoredJob,
  chain: OpenJob,
  host: RegisteredWorker,
): Promise<Finished | "none" | "later"> {
  const answer = await deliveredAnswer(context, job, chain, host);
  if (answer === "none" || answer === "later") return answer;
  return proofDigest(answer.signed.completion) === chain.proof ? answer : "none";
}

/** The finished answer that this worker delivers, if it is the job's. */
async function deliveredAnswer(
  context: JobContext,
  job: StoredJob,
  chain: OpenJob,
  { signer: worker, endpoint }: RegisteredWorker,
): Promise<Finished | "none" | "later"> {
  const { jobId, wallet } = job;
  let output: WorkerOutput | null;
  try {
    output = await fetchOutput(context, { jobId, worker, lockedAt: chain.lockedAt }, endpoint);
  } catch (error) {
    context.logger.info({ err: error, jobId: toApiJobId(jobId), worker }, "the worker has no answer for us yet");
    return "later";
  }
  if (output === null) return "none";
  const { text, completion, signature, finish_reason, acknowledgement } = output;
  const papers = { jobId, worker, attempt: acknowledgement.attempt, acknowledgement: acknowledgement.signature };
  const { lockedAt, settleBefore, finalizeFrom, credits: creditsLocked, contextWindow } = chain;
  await knowsTime(context, completion.completedAt);
  const seen = {
    jobId,
    worker,
    lockedAt,
    hash: answerHash(text),
    text,
    bytes: Buffer.byteLength(text),
    reasoning: "",
    // A model that reasons unasked uses it up, too.
    maxTokens: context.workers.declares(worker, chain.model, ["reasoning"]) ? null : job.maxTokens,
    contextWindow,
    finishedBy: finalizeFrom === null ? context.head.time : finalizeFrom - context.times.finalization,
  };
  const verdict = judge(context, seen, { completion, signature, finish_reason });
  const incident = verdict.fault ?? verdict.excess;
  if (incident !== null) context.workers.report(worker, { ...incident, jobId });
  // A later attempt than the first is in the row before it is offered: a worker cannot invent one.
  if (verdict.fault !== null || papers.attempt > Math.max(1, job.attempt)) return "none";
  const acknowledged = acknowledgedFirst(context, papers, chain);
  if (acknowledged === "replaced") return "none";
  const { countedTokens } = verdict;
  const signed = { completion, signature, finish_reason };
  const answer = { text, signed, countedTokens, model: chain };
  return { ...papers, ...answer, acknowledged, wallet, settleBefore, creditsLocked };
}

/** Who answered, in which attempt, and its signature that it took that attempt. */
export type Papers = { jobId: Hex; worker: Address; attempt: number; acknowledgement: Hex | null };

/**
 * The acknowledgement that must be mined before a settlement's hash may be public: of a later attempt than the first, unless the chain has
 * it. Null where none is needed. `replaced`: the chain gave the job to a later attempt, or there is no acknowledgement to send.
 */
export function acknowledgedFirst(
  context: JobContext,
  { jobId, worker, attempt, acknowledgement }: Papers,
  chain: OpenJob,
): Promise<Outcome> | null | "replaced" {
  if (chain.worker?.toLowerCase() === worker.toLowerCase()) return null;
  if (chain.worker === null && attempt <= 1) return null;
  if (attempt <= chain.attempt || acknowledgement === null) return "replaced";
  if (!isAcknowledgedBy(context, { jobId, attempt }, acknowledgement, worker)) return "replaced";
  const minedBefore = chain.lockedAt + context.times.completion + context.times.inclusion;
  const assignment = { jobId, worker, attempt, acknowledgeBy: minedBefore };
  return context.pipeline.submit(acknowledgeOperation(assignment, acknowledgement, minedBefore)).mined;
}

const FETCH_TIMEOUT_MS = 5_000;

/**
 * Shows the worker that a signer of the job's operator asks, and fetches what it has stored; null if it has nothing. The Assignment has run
 * out: nobody can take the job on chain with it.
 */
async function fetchOutput(
  context: JobContext,
  { jobId, worker, lockedAt }: { jobId: Hex; worker: Address; lockedAt: number },
  endpoint: string,
): Promise<WorkerOutput | null> {
  const assignment = { jobId, worker, attempt: 1, acknowledgeBy: lockedAt };
  const body = {
    assignment,
    signature: await signAssignment(context, assignment),
    access: await signAccess(context, { jobId, worker }),
  };
  return context.client.fetchOutput(endpoint, body, AbortSignal.timeout(FETCH_TIMEOUT_MS));
}
