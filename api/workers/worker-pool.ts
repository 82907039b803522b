import type { Logger } from "pino";
import type { Hex } from "viem";
import { ABILITIES, type Ability, ALWAYS_REASONING, type Counting, RefusalCode } from "../../protocol/dispatch.ts";
import { oneLine } from "../../shared/one-line.ts";
import type { Directory, Model, RegisteredWorker } from "../chain/directory.ts";
import { INCIDENTS, type IncidentCode, type IncidentStore, incidentCode } from "../db/incidents.ts";
import { ANY_WORKER, type Observations } from "../db/observations.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { ExposureLimit, OfferEnd } from "./exposure-limit.ts";
import { ModelTests, type TestResult } from "./model-tests.ts";
import type { WorkerClient } from "./worker-client.ts";
import { bestOf, chooseBest, type JobMs, type JobSize, WorkerHealth } from "./worker-health.ts";

/** A healthy worker is asked this often; one that was just lost or late at every tick, and one that stays away a tick later each time. */
const PROBE_MS = 5_000;
const TICK_MS = 1_000;
const LONGEST_PROBE_MS = 30_000;
const PROBE_TIMEOUT_MS = 2_000;
/** Probes under way at once: a registry full of dead endpoints must not hold up the living. */
const PROBES = 64;
const SAMPLES = 101;
const NONE: ReadonlySet<string> = new Set();
/** After an empty answer a model is not tested if it was sound so lately: a flood of empty answers makes it no work. */
const EMPTY_TEST_AGE_MS = 60_000;

type PoolSettings = {
  /** The part of a worker's own queue that it empties within this time counts as places. */
  startWithinMs: number;
  /** First rest after misconduct. */
  misconductRestMs: number;
};

export type PoolParts = {
  directory: Pick<Directory, "model" | "models" | "worker" | "workers" | "workersOf">;
  client: Pick<WorkerClient, "probe">;
  exposure: Pick<ExposureLimit, "charged" | "keep" | "largest" | "left" | "offered" | "over" | "room">;
  /** Sends the gateway's test prompt to the worker's model; resolves with its text. Rejects with WorkerFailure, or with a timeout. */
  testPrompt: (worker: RegisteredWorker, model: string) => Promise<string>;
  incidents: Pick<IncidentStore, "record">;
  /** Records the figures for the charts of models and workers. */
  observations: Observations;
  metrics: Pick<Metrics, "firstTokenSeconds" | "workerFailures">;
  logger: Logger;
};

/** A failure as it is reported; `code` may be a worker's own word. */
export type Incident = { code: string; detail: string; jobId: Hex | null };

/**
 * The demands of a job on its worker: cover for the credits that are locked for it, and abilities. `jobId`: the id of a locked job, which a worker
 * may have refused before. `leavesSpare`: the job's wallet has a place already, so the job gets no worker's spare places.
 */
export type Demand = { credits: number; needs: readonly Ability[]; jobId?: Hex; leavesSpare?: boolean };

/** What the gateway knows of a worker. `outstanding`: jobs that it has from this gateway; `free`: its places for more; `room`: credits that it covers. */
export type WorkerState = {
  worker: string;
  healthy: boolean;
  outstanding: number;
  free: number;
  room: number;
  firstTokenMs: number | null;
};

/**
 * A job that a worker has. Call `taken` at its acknowledgement, `mined` when its lock is in a block, `firstToken` at its first token, `wrote` at each
 * piece of answer or reasoning, `answered` or `lost` at its end, unless that says nothing of the worker, and `end` when it is over there. `lost`: the
 * time until another worker can have the job.
 */
export type Dispatched = {
  taken: () => void;
  mined: () => void;
  firstToken: () => void;
  wrote: (characters: number) => void;
  answered: () => void;
  lost: (ms: number) => void;
  end: (how: OfferEnd) => void;
};

/** A place at a worker, and cover for a job's credits there, reserved for one job. */
export type Place = {
  worker: RegisteredWorker;
  /** Whether the worker still takes jobs of the model. */
  isOpen: () => boolean;
  /** The job is offered to the worker: its place is in use from now on, and no longer reserved. */
  offer: (jobId: Hex, size: JobSize) => Dispatched;
  /** Releases a reserved place; later calls do nothing. */
  release: () => void;
};

/**
 * The share of a worker's own queue that is reserved for wallets without a place. So a wallet that fills the rest does not make another wallet wait
 * for a block.
 */
const SPARE_SHARE = 1 / 8;

/**
 * Workers as the gateway finds them: registered on chain, answering its probes, and not resting. Chooses the one with the least outstanding work,
 * weighted by how long jobs took there lately. A failed job takes no worker away: it may be its request's fault. The gateway then tests the model itself,
 * and only a failed test takes it away, until a later test succeeds.
 */
export class WorkerPool {
  readonly #parts: PoolParts;
  readonly #settings: PoolSettings;
  readonly #health = new Map<string, WorkerHealth>();
  readonly #firstTokens = new Map<number, number[]>();
  /** Jobs whose proven answer their worker has not handed out. */
  readonly #withheld = new Map<Hex, { worker: string; until: number }>();
  readonly #tests: ModelTests;
  #timer: NodeJS.Timeout | undefined;
  #probes = 0;
  #isStopped = false;
  /** Called when a place may have become free. */
  #freed = (): void => {};

  constructor(parts: PoolParts, settings: PoolSettings) {
    this.#parts = parts;
    this.#settings = settings;
    this.#tests = new ModelTests({
      ask: parts.testPrompt,
      registered: (signer) => parts.directory.worker(signer),
      tested: (worker, model, result) => this.#tested(worker, model, result),
      logger: parts.logger,
    });
  }

  /** Asks every worker, twice if it does not answer: a process that has just started may be the late one. Then keeps asking. */
  async start(): Promise<void> {
    const workers = [...this.#parts.directory.workers()];
    const next = async (): Promise<void> => {
      for (let worker = workers.pop(); worker !== undefined; worker = workers.pop()) {
        await this.#probe(worker);
        if (!this.#of(worker.signer).healthy) await this.#probe(worker);
      }
    };
    await Promise.all(Array.from({ length: PROBES }, next));
    this.#timer = setInterval(() => this.#probeDue(), TICK_MS);
  }

  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
    this.#tests.stop();
  }

  /** Workers that host the model and answer, whether or not they have room. */
  hosts(model: number): RegisteredWorker[] {
    const now = Date.now();
    const withholding = new Set(
      [...this.#withheld.values()].filter(({ until }) => now < until).map(({ worker }) => worker),
    );
    const offered = ({ signer }: RegisteredWorker) =>
      !withholding.has(signer) && this.#of(signer).isOffered(model, now);
    return this.#answering(model).filter(offered);
  }

  /** Whether only the text generators of a local stack answer for the model. */
  isDemo(model: number): boolean {
    const hosts = this.hosts(model);
    return hosts.length > 0 && hosts.every(({ signer }) => this.#of(signer).demo === true);
  }

  /**
   * The workers that may answer for the model. A text generator stands in for a model that nobody serves. Once a worker with a model has
   * been heard, generators answer no more for as long as that worker is registered, also while it is away.
   */
  #answering(model: number): RegisteredWorker[] {
    const all = this.registered(model);
    const isServed = all.some(({ signer }) => this.#of(signer).demo === false);
    return isServed ? all.filter(({ signer }) => this.#of(signer).demo !== true) : all;
  }

  /** Every worker that hosts the model by the chain, also one that this gateway gives no jobs. */
  registered(model: number): RegisteredWorker[] {
    return this.#parts.directory.workersOf(model);
  }

  /** The abilities beyond text that at least one host of the model declares. */
  abilities(model: number): Ability[] {
    const hosts = this.hosts(model);
    return ABILITIES.filter((ability) => hosts.some(({ signer }) => this.#of(signer).has(model, [ability])));
  }

  /**
   * True if every host of the model says that it reasons even if the request does not ask for it. Such reasoning is billed and no hash
   * covers it, so one host alone must not make the clients of all others pay for it.
   */
  alwaysReasons(model: number): boolean {
    const hosts = this.hosts(model);
    return hosts.length > 0 && hosts.every(({ signer }) => this.#of(signer).has(model, [ALWAYS_REASONING]));
  }

  /** How the worker counts the prompts of a model, by its last word; null if it has not said. */
  counting(worker: string, model: number): Counting | null {
    return this.#of(worker).counting.get(model) ?? null;
  }

  /** True if at least one worker of the model has declared all of these abilities, even if it is away now. */
  isDeclared(model: number, needs: readonly Ability[]): boolean {
    return this.#answering(model).some(({ signer }) => this.#of(signer).has(model, needs));
  }

  /** True if the worker has declared all of these abilities for the model. */
  declares(worker: string, model: number, needs: readonly Ability[]): boolean {
    return this.#of(worker).has(model, needs);
  }

  /** Ids of the models with a host that can do all of these. */
  modelsWith(needs: readonly Ability[]): string[] {
    const has = (model: number) => this.hosts(model).some(({ signer }) => this.#of(signer).has(model, needs));
    return this.#parts.directory.models().flatMap(({ number, id }) => (has(number) ? id : []));
  }

  /** Hosts that could take such a job if they had nothing else to do, without those in `excluded`. */
  capable(model: number, { credits, needs }: Demand, excluded: ReadonlySet<string> = NONE): RegisteredWorker[] {
    const { exposure } = this.#parts;
    return this.hosts(model).filter(
      (worker) =>
        !excluded.has(worker.signer) &&
        this.#of(worker.signer).has(model, needs) &&
        exposure.largest(worker) >= credits,
    );
  }

  /** The capable workers that can take the job now. */
  candidates(model: number, demand: Demand, excluded: ReadonlySet<string> = NONE): RegisteredWorker[] {
    const { exposure } = this.#parts;
    const now = Date.now();
    return this.capable(model, demand, excluded).filter((worker) => {
      const { free, spare } = this.#placesOf(worker.signer, now);
      return free > (demand.leavesSpare ? spare : 0) && exposure.room(worker, demand.jobId) >= demand.credits;
    });
  }

  /**
   * The places at all hosts of the model: the `free` ones, and those of them that are `spare`, for wallets that hold no place. At each
   * worker the last eighth of its own queue is spare. What a full worker announces makes nothing spare at others.
   */
  places(model: number): { free: number; spare: number } {
    const now = Date.now();
    const sum = { free: 0, spare: 0 };
    for (const { signer } of this.hosts(model)) {
      const { free, spare } = this.#placesOf(signer, now);
      sum.free += free;
      sum.spare += spare;
    }
    return sum;
  }

  #placesOf(signer: string, now: number): { free: number; spare: number } {
    const health = this.#of(signer);
    const { startWithinMs } = this.#settings;
    const free = health.free(now, startWithinMs);
    return { free, spare: Math.min(free, Math.floor(health.queuePlaces(startWithinMs) * SPARE_SHARE)) };
  }

  /** Calls back when a place, or cover, may have become free. */
  onFreed(callBack: () => void): void {
    this.#freed = callBack;
  }

  /** Reserves a place for a job of the model at the best worker that is not in `excluded`; null if no worker has a place. */
  keep(model: number, demand: Demand, excluded: ReadonlySet<string> = NONE): Place | null {
    const candidates = this.candidates(model, demand, excluded);
    const worker = chooseBest(
      model,
      candidates.map((one) => ({ worker: one, health: this.#of(one.signer) })),
      Date.now(),
    );
    if (worker === undefined) return null;
    const health = this.#of(worker.signer);
    const giveBack = [health.keep(model), this.#parts.exposure.keep(worker, demand.credits)];
    const leave = () => {
      for (const give of giveBack.splice(0)) give();
    };
    return {
      worker,
      isOpen: () => this.hosts(model).some(({ signer }) => signer === worker.signer),
      offer: (jobId, size) => {
        leave();
        return this.#begin(worker, { jobId, model, size, credits: demand.credits });
      },
      release: () => {
        if (giveBack.length === 0) return;
        leave();
        this.#freed();
      },
    };
  }

  #begin(
    worker: RegisteredWorker,
    { jobId, model, size, credits }: { jobId: Hex; model: number; size: JobSize; credits: number },
  ): Dispatched {
    const job = this.#of(worker.signer).begin(model, size, Date.now());
    const { exposure } = this.#parts;
    exposure.offered(jobId, worker, credits);
    return {
      taken: () => job.taken(Date.now()),
      mined: () => job.mined(Date.now()),
      wrote: (characters) => job.wrote(characters, Date.now()),
      answered: () => job.answered(this.#best(model), Date.now()),
      lost: (ms) => job.lost(ms, this.#best(model), Date.now()),
      firstToken: () => this.#observeFirstToken(model, worker.signer, job.firstToken(Date.now())),
      end: (how) => {
        job.end(Date.now());
        exposure.left(jobId, how);
        this.#freed();
      },
    };
  }

  /** The worker's answer of a job is settled for so many credits. */
  charged(jobId: Hex, worker: RegisteredWorker, credits: number): void {
    this.#parts.exposure.charged(jobId, worker, credits);
  }

  /** Every worker known on chain, with what the last probe said, the jobs it has from here and its places for more. */
  states(): WorkerState[] {
    const now = Date.now();
    return this.#parts.directory.workers().map((worker) => {
      const health = this.#of(worker.signer);
      const { outstanding, firstTokenMs } = health;
      const free = health.free(now, this.#settings.startWithinMs);
      // One whose models have all failed the gateway's test answers probes, and no client.
      const healthy = health.healthy && [...worker.models].some((model) => !health.isBroken(model));
      return {
        worker: worker.signer,
        healthy,
        outstanding,
        free,
        room: this.#parts.exposure.room(worker),
        firstTokenMs,
      };
    });
  }

  /**
   * Output tokens that the fastest host of the model would need `seconds` for, at twice its observed speed; null while one of them is unknown.
   * Credits for more than that need not be locked.
   */
  mostTokens(model: number, seconds: number): number | null {
    const speeds = this.hosts(model).map(({ signer }) => this.#of(signer).speedOf(model));
    if (speeds.length === 0 || speeds.includes(null)) return null;
    return Math.ceil(Math.max(...(speeds as number[])) * seconds * 2);
  }

  /** Most tokens that a model server of the model's hosts holds; null while one of them does not tell. */
  largestWindow(model: number): number | null {
    const windows = this.hosts(model).map(({ signer }) => this.#of(signer).counting.get(model)?.window ?? null);
    if (windows.length === 0 || windows.includes(null)) return null;
    return Math.max(...(windows as number[]));
  }

  /** A worker finished an answer of so many tokens, `ms` after its first one. */
  reportSpeed(worker: string, model: number, tokens: number, ms: number): void {
    this.#of(worker).observeSpeed(model, tokens, ms);
    this.#parts.observations.add(model, worker, { tokens, tokenMs: ms });
  }

  /** Median of the latest times to first token of a model, whole milliseconds. Before the first one, of its hosts' answers to probes. */
  medianFirstToken(model: number): number {
    const probes = () => this.hosts(model).flatMap(({ signer }) => this.#of(signer).probeMs ?? []);
    return Math.ceil(median(this.#firstTokens.get(model) ?? []) ?? median(probes()) ?? 0);
  }

  /** The worker finished a job as it should. */
  reportSuccess(worker: string, model: number): void {
    this.#of(worker).succeeded();
    this.#parts.observations.add(model, worker, { requests: 1 });
  }

  /** The worker answered with empty text. A client can bring that about, so it says nothing of the worker: the gateway tests the model. */
  answeredEmpty(worker: RegisteredWorker, model: Pick<Model, "number" | "id">): void {
    void this.#tests.test(worker, model, EMPTY_TEST_AGE_MS);
  }

  /** A client's request for the model ended with an answer, or without one through a failure that was not its own. */
  requestEnded(model: number, isAnswered: boolean): void {
    this.#parts.observations.add(model, ANY_WORKER, { requests: 1, failures: isAnswered ? 0 : 1 });
  }

  /** Records the time from a request's arrival to its first token. */
  requestBegan(model: number, ms: number): void {
    this.#parts.observations.add(model, ANY_WORKER, { firstTokens: 1, firstTokenMs: ms });
  }

  /** Notes of each model, and of each worker that hosts it by the chain, whether it can be asked now. */
  look(): void {
    const { directory, observations } = this.#parts;
    for (const { number } of directory.models()) {
      const hosts = new Set(this.hosts(number));
      observations.add(number, ANY_WORKER, { looks: 1, up: hosts.size > 0 ? 1 : 0 });
      for (const worker of this.registered(number)) {
        observations.add(number, worker.signer, { looks: 1, up: hosts.has(worker) ? 1 : 0 });
      }
    }
  }

  /** Tests the worker's model after a failed job; resolves with the result of a test that begins from now on. Never rejects. */
  test(worker: RegisteredWorker, model: Pick<Model, "number" | "id">): Promise<TestResult> {
    return this.#tests.test(worker, model);
  }

  /** Another worker answered the request at which this one had failed. */
  contradicted(worker: string): void {
    this.#of(worker).contradicted(Date.now());
  }

  /** Whether that happened lately: then a failure there says nothing of its request. */
  wasContradicted(worker: string): boolean {
    return this.#of(worker).wasContradicted(Date.now());
  }

  /** The worker proved an answer that it did not deliver: it gets no job before `until`, ms since the epoch, or before it has handed it out. */
  withholds(worker: string, jobId: Hex, until: number): void {
    if (this.#withheld.has(jobId)) return;
    this.#withheld.set(jobId, { worker, until });
    this.report(worker, { code: "withheld", detail: "the proof is on chain, the answer was not delivered", jobId });
  }

  /** The answer of a proven job was handed out. */
  released(jobId: Hex): void {
    this.#withheld.delete(jobId);
  }

  /** The chain shows the end of the job. */
  over(jobId: Hex, isCharged: boolean): void {
    this.released(jobId);
    this.#parts.exposure.over(jobId, isCharged);
  }

  /** Something went wrong with the worker: counted, stored, and followed by what its severity asks for (api/db/incidents.ts). */
  report(worker: string, incident: Incident, model?: number): void {
    const code = incidentCode(incident.code);
    const health = this.#of(worker);
    const now = Date.now();
    if (code === RefusalCode.Busy) {
      this.#parts.metrics.workerFailures.inc({ worker, code });
      const pauseMs = health.full(now);
      if (pauseMs !== null) setTimeout(() => this.#askAgain(worker), pauseMs).unref();
      return;
    }
    this.#record(worker, code, incident);
    const { severity } = INCIDENTS[code];
    const isFailure = severity === "misconduct" || severity === "absence" || severity === "failure";
    if (isFailure && model !== undefined) this.#parts.observations.add(model, worker, { requests: 1, failures: 1 });
    if (code === RefusalCode.UnknownModel && model !== undefined) health.doesNotHost(model, now);
    else if (code === RefusalCode.Draining) health.healthy = false;
    else if (severity === "misconduct") health.suspended(now, this.#settings.misconductRestMs);
    else if (severity === "absence") health.absent(now);
    else if (severity === "failure" && model !== undefined) health.failedJob(model, this.#best(model), now);
  }

  #best(model: number): JobMs {
    const hosts = this.hosts(model).map(({ signer }) => this.#of(signer));
    return bestOf(model, hosts);
  }

  /** Asks a worker that was full for its places. */
  #askAgain(signer: string): void {
    const worker = this.#parts.directory.worker(signer);
    if (!this.#isStopped && worker !== undefined && !this.#of(signer).probing) void this.#probe(worker);
  }

  #record(worker: string, code: IncidentCode, { detail: words, jobId }: Incident): void {
    const { metrics, incidents, logger } = this.#parts;
    const detail = oneLine(words);
    metrics.workerFailures.inc({ worker, code });
    incidents.record(worker, code, detail, jobId);
    logger.warn({ worker, code, detail, jobId }, `a worker ${INCIDENTS[code].title}`);
  }

  #tested({ signer }: RegisteredWorker, { number, id }: Pick<Model, "number" | "id">, result: TestResult): void {
    const health = this.#of(signer);
    const wasBroken = health.isBroken(number);
    if (result.model === "unknown") return;
    health.tested(number, result.model === "sound");
    if (result.model === "broken") {
      this.#record(signer, "failed_test", { code: "failed_test", detail: `model ${id}: ${result.why}`, jobId: null });
    } else if (wasBroken) this.#parts.logger.info({ worker: signer, model: id }, "a worker's model answers again");
  }

  #observeFirstToken(model: number, worker: string, ms: number): void {
    this.#parts.observations.add(model, worker, { firstTokens: 1, firstTokenMs: ms });
    this.#parts.metrics.firstTokenSeconds.observe({ model: String(model) }, ms / 1000);
    const samples = this.#firstTokens.get(model) ?? [];
    samples.push(ms);
    if (samples.length > SAMPLES) samples.shift();
    this.#firstTokens.set(model, samples);
  }

  #probeDue(): void {
    const now = Date.now();
    for (const worker of this.#parts.directory.workers()) {
      if (this.#probes >= PROBES) return;
      const health = this.#of(worker.signer);
      const { healthy, checkedAt, probing, missed } = health;
      // A worker with only spare places or none is probed more often: other gateways' jobs may end there meanwhile.
      const { free, spare } = this.#placesOf(worker.signer, now);
      const ofHealthy = free > spare ? PROBE_MS : TICK_MS;
      const interval = healthy && missed === 0 ? ofHealthy : Math.min(LONGEST_PROBE_MS, missed * TICK_MS);
      if (!probing && now - checkedAt >= interval) void this.#probe(worker);
    }
  }

  /** Asks one worker how it is. Never rejects. */
  async #probe(worker: RegisteredWorker): Promise<void> {
    const health = this.#of(worker.signer);
    health.probing = true;
    this.#probes += 1;
    let reason = "";
    let late = false;
    const asked = performance.now();
    const announced = health.probed();
    try {
      const report = await this.#parts.client.probe(worker.endpoint, PROBE_TIMEOUT_MS);
      const { status, worker: name, capacity = 1, queue_capacity = 0, abilities = {}, counting = {}, demo } = report;
      if (status !== "ok") reason = `says ${oneLine(status)}`;
      else if (name.toLowerCase() !== worker.signer.toLowerCase()) reason = `answers as ${oneLine(name)}`;
      const { in_flight = 0, queued = 0 } = report;
      announced({ running: capacity, waiting: queue_capacity, taken: in_flight + queued });
      health.abilities = this.#byNumber(abilities);
      health.counting = this.#byNumber(counting);
      if (reason === "") health.demo = demo;
      health.probeMs = performance.now() - asked;
    } catch (error) {
      late = error instanceof Error && error.name === "TimeoutError";
      reason = oneLine(error instanceof Error ? error.message : String(error)) || "no answer";
    }
    // A starved machine is late with one probe now and then, a starved gateway with those of all its workers: two in a row count.
    const overlooked = late && health.healthy && health.missed === 0;
    const healthy = reason === "" || overlooked;
    if (healthy !== health.healthy || (!healthy && health.checkedAt === 0)) {
      const { endpoint, signer } = worker;
      this.#parts.logger.info({ worker: signer, endpoint, healthy, reason }, "worker health changed");
    }
    health.healthy = healthy;
    health.missed = reason === "" ? 0 : health.missed + 1;
    health.checkedAt = Date.now();
    health.probing = false;
    this.#probes -= 1;
    this.#freed();
  }

  /** Converts a worker's entries by model id into entries by model number; unknown models are left out. */
  #byNumber<T>(byId: Record<string, T>): ReadonlyMap<number, T> {
    const known = Object.entries(byId).flatMap(([id, said]): [number, T][] => {
      const model = this.#parts.directory.model(id);
      return model === undefined ? [] : [[model.number, said]];
    });
    return new Map(known);
  }

  #of(worker: string): WorkerHealth {
    const known = this.#health.get(worker);
    if (known) return known;
    const health = new WorkerHealth();
    this.#health.set(worker, health);
    return health;
  }
}

function median(values: readonly number[]): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}
