/** A thread that makes attempts of deliveries, beside the event loop of the gateway. */
import { Worker } from "node:worker_threads";
import type { EndpointPolicy } from "../api/outbound/address.ts";
import {
  ATTEMPT_THREAD,
  type Done,
  LOADED,
  type Message,
  type Outcome,
  type Task,
  type ThreadData,
  timedOut,
} from "./attempt.ts";

/** The longest that an attempt takes: the limit of its answer, and as long again in which it waits for turns. */
export const longestMs = (timeoutMs: number): number => 2 * timeoutMs;

/** An attempt has timed out if its thread does not report its end within this time after the longest that it takes. */
const OVERDUE_MS = 5_000;

type Thread = { worker: Worker; isLoaded: boolean; running: Map<number, PromiseWithResolvers<Outcome>> };

/**
 * A receiver chooses its certificates, and OpenSSL checks all their signatures before Node can refuse one: 16 kB of them take 0.2 s, in which an event
 * loop answers nobody. So attempts run in a thread, which starts with the first of them and is replaced if it dies.
 */
export class AttemptThread {
  readonly #data: ThreadData;
  #thread: Thread | undefined;
  #lastId = 0;

  /** `rest`: as `ThreadData` has it. */
  constructor({ allowLocal, allowNetworks = [] }: EndpointPolicy, rest: number) {
    const networks = allowNetworks.map((network) => network.join("/")).join(",");
    this.#data = { thread: ATTEMPT_THREAD, allowLocal, allowNetworks: networks, rest };
  }

  /** Makes an attempt in the thread. Rejects with the reason of `stop`, or if the thread dies: then the attempt's result is unknown. */
  async attempt(message: Message, stop: AbortSignal): Promise<Outcome> {
    stop.throwIfAborted();
    this.#lastId += 1;
    const id = this.#lastId;
    const startedAt = new Date();
    const thread = this.#thread ?? this.#start();
    this.#thread = thread;
    const done = Promise.withResolvers<Outcome>();
    thread.running.set(id, done);
    const cut = () => done.reject(stop.reason);
    stop.addEventListener("abort", cut, { once: true });
    const limitMs = longestMs(message.timeoutMs) + OVERDUE_MS;
    const end = () => {
      // On a busy machine a thread takes seconds to load its modules. A thread that cannot load them ends with an error.
      if (!thread.isLoaded) {
        overdue = setTimeout(end, limitMs);
        return;
      }
      const ms = Date.now() - startedAt.getTime();
      const nothing = { status: null, signature: null, responseHeaders: null, response: null };
      done.resolve({ ...timedOut(message.timeoutMs), ...nothing, startedAt, durationMs: ms, heldMs: ms });
      // The thread makes no progress with other attempts either. They are made again when their leases are over.
      this.#drop(thread);
      void thread.worker.terminate();
    };
    let overdue = setTimeout(end, limitMs);
    thread.worker.postMessage({ id, message } satisfies Task);
    return await done.promise.finally(() => {
      clearTimeout(overdue);
      stop.removeEventListener("abort", cut);
      thread.running.delete(id);
    });
  }

  /** Ends the thread, and with it all its connections. */
  async stop(): Promise<void> {
    await this.#thread?.worker.terminate();
  }

  #start(): Thread {
    const worker = new Worker(new URL("./attempt.ts", import.meta.url), { workerData: this.#data });
    const thread: Thread = { worker, isLoaded: false, running: new Map() };
    worker.unref();
    worker.on("message", (message: Done | typeof LOADED) => {
      thread.isLoaded = true;
      if (message === LOADED) return;
      thread.running.get(message.id)?.resolve(message.outcome);
    });
    let fault: unknown = new Error("the thread of this attempt was stopped");
    worker.on("error", (error) => {
      fault = error;
    });
    worker.on("exit", () => {
      this.#drop(thread);
      for (const { reject } of thread.running.values()) reject(fault);
    });
    return thread;
  }

  /** The next attempt starts another thread. */
  #drop(thread: Thread): void {
    if (this.#thread === thread) this.#thread = undefined;
  }
}
