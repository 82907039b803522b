import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "../../faults/random.ts";
import type { Stack } from "../../support/stack.ts";

type CrasherOptions = {
  random: Random;
  /** From the moment the worker has a job to its end, at most. */
  longestUpMs: number;
  note: (line: string) => void;
};

/** Kills one worker of a stack with SIGKILL, again and again at random moments, and starts it anew after a random pause. */
export class Crasher {
  readonly #stack: Stack;
  readonly #worker: Stack["workers"][number];
  readonly #random: Random;
  readonly #longestUpMs: number;
  readonly #note: (line: string) => void;
  readonly #stopping = new AbortController();
  readonly #done: Promise<number>;

  constructor(stack: Stack, worker: Stack["workers"][number], options: CrasherOptions) {
    this.#stack = stack;
    this.#worker = worker;
    this.#random = options.random;
    this.#longestUpMs = options.longestUpMs;
    this.#note = options.note;
    this.#done = this.#crash();
    // `stop` throws it; the load goes on until then.
    this.#done.catch(() => {});
  }

  /** Leaves the worker running; returns how often it crashed. */
  async stop(): Promise<number> {
    this.#stopping.abort();
    return await this.#done;
  }

  async #crash(): Promise<number> {
    const { signal } = this.#stopping;
    const { name } = this.#worker;
    for (let crashes = 0; ; crashes++) {
      // An idle worker's crash harms nobody.
      while (!signal.aborted && !(await this.#hasJob())) await pause(50, signal);
      await pause(this.#random.int(100, this.#longestUpMs), signal);
      if (signal.aborted) return crashes;
      await this.#stack.kill(name, "SIGKILL");
      const down = this.#random.int(100, 2_000);
      this.#note(`${name} killed, down for ${down} ms`);
      await pause(down, signal);
      await this.#stack.restart(name);
    }
  }

  async #hasJob(): Promise<boolean> {
    try {
      const health = (await (await fetch(`${this.#worker.endpoint}/healthz`)).json()) as { in_flight: number };
      return health.in_flight > 0;
    } catch {
      // A connection from before the kill: the next look has a new one.
      return false;
    }
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  // The end of the run ends the pause too.
  await sleep(ms, undefined, { signal }).catch(() => {});
}
