type Waiting<T> = { item: T; resolve: () => void; reject: (error: unknown) => void };

/** Rows of one statement at most. */
const MOST = 200;

/**
 * Group commit: a write goes out at once when none is under way, and what arrives meanwhile goes out together
 * as the next statement. A crowd of jobs in one block costs a few statements, a single job waits for nobody.
 */
export class WriteLane<T> {
  readonly #write: (items: readonly T[]) => Promise<unknown>;
  #waiting: Waiting<T>[] = [];
  #busy = false;

  constructor(write: (items: readonly T[]) => Promise<unknown>) {
    this.#write = write;
  }

  /** Resolves when the row is committed. Each write has its own outcome: a bad row does not fail its neighbours. */
  add(item: T): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ item, resolve, reject });
    if (!this.#busy) void this.#run();
    return promise;
  }

  async #run(): Promise<void> {
    this.#busy = true;
    while (this.#waiting.length > 0) await this.#flush(this.#waiting.splice(0, MOST));
    this.#busy = false;
  }

  async #flush(batch: Waiting<T>[]): Promise<void> {
    try {
      await this.#write(batch.map(({ item }) => item));
      for (const { resolve } of batch) resolve();
    } catch (error) {
      const [only] = batch;
      if (batch.length === 1 && only !== undefined) return only.reject(error);
      // One bad row fails the whole statement, so each row is written alone.
      for (const one of batch) await this.#flush([one]);
    }
  }
}
