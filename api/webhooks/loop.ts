/** Repeats something whenever it is woken, and at least every `intervalMs`; never twice at a time. */
export class Loop {
  readonly #work: () => Promise<void>;
  readonly #intervalMs: number;
  readonly #gapMs: number;
  #woken = false;
  #stopped = false;
  #rouse: () => void = () => {};
  #running: Promise<void> = Promise.resolve();

  /** `work` handles its own errors. `gapMs`: least time between the end of one round and the next. */
  constructor(work: () => Promise<void>, intervalMs: number, gapMs = 0) {
    this.#work = work;
    this.#intervalMs = intervalMs;
    this.#gapMs = gapMs;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** A round follows soon; one that is running is followed by another. */
  wake(): void {
    this.#woken = true;
    this.#rouse();
  }

  /** Resolves when the running round is over; none follows. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#rouse();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      this.#woken = false;
      await this.#work();
      if (this.#gapMs > 0 && !this.#stopped) await this.#sleep(this.#gapMs, false);
      if (!this.#woken && !this.#stopped) await this.#sleep(this.#intervalMs, true);
    }
  }

  #sleep(ms: number, untilWoken: boolean): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#rouse = () => {
        if (!untilWoken && !this.#stopped) return;
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
