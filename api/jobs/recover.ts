import { type Address, type ContractFunctionReturnType, type Hex, isAddressEqual } from "viem";
import { inferenceEscrowAbi, workerRegistryAbi } from "../../protocol/generated/abi.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { ChainStatus, FailureReason } from "../../protocol/job-status.ts";
import type { Rpc } from "../chain/rpc.ts";
import type { StoredJob } from "../store/stored-job.ts";
import type { JobContext } from "./context.ts";
import { failJob, JOB_TIMEOUT, refundJob } from "./end.ts";
import { acknowledgedFirst, type OpenJob, settleLateAnswer } from "./late-answer.ts";
import { submitSettlement } from "./settle.ts";

const SWEEP_MS = 10_000;

type ChainJob = ContractFunctionReturnType<typeof inferenceEscrowAbi, "view", "jobOf">;

/**
 * Ends jobs that nobody in this process runs any more: after a crash, or after a step that failed on the way. What the chain
 * shows decides; an answer that can still be had is settled, anything else is returned to the client.
 */
export class Recovery {
  readonly #context: JobContext;
  readonly #rpc: Rpc;
  readonly #registry: Address;
  readonly #isRunning: (jobId: Hex) => boolean;
  readonly #busy = new Set<Hex>();
  #timer: NodeJS.Timeout | undefined;

  constructor(context: JobContext, rpc: Rpc, registry: Address, isRunning: (jobId: Hex) => boolean) {
    this.#context = context;
    this.#rpc = rpc;
    this.#registry = registry;
    this.#isRunning = isRunning;
  }

  start(): void {
    const sweep = () => void this.sweep();
    sweep();
    this.#timer = setInterval(sweep, SWEEP_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Looks at every unfinished job of this gateway once. Never rejects. */
  async sweep(): Promise<void> {
    const { store, account, logger } = this.#context;
    try {
      const jobs = await store.unfinished(account.address);
      await Promise.all(jobs.map((job) => this.#recover(job)));
    } catch (error) {
      logger.warn({ err: error }, "unfinished jobs could not be read");
    }
  }

  async #recover(job: StoredJob): Promise<void> {
    const { jobId } = job;
    if (this.#isRunning(jobId) || this.#busy.has(jobId)) return;
    this.#busy.add(jobId);
    try {
      await this.#end(job);
    } catch (error) {
      this.#context.logger.warn({ err: error, jobId: toApiJobId(jobId) }, "a job could not be recovered yet");
    } finally {
      this.#busy.delete(jobId);
    }
  }

  async #end(job: StoredJob): Promise<void> {
    const { store, head, times } = this.#context;
    // Taken before the job is read: a lock mined after it would be in a later block, when it is void.
    const seen = { block: head.block.timestamp, time: head.time };
    const chain = await this.#rpc.client.readContract({ ...this.#escrow, functionName: "jobOf", args: [job.jobId] });
    switch (chain.status) {
      case ChainStatus.None:
        // Until then the lock may still be mined, from a batch that an earlier process sent.
        if (seen.block >= job.validUntil || seen.time > job.validUntil + times.inclusion) {
          await store.update(job.jobId, { state: "unlocked", failure: "the lock was never mined" });
        }
        return;
      case ChainStatus.Settled:
        return store.update(job.jobId, { state: "settled", creditsCharged: chain.credits });
      case ChainStatus.Disputed:
        // The ruling decides; what clients see of it is the index's.
        return;
      case ChainStatus.Failed:
        return store.update(job.jobId, { state: "failed" });
      case ChainStatus.Refunded:
        return store.update(job.jobId, { state: "refunded" });
      case ChainStatus.Proven:
        return store.update(job.jobId, { state: "settling" });
      default:
        return this.#endOpen(job, chain);
    }
  }

  /** A job that holds credits: settle it, or give them back. */
  async #endOpen(job: StoredJob, onChain: ChainJob): Promise<void> {
    const { head, times, store } = this.#context;
    const [wallet, chain] = await Promise.all([this.#walletOf(onChain), this.#openJob(onChain)]);
    // Clients choose ids, too: another wallet's job of this id is none of this row's business.
    if (!isAddressEqual(wallet, job.wallet)) {
      return store.update(job.jobId, { state: "unlocked", failure: "the id is another job's" });
    }
    const answerUntil = chain.lockedAt + times.completion;
    const failure = job.failure ?? this.#context.refused.get(job.jobId);
    if (failure !== undefined) return this.#giveBack(job, failure);
    // Nobody pays for an answer that cannot be had any more.
    if (this.#context.outputRetentionHours === 0) {
      await failJob(this.#context, job.jobId, FailureReason.AnswerLost, "no answer can be had");
      return;
    }
    if (head.time < answerUntil + times.inclusion && (await this.#settleStored(job, chain))) return;
    // An answer that was finished in time is not lost to a gateway that was away: there is still time to have it mined.
    const over = head.time >= answerUntil;
    if (over && head.time >= answerUntil + times.inclusion / 2) {
      await refundJob(this.#context, job.jobId);
      return;
    }
    const answered = await settleLateAnswer(this.#context, job, chain);
    if (answered === "settled") return;
    if (over) {
      await refundJob(this.#context, job.jobId);
    } else if (answered === "none") {
      const reason = job.worker === null ? FailureReason.RoutingFailed : FailureReason.AnswerLost;
      await failJob(this.#context, job.jobId, reason, "the gateway restarted and no answer could be had");
    }
  }

  /** Settles the answer that is in the job's row; false if there is none, or the chain has given the job to another worker. */
  async #settleStored(job: StoredJob, chain: OpenJob): Promise<boolean> {
    const { jobId, wallet, worker, completion: signed } = job;
    if (signed === null || worker === null) return false;
    const acknowledged = acknowledgedFirst(this.#context, { ...job, worker }, chain);
    if (acknowledged === "replaced") return false;
    const settling = submitSettlement(
      this.#context,
      {
        jobId,
        wallet,
        acknowledged,
        lockedAt: chain.lockedAt,
        creditsLocked: chain.credits,
        signed,
        countedTokens: job.countedTokens ?? signed.completion.completionTokens,
      },
      job.creditsCharged ?? chain.credits,
    );
    await settling.done;
    return true;
  }

  async #openJob(job: ChainJob): Promise<OpenJob> {
    if (job.worker === 0) return { ...job, worker: null };
    const registry = { address: this.#registry, abi: workerRegistryAbi } as const;
    const worker = await this.#rpc.client.readContract({ ...registry, functionName: "signerOf", args: [job.worker] });
    return { ...job, worker };
  }

  #walletOf({ account }: ChainJob): Promise<Address> {
    return this.#rpc.client.readContract({ ...this.#escrow, functionName: "walletOf", args: [account] });
  }

  get #escrow() {
    return { address: this.#context.escrow, abi: inferenceEscrowAbi } as const;
  }

  /** Its client was told that it is over without a charge: that was not mined, or a reorganisation took it back. */
  async #giveBack(job: StoredJob, failure: string): Promise<void> {
    if (failure === JOB_TIMEOUT) await refundJob(this.#context, job.jobId);
    else await failJob(this.#context, job.jobId, FailureReason.AnswerLost, failure);
  }
}
