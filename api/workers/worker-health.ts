import type { Counting, Declaration } from "../../protocol/dispatch.ts";

/** A worker that is out of reach, or takes no jobs, rests 1 s, 2 s, 4 s, … up to this. */
const LONGEST_REST_MS = 60_000;
/** Misconduct: the configured rest, doubled each time, up to this. */
const LONGEST_SUSPENSION_MS = 3_600_000;
/** A worker that refused a job for want of room is asked again after 0.25, 0.5, 1 … 8 s, the longer the more often in a row. */
const FULL_MS = 250;
const LONGEST_FULL_MS = 8_000;
/** A model that the worker said it does not host is not asked of it for this long. */
const UNHOSTED_MS = 60_000;
/** Output tokens from which on an answer tells its worker's speed. */
const SPEED_TOKENS = 100;
/** Weight of the newest observation in running means. */
const SMOOTHING = 0.2;
/** After this long without a new observation the earlier ones count half: a slow worker gets another chance. */
const HALF_LIFE_MS = 60_000;
/** A worker that fails all of its jobs is asked as if it were slower by this much more. */
const FAILURE_WEIGHT = 9;
/** From this share of failed jobs on it gets a job only where no other has a place: one that takes no request is always idle. */
const FAILING_SHARE = 0.5;
/** Added to every time: nobody notices differences that are small against it, such as a new process's first answer. */
const UNNOTICED_MS = 100;

/** A job that the worker has. `runsSince`: when it began to run, as far as it is known; null while it may wait in the worker's own queue. */
type Outstanding = { since: number; runsSince: number | null; firstToken: boolean };

/**
 * The places that a worker announces: jobs that it runs at once, jobs that may wait there, and how many of both it has, from all gateways.
 */
type AnnouncedPlaces = { running: number; waiting: number; taken: number };

/** What one gateway knows of one worker. Times are milliseconds since the epoch. */
export class WorkerHealth {
  /** Answered the last probe, or was late with it for the first time. */
  healthy = false;
  probing = false;
  checkedAt = 0;
  /** Time of its last answer to a probe, ms; null before the first. */
  probeMs: number | null = null;
  /** Failed and late probes in a row. */
  missed = 0;
  /** The abilities beyond text that it declared last, by model number; kept while it is away. */
  abilities: ReadonlyMap<number, readonly string[]> = new Map();
  /** The worker's ways to count prompts, by model number, as it declared them last. */
  counting: ReadonlyMap<number, Counting> = new Map();
  /** True if it said last that a text generator answers there instead of a model; null before it said anything. */
  demo: boolean | null = null;
  /** Rests in a row. A probe alone does not clear a worker that takes no jobs. */
  #rests = 0;
  #misconducts = 0;
  #restUntil = 0;
  #fullUntil = 0;
  /** How many times in a row it said that it was full, with no job finished since. */
  #saidFull = 0;
  /** The places that it announced last. A worker that announces nothing runs one job at a time. */
  #places = { running: 1, waiting: 0 };
  /** Jobs that it has from others. */
  #others = 0;
  /** Places that are reserved for jobs which are not offered yet. */
  #kept = 0;
  /** Jobs that were offered so far. */
  #offered = 0;
  /** Time that a job takes there from its start to its end; null before the first. */
  #runMs: number | null = null;
  readonly #unhosted = new Map<number, number>();
  #failureShare = 0;
  #failedAt = 0;
  /** Models that failed the gateway's last test. */
  readonly #broken = new Set<number>();
  readonly #jobs = new Set<Outstanding>();
  /** Output tokens a second, by model number. */
  readonly #speeds = new Map<number, number>();
  #firstTokenMs: number | null = null;
  #lastMs: number | null = null;
  #observedAt = 0;

  get outstanding(): number {
    return this.#jobs.size;
  }

  /** May be given jobs of the model, as far as its conduct goes; whether it has a free place is another question. */
  isOffered(model: number, now: number): boolean {
    const isResting = now < this.#restUntil || now < (this.#unhosted.get(model) ?? 0);
    return this.healthy && !isResting && !this.#broken.has(model);
  }

  /** True if it declared all of these abilities for the model. */
  has(model: number, needs: readonly Declaration[]): boolean {
    const abilities = this.abilities.get(model) ?? [];
    return needs.every((need) => abilities.includes(need));
  }

  /**
   * A probe is sent. Call the result with what the worker answers. Jobs beyond those that this gateway had there at any moment since are others':
   * a job that is on its way there or back must not count twice.
   */
  probed(): (announced: AnnouncedPlaces) => void {
    const [had, offered] = [this.outstanding, this.#offered];
    return ({ running, waiting, taken }) => {
      this.#places = { running, waiting };
      this.#others = Math.max(0, taken - had - (this.#offered - offered));
    };
  }

  /**
   * Places that are free for jobs of this gateway: all that the worker announced, less those of other gateways' jobs, of this gateway's own, and
   * those that are reserved. Of the worker's own queue only the places count that it empties within `startWithinMs`, because an offer must be
   * acknowledged in time.
   */
  free(now: number, startWithinMs: number): number {
    if (now < this.#fullUntil) return 0;
    const places = this.#places.running + this.queuePlaces(startWithinMs);
    return Math.max(0, places - this.#others - this.outstanding - this.#kept);
  }

  /** The places in the worker's own queue whose jobs start within this time. */
  queuePlaces(startWithinMs: number): number {
    const { running, waiting } = this.#places;
    // Before a job has shown how long it takes, the worker's queue is taken for one more round.
    const rounds = this.#runMs === null ? 1 : startWithinMs / Math.max(1, this.#runMs);
    return Math.min(waiting, Math.floor(running * rounds));
  }

  /** True if another job would start at once. */
  get isIdle(): boolean {
    return this.#others + this.outstanding + this.#kept < this.#places.running;
  }

  /** Reserves a place for a job until it is offered. Returns the function that releases the place; call it once. */
  keep(): () => void {
    this.#kept += 1;
    return () => {
      this.#kept -= 1;
    };
  }

  /** Running time to first token, null before the second. */
  get firstTokenMs(): number | null {
    return this.#firstTokenMs;
  }

  /** The less, the better: outstanding work times what a first token takes there. `fastest`: what it takes the best, ms. */
  score(fastest: number, now: number): number {
    // A worker that was not asked for long counts as good as the best one: otherwise it would get no job that shows how fast it is.
    const mean = this.#firstTokenMs ?? fastest;
    const remembered = fastest + (mean - fastest) * 2 ** (-(now - this.#observedAt) / HALF_LIFE_MS);
    // A job that waits for its first token shows slowness before it is over.
    let waiting = 0;
    for (const job of this.#jobs) if (!job.firstToken) waiting = Math.max(waiting, now - job.since);
    return (
      (this.outstanding + this.#kept + 1) *
      (Math.max(remembered, waiting) + UNNOTICED_MS) *
      (this.#rests + 1) *
      (1 + FAILURE_WEIGHT * this.#failuresNow(now))
    );
  }

  /**
   * A job was given to the worker. `taken` notes its acknowledgement, `firstToken` its first token, and returns the time that took; `end` is
   * idempotent.
   */
  begin(now: number): {
    taken: (now: number) => void;
    firstToken: (now: number) => number;
    end: (now: number) => void;
  } {
    const job: Outstanding = { since: now, runsSince: this.isIdle ? now : null, firstToken: false };
    this.#jobs.add(job);
    this.#offered += 1;
    let isTaken = false;
    return {
      taken: (at) => {
        isTaken = true;
        job.runsSince ??= at;
      },
      firstToken: (at) => {
        job.firstToken = true;
        const ms = at - job.since;
        this.#waited(ms, at);
        return ms;
      },
      end: (at) => {
        if (!this.#jobs.delete(job)) return;
        // A worker that holds offers and then refuses them is as slow as one that answers so late.
        const waitedMs = at - job.since;
        if (!job.firstToken && waitedMs > (this.#firstTokenMs ?? ASSUMED_FIRST_TOKEN_MS)) this.#waited(waitedMs, at);
        if (!isTaken || job.runsSince === null) return;
        const ms = at - job.runsSince;
        this.#runMs = this.#runMs === null ? ms : this.#runMs + (ms - this.#runMs) * SMOOTHING;
        // Its place is free.
        this.#fullUntil = 0;
      },
    };
  }

  /**
   * A job waited so long for its first token. One slow answer says little (the first of a new process always is one), two in a row do: the lesser of
   * two counts.
   */
  #waited(ms: number, at: number): void {
    if (this.#lastMs !== null) this.#observe(Math.min(ms, this.#lastMs), at);
    this.#lastMs = ms;
  }

  #observe(ms: number, at: number): void {
    // The older the earlier observations are, the less they weigh against the new one.
    const kept = (1 - SMOOTHING) * 2 ** (-Math.max(0, at - this.#observedAt) / HALF_LIFE_MS);
    this.#firstTokenMs = this.#firstTokenMs === null ? ms : this.#firstTokenMs * kept + ms * (1 - kept);
    this.#observedAt = at;
  }

  /** Output tokens a second of the model's answers; null before a long one. */
  speedOf(model: number): number | null {
    return this.#speeds.get(model) ?? null;
  }

  /** An answer of the model took `ms` from its first token on. Short ones say little of the speed. */
  observeSpeed(model: number, tokens: number, ms: number): void {
    if (tokens < SPEED_TOKENS) return;
    const speed = (tokens * 1000) / Math.max(1, ms);
    const before = this.#speeds.get(model) ?? speed;
    this.#speeds.set(model, before + (speed - before) * SMOOTHING);
  }

  /** A job failed there. That may be its request's fault, so it takes nothing away, but others come first while it happens more often here. */
  failedJob(now: number): void {
    this.#failureShare = this.#failuresNow(now) * (1 - SMOOTHING) + SMOOTHING;
    this.#failedAt = now;
  }

  /** The share of its latest jobs that failed; half of it is forgotten in a minute. */
  #failuresNow(now: number): number {
    return this.#failureShare * 2 ** (-Math.max(0, now - this.#failedAt) / HALF_LIFE_MS);
  }

  isFailing(now: number): boolean {
    return this.#failuresNow(now) >= FAILING_SHARE;
  }

  succeeded(): void {
    this.#failureShare *= 1 - SMOOTHING;
    this.#rests = 0;
    this.#saidFull = 0;
  }

  /** Out of reach, or refusing what it is offered: rests, longer each time in a row, and must answer a probe again. */
  absent(now: number): void {
    this.healthy = false;
    this.#rest(now);
  }

  /** Failures that come while the worker rests already do not make its rest longer. */
  #rest(now: number): void {
    if (now < this.#restUntil) return;
    this.#rests += 1;
    this.#restUntil = now + Math.min(LONGEST_REST_MS, 500 * 2 ** this.#rests);
  }

  /** The gateway tested the model: a broken one is offered nothing until a later test finds it sound. */
  tested(model: number, isSound: boolean): void {
    if (isSound) this.#broken.delete(model);
    else this.#broken.add(model);
  }

  isBroken(model: number): boolean {
    return this.#broken.has(model);
  }

  /** Rests long. A finished job does not make up for it: the next time it rests twice as long. */
  suspended(now: number, restMs: number): void {
    this.healthy = false;
    this.#misconducts += 1;
    const rest = Math.min(LONGEST_SUSPENSION_MS, restMs * 2 ** (this.#misconducts - 1));
    this.#restUntil = Math.max(this.#restUntil, now + rest);
  }

  /**
   * The worker refused a job because it is full. We still count that job as ours, so all places beyond our other jobs belong to other gateways.
   * Returns after how many milliseconds to probe the worker; null if a probe is planned already, since jobs that it refuses together are one refusal.
   */
  full(now: number): number | null {
    const { running, waiting } = this.#places;
    this.#others = Math.max(this.#others, running + waiting - (this.outstanding - 1));
    if (now < this.#fullUntil) return null;
    const pauseMs = Math.min(LONGEST_FULL_MS, FULL_MS * 2 ** this.#saidFull);
    this.#fullUntil = now + pauseMs;
    this.#saidFull += 1;
    return pauseMs;
  }

  doesNotHost(model: number, now: number): void {
    this.#unhosted.set(model, now + UNHOSTED_MS);
  }
}

// ---------------------------------------------------------------- choice

/** Before anything was observed, all are taken for equally fast. */
const ASSUMED_FIRST_TOKEN_MS = 100;
/**
 * Workers whose scores differ by at most this share are equal. Otherwise the worker that was a millisecond faster the
 * last time would get all the work of a quiet hour. A newcomer, or a worker that was slow once, would never be asked.
 */
const AS_GOOD = 0.5;

export type Candidate<W> = { worker: W; health: WorkerHealth };

/** The candidate with the least outstanding work, weighted by how fast it was lately; chance decides among about equal ones. */
export function chooseBest<W>(
  candidates: readonly Candidate<W>[],
  now: number,
  random: () => number = Math.random,
): W | undefined {
  const sound = candidates.filter(({ health }) => !health.isFailing(now));
  const idle = sound.filter(({ health }) => health.isIdle);
  const observed = candidates.flatMap(({ health }) => health.firstTokenMs ?? []);
  const fastest = observed.length > 0 ? Math.min(...observed) : ASSUMED_FIRST_TOKEN_MS;
  let best: W | undefined;
  let bestScore = Number.POSITIVE_INFINITY;
  // If no sound worker is idle, the job waits in the queue of the one that clears first.
  for (const { worker, health } of [idle, sound, candidates].find((some) => some.length > 0) ?? []) {
    const score = health.score(fastest, now) * (1 + random() * AS_GOOD);
    if (score < bestScore) [best, bestScore] = [worker, score];
  }
  return best;
}
