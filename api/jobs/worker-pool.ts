import type { Logger } from "pino";
import type { Directory, RegisteredWorker } from "../chain/directory.ts";
import type { Metrics } from "../metrics.ts";
import { probe } from "./dispatch-client.ts";

type Health = {
  /** Answered the last probe. */
  healthy: boolean;
  probing: boolean;
  checkedAt: number;
  /** Running time to first token, null before the first. */
  firstTokenMs: number | null;
  outstanding: number;
  /** Failed jobs in a row, and when it may be tried again: a probe alone does not clear a worker that fails its jobs. */
  failures: number;
  restUntil: number;
};

/** A worker that fails rests 1 s, 2 s, 4 s, … up to this. */
const LONGEST_REST_MS = 60_000;
/** Before anything was observed, all are taken for equally fast. */
const ASSUMED_FIRST_TOKEN_MS = 100;

/** A healthy worker is asked this often; one that is not, or is new, at every tick. */
const PROBE_MS = 5_000;
const TICK_MS = 1_000;
const PROBE_TIMEOUT_MS = 2_000;
/** Weight of the newest observation in the running time to first token. */
const SMOOTHING = 0.2;
const SAMPLES = 101;

/**
 * Workers as the gateway finds them: registered on chain, and answering its own probe. Chooses the one with the least
 * outstanding work, weighted by how fast it was lately.
 */
export class WorkerPool {
  readonly #directory: Directory;
  readonly #logger: Logger;
  readonly #metrics: Metrics;
  readonly #health = new Map<string, Health>();
  readonly #firstTokens = new Map<number, number[]>();
  #timer: NodeJS.Timeout | undefined;

  constructor(directory: Directory, metrics: Metrics, logger: Logger) {
    this.#directory = directory;
    this.#metrics = metrics;
    this.#logger = logger;
  }

  async start(): Promise<void> {
    await this.probeAll();
    this.#timer = setInterval(() => void this.#probeDue(), TICK_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Healthy workers that host the model. */
  candidates(model: number): RegisteredWorker[] {
    const now = Date.now();
    return this.#directory.workersOf(model).filter((worker) => {
      const { healthy, restUntil } = this.#of(worker);
      return healthy && now >= restUntil;
    });
  }

  /** The best worker for the model that is not in `excluded`; undefined if there is none. */
  choose(model: number, excluded: ReadonlySet<string>): RegisteredWorker | undefined {
    let best: RegisteredWorker | undefined;
    let bestScore = Number.POSITIVE_INFINITY;
    const candidates = this.candidates(model).filter((worker) => !excluded.has(worker.signer));
    const usual = median(candidates.flatMap((worker) => this.#of(worker).firstTokenMs ?? [])) ?? ASSUMED_FIRST_TOKEN_MS;
    for (const worker of candidates) {
      const { outstanding, firstTokenMs, failures } = this.#of(worker);
      // Unknown is not fast: a worker that never answered counts as an ordinary one, and as a worse one after each failure.
      // Ties go to chance, so that equal workers share the work.
      const score = (outstanding + 1) * ((firstTokenMs ?? usual) + 10) * (failures + 1) * (1 + Math.random() * 0.01);
      if (score < bestScore) [best, bestScore] = [worker, score];
    }
    return best;
  }

  /** A job was given to the worker; call the result when it is over. */
  begin(worker: RegisteredWorker): () => void {
    const health = this.#of(worker);
    health.outstanding += 1;
    let over = false;
    return () => {
      if (over) return;
      over = true;
      health.outstanding -= 1;
    };
  }

  /** Every worker known on chain, with what the last probe said. */
  states(): { worker: string; healthy: boolean }[] {
    return this.#directory.workers().map((worker) => ({ worker: worker.signer, healthy: this.#of(worker).healthy }));
  }

  observeFirstToken(worker: RegisteredWorker, model: number, ms: number): void {
    this.#metrics.firstTokenSeconds.observe({ model: String(model) }, ms / 1000);
    const health = this.#of(worker);
    health.firstTokenMs = health.firstTokenMs === null ? ms : health.firstTokenMs * (1 - SMOOTHING) + ms * SMOOTHING;
    const samples = this.#firstTokens.get(model) ?? [];
    samples.push(ms);
    if (samples.length > SAMPLES) samples.shift();
    this.#firstTokens.set(model, samples);
  }

  /** Median of the latest times to first token of a model, whole milliseconds; 0 before the first. */
  medianFirstToken(model: number): number {
    return Math.round(median(this.#firstTokens.get(model) ?? []) ?? 0);
  }

  /** The worker finished a job as it should. */
  reportSuccess(worker: RegisteredWorker): void {
    this.#of(worker).failures = 0;
  }

  /** The worker just failed a job: it rests, longer each time in a row, and must answer a probe again. */
  reportFailure(worker: RegisteredWorker, code: string, reason: string): void {
    this.#metrics.workerFailures.inc({ worker: worker.signer, code });
    const health = this.#of(worker);
    health.healthy = false;
    // Jobs that fail together are one incident, not many.
    if (Date.now() < health.restUntil) return;
    health.failures += 1;
    health.restUntil = Date.now() + Math.min(LONGEST_REST_MS, 500 * 2 ** health.failures);
    this.#logger.warn(
      { worker: worker.signer, endpoint: worker.endpoint, code, reason },
      "a worker failed and is set aside",
    );
  }

  async probeAll(): Promise<void> {
    await Promise.all(this.#directory.workers().map((worker) => this.#probe(worker)));
  }

  async #probeDue(): Promise<void> {
    const due = this.#directory.workers().filter((worker) => {
      const { healthy, checkedAt, probing } = this.#of(worker);
      return !probing && (!healthy || Date.now() - checkedAt >= PROBE_MS);
    });
    await Promise.all(due.map((worker) => this.#probe(worker)));
  }

  async #probe(worker: RegisteredWorker): Promise<void> {
    const health = this.#of(worker);
    health.probing = true;
    let healthy = false;
    let reason = "";
    try {
      const { status, body } = await probe(worker.endpoint, AbortSignal.timeout(PROBE_TIMEOUT_MS));
      healthy = status === 200 && body.status === "ok" && body.worker?.toLowerCase() === worker.signer.toLowerCase();
      if (!healthy) reason = `answered ${status} ${body.status ?? ""} as ${body.worker ?? "nobody"}`;
    } catch (error) {
      reason = error instanceof Error ? error.message : String(error);
    }
    if (healthy !== health.healthy) {
      this.#logger.info({ worker: worker.signer, endpoint: worker.endpoint, healthy, reason }, "worker health changed");
    }
    health.healthy = healthy;
    health.checkedAt = Date.now();
    health.probing = false;
  }

  #of(worker: RegisteredWorker): Health {
    const known = this.#health.get(worker.signer);
    if (known) return known;
    const health: Health = {
      healthy: false,
      probing: false,
      checkedAt: 0,
      firstTokenMs: null,
      outstanding: 0,
      failures: 0,
      restUntil: 0,
    };
    this.#health.set(worker.signer, health);
    return health;
  }
}

function median(values: readonly number[]): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}
