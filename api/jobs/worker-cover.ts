/**
 * What this gateway has at risk at workers, and what covers it. Credits are at risk at a worker from the offer of their job until nobody can dispute
 * its charge. They are covered by what the worker would lose: its stake, at a worth in credits that the operator sets, and a share of what it
 * earned from this operator beyond dispute. So a newcomer starts with few and small jobs. The operator's own workers have no bound.
 */
import type { Logger } from "pino";
import type { Hex } from "viem";
import type { RegisteredWorker } from "../chain/directory.ts";
import type { Head } from "../chain/rpc.ts";
import { chargedAtWorkers, getHead, IndexUnavailable, provenAtWorkers } from "../db/index-reads.ts";
import type { Reader } from "../db/pool.ts";

const REFRESH_MS = 15_000;
const UNITS_PER_SVC = 1_000_000;

type CoverSettings = {
  /** What an SVC of stake is worth in credits. */
  creditsPerSvc: number;
  /** Share of a worker's earnings that adds to its stake. */
  earnedShare: number;
  /** The operator's own workers, lower case. */
  ownWorkers: ReadonlySet<string>;
};

type Parts = {
  index: Reader;
  operator: number;
  head: Pick<Head, "time">;
  /** Seconds. */
  times: { completion: number; inclusion: number; dispute: number };
  logger: Logger;
};

/** Credits at a worker. `until`, ms since the epoch: when the charge is beyond dispute; without end while the job runs. */
type Risk = { worker: string; credits: number; until: number };

/** One gateway's view: other gateways of the operator keep their own. */
export class WorkerCover {
  readonly #parts: Parts;
  readonly #settings: CoverSettings;
  readonly #running = new Map<Hex, Risk>();
  /** Answered jobs, the one that was answered first in front. */
  readonly #answered = new Map<Hex, Risk>();
  /** Sum of both, by worker. */
  readonly #atRisk = new Map<string, number>();
  /** What the index says, by worker: charges beyond dispute, and locks of jobs that the worker proved and that are not over. */
  readonly #earned = new Map<string, number>();
  #proven = new Map<string, number>();
  /** Chain time of the locks up to which `#earned` counts. */
  #countedUntil = 0;
  /** Chain time; what was locked before is an earlier process's. */
  #startedAt: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(parts: Parts, settings: CoverSettings) {
    this.#parts = parts;
    this.#settings = settings;
  }

  /** Reads the index now and every 15 s. Until it could be read, stakes alone count. */
  async start(): Promise<void> {
    this.#startedAt ??= this.#parts.head.time;
    try {
      await this.#refresh();
    } catch (error) {
      const level = error instanceof IndexUnavailable ? "debug" : "warn";
      this.#parts.logger[level]({ err: error }, "what workers earned could not be read: the last figures stay");
    }
    if (!this.#stopped) this.#timer = setTimeout(() => void this.start(), REFRESH_MS).unref();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  /** Credits that the worker would lose: what it covers while nothing is at risk there. */
  whole({ signer, stake }: Pick<RegisteredWorker, "signer" | "stake">): number {
    const worker = signer.toLowerCase();
    if (this.#settings.ownWorkers.has(worker)) return Number.POSITIVE_INFINITY;
    const { creditsPerSvc, earnedShare } = this.#settings;
    return Math.floor((stake / UNITS_PER_SVC) * creditsPerSvc + (this.#earned.get(worker) ?? 0) * earnedShare);
  }

  /** Credits that may still be locked for jobs at the worker. */
  room(worker: Pick<RegisteredWorker, "signer" | "stake">): number {
    this.#release();
    const signer = worker.signer.toLowerCase();
    return this.whole(worker) - (this.#atRisk.get(signer) ?? 0) - (this.#proven.get(signer) ?? 0);
  }

  /** Keeps cover for a job that will be offered to the worker. Returns what gives it back; call it once. */
  keep({ signer }: Pick<RegisteredWorker, "signer">, credits: number): () => void {
    const worker = signer.toLowerCase();
    this.#count(worker, credits);
    return () => this.#count(worker, -credits);
  }

  /** The worker is offered a job, for which so many credits are locked. */
  offered(jobId: Hex, { signer }: Pick<RegisteredWorker, "signer">, credits: number): void {
    const worker = signer.toLowerCase();
    if (this.#settings.ownWorkers.has(worker)) return;
    this.#add(this.#running, jobId, { worker, credits, until: Number.POSITIVE_INFINITY });
  }

  /**
   * The worker no longer has the job. If it answered, or may still prove an answer, all that is locked counts until a charge or the end of the
   * dispute window.
   */
  left(jobId: Hex, mayProve: boolean): void {
    const risk = this.#running.get(jobId);
    if (risk === undefined) return;
    this.#remove(this.#running, jobId);
    if (mayProve) this.#add(this.#answered, jobId, { ...risk, until: Date.now() + this.#disputable * 1000 });
  }

  /** The job was charged so much. */
  charged(jobId: Hex, credits: number): void {
    const risk = this.#answered.get(jobId);
    if (risk === undefined) return;
    this.#count(risk.worker, credits - risk.credits);
    risk.credits = credits;
  }

  /** Seconds from an answer to the end of its settlement's dispute window. */
  get #disputable(): number {
    const { inclusion, dispute } = this.#parts.times;
    return dispute + 2 * inclusion;
  }

  /** Forgets what nobody can dispute any more. */
  #release(): void {
    const now = Date.now();
    for (const [jobId, { until }] of this.#answered) {
      if (until > now) return;
      this.#remove(this.#answered, jobId);
    }
  }

  #add(risks: Map<Hex, Risk>, jobId: Hex, risk: Risk): void {
    risks.set(jobId, risk);
    this.#count(risk.worker, risk.credits);
  }

  #remove(risks: Map<Hex, Risk>, jobId: Hex): void {
    const risk = risks.get(jobId);
    if (risk === undefined) return;
    risks.delete(jobId);
    this.#count(risk.worker, -risk.credits);
  }

  #count(worker: string, credits: number): void {
    this.#atRisk.set(worker, (this.#atRisk.get(worker) ?? 0) + credits);
  }

  /**
   * The first time, what an earlier process left at risk is counted as well: the charges of its newest jobs. Later only the jobs that became
   * indisputable since the last time are read.
   */
  async #refresh(): Promise<void> {
    const { index, operator, head, times } = this.#parts;
    const indexed = await getHead(index);
    if (indexed === null) return;
    const now = Math.min(head.time, indexed.blockTime);
    const until = now - times.completion - this.#disputable;
    this.#proven = await provenAtWorkers(index, operator);
    if (until <= this.#countedUntil) return;
    const earned = await chargedAtWorkers(index, operator, { from: this.#countedUntil, until });
    const isFirst = this.#countedUntil === 0;
    const recent = isFirst
      ? await chargedAtWorkers(index, operator, { from: until, until: this.#startedAt ?? now })
      : new Map<string, number>();
    this.#countedUntil = until;
    for (const [worker, credits] of earned) this.#earned.set(worker, (this.#earned.get(worker) ?? 0) + credits);
    for (const [worker, credits] of recent) {
      this.#count(worker, credits);
      setTimeout(() => this.#count(worker, -credits), this.#disputable * 1000).unref();
    }
  }
}
