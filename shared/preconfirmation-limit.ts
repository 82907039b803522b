/** Credits of jobs that run on a sequencer's promise of their lock. If a promise is broken, nobody pays for the job's answer. */
export class PreconfirmationLimit {
  readonly #each: number;
  readonly #all: number;
  #taken = 0;

  /** Most credits of one job, and of all jobs at once. With 0 no job runs on a promise. */
  constructor({ each, all }: { each: number; all: number }) {
    this.#each = each;
    this.#all = all;
  }

  /** True if no job may run on a sequencer's promise. */
  get isClosed(): boolean {
    return this.#each === 0 || this.#all === 0;
  }

  /** Reserves credits for a job. Returns the function that releases them, which may be called more than once; null if the limit is reached. */
  take(credits: number): (() => void) | null {
    if (this.isClosed || credits > this.#each || this.#taken + credits > this.#all) return null;
    this.#taken += credits;
    let isHeld = true;
    return () => {
      if (isHeld) this.#taken -= credits;
      isHeld = false;
    };
  }
}

/** Which locks are enough to begin a job: those in the newest block, or those that the sequencer has promised, too. */
export const LOCK_SEEN = ["latest", "preconfirmed"] as const;

/** The limit that the settings of a gateway or a worker ask for. */
export const preconfirmationLimit = (
  lockSeen: (typeof LOCK_SEEN)[number],
  each: number,
  all: number,
): PreconfirmationLimit => new PreconfirmationLimit(lockSeen === "latest" ? { each: 0, all: 0 } : { each, all });
