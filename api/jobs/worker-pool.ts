import type { Logger } from "pino";
import type { Directory, RegisteredWorker } from "../chain/directory.ts";
import type { Metrics } from "../metrics.ts";

type Health = { healthy: boolean; probing: boolean; checkedAt: number; firstTokenMs: number; outstanding: number };

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
    return this.#directory.workersOf(model).filter((worker) => this.#of(worker).healthy);
  }

  /** The best worker for the model that is not in `excluded`; undefined if there is none. */
  choose(model: number, excluded: ReadonlySet<string>): RegisteredWorker | undefined {
    let best: RegisteredWorker | undefined;
    let bestScore = Number.POSITIVE_INFINITY;
    for (const worker of this.candidates(model)) {
      if (excluded.has(worker.signer)) continue;
      const { outstanding, firstTokenMs } = this.#of(worker);
      // Ties go to chance, so that equal workers share the work.
      const score = (outstanding + 1) * (firstTokenMs + 10) * (1 + Math.random() * 0.01);
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
    health.firstTokenMs = health.firstTokenMs === 0 ? ms : health.firstTokenMs * (1 - SMOOTHING) + ms * SMOOTHING;
    const samples = this.#firstTokens.get(model) ?? [];
    samples.push(ms);
    if (samples.length > SAMPLES) samples.shift();
    this.#firstTokens.set(model, samples);
  }

  /** Median of the latest times to first token of a model, whole milliseconds; 0 before the first. */
  medianFirstToken(model: number): number {
    const sorted = [...(this.#firstTokens.get(model) ?? [])].sort((a, b) => a - b);
    return Math.round(sorted[Math.floor(sorted.length / 2)] ?? 0);
  }

  /** The worker just failed a job: no more for it until a probe succeeds. */
  reportFailure(worker: RegisteredWorker, code: string, reason: string): void {
    this.#metrics.workerFailures.inc({ worker: worker.signer, code });
    this.#of(worker).healthy = false;
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
      const response = await fetch(new URL("/healthz", worker.endpoint), {
        signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
        redirect: "error",
      });
      const body = (await response.json()) as { status?: string; worker?: string };
      healthy = response.ok && body.status === "ok" && body.worker?.toLowerCase() === worker.signer.toLowerCase();
      if (!healthy) reason = `answered ${response.status} ${body.status ?? ""} as ${body.worker ?? "nobody"}`;
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
    const health = { healthy: false, probing: false, checkedAt: 0, firstTokenMs: 0, outstanding: 0 };
    this.#health.set(worker.signer, health);
    return health;
  }
}
