/** Where progress goes: one line a step, with the time it took. */
export class Steps {
  readonly #write: (line: string) => void;

  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  /** Runs a step; it returns what the line says about it. */
  async run<T>(name: string, step: () => Promise<{ says: string; value: T }>): Promise<T> {
    const started = performance.now();
    const { says, value } = await step();
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    this.#write(`  ${name.padEnd(12)} ${says.padEnd(58)} ${seconds.padStart(5)} s`);
    return value;
  }

  /** A line about something out of the ordinary. */
  note(name: string, text: string): void {
    this.#write(`  ${name.padEnd(12)} ${text}`);
  }
}
