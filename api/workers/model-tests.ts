/**
 * Tests a worker's model with the gateway's own prompt. A failed job says nothing of its worker, since a client's request can make any model
 * server fail. This test decides, because no client has a hand in it.
 */

import type { Logger } from "pino";
import { JobErrorCode, RefusalCode } from "../../protocol/dispatch.ts";
import { sleep } from "../../shared/sleep.ts";
import type { Model, RegisteredWorker } from "../chain/directory.ts";
import { WorkerFailure } from "./worker-client.ts";

/** `sound`: the model answered. `broken`: it failed, said nothing, or took too long. `unknown`: the worker did not ask its model. */
export type TestResult = { model: "sound" | "unknown" } | { model: "broken"; why: string };
type TestedModel = Pick<Model, "number" | "id">;

/** Tests of one model at one worker never overlap, and begin at least this long after each other. */
const GAP_MS = 2_000;
/** A broken model is tested again after 1, 2, 4 … 60 s, until it answers. If it breaks again, the pause grows on from where it was. */
const LONGEST_PAUSE_MS = 60_000;
/** So long after its last broken result a model starts anew: otherwise one that is broken again and again would be back after a second each time. */
const FORGOTTEN_MS = 600_000;

type Parts = {
  /** Sends the test prompt to the worker's model; resolves with its text. Rejects with WorkerFailure, or with a timeout. */
  ask: (worker: RegisteredWorker, model: string) => Promise<string>;
  /** The worker as it is registered now; undefined if it no longer is. */
  registered: (signer: string) => RegisteredWorker | undefined;
  /** Called with each result. */
  tested: (worker: RegisteredWorker, model: TestedModel, result: TestResult) => void;
  logger: Logger;
};

/** One model at one worker. Times are milliseconds since the epoch. */
type Entry = {
  /** The test that runs, and the one that begins after it. */
  running: Promise<unknown>;
  next: Promise<TestResult> | null;
  beganAt: number;
  soundAt: number;
  brokenAt: number;
  /** Broken results that are not forgotten. */
  failures: number;
  /** Until the next test of a broken model the last result holds. */
  pause: { timer: NodeJS.Timeout; result: TestResult } | null;
};

export class ModelTests {
  readonly #parts: Parts;
  readonly #entries = new Map<string, Entry>();
  #stopped = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * The result of a test that begins after this call; of the last one if that found the model sound in the last `maxAgeMs`, or broken and its pause
   * is not over. Calls that wait share a test. Never rejects.
   */
  test(worker: RegisteredWorker, model: TestedModel, maxAgeMs = 0): Promise<TestResult> {
    const entry = this.#entry(`${worker.signer} ${model.number}`);
    if (Date.now() - entry.soundAt < maxAgeMs) return Promise.resolve({ model: "sound" });
    if (entry.pause !== null) return Promise.resolve(entry.pause.result);
    entry.next ??= this.#afterRunning(entry, worker, model);
    return entry.next;
  }

  stop(): void {
    this.#stopped = true;
    for (const { pause } of this.#entries.values()) clearTimeout(pause?.timer);
  }

  async #afterRunning(entry: Entry, worker: RegisteredWorker, model: TestedModel): Promise<TestResult> {
    await entry.running;
    await sleep(Math.max(0, entry.beganAt + GAP_MS - Date.now()));
    // The test before found it broken.
    if (entry.pause !== null) {
      entry.next = null;
      return entry.pause.result;
    }
    const run = this.#run(worker, model);
    [entry.running, entry.next, entry.beganAt] = [run, null, Date.now()];
    const result = await run;
    if (result.model === "sound") entry.soundAt = Date.now();
    else if (result.model === "broken" || entry.brokenAt > entry.soundAt) this.#again(entry, worker, model, result);
    this.#parts.tested(worker, model, result);
    return result;
  }

  /** A broken model gets no jobs, so nothing but another test can find out that it answers again. */
  #again(entry: Entry, { signer }: RegisteredWorker, model: TestedModel, result: TestResult): void {
    const now = Date.now();
    entry.failures = now - entry.brokenAt < FORGOTTEN_MS ? entry.failures + 1 : 1;
    entry.brokenAt = now;
    if (this.#stopped) return;
    const pauseMs = Math.min(LONGEST_PAUSE_MS, 500 * 2 ** entry.failures);
    const timer = setTimeout(() => {
      entry.pause = null;
      // It may have another address by now, or have left.
      const worker = this.#parts.registered(signer);
      if (worker === undefined) this.#entries.delete(`${signer} ${model.number}`);
      else void this.test(worker, model);
    }, pauseMs).unref();
    entry.pause = { timer, result };
  }

  async #run(worker: RegisteredWorker, model: TestedModel): Promise<TestResult> {
    try {
      const text = await this.#parts.ask(worker, model.id);
      return text.trim() === "" ? { model: "broken", why: "it answered with nothing" } : { model: "sound" };
    } catch (error) {
      const log = this.#parts.logger.child({ worker: worker.signer, model: model.id });
      if (saysNothing(error)) {
        log.info({ err: error }, "a worker did not run the gateway's test prompt: nothing is known of its model");
        return { model: "unknown" };
      }
      return { model: "broken", why: error instanceof Error ? error.message : String(error) };
    }
  }

  #entry(key: string): Entry {
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const never = Number.NEGATIVE_INFINITY;
    const entry = {
      running: Promise.resolve(),
      next: null,
      beganAt: never,
      soundAt: never,
      brokenAt: never,
      failures: 0,
      pause: null,
    };
    this.#entries.set(key, entry);
    return entry;
  }
}

/** The codes by which a worker reports that its model, or the worker itself, failed on the test prompt, which every sound model takes. */
const FAILURES: readonly string[] = [
  RefusalCode.BackendFailed,
  RefusalCode.RequestRefused,
  RefusalCode.ContextExceeded,
  JobErrorCode.Timeout,
  JobErrorCode.TooLong,
  JobErrorCode.Internal,
  "unreachable",
  "broken_stream",
];

/** Whether a worker refused the test without asking its model: it is full, stops, or does not know such tests. */
const saysNothing = (error: unknown): boolean => error instanceof WorkerFailure && !FAILURES.includes(error.code);
