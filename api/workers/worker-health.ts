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
/** What a worker says of a request counts for nothing so long after another worker has answered a request at which it had failed. */
const CONTRADICTED_MS = 600_000;
/** Output tokens from which on an answer tells its worker's speed. */
const SPEED_TOKENS = 100;
/** Weight of the newest observation in running means. */
const SMOOTHING = 0.2;
/** After this long without a new observation the earlier ones count half: a slow worker gets another chance. */
const HALF_LIFE_MS = 60_000;
/** Added to every time: nobody notices differences that are small against it, such as a new process's first answer. */
const UNNOTICED_MS = 100;

/** Workers are compared by the time of a job with so many tokens of prompt, and so many of answer and reasoning together. */
const PROMPT_TOKENS = 1_000;
const ANSWER_TOKENS = 100;
/** An answer of fewer tokens does not tell how fast its worker writes, only that the worker needed so long. */
const PACE_TOKENS = 20;
const CHARACTERS_A_TOKEN = 4;
/** Before anything was observed, all are taken for equally fast. */
const ASSUMED_FIRST_TOKEN_MS = 100;
const ASSUMED_ANSWER_MS = 1_000;
/** From this many times the best worker's time on a worker gets a job only where no better one has a place. */
const SLOW = 3;
/** A failed job counts as so many of the best worker's jobs, or more if it cost more: a client whose job fails twice gets an error. */
const FAILED_JOBS = 4;

/** The parts of a job's request that its time depends on. */
export type JobSize = { promptCharacters: number; maxTokens: number };

/** A job that the worker has. */
type Outstanding = JobSize & {
  model: number;
  since: number;
  /** When it began to run, as far as it is known; null while it may wait in the worker's own queue. */
  runsSince: number | null;
  firstTokenAt: number | null;
  /** Characters of answer and reasoning so far, and when the last of them came. */
  characters: number;
  wroteAt: number;
  /** Since when its lock is mined: before that, no answer ends. */
  minedAt: number | null;
};

/** The time of a job in its two parts. */
export type JobMs = { firstTokenMs: number; answerMs: number };

const totalMs = ({ firstTokenMs, answerMs }: JobMs): number => firstTokenMs + answerMs;
const tokensOf = ({ characters, maxTokens }: Outstanding): number =>
  Math.min(characters / CHARACTERS_A_TOKEN, maxTokens);

/** What the job shows by now of the time that a job takes at its worker: it takes at least so long. */
function shown(job: Outstanding, now: number): JobMs {
  const { since, promptCharacters, firstTokenAt, wroteAt, minedAt } = job;
  const promptTokens = Math.max(PROMPT_TOKENS, promptCharacters / CHARACTERS_A_TOKEN);
  const firstTokenMs = (((firstTokenAt ?? now) - since) * PROMPT_TOKENS) / promptTokens;
  if (firstTokenAt === null) return { firstTokenMs, answerMs: 0 };
  const tokens = tokensOf(job);
  const writingMs = ((wroteAt - firstTokenAt) * ANSWER_TOKENS) / (tokens < PACE_TOKENS ? ANSWER_TOKENS : tokens);
  const silentMs = minedAt === null ? 0 : Math.max(0, now - Math.max(wroteAt, minedAt));
  return { firstTokenMs, answerMs: writingMs + silentMs };
}

/** A running mean of times; what was observed long ago weighs little. */
class RunningMean {
  ms: number | null = null;
  at = 0;

  observe(ms: number, at: number): void {
    const kept = (1 - SMOOTHING) * 2 ** (-Math.max(0, at - this.at) / HALF_LIFE_MS);
    this.ms = this.ms === null ? ms : this.ms * kept + ms * (1 - kept);
    this.at = at;
  }

  /** A worker that was not asked for long counts as good as the best one: otherwise it would get no job that shows how fast it is. */
  remembered(best: number, now: number): number {
    return best + ((this.ms ?? best) - best) * 2 ** (-Math.max(0, now - this.at) / HALF_LIFE_MS);
  }
}

/** How long jobs of one model took at one worker. `endedAt`: when the last of them ended. */
class JobRecord {
  readonly firstToken = new RunningMean();
  readonly answer = new RunningMean();
  endedAt = Number.NEGATIVE_INFINITY;

  /** A job cost its client so much time and is not answered, as if it had waited for its first token until then. A quick refusal makes nobody faster. */
  lost(ms: number, best: JobMs, at: number): void {
    if (ms <= this.firstToken.remembered(best.firstTokenMs, at)) return;
    this.firstToken.observe(ms, at);
    this.endedAt = at;
  }

  answered(job: Outstanding, best: JobMs, at: number): void {
    const { answerMs } = shown(job, at);
    const isPace = tokensOf(job) >= PACE_TOKENS;
    if (isPace || answerMs > this.answer.remembered(best.answerMs, at)) this.answer.observe(answerMs, at);
    this.endedAt = at;
  }
}

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
  /** Places that are reserved for jobs which are not offered yet, by the jobs' models. */
  readonly #kept: number[] = [];
  /** Jobs that were offered so far. */
  #offered = 0;
  /** Time that a job takes there from its start to its end; null before the first. */
  #runMs: number | null = null;
  readonly #unhosted = new Map<number, number>();
  #contradictedUntil = 0;
  /** Models that failed the gateway's last test. */
  readonly #broken = new Set<number>();
  readonly #jobs = new Set<Outstanding>();
  /** Output tokens a second, by model number. */
  readonly #speeds = new Map<number, number>();
  /** By model number. */
  readonly #records = new Map<number, JobRecord>();

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
    return Math.max(0, places - this.#others - this.outstanding - this.#kept.length);
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
    return this.#others + this.outstanding + this.#kept.length < this.#places.running;
  }

  /** Reserves a place for a job of the model until it is offered. Returns the function that releases the place; call it once. */
  keep(model: number): () => void {
    this.#kept.push(model);
    return () => void this.#kept.splice(this.#kept.indexOf(model), 1);
  }

  /** Running time to first token of the model that was asked last; null before the first. */
  get firstTokenMs(): number | null {
    const means = [...this.#records.values()].map(({ firstToken }) => firstToken);
    return means.toSorted((a, b) => b.at - a.at)[0]?.ms ?? null;
  }

  /** The mean times of the model's jobs; null where nothing is known. */
  meansOf(model: number): { firstTokenMs: number | null; answerMs: number | null } {
    const { firstToken, answer } = this.#recordOf(model);
    return { firstTokenMs: firstToken.ms, answerMs: answer.ms };
  }

  /** How long a job of the model takes here, ms. `best`: the best of all workers, which this one counts as where nothing is known of it. */
  jobMs(model: number, best: JobMs, now: number): number {
    const { firstToken, answer } = this.#recordOf(model);
    const remembered = firstToken.remembered(best.firstTokenMs, now) + answer.remembered(best.answerMs, now);
    // A job that takes longer shows that before it is over.
    return Math.max(remembered, ...this.#jobsOf(model).map((job) => totalMs(shown(job, now))));
  }

  /**
   * True for a worker that has a job of the model while nobody knows how long one takes here: none has ended here for a while, and none has written
   * enough to tell. More jobs could all be lost here before the first one shows anything.
   */
  isOnTrial(model: number, now: number): boolean {
    const isKnown = now - this.#recordOf(model).endedAt < HALF_LIFE_MS;
    const jobs = this.#jobsOf(model);
    return !isKnown && jobs.length + this.#keptOf(model) > 0 && !jobs.some((job) => tokensOf(job) >= PACE_TOKENS);
  }

  /** The less, the better: the work that the worker has, in jobs that take so long. */
  score(jobMs: number): number {
    return (this.outstanding + this.#kept.length + 1) * (jobMs + UNNOTICED_MS);
  }

  #jobsOf(model: number): Outstanding[] {
    return [...this.#jobs].filter((job) => job.model === model);
  }

  #keptOf(model: number): number {
    return this.#kept.filter((one) => one === model).length;
  }

  #recordOf(model: number): JobRecord {
    const known = this.#records.get(model);
    if (known !== undefined) return known;
    const record = new JobRecord();
    this.#records.set(model, record);
    return record;
  }

  /**
   * A job of the model was given to the worker. `taken` notes its acknowledgement, `mined` its lock's block, `wrote` characters of answer or reasoning,
   * `firstToken` the first of them, and returns the time that took. Call `answered` or `lost` at its end, if that says something of the worker, and
   * `end`, which is idempotent, in any case. `lost`: the job is not answered, and the worker cost its client so much time. `best`: of all workers.
   */
  begin(
    model: number,
    size: JobSize,
    now: number,
  ): {
    taken: (now: number) => void;
    mined: (now: number) => void;
    firstToken: (now: number) => number;
    wrote: (characters: number, now: number) => void;
    answered: (best: JobMs, now: number) => void;
    lost: (ms: number, best: JobMs, now: number) => void;
    end: (now: number) => void;
  } {
    const job: Outstanding = {
      ...size,
      model,
      since: now,
      runsSince: this.isIdle ? now : null,
      firstTokenAt: null,
      characters: 0,
      wroteAt: now,
      minedAt: null,
    };
    this.#jobs.add(job);
    this.#offered += 1;
    const record = this.#recordOf(model);
    let isTaken = false;
    return {
      taken: (at) => {
        isTaken = true;
        job.runsSince ??= at;
      },
      mined: (at) => {
        job.minedAt = at;
      },
      firstToken: (at) => {
        job.firstTokenAt = at;
        job.wroteAt = at;
        record.firstToken.observe(shown(job, at).firstTokenMs, at);
        return at - job.since;
      },
      wrote: (characters, at) => {
        job.characters += characters;
        job.wroteAt = at;
      },
      answered: (best, at) => record.answered(job, best, at),
      lost: (ms, best, at) => record.lost(ms, best, at),
      end: (at) => {
        if (!this.#jobs.delete(job)) return;
        if (!isTaken || job.runsSince === null) return;
        const ms = at - job.runsSince;
        this.#runMs = this.#runMs === null ? ms : this.#runMs + (ms - this.#runMs) * SMOOTHING;
        // Its place is free.
        this.#fullUntil = 0;
      },
    };
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

  /**
   * A job of the model failed here. That may be its request's fault, so it takes nothing away, but others come first while it happens more often here.
   * `best`: the time of a job at the best worker.
   */
  failedJob(model: number, best: JobMs, now: number): void {
    this.#recordOf(model).lost(FAILED_JOBS * (totalMs(best) + UNNOTICED_MS), best, now);
  }

  succeeded(): void {
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

  /** Another worker answered the request at which this one had failed. */
  contradicted(now: number): void {
    this.#contradictedUntil = now + CONTRADICTED_MS;
  }

  wasContradicted(now: number): boolean {
    return now < this.#contradictedUntil;
  }

  doesNotHost(model: number, now: number): void {
    this.#unhosted.set(model, now + UNHOSTED_MS);
  }
}

// ---------------------------------------------------------------- choice

/**
 * Workers whose scores differ by at most this share are equal. Otherwise the worker that was a millisecond faster the
 * last time would get all the work of a quiet hour. A newcomer, or a worker that was slow once, would never be asked.
 */
const AS_GOOD = 0.5;

export type Candidate<W> = { worker: W; health: WorkerHealth };

/** The least mean of each part of a job of the model. */
export function bestOf(model: number, workers: readonly WorkerHealth[]): JobMs {
  const means = workers.map((health) => health.meansOf(model));
  const least = (all: number[], assumed: number) => (all.length === 0 ? assumed : Math.min(...all));
  return {
    firstTokenMs: least(
      means.flatMap(({ firstTokenMs }) => firstTokenMs ?? []),
      ASSUMED_FIRST_TOKEN_MS,
    ),
    answerMs: least(
      means.flatMap(({ answerMs }) => answerMs ?? []),
      ASSUMED_ANSWER_MS,
    ),
  };
}

/**
 * The candidate with the least outstanding work, weighted by how long a job of the model takes there; chance decides among about equal ones. A worker
 * that is slow against the best one, or has its first job of the model, gets another only where no other candidate is left.
 */
export function chooseBest<W>(
  model: number,
  candidates: readonly Candidate<W>[],
  now: number,
  random: () => number = Math.random,
): W | undefined {
  const best = bestOf(
    model,
    candidates.map(({ health }) => health),
  );
  const rated = candidates.map((one) => ({ ...one, jobMs: one.health.jobMs(model, best, now) }));
  const slowMs = SLOW * (Math.min(...rated.map(({ jobMs }) => jobMs)) + UNNOTICED_MS);
  const sound = rated.filter(({ health, jobMs }) => jobMs + UNNOTICED_MS <= slowMs && !health.isOnTrial(model, now));
  const idle = sound.filter(({ health }) => health.isIdle);
  let chosen: W | undefined;
  let least = Number.POSITIVE_INFINITY;
  // If no sound worker is idle, the job waits in the queue of the one that clears first.
  for (const { worker, health, jobMs } of [idle, sound, rated].find((some) => some.length > 0) ?? []) {
    const score = health.score(jobMs) * (1 + random() * AS_GOOD);
    if (score < least) [chosen, least] = [worker, score];
  }
  return chosen;
}
