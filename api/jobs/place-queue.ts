/**
 * The queues in which requests wait for a place at a worker, one a model. A request waits before its credits are locked, in turns between
 * wallets, for `QUEUE_SECONDS` at most. A locked job whose worker had no room for it waits in front of all requests, as long as its own
 * time allows.
 */
import type { Address } from "viem";
import { TurnQueue } from "../../shared/turn-queue.ts";
import type { Balances } from "../chain/balances.ts";
import type { Model } from "../chain/directory.ts";
import type { Pipeline } from "../chain/pipeline.ts";
import { ApiError, unavailable } from "../errors.ts";
import type { Demand, Place, WorkerPool } from "../workers/worker-pool.ts";
import { refusalByTerms, type TermsParts } from "./admission.ts";
import { insufficientCredits, noPlace, noWorkers, walletKeepsWaiting } from "./refusals.ts";
import type { CountedJob, Obstacle, WalletStandings } from "./wallet-standing.ts";

/** Requests that wait for places of one model. The bytes of all of them are bounded with the bodies that they came in (api/routes/json-body.ts). */
const MOST_WAITING = 10_000;
/** Interval of the looks for changes without an event: the chain has room again, or a worker's rest is over. */
const LOOK_MS = 250;

/** A job that waits for a worker. */
type Wanted = Demand & { wallet: Address; model: Pick<Model, "number" | "id" | "tier"> };
/** A request that waits for a worker and its lock. `isAuthorized`: the wallet's authorization key signed it. */
type Requested = Wanted & { isAuthorized: boolean };

/**
 * A place at a worker and credits of the wallet, both reserved for one request. `lockEnded` releases the credits. Until `answered` or `jobEnded` is
 * called, the wallet counts as one that has a place. Call `begun` with the first token, `answered` when the answer is whole, and `jobEnded` when the
 * job is over on chain, or not charged.
 */
export type Admission = { place: Place } & Pick<CountedJob, "lockEnded" | "begun" | "answered"> & {
    jobEnded: () => void;
  };

type Parts = TermsParts & {
  workers: Pick<WorkerPool, "capable" | "places" | "keep" | "onFreed" | "requestEnded">;
  balances: Pick<Balances, "known" | "left" | "terms">;
  standings: Pick<WalletStandings, "begin" | "whyNot">;
  pipeline: Pick<Pipeline, "congested">;
  metrics: {
    queueSeconds: { observe: (labels: { model: string }, seconds: number) => void };
    queueRefusals: { inc: (labels: { model: string; reason: "full" | "late" | "left" }) => void };
  };
};

/** Demands for which one look at a queue found no place: others like them need not be tried. */
type Tried = Set<string>;

/**
 * `owner`: its wallet. `isReturned`: a locked job. `take` returns what it waits for, or null while that is not available. `crowdedOut` is called if
 * the full queue drops it.
 */
type Waiter<T> = { owner: string; isReturned: boolean; take: (tried: Tried) => T | null; crowdedOut: () => void };
/** `serve`: takes what it waits for, and ends its wait; false while that is not there. */
type Entry = Omit<Waiter<never>, "take"> & { serve: (tried: Tried) => boolean };

/** `returned`: locked jobs, the oldest first. `turns`: requests. `holding`: how many places each wallet holds. */
type ModelQueue = {
  returned: Set<Entry>;
  turns: TurnQueue<Entry>;
  pace: QueuePace;
  holding: Map<string, number>;
};

const sizeOf = ({ returned, turns }: Pick<ModelQueue, "returned" | "turns">): number => returned.size + turns.size;

export class PlaceQueue {
  readonly #parts: Parts;
  readonly #seconds: number;
  readonly #most: number;
  /** By model number. */
  readonly #queues = new Map<number, ModelQueue>();
  readonly #closing = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #soon: NodeJS.Immediate | undefined;

  /** `seconds`: how long a request waits at most. `most`: requests that wait for one model. */
  constructor(parts: Parts, { seconds, most = MOST_WAITING }: { seconds: number; most?: number }) {
    this.#parts = parts;
    this.#seconds = seconds;
    this.#most = most;
    parts.workers.onFreed(() => this.#lookSoon());
  }

  /** Requests and jobs that wait, by model number. */
  get waiting(): Record<string, number> {
    return Object.fromEntries([...this.#queues].map(([model, queue]) => [model, sizeOf(queue)]));
  }

  /**
   * Waits for a place at a worker, and for credits of the wallet that no other lock holds. Rejects with the client's error: at once where no worker
   * could do the job or the queue is full, when its turn comes where the wallet's terms forbid the lock, else when the time is over. Rejects with the
   * reason of `signal` when its client leaves.
   */
  async enter(wanted: Requested, signal: AbortSignal): Promise<Admission> {
    const { workers, metrics } = this.#parts;
    const { wallet, model, credits } = wanted;
    if (workers.capable(model.number, wanted).length === 0) throw noWorkers(model, credits);
    const queue = this.#queueOf(model.number);
    const take = (tried: Tried): Admission | null => {
      const kept = this.#keep(wanted, queue, tried);
      if (kept !== null) queue.pace.served(Date.now());
      return kept;
    };
    const since = performance.now();
    const labels = { model: String(model.number) };
    const refused = new AbortController();
    const refuse = (reason: "full" | "late", waited: number | null): void => {
      metrics.queueRefusals.inc({ ...labels, reason });
      const error = this.#refusal(wanted, queue, waited);
      if (error.code === "no_workers_available") workers.requestEnded(model.number, false);
      refused.abort(error);
    };
    const late = setTimeout(() => refuse("late", this.#seconds), this.#seconds * 1000);
    const leave = () => metrics.queueRefusals.inc({ ...labels, reason: "left" });
    signal.addEventListener("abort", leave, { once: true });
    try {
      const waiter = { owner: wallet.toLowerCase(), isReturned: false, take, crowdedOut: () => refuse("full", null) };
      return await this.#wait(queue, waiter, AbortSignal.any([signal, refused.signal, this.#closing.signal]));
    } finally {
      clearTimeout(late);
      signal.removeEventListener("abort", leave);
      metrics.queueSeconds.observe(labels, (performance.now() - since) / 1000);
    }
  }

  /**
   * Waits with a locked job for a place at a worker that is not in `excluded`, in front of all requests. Resolves with null where no other worker
   * could take the job, and when `signal` aborts.
   */
  async again(
    { wallet, model, ...demand }: Wanted,
    excluded: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<Place | null> {
    const { workers } = this.#parts;
    const take = (): { place: Place | null } | null => {
      const place = workers.keep(model.number, demand, excluded);
      return place !== null || workers.capable(model.number, demand, excluded).length === 0 ? { place } : null;
    };
    const waiter = { owner: wallet.toLowerCase(), isReturned: true, take, crowdedOut: () => {} };
    try {
      return (await this.#wait(this.#queueOf(model.number), waiter, signal)).place;
    } catch (error) {
      if (signal.aborted) return null;
      throw error;
    }
  }

  /** Ends the waits of requests that have no lock: the gateway stops. */
  close(): void {
    this.#closing.abort(unavailable("This gateway is stopping; retry the request.", 1));
  }

  async #wait<T extends object>(queue: ModelQueue, waiter: Waiter<T>, ends: AbortSignal): Promise<T> {
    ends.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const { take, ...rest } = waiter;
    const serve = (tried: Tried): boolean => {
      try {
        const taken = take(tried);
        if (taken === null) return false;
        resolve(taken);
      } catch (error) {
        reject(error);
      }
      return true;
    };
    const entry: Entry = { ...rest, serve };
    const leave = () => reject(ends.reason);
    ends.addEventListener("abort", leave, { once: true });
    try {
      if (waiter.isReturned) queue.returned.add(entry);
      else queue.turns.add(entry)?.crowdedOut();
      this.#look();
      return await promise;
    } finally {
      ends.removeEventListener("abort", leave);
      queue.returned.delete(entry);
      queue.turns.delete(entry);
    }
  }

  /** Reserves a place and credits for a request. Returns null while it must wait. Throws the error that waiting does not change. */
  #keep(wanted: Requested, { holding }: ModelQueue, tried: Tried): Admission | null {
    const { workers, standings } = this.#parts;
    const { model, credits, needs } = wanted;
    const wallet = wanted.wallet.toLowerCase();
    const leavesSpare = holding.has(wallet);
    const demand = `${credits} ${needs} ${leavesSpare}`;
    if (tried.has(demand)) return null;
    const obstacle = this.#obstacle(wanted);
    if (obstacle instanceof ApiError) throw obstacle;
    if (obstacle !== null) return null;
    const place = workers.keep(model.number, { ...wanted, leavesSpare });
    if (place === null) {
      tried.add(demand);
      return null;
    }
    const counted = standings.begin(wallet, credits);
    holding.set(wallet, (holding.get(wallet) ?? 0) + 1);
    const lockEnded = () => {
      counted.lockEnded();
      this.#lookSoon();
    };
    const begun = () => {
      counted.begun();
      this.#lookSoon();
    };
    let isHolding = true;
    const leave = () => {
      if (!isHolding) return;
      isHolding = false;
      const others = (holding.get(wallet) ?? 1) - 1;
      if (others === 0) holding.delete(wallet);
      else holding.set(wallet, others);
    };
    const answered = () => {
      counted.answered();
      leave();
      this.#lookSoon();
    };
    const jobEnded = () => {
      counted.ended();
      leave();
      this.#lookSoon();
    };
    return { place, lockEnded, begun, answered, jobEnded };
  }

  /** Serves all that can be served now, model after model: they may share workers. */
  #look(): void {
    const queues = [...this.#queues].map(([model, queue]) => ({ model, queue, tried: new Set<string>() }));
    while (queues.filter(({ model, queue, tried }) => this.#serveOne(model, queue, tried)).length > 0);
    const isEmpty = queues.every(({ queue }) => sizeOf(queue) === 0);
    if (isEmpty) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    } else this.#timer ??= setInterval(() => this.#look(), LOOK_MS).unref();
  }

  #serveOne(model: number, { returned, turns, holding }: ModelQueue, tried: Tried): boolean {
    for (const one of returned) if (one.serve(tried)) return returned.delete(one);
    if (turns.size === 0 || this.#parts.pipeline.congested) return false;
    // No locked job can use the places that are free now, because locked jobs were tried first. If one waits for a worker that stays full, requests
    // still get the places at all other workers.
    const { free, spare } = this.#parts.workers.places(model);
    const mayLock = ({ owner }: Entry) => free > (holding.has(owner) ? spare : 0);
    return free > 0 && turns.next((one) => mayLock(one) && one.serve(tried)) !== undefined;
  }

  /** Why the wallet may not lock the credits now: the error if waiting does not change it, or what the request waits for. Null if it may. */
  #obstacle(wanted: Requested): ApiError | Exclude<Obstacle, "insufficient"> | null {
    const { wallet, model, credits } = wanted;
    const { balances, standings } = this.#parts;
    const refusal = refusalByTerms(this.#parts, wanted);
    if (refusal !== null) return refusal;
    const obstacle = standings.whyNot(wallet, credits, balances);
    if (obstacle !== "insufficient") return obstacle;
    return insufficientCredits(balances.known(wallet)?.free ?? 0, credits, model);
  }

  /** Many changes at once cause one look. */
  #lookSoon(): void {
    this.#soon ??= setImmediate(() => {
      this.#soon = undefined;
      this.#look();
    });
  }

  #queueOf(model: number): ModelQueue {
    const known = this.#queues.get(model);
    if (known !== undefined) return known;
    const queue = {
      returned: new Set<Entry>(),
      turns: new TurnQueue<Entry>(this.#most),
      pace: new QueuePace(),
      holding: new Map(),
    };
    this.#queues.set(model, queue);
    return queue;
  }

  /** The error of a request that waited so many seconds in vain; null where the queue is full. */
  #refusal(wanted: Requested, { pace, ...queue }: ModelQueue, waited: number | null): ApiError {
    const { model, credits } = wanted;
    // Requests of its wallet in front of it may have used the credits all the time, so that this one was never tried.
    const obstacle = this.#obstacle(wanted);
    if (obstacle instanceof ApiError) return obstacle;
    if (obstacle !== null) return walletKeepsWaiting(obstacle);
    if (this.#parts.pipeline.congested) {
      return unavailable("Too many jobs wait for the settlement chain; retry in a few seconds.", 5);
    }
    return noPlace(model, {
      waited,
      retryAfter: pace.secondsFor(sizeOf(queue), Date.now()),
      // With places, what lacks is cover for so many credits.
      credits: this.#parts.workers.places(model.number).free > 0 ? credits : null,
    });
  }
}

/** How fast a queue moves: the mean over about the last ten seconds. Times are milliseconds. */
export class QueuePace {
  static readonly #MEMORY_MS = 10_000;
  static readonly #LONGEST_SECONDS = 60;
  #perMs = 0;
  #at = Number.NEGATIVE_INFINITY;

  /** One was served. */
  served(now: number): void {
    this.#perMs = this.#rate(now) + 1 / QueuePace.#MEMORY_MS;
    this.#at = now;
  }

  /** Whole seconds until so many are served, from 1 to 60. */
  secondsFor(waiting: number, now: number): number {
    const seconds = Math.ceil(Math.max(1, waiting) / this.#rate(now) / 1_000);
    return Math.min(QueuePace.#LONGEST_SECONDS, Math.max(1, seconds));
  }

  #rate(now: number): number {
    return this.#perMs === 0 ? 0 : this.#perMs * Math.exp((this.#at - now) / QueuePace.#MEMORY_MS);
  }
}
