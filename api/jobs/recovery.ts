/**
 * The sweep over unfinished jobs that no running request of this process ends: after a crash, a failed step, or a restored database. It claims
 * the jobs of gateways that no longer run, reads row and chain of each job, and lets `JobEnding` take the next steps (table in next-step.ts).
 */

import { type Address, type Hex, isAddressEqual } from "viem";
import { inferenceEscrowAbi, workerRegistryAbi } from "../../protocol/generated/abi.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import { sleep } from "../../shared/sleep.ts";
import type { JobSighting, JobSightings } from "../chain/job-sightings.ts";
import type { Operator } from "../chain/operator.ts";
import type { Rpc } from "../chain/rpc.ts";
import { type SignerLock, signerLockKey } from "../chain/signer-lock.ts";
import { listOverdueJobs } from "../db/index-reads.ts";
import type { JobStore, StoredJob } from "../db/jobs.ts";
import type { Reader } from "../db/pool.ts";
import type { JobEnding } from "./job-ending.ts";
import type { JobTimes, KnownAnswer, Refusal } from "./next-step.ts";
import { isAcknowledgedBy } from "./verdict.ts";
import { type AnswerableJob, type AskParts, askWorkers } from "./worker-answers.ts";

const SWEEP_MS = 10_000;

export type RecoveryParts = AskParts & {
  operator: Pick<Operator, "id">;
  times: JobTimes;
  store: Pick<JobStore, "claimFrom" | "claimOwn" | "find" | "othersUnfinished" | "unfinished">;
  ending: Pick<JobEnding, "isUnderWay" | "proceed" | "refundOverdue">;
  outputRetentionHours: number;
  rpc: Pick<Rpc, "client">;
  registry: Address;
  /** Reads jobs at named blocks. */
  sightings: Pick<JobSightings, "at" | "isAbsent">;
  /** The index, and whether it has what the chain has. */
  index: Reader;
  indexIsWhole: () => boolean;
  /** Tokens that a model of the catalog takes, by its number. */
  contextWindow: (model: number) => number;
  /** Whether a request of this process runs the job. */
  isRunning: (jobId: Hex) => boolean;
  /** Without its signer to itself (`held`), this process's jobs may be another's by now. */
  signer: Pick<SignerLock, "held" | "left">;
};

export class Recovery {
  readonly #parts: RecoveryParts;
  readonly #busy = new Set<Hex>();
  /** Overdue jobs whose refund the chain refused; it would do so again. */
  readonly #notRefundable = new Set<Hex>();
  /** Since when the missing answer of a charged job has been asked for, ms since the epoch. */
  readonly #askingSince = new Map<Hex, number>();
  #timer: NodeJS.Timeout | undefined;
  #sweeps = new Set<Promise<void>>();

  constructor(parts: RecoveryParts) {
    this.#parts = parts;
  }

  start(): void {
    const sweep = () => void this.sweep();
    sweep();
    this.#timer = setInterval(sweep, SWEEP_MS);
  }

  /** Starts no further sweep; resolves when those under way are over, or after `timeoutMs`. */
  async stop(timeoutMs: number): Promise<void> {
    clearInterval(this.#timer);
    await Promise.race([Promise.all(this.#sweeps), sleep(timeoutMs)]);
  }

  /** Claims the jobs of gateways that no longer run, and takes the next step of every unfinished job of this process. Never rejects. */
  sweep(): Promise<void> {
    const sweep = this.#sweep().finally(() => this.#sweeps.delete(sweep));
    this.#sweeps.add(sweep);
    return sweep;
  }

  async #sweep(): Promise<void> {
    if (!this.#parts.signer.held) return;
    const { store, logger } = this.#parts;
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
    const { store, chainId, logger } = this.#parts;
    const own = await store.claimOwn();
    if (own > 0) logger.info({ jobs: own }, "unfinished jobs of an earlier process are taken up");
    for (const signer of await this.#parts.signer.left(await store.othersUnfinished())) {
      const jobs = await store.claimFrom(signer, signerLockKey(chainId, signer));
      if (jobs > 0)
        logger.warn({ signer, jobs }, "no gateway runs with this signer: its unfinished jobs are taken over");
    }
  }

  /** Does the work unless somebody is at this job: a request that runs it, an ending under way, an earlier sweep. */
  async #alone(jobId: Hex, work: () => Promise<unknown>): Promise<void> {
    const isEnding = this.#parts.ending.isUnderWay(jobId);
    if (this.#parts.isRunning(jobId) || isEnding || this.#busy.has(jobId)) return;
    this.#busy.add(jobId);
    try {
      await work();
    } catch (error) {
      this.#parts.logger.warn({ err: error, jobId }, "a job could not be ended yet");
    } finally {
      this.#busy.delete(jobId);
    }
  }

  async #end(jobId: Hex): Promise<void> {
    const { store, ending, outputRetentionHours } = this.#parts;
    const sighting = await this.#parts.sightings.at(jobId);
    const seen = await this.#read(sighting);
    // Read after the chain: what this process itself wrote or sent meanwhile is in it.
    const job = await store.find(jobId);
    if (job === null || this.#parts.isRunning(jobId) || ending.isUnderWay(jobId)) return;
    const isOurs = isAddressEqual(seen.wallet, job.wallet) && seen.operator === this.#parts.operator.id;
    const { inclusion } = this.#parts.times;
    const isAbsent = this.#parts.sightings.isAbsent(sighting, { validUntil: job.validUntil, inclusion });
    const chain = { ...seen, isOurs, isAbsent };
    const askedAt = this.#askingSince.get(jobId);
    const facts = {
      refusal: refusalOf(job),
      answer: this.#answerOf(job),
      isDeliverable: outputRetentionHours > 0,
      wasOffered: job.worker !== null || chain.worker !== null,
      asked: null,
      askingFor: askedAt === undefined ? 0 : (Date.now() - askedAt) / 1000,
    };
    await ending.proceed({
      jobId,
      wallet: job.wallet,
      facts,
      chain,
      askWorkers: async () => {
        const answer = await askWorkers(this.#parts, job, chain);
        if (answer === "later" && chain.status === ChainStatus.Settled)
          this.#askingSince.set(jobId, askedAt ?? Date.now());
        else this.#askingSince.delete(jobId);
        return answer;
      },
    });
  }

  /** The answer in a job's row, with its worker's acknowledgement where that is valid. */
  #answerOf({ jobId, worker, attempt, acknowledgement, completion, countedTokens }: StoredJob): KnownAnswer | null {
    if (completion === null || worker === null || countedTokens === null) return null;
    const isSigned =
      acknowledgement !== null && isAcknowledgedBy(this.#parts, { jobId, attempt }, acknowledgement, worker);
    return { worker, attempt, acknowledgement: isSigned ? acknowledgement : null, signed: completion, countedTokens };
  }

  /**
   * Refunds jobs of the operator that are long over and that no row leads to: a restored database has never seen them. Anyone may refund them,
   * and their wallets should not have to.
   */
  async #refundOverdue(): Promise<void> {
    if (!this.#parts.indexIsWhole()) return;
    const { head, times, operator, ending, logger } = this.#parts;
    // Twice the time after which anyone may: a job's own gateway and its worker come first.
    const lockedBefore = head.time - times.completion - 2 * times.inclusion;
    const overdue = await listOverdueJobs(this.#parts.index, operator.id, lockedBefore);
    const refundOne = async (jobId: Hex): Promise<void> => {
      logger.warn({ jobId }, "no gateway ended this job: its credits are returned");
      const outcome = await ending.refundOverdue(jobId);
      if (outcome?.status === "reverted" && outcome.revert.name === "Job_WrongState") this.#notRefundable.add(jobId);
    };
    const open = overdue.filter((jobId) => !this.#notRefundable.has(jobId));
    await Promise.all(open.map((jobId) => this.#alone(jobId, () => refundOne(jobId))));
  }

  /** Reads the job, its wallet and its worker from the chain, at the block of the sighting. */
  async #read({ jobId, job, block }: JobSighting): Promise<ReadJob> {
    const { client } = this.#parts.rpc;
    const blockNumber = BigInt(block.number);
    const escrow = { address: this.#parts.escrow, abi: inferenceEscrowAbi, blockNumber } as const;
    const registry = { address: this.#parts.registry, abi: workerRegistryAbi, blockNumber } as const;
    const [wallet, worker, [digest]] = await Promise.all([
      client.readContract({ ...escrow, functionName: "walletOf", args: [job.account] }),
      job.worker === 0 ? null : client.readContract({ ...registry, functionName: "signerOf", args: [job.worker] }),
      client.readContract({ ...escrow, functionName: "proofOf", args: [jobId] }),
    ]);
    const proof = BigInt(digest) === 0n ? null : digest;
    const finalizeFrom = job.status === ChainStatus.Proven ? job.lockedAt + job.deadline : null;
    const contextWindow = this.#parts.contextWindow(job.model);
    return { ...job, wallet, worker, proof, finalizeFrom, contextWindow };
  }
}

type ReadJob = Omit<AnswerableJob, "isOurs" | "isAbsent"> & { wallet: Address; operator: number };

/** Why the job's client got an error, as its row says. */
function refusalOf({ failure, failureReason }: StoredJob): Refusal | null {
  return failure === null ? null : { reason: failureReason ?? "answer_lost", why: failure };
}
