import type { Counting, Declaration } from "../../protocol/dispatch.ts";

/** A worker that is out of reach, or takes no jobs, rests 1 s, 2 s, 4 s, … up to this. */
const LONGEST_REST_MS = 60_000;
/** Misconduct: the configured rest, doubled each time, up to this. */
const LONGEST_SUSPENSION_MS = 3_600_000;
/** A worker that said it was full is asked last for this long. */
const FULL_MS = 1_000;
/** A model that the worker said it does not host is not asked of it for this long. */
const UNHOSTED_MS = 60_000;
/** Output tokens from which on an answer tells its worker's speed. */
const SPEED_TOKENS = 100;
/** Weight of the newest observation in running means. */
const SMOOTHING = 0.2;
/** What was observed counts half after this long without a new observation: a slow worker gets another chance. */
const HALF_LIFE_MS = 60_000;
/** A worker that fails all of its jobs is asked as if it were slower by this much more. */
const FAILURE_WEIGHT = 9;
/** Added to every time: nobody notices differences that are small against it, such as a new process's first answer. */
const UNNOTICED_MS = 100;

/** A job that the worker has. */
type Outstanding = { since: number; firstToken: boolean };

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
  /** Jobs it says it runs at once; null before it said so. */
  capacity: number | null = null;
  /** What it said last that its model servers can do beyond text, by model number; also while it is away. */
  abilities: ReadonlyMap<number, readonly string[]> = new Map();
  /** How it said last that prompts are counted there, by model number. */
  counting: ReadonlyMap<number, Counting> = new Map();
  /** Whether it said last that no model answers there; null before it said anything. */
  demo: boolean | null = null;
  /** Rests in a row. A probe alone does not clear a worker that takes no jobs. */
  #rests = 0;
  #misconducts = 0;
  #restUntil = 0;
  #fullUntil = 0;
  /** It said that it was full, and has finished no job since. */
  #saidFull = false;
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

  /** May be given jobs of the model, as far as its conduct goes. */
  isOffered(model: number, now: number): boolean {
    const isResting = now < this.#restUntil || now < (this.#unhosted.get(model) ?? 0);
    return this.healthy && !isResting && !this.#broken.has(model);
  }

  /** Whether it said that it can do all of these with the model. */
  has(model: number, needs: readonly Declaration[]): boolean {
    const abilities = this.abilities.get(model) ?? [];
    return needs.every((need) => abilities.includes(need));
  }

  /** Whether another job would only wait there. */
  isFull(now: number): boolean {
    return now < this.#fullUntil || (this.capacity !== null && this.outstanding >= this.capacity);
  }

  /** Running time to first token, null before the second. */
  get firstTokenMs(): number | null {
    return this.#firstTokenMs;
  }

  /** The less, the better: outstanding work times what a first token takes there. `fastest`: what it takes the best, ms. */
  score(fastest: number, now: number): number {
    // Who was never asked, or not for long, is taken for as good as the best: otherwise nobody would find out.
    const mean = this.#firstTokenMs ?? fastest;
    const remembered = fastest + (mean - fastest) * 2 ** (-(now - this.#observedAt) / HALF_LIFE_MS);
    // A job that waits for its first token shows slowness before it is over.
    let waiting = 0;
    for (const job of this.#jobs) if (!job.firstToken) waiting = Math.max(waiting, now - job.since);
    return (
      (this.outstanding + 1) *
      (Math.max(remembered, waiting) + UNNOTICED_MS) *
      (this.#rests + 1) *
      (1 + FAILURE_WEIGHT * this.#failuresNow(now))
    );
  }

  /** A job was given to the worker. `firstToken` notes its first token and returns the time it took; `end` is idempotent. */
  begin(now: number): { firstToken: (now: number) => number; end: () => void } {
    const job: Outstanding = { since: now, firstToken: false };
    this.#jobs.add(job);
    return {
      firstToken: (at) => {
        job.firstToken = true;
        const ms = at - job.since;
        if (this.#lastMs !== null) this.#observe(Math.min(ms, this.#lastMs), at);
        this.#lastMs = ms;
        return ms;
      },
      end: () => void this.#jobs.delete(job),
    };
  }

  /** One slow answer says little (the first of a new process always is one), two in a row do: the lesser of two counts. */
  #observe(ms: number, at: number): void {
    // What is half forgotten counts half against what is seen now.
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

  succeeded(): void {
    this.#failureShare *= 1 - SMOOTHING;
    this.#rests = 0;
    this.#saidFull = false;
  }

  /** Out of reach, or refusing what it is offered: rests, longer each time in a row, and must answer a probe again. */
  absent(now: number): void {
    this.healthy = false;
    this.#rest(now);
  }

  /** What comes together is one rest. */
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

  /** Asked last for a second. If it says so again before it has finished a job, it rests: a job that nobody takes costs a lock. */
  full(now: number): void {
    if (now < this.#fullUntil) return;
    this.#fullUntil = now + FULL_MS;
    if (this.#saidFull) this.#rest(now);
    this.#saidFull = true;
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
  const withRoom = candidates.filter(({ health }) => !health.isFull(now));
  const observed = candidates.flatMap(({ health }) => health.firstTokenMs ?? []);
  const fastest = observed.length > 0 ? Math.min(...observed) : ASSUMED_FIRST_TOKEN_MS;
  let best: W | undefined;
  let bestScore = Number.POSITIVE_INFINITY;
  // With every one full, the one that clears first queues the job or says no.
  for (const { worker, health } of withRoom.length > 0 ? withRoom : candidates) {
    const score = health.score(fastest, now) * (1 + random() * AS_GOOD);
    if (score < bestScore) [best, bestScore] = [worker, score];
  }
  return best;
}
