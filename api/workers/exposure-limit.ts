/**
 * Bounds the credits that this gateway has at risk at a worker by what covers them. Credits are at risk at a worker from the offer of their
 * job until nobody can dispute its charge. Where the worker refused the job, they are at risk until its offer has run out or the job is
 * over. They are covered by what the worker would lose: one slash a job, as often as its stake has a whole one. Governance states what a
 * slash is worth (docs/contracts/economics.md). What a worker earned covers nothing: nobody can take it back. The operator's own workers
 * have no bound.
 */
import type { Logger } from "pino";
import type { Hex } from "viem";
import type { Directory, RegisteredWorker, SlashTerms } from "../chain/directory.ts";
import type { Head } from "../chain/rpc.ts";
import { chargedAtWorkers, getHead, IndexUnavailable, provenAtWorkers } from "../db/index-reads.ts";
import type { Reader } from "../db/pool.ts";

const REFRESH_MS = 15_000;
const UNITS_PER_SVC = 1_000_000;

type ExposureSettings = {
  /** The most that the operator takes an SVC to be worth, in credits; governance's worth holds where it is less. */
  creditsPerSvc?: number | undefined;
  /** The operator's own workers, lower case. */
  ownWorkers: ReadonlySet<string>;
};

/** Seconds; windows of the contract, and how long an offer holds. */
export type ExposureTimes = { completion: number; inclusion: number; dispute: number; acknowledge: number };

type Parts = {
  index: Reader;
  directory: Pick<Directory, "slash">;
  operator: number;
  head: Pick<Head, "time">;
  times: ExposureTimes;
  logger: Logger;
};

/** Credits at a worker. `until`, ms since the epoch: when the charge is beyond dispute; without end while the job runs. */
type Risk = { worker: string; credits: number; until: number };

/**
 * How a worker's part in a job ended. `unsent`: no offer was signed. `refused`: the worker said that it does not take the job, and can take it on
 * chain all the same until the offer runs out. `taken`: it answered, or may have taken the job.
 */
export type OfferEnd = "unsent" | "refused" | "taken";

/** By job, then by worker (lower case); the job that left a worker last is at the end. */
type LeftJobs = Map<Hex, Map<string, Risk>>;

/** Bounds the credits at risk at each worker, as one gateway sees them: other gateways of the operator keep their own figures. */
export class ExposureLimit {
  readonly #parts: Parts;
  readonly #settings: ExposureSettings;
  readonly #running = new Map<Hex, Risk>();
  /** Answered jobs, and those that a worker may have taken. A job that moved on is at risk at each worker that had it. */
  readonly #answered: LeftJobs = new Map();
  readonly #refused: LeftJobs = new Map();
  /** Sum of all three, by worker. */
  readonly #atRisk = new Map<string, number>();
  /**
   * Credits at risk by worker, from the index: of jobs that the worker proved by itself, while they are not over or their charge can still
   * be disputed.
   */
  #proven = new Map<string, number>();
  /** Chain time; what was locked before is an earlier process's. */
  #startedAt: number | undefined;
  /** True once the charges of the earlier process are counted. */
  #isCounted = false;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(parts: Parts, settings: ExposureSettings) {
    this.#parts = parts;
    this.#settings = settings;
  }

  /** Reads the index now and every 15 s. Until it could be read, what this process offered alone counts. */
  async start(): Promise<void> {
    this.#startedAt ??= this.#parts.head.time;
    try {
      await this.#refresh();
    } catch (error) {
      const level = error instanceof IndexUnavailable ? "debug" : "warn";
      this.#parts.logger[level]({ err: error }, "what workers have at risk could not be read: the last figures stay");
    }
    if (!this.#stopped) this.#timer = setTimeout(() => void this.start(), REFRESH_MS).unref();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  /** The largest lock that the worker covers while nothing is at risk there: the worth of a slash. */
  largest({ signer, stake }: Pick<RegisteredWorker, "signer" | "stake">): number {
    if (this.#isOwn(signer)) return Number.POSITIVE_INFINITY;
    const { amount, worth } = this.#slash();
    return stake < amount ? 0 : Math.floor(worth);
  }

  /**
   * Credits that may still be locked for jobs at the worker. If the worker refused this job before, the job's credits are not counted a second time,
   * because the worker can be paid for the job only once.
   */
  room(worker: Pick<RegisteredWorker, "signer" | "stake">, jobId?: Hex): number {
    if (this.#isOwn(worker.signer)) return Number.POSITIVE_INFINITY;
    this.#release();
    const signer = worker.signer.toLowerCase();
    const { amount, worth } = this.#slash();
    const slashes = amount === 0 ? 0 : Math.floor(worker.stake / amount);
    const refused = jobId === undefined ? undefined : this.#refused.get(jobId)?.get(signer);
    const atRisk = (this.#atRisk.get(signer) ?? 0) + (this.#proven.get(signer) ?? 0) - (refused?.credits ?? 0);
    return Math.floor(worth * slashes) - atRisk;
  }

  #isOwn(signer: string): boolean {
    return this.#settings.ownWorkers.has(signer.toLowerCase());
  }

  #slash(): SlashTerms {
    const { creditsPerSvc } = this.#settings;
    const slash = this.#parts.directory.slash();
    if (creditsPerSvc === undefined) return slash;
    return { ...slash, worth: Math.min(slash.worth, (slash.amount / UNITS_PER_SVC) * creditsPerSvc) };
  }

  /** Reserves cover for a job that will be offered to the worker. Returns the function that releases it; call it once. */
  keep({ signer }: Pick<RegisteredWorker, "signer">, credits: number): () => void {
    const worker = signer.toLowerCase();
    this.#count(worker, credits);
    return () => this.#count(worker, -credits);
  }

  /** The worker is offered a job, for which so many credits are locked. */
  offered(jobId: Hex, { signer }: Pick<RegisteredWorker, "signer">, credits: number): void {
    if (this.#isOwn(signer)) return;
    const worker = signer.toLowerCase();
    this.#remove(this.#refused.get(jobId), worker);
    this.#add(this.#running, jobId, { worker, credits, until: Number.POSITIVE_INFINITY });
  }

  /**
   * The worker no longer has the job. If it may have taken the job, all that is locked counts until a charge or the end of the dispute window. If it
   * refused, until the job is over, or the offer has run out and the index shows what the worker proved by it.
   */
  left(jobId: Hex, end: OfferEnd): void {
    const risk = this.#running.get(jobId);
    if (risk === undefined) return;
    this.#remove(this.#running, jobId);
    if (end === "unsent") return;
    const { acknowledge, inclusion } = this.#parts.times;
    const [jobs, seconds] =
      end === "taken" ? [this.#answered, this.#disputable] : [this.#refused, acknowledge + inclusion];
    const ofJob = jobs.get(jobId) ?? new Map<string, Risk>();
    this.#remove(ofJob, risk.worker);
    jobs.delete(jobId);
    jobs.set(jobId, ofJob);
    this.#add(ofJob, risk.worker, { ...risk, until: Date.now() + seconds * 1000 });
  }

  /** The chain shows the end of the job: a worker that refused it can no longer take it. Without a charge there is nothing to dispute, either. */
  over(jobId: Hex, isCharged: boolean): void {
    this.#forget(this.#refused, jobId);
    if (!isCharged) this.#forget(this.#answered, jobId);
  }

  /** The worker was paid for the job, which was charged so much. */
  charged(jobId: Hex, { signer }: Pick<RegisteredWorker, "signer">, credits: number): void {
    this.over(jobId, true);
    const risk = this.#answered.get(jobId)?.get(signer.toLowerCase());
    if (risk === undefined) return;
    this.#count(risk.worker, credits - risk.credits);
    risk.credits = credits;
  }

  /** Seconds from an answer to the end of its settlement's dispute window. */
  get #disputable(): number {
    const { inclusion, dispute } = this.#parts.times;
    return dispute + 2 * inclusion;
  }

  /** Forgets charges that can no longer be disputed, and refused offers that have run out. */
  #release(): void {
    const now = Date.now();
    for (const jobs of [this.#answered, this.#refused]) {
      for (const [jobId, ofJob] of jobs) {
        if (Math.max(...[...ofJob.values()].map(({ until }) => until)) > now) break;
        this.#forget(jobs, jobId);
      }
    }
  }

  #forget(jobs: LeftJobs, jobId: Hex): void {
    const ofJob = jobs.get(jobId);
    for (const worker of ofJob?.keys() ?? []) this.#remove(ofJob, worker);
    jobs.delete(jobId);
  }

  #add<Key>(risks: Map<Key, Risk>, key: Key, risk: Risk): void {
    risks.set(key, risk);
    this.#count(risk.worker, risk.credits);
  }

  #remove<Key>(risks: Map<Key, Risk> | undefined, key: Key): void {
    const risk = risks?.get(key);
    if (risk === undefined) return;
    risks?.delete(key);
    this.#count(risk.worker, -risk.credits);
  }

  #count(worker: string, credits: number): void {
    this.#atRisk.set(worker, (this.#atRisk.get(worker) ?? 0) + credits);
  }

  /** Reads what workers proved by themselves, and the first time what an earlier process left at risk: the charges of its newest jobs. */
  async #refresh(): Promise<void> {
    const { index, operator, head, times } = this.#parts;
    const indexed = await getHead(index);
    if (indexed === null) return;
    const now = Math.min(head.time, indexed.blockTime);
    // Jobs that were locked before are beyond dispute, or have not ended yet.
    const from = now - times.completion - this.#disputable;
    this.#proven = await provenAtWorkers(index, operator, from);
    if (this.#isCounted) return;
    const recent = await chargedAtWorkers(index, operator, { from, until: this.#startedAt ?? now });
    this.#isCounted = true;
    for (const [worker, credits] of recent) {
      this.#count(worker, credits);
      setTimeout(() => this.#count(worker, -credits), this.#disputable * 1000).unref();
    }
  }
}
