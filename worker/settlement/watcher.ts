import type { Hex } from "viem";
import { ChainClock } from "../chain/clock.ts";
import type { Chain } from "../chain/connect.ts";
import type { Identity } from "../chain/identity.ts";
import type { ChainReader, Sighting } from "../chain/reader.ts";
import { NoGas, type Sender } from "../chain/sender.ts";
import type { CompletionHead, Papers } from "../completions/record.ts";
import type { CompletionStore } from "../completions/store.ts";
import type { Logger } from "../log.ts";
import { encodeCall, wouldFail } from "./calls.ts";
import { nextStep, type OpenJob, type Policy, type Step } from "./plan.ts";

type Parts = {
  chain: Chain;
  identity: Identity;
  reader: ChainReader;
  sender: Sender;
  store: CompletionStore;
  log: Logger;
};
type Settings = Policy & { pollMs: number; keepSettledSeconds: number };
type Watched = OpenJob & {
  /** When to look at the chain again, `performance.now()`. */
  lookAt: number;
  /** When the job was first seen to be over; it is looked at once more before anything is erased. */
  overAt: number | null;
  /** Whether the operator was told that gas is missing. */
  toldNoGas: boolean;
};
type Due = { watched: Watched; step: Extract<Step, { do: "send" }> };

/** Jobs looked at at once. */
const LOOK_BATCH = 100;
/** Jobs served by one transaction. */
const SEND_BATCH = 20;

/**
 * Watches the jobs that this worker took until the chain shows their end. A gateway that stays silent is replaced: the worker
 * relays its acknowledgement, submits its proof and finalizes by itself, as far as its account has gas.
 */
export class SettlementWatcher {
  readonly #parts: Parts;
  readonly #settings: Settings;
  readonly #jobs = new Map<Hex, Watched>();
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | null = null;
  #workerId = 0;
  /** Called when a job that still runs is over on chain. */
  onOver: (jobId: Hex, why: string) => void = () => {};

  constructor(parts: Parts, settings: Settings) {
    this.#parts = parts;
    this.#settings = settings;
  }

  /** Answers that are kept because the chain has not shown the end of their jobs for long enough; jobs that still run are not among them. */
  get unsettled(): number {
    return [...this.#jobs.values()].filter(({ head }) => head !== null).length;
  }

  /** Starts to watch, beginning with what an earlier process left behind. */
  start(stored: readonly CompletionHead[]): void {
    for (const head of stored) this.completed(head);
    this.#timer = setInterval(() => this.#tick(), Math.min(this.#settings.pollMs, 1_000));
  }

  /** Stops watching; waits for a round under way. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#round;
  }

  /** Watches a job that was just taken. */
  track(papers: Papers): void {
    const lookAt = performance.now() + this.#settings.pollMs;
    this.#jobs.set(papers.assignment.jobId, { papers, head: null, lookAt, overAt: null, toldNoGas: false });
  }

  /** The job is finished: its Completion is stored and must get on chain. */
  completed(head: CompletionHead): void {
    const lookAt = performance.now() + this.#settings.pollMs;
    this.#jobs.set(head.completion.jobId, { papers: head.papers, head, lookAt, overAt: null, toldNoGas: false });
  }

  /** The job ended without a Completion; one that has a Completion stays watched. */
  forget(jobId: Hex): void {
    if (this.#jobs.get(jobId)?.head === null) this.#jobs.delete(jobId);
  }

  #tick(): void {
    if (this.#round !== null) return;
    const now = performance.now();
    const due = [...this.#jobs.values()].filter((watched) => watched.lookAt <= now).slice(0, LOOK_BATCH);
    if (due.length === 0) return;
    this.#round = this.#look(due)
      .catch((error: unknown) => {
        this.#parts.log.error({ err: error, jobs: due.length }, "cannot look after unsettled jobs; trying again");
        for (const watched of due) watched.lookAt = performance.now() + this.#settings.pollMs;
      })
      .finally(() => {
        this.#round = null;
      });
  }

  async #look(jobs: Watched[]): Promise<void> {
    const { reader, identity } = this.#parts;
    if (this.#workerId === 0) this.#workerId = await reader.workerId(identity.address);
    const [windows, sightings] = await Promise.all([
      reader.windows(),
      reader.sightAll(jobs.map((job) => job.papers.assignment.jobId)),
    ]);
    const due: Due[] = [];
    for (const [i, watched] of jobs.entries()) {
      const seen = sightings[i] as Sighting;
      const now = new ChainClock(seen).exact();
      const step = nextStep(watched, seen.job, this.#workerId, now, windows, this.#settings);
      const wait = step.do === "wait" ? (step.until - now) * 1000 : 0;
      watched.lookAt = performance.now() + Math.max(wait, this.#settings.pollMs);
      if (step.do !== "finish") watched.overAt = null;
      if (step.do === "send") due.push({ watched, step });
      if (step.do === "finish") await this.#finish(watched, step);
    }
    if (due.length > 0) await this.#send(due);
  }

  /** Erases a job that is over, once that has lasted: a reorganisation may take it back. */
  async #finish(watched: Watched, { why, loss }: Extract<Step, { do: "finish" }>): Promise<void> {
    const { log, store } = this.#parts;
    const { jobId } = watched.papers.assignment;
    if (watched.head === null) {
      this.#jobs.delete(jobId);
      return this.onOver(jobId, `the chain shows the job as ${why}`);
    }
    const now = performance.now();
    watched.overAt ??= now;
    const keepUntil = watched.overAt + this.#settings.keepSettledSeconds * 1000;
    if (now < keepUntil) {
      watched.lookAt = keepUntil;
      return;
    }
    await store.erase(jobId);
    this.#jobs.delete(jobId);
    if (loss) log.warn({ jobId, why }, "a finished job will not be paid");
    else log.info({ jobId, why }, "answer and completion erased");
  }

  /** Sends what is due for some jobs; the others keep being due. */
  async #send(due: Due[]): Promise<void> {
    const { log, sender } = this.#parts;
    for (const { watched } of due.slice(SEND_BATCH)) watched.lookAt = 0;
    const tried = await Promise.all(due.slice(0, SEND_BATCH).map((job) => this.#encode(job)));
    const sent = tried.flatMap((one) => (one === null ? [] : [one.job]));
    const items = tried.flatMap((one) => one?.calls ?? []);
    if (items.length === 0) return;
    const jobs = sent.map(({ watched, step }) => ({ jobId: watched.papers.assignment.jobId, calls: step.calls }));
    log.info({ jobs }, "the gateway is silent: settling without it");
    try {
      await sender.execute(items);
    } catch (error) {
      if (!(error instanceof NoGas)) throw error;
      this.#tellNoGas(sent, error);
    }
  }

  /** The calls of a job; null if the escrow would refuse them now. */
  async #encode(job: Due): Promise<{ job: Due; calls: Hex[] } | null> {
    const { log, chain, identity } = this.#parts;
    const calls = job.step.calls.map((call) => encodeCall(call, job.watched));
    // What follows an acknowledgement can only be tried after it.
    const failure = await wouldFail(chain, identity.address, calls[0] as Hex);
    if (failure === null) return { job, calls };
    const { jobId } = job.watched.papers.assignment;
    log.warn({ jobId, calls: job.step.calls, failure }, "the escrow would refuse this; looking again later");
    return null;
  }

  #tellNoGas(due: Due[], { balance, needed }: NoGas): void {
    for (const { watched, step } of due) {
      if (watched.toldNoGas) continue;
      watched.toldNoGas = true;
      this.#parts.log.error(
        {
          jobId: watched.papers.assignment.jobId,
          calls: step.calls,
          account: this.#parts.identity.address,
          balance,
          needed,
          before: step.before === null ? null : new Date(step.before * 1000).toISOString(),
        },
        "the gateway is silent and this worker has no gas: send native currency to `account` before `before`, or the job stays unpaid",
      );
    }
  }
}
