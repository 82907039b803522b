/**
 * The transaction pipeline: operations of the escrow become batches, each batch one transaction of this process's signer. Its states:
 *
 *     queued    Operations in memory. Stopping or a failed signature ends them here (`NotSent`): nothing happened, nothing will.
 *       ↓       The queue chooses a batch, which is signed with the next nonce and written to the outbox, with the rows of its new jobs.
 *     recorded  The signed bytes are on disk. A restart begins here with every row that is not mined.
 *       ↓       The bytes are broadcast.
 *     sent      An unclear answer sends the same bytes again. What is refused or stuck gets variants of the same nonce, each on disk before it is
 *       ↓       sent: at another fee, or with fewer operations, in the end none (offers.ts says when).
 *       ↓       Perhaps the sequencer promises one of the variants for the block that it builds. Who waits for no more than that, is told.
 *       ↓       A receipt of one of the variants in a block of the chain is read, and each operation that is in it gets its outcome.
 *     mined     The row names the block. 1,000 blocks later it is deleted.
 *
 *     mined → queued  The mined variant has fewer operations. The others go into another batch; locks, until the block is final, do not.
 *     sent → sent     The sequencer broke its promise: the block is there without the transaction. The same bytes go out again.
 *     sent → queued   Another transaction used the nonce. The row is closed as `void`, its operations go into another batch.
 *     mined → queued  The batch reverted as a whole. Its operations go into another batch with twice the gas, three times at most.
 *     mined, void → sent  A reorganisation took the transaction back (reorg-watch.ts). The same bytes are brought to their end again.
 *
 * See docs/architecture.md, "The transaction pipeline".
 */
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import type { Hex } from "viem";
import { type Repeated, repeat } from "../../shared/repeat.ts";
import type { NewJob } from "../db/jobs.ts";
import { Broadcaster } from "./broadcaster.ts";
import { affordableGas } from "./offers.ts";
import {
  HAS_DEADLINE,
  isLock,
  type MinedBatch,
  NotSent,
  type Operation,
  type Outcome,
  type Promised,
  type Submission,
} from "./operations.ts";
import { type OutboxRow, VOID } from "./outbox.ts";
import {
  BatchLimit,
  BatchTiming,
  holdingUp,
  type InFlight,
  MAX_IN_FLIGHT,
  OperationQueue,
  Pacer,
  type Pending,
} from "./queue.ts";
import { KEEP_BLOCKS, ReorgWatch } from "./reorg-watch.ts";
import type { Rpc } from "./rpc.ts";
import {
  firstOffer,
  type PlacedVariant,
  type Sending,
  type SigningContext,
  settleNonce,
  signVariant,
} from "./transaction.ts";

/** A backlog older than this refuses new locks. */
const BACKLOG_LIMIT_MS = 10_000;
/** Pause while the signer lock is lost. */
const LOCKLESS_MS = 250;
/** Transactions that may go out at once before pacing sets in. */
const BURST = 5;
/** Pause after a batch could not be recorded, and after an outcome could not be read. */
const UNRECORDED_MS = 500;
const UNREAD_MS = 1_000;
/** A batch that reverted as a whole is tried this often. */
const MAX_TRIES = 3;
/** How often operations that wait for finality are looked at. */
const FINALITY_LOOK_MS = 1_000;
/** PostgreSQL's code for a row that exists already. */
const UNIQUE_VIOLATION = "23505";

/** Called for each mined batch, before the promises of its operations resolve; nobody may wait for them, after a restart or a reorganisation. */
export type BatchObserver = (batch: MinedBatch) => void;

/** A queued operation and how to tell its submitter. `job`: a new one, whose row is written with the transaction. */
type Waiting = Pending & {
  job: NewJob | null;
  signed: PromiseWithResolvers<Hex>;
  promised: PromiseWithResolvers<Promised | Outcome>;
  mined: PromiseWithResolvers<Outcome>;
};

/** Operations of one transaction that somebody waits for, by their place in it. */
type Waiters = ReadonlyMap<number, Waiting>;
/** Locks that the mined variant of their nonce does not have; they may go elsewhere once its block is final. */
type LeftOver = { waiters: Waiters; block: Block };
type Block = { number: number; hash: Hex };

type Options = { batchGas: bigint; sendsPerSecond: number };

/** Group commit onto the chain: `BatchTiming` says when a batch leaves. */
export class Pipeline {
  readonly #context: SigningContext;
  readonly #sending: Sending;
  readonly #rpc: Rpc;
  readonly #batchLimit: BatchLimit;
  /** By nonce. */
  readonly #leftOver = new Map<number, LeftOver>();
  readonly #queue = new OperationQueue<Waiting>();
  readonly #pacer: Pacer;
  readonly #timing = new BatchTiming();
  readonly #reorgs: ReorgWatch;
  readonly #observers: BatchObserver[] = [];
  /** Transactions that are not mined yet, since they were recorded or taken up, by nonce. */
  readonly #inFlight = new Map<number, InFlight>();
  /** When a transaction was last found mined, `performance.now()`. */
  #minedAt = Number.NEGATIVE_INFINITY;
  /** The sender's count, and the block at that, when somebody else was found to have used a nonce: those below may all be used. */
  #usedElsewhere: { count: number; block: Block } | null = null;
  /** Null before `start` knows it: nothing is sent until then. */
  #nextNonce: number | null = null;
  /** The term of the signer's lock in which that was read; null once another process was found to have recorded a nonce since. */
  #term: number | null = null;
  #signing = false;
  #stopping = false;
  #timer: NodeJS.Timeout | undefined;
  #finality: Repeated | undefined;
  #idle: (() => void)[] = [];

  constructor(context: SigningContext, rpc: Rpc, { batchGas, sendsPerSecond }: Options) {
    this.#context = context;
    this.#batchLimit = new BatchLimit(batchGas);
    this.#sending = {
      context,
      rpc,
      broadcaster: new Broadcaster(rpc),
      stopping: () => this.#stopping,
      mostGas: () => this.#batchLimit.learned,
    };
    this.#rpc = rpc;
    this.#pacer = new Pacer(sendsPerSecond, BURST);
    this.#reorgs = new ReorgWatch(context, rpc);
  }

  /** Calls `observer` for each mined batch. */
  onMined(observer: BatchObserver): void {
    this.#observers.push(observer);
  }

  /**
   * Takes up the signer's nonce, then brings every transaction that an earlier process left open to its end: `recovered` resolves when
   * the last one is. Until then what becomes of their jobs is open.
   */
  async start(): Promise<{ recovered: Promise<void> }> {
    const { account } = this.#context;
    const count = await this.#rpc.request<Hex>("eth_getTransactionCount", [account.address, "latest"]);
    // The chain is behind what we saw mined (reorganisation, restored development chain): the same bytes go out again.
    await this.#reorgs.takeBackLost();
    const open = await this.#takeUp(Number(count));
    // Reorganisations are watched from here on: an open transaction can wait for an earlier nonce that a reorganisation removes meanwhile.
    this.#reorgs.start((row) => this.#again(row));
    this.#finality = repeat(() => this.#requeueFinal(), FINALITY_LOOK_MS);
    return { recovered: Promise.all(open).then(() => {}) };
  }

  /**
   * Brings the transactions to their end that another process of this signer left open. New ones get the nonces after the last recorded one, `nonce`
   * at least. A recorded nonce that no process sends would be a gap: no later transaction of the signer would be mined.
   */
  async #takeUp(nonce: number): Promise<Promise<void>[]> {
    const { outbox, logger, term } = this.#context;
    const since = term();
    const last = await outbox.lastNonce();
    const open = (await outbox.open()).filter((row) => !this.#inFlight.has(row.nonce));
    this.#nextNonce = Math.max(nonce, last + 1);
    this.#term = since;
    if (open.length > 0) logger.info({ count: open.length }, "transactions of another process are taken up");
    return open.map((row) => this.#again(row));
  }

  /** Sends what is queued, waits for what is in flight (at most `timeoutMs`), and stops. */
  async stop(timeoutMs: number): Promise<void> {
    const idle = new Promise<void>((resolve) => this.#idle.push(resolve));
    this.#pump();
    await Promise.race([idle, sleep(timeoutMs, undefined, { ref: false })]);
    this.#halt("the gateway stopped");
  }

  /** Queues an operation for the next batch. The row of a new `job` is written together with the transaction, before it is broadcast. */
  submit(operation: Operation, job: NewJob | null = null): Submission {
    const signed = Promise.withResolvers<Hex>();
    const promised = Promise.withResolvers<Promised | Outcome>();
    const mined = Promise.withResolvers<Outcome>();
    mined.promise.then(promised.resolve, promised.reject);
    // A caller may care for one of them only; the others must not end the process as an unhandled rejection.
    for (const { promise } of [signed, promised, mined]) promise.catch(() => {});
    const item = { operation, job, queuedAt: Date.now(), tries: 0, signed, promised, mined };
    if (this.#stopping) refuse([item], new NotSent("the gateway is stopping"));
    else {
      this.#queue.push(item);
      this.#pump();
    }
    return { signed: signed.promise, promised: promised.promise, mined: mined.promise };
  }

  /** Transactions a second that may go out from now on. */
  setSendRate(perSecond: number): void {
    this.#pacer.setRate(perSecond);
  }

  /** True when new locks must be refused: they would wait too long. */
  get congested(): boolean {
    return this.#queue.age(Date.now()) > BACKLOG_LIMIT_MS;
  }

  get queued(): number {
    return this.#queue.size;
  }

  /** How long the oldest transaction in flight has waited to be mined, ms; 0 when none does. */
  get oldestMs(): number {
    return ageOfFirst(this.#inFlight.values());
  }

  /** How long nothing was mined although something waits for it, ms; 0 when nothing waits. */
  get unminedMs(): number {
    const waited = Math.max(this.oldestMs, this.#queue.age(Date.now()));
    return Math.min(waited, performance.now() - this.#minedAt);
  }

  // ------------------------------------------------------------------------------------------------ queued → recorded

  /** Sends a batch if one may go now, or comes back when one may. */
  #pump(): void {
    if (this.#queue.size === 0 && this.#inFlight.size === 0 && !this.#signing) {
      for (const resolve of this.#idle.splice(0)) resolve();
    }
    if (this.#signing || this.#stopping || this.#nextNonce === null || this.#queue.size === 0) return;
    if (!this.#context.maySend()) return this.#later(LOCKLESS_MS);
    if (this.#context.term() !== this.#term) return this.#beginTerm(this.#nextNonce);
    const holding = holdingUp(this.#inFlight.values());
    if (holding.length >= MAX_IN_FLIGHT) return;
    const traffic = { inFlight: holding.length, oldestMs: ageOfFirst(holding), queuedMs: this.#queue.age(Date.now()) };
    const wait = this.#timing.wait(traffic) || this.#pacer.take();
    if (wait > 0) return this.#later(wait);
    this.#signing = true;
    this.#sendNext(this.#nextNonce).then(
      () => {
        this.#signing = false;
        this.#pump();
      },
      // Signing is local and recording ends by itself: this is a defect, and going on could leave a gap in the nonces.
      (error) => {
        this.#halt("the gateway has to start anew");
        this.#context.fatal(error, "a batch could not be signed: the next process takes up what is recorded");
      },
    );
  }

  /**
   * Another process may have recorded nonces: the signer's lock was lost and is held again, or a nonce was found taken. They are taken up before
   * anything is signed, since the reply of an answered job names the transaction that its settlement is signed into.
   */
  #beginTerm(nonce: number): void {
    this.#signing = true;
    this.#takeUp(nonce)
      .catch((error) => {
        this.#context.logger.warn(
          { err: error },
          "the signer's open transactions could not be read; nothing is sent before they are",
        );
        return sleep(LOCKLESS_MS);
      })
      .finally(() => {
        this.#signing = false;
        this.#pump();
      });
  }

  #later(ms: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#pump();
    }, ms);
  }

  /** Sends nothing more. */
  #halt(reason: string): void {
    this.#stopping = true;
    this.#reorgs.stop();
    clearTimeout(this.#timer);
    void this.#finality?.stop();
    refuse(this.#queue.drain(), new NotSent(reason));
  }

  /** Sends one batch with the first unused nonce. */
  async #sendNext(next: number): Promise<void> {
    let nonce = next;
    const used = this.#usedElsewhere;
    while (used !== null && nonce < used.count && this.#term !== null) {
      await this.#passOver(nonce, used.block);
      nonce += 1;
    }
    if (!this.#stopping && this.#term !== null) await this.#sendBatch(nonce);
  }

  /**
   * Records a nonce that somebody else has used, with an empty transaction. It is only sent if a reorganisation takes the foreign one back: a gap
   * would hold up every later nonce.
   */
  async #passOver(nonce: number, block: Block): Promise<void> {
    const offer = { ...firstOffer(this.#context, [], 0), operations: 0 };
    const variant = await signVariant(this.#context, { nonce, items: [] }, offer);
    if ((await this.#record({ nonce, items: [], variants: [variant] }, [])) !== "recorded") return;
    await this.#close(nonce, VOID, block);
  }

  /** Signs and records one batch, one after the other so that nonces leave no gap; broadcasting goes on in the background. */
  async #sendBatch(nonce: number): Promise<void> {
    const { bounds, head } = this.#context;
    const items = this.#queue.take(affordableGas(this.#batchLimit.gas, head.block.baseFee, bounds));
    this.#timing.sent(items.length);
    const operations = items.map((item) => item.operation);
    // A batch that ran out of gas as a whole is repeated with more.
    const offer = firstOffer(this.#context, operations, Math.max(...items.map((item) => item.tries)));
    const variant = await signVariant(this.#context, { nonce, items: operations }, offer).catch((error) => {
      refuse(items, new NotSent("its batch could not be signed", error));
      throw error;
    });
    for (const item of items) item.signed.resolve(variant.hash);
    // The request that waits for the hash writes its reply now. A kill after the record charges a job, so its client must have the answer by then.
    await setImmediate();
    const row: OutboxRow = { nonce, items: operations, variants: [variant] };
    const jobs = items.flatMap(({ job }) => job ?? []);
    const recorded = await this.#record(row, jobs);
    if (recorded === "stopping") return refuse(items, new NotSent("the gateway stopped"));
    if (recorded === "taken") {
      for (const item of items) this.#queue.push(item);
      return;
    }
    this.#nextNonce = nonce + 1;
    void this.#finish(row, new Map(items.entries()));
  }

  /**
   * Writes the transaction and the rows of its new jobs before anything is broadcast. A write whose answer is lost may have happened, so
   * the very same row is tried until the database says. `taken`: another process recorded this nonce, and what it recorded is taken up next.
   */
  async #record(row: OutboxRow, jobs: NewJob[]): Promise<"recorded" | "taken" | "stopping"> {
    const { outbox, logger } = this.#context;
    while (!this.#stopping) {
      try {
        await outbox.insert(row, jobs);
        return "recorded";
      } catch (error) {
        if ((error as { code?: string }).code === UNIQUE_VIOLATION) {
          // If the read fails, the next try asks again.
          const known = await outbox.variants(row.nonce).catch(() => null);
          if (known?.some(({ hash }) => hash === row.variants[0]?.hash)) return "recorded";
          if (known !== null) {
            this.#term = null;
            logger.error({ nonce: row.nonce }, "another process recorded this nonce: does it have the same signer?");
            return "taken";
          }
        }
        logger.error({ err: error }, "a batch could not be recorded yet; nothing is sent before it is");
        await sleep(UNRECORDED_MS);
      }
    }
    return "stopping";
  }

  // ---------------------------------------------------------------------------------------------------- sent → mined

  /** Brings a recorded transaction to its end. Returns when the outcome is known, or when the process stops. */
  async #finish(row: OutboxRow, waiters: Waiters): Promise<void> {
    const since = performance.now();
    this.#inFlight.set(row.nonce, { since, isPromised: false });
    while (!(await this.#tryFinish(row, waiters))) await sleep(UNREAD_MS);
    this.#timing.observe(performance.now() - since);
    this.#inFlight.delete(row.nonce);
    this.#pump();
  }

  /**
   * Brings a row to its end that another process left open, or whose mined variant a reorganisation took back. Tells those, too, whose locks that
   * variant did not have.
   */
  async #again(row: OutboxRow): Promise<void> {
    if (this.#inFlight.has(row.nonce)) return;
    const waiters = this.#leftOver.get(row.nonce)?.waiters ?? new Map();
    this.#leftOver.delete(row.nonce);
    return this.#finish(row, waiters);
  }

  async #tryFinish(row: OutboxRow, waiters: Waiters): Promise<boolean> {
    const { logger } = this.#context;
    try {
      const outcome = await settleNonce(this.#sending, row, (promised) => this.#promised(row, promised, waiters));
      if (outcome.status === "mined") await this.#mined(row, outcome, waiters);
      if (outcome.status === "foreign") await this.#foreign(row, outcome, waiters);
      return true;
    } catch (error) {
      logger.error({ err: error, nonce: row.nonce }, "the outcome of a transaction could not be read; trying again");
      return false;
    }
  }

  /** The sequencer promises the transaction, or has broken its promise (null). */
  #promised({ nonce }: OutboxRow, promised: PlacedVariant | null, waiters: Waiters): void {
    const inFlight = this.#inFlight.get(nonce) as InFlight;
    inFlight.isPromised = promised !== null;
    if (promised === null) return;
    tellPromise(promised, waiters);
    this.#pump();
  }

  async #mined(row: OutboxRow, { variant, batch }: PlacedVariant, waiters: Waiters): Promise<void> {
    const { head, metrics } = this.#context;
    head.observe(batch.blockNumber, batch.blockTime);
    this.#minedAt = performance.now();
    for (const observer of this.#observers) observer(batch);
    metrics.batchItems.observe(variant.operations);
    const locks = new Map<number, Waiting>();
    const others: Waiting[] = [];
    for (const [index, item] of waiters) {
      if (index < variant.operations) this.#resolve(item, index, batch);
      else if (isLock(item.operation)) locks.set(index, item);
      else others.push(item);
    }
    const block = { number: batch.blockNumber, hash: batch.blockHash };
    if (locks.size > 0) this.#leftOver.set(row.nonce, { waiters: locks, block });
    // Should a reorganisation bring the larger variant after all, the contract takes the second one without effect, or refuses it.
    this.#requeue(others);
    this.#batchLimit.observe(variant, row.items.length);
    await this.#close(row.nonce, batch.hash, block);
  }

  /**
   * Queues the locks that a mined variant did not have, once no reorganisation can bring another variant in its place: the second of two locks is
   * refused, and its client would hear that nothing is locked.
   */
  async #requeueFinal(): Promise<void> {
    for (const [nonce, left] of this.#leftOver) {
      // Meanwhile a reorganisation can have taken the variant back.
      if (!(await this.#isFinal(left.block)) || this.#leftOver.get(nonce) !== left) continue;
      this.#leftOver.delete(nonce);
      this.#requeue([...left.waiters.values()]);
    }
    this.#pump();
  }

  /** Queues operations that a mined variant did not have; those that are of no use any more are given up. */
  #requeue(items: readonly Waiting[]): void {
    const now = Date.now();
    refuse(
      items.filter((item) => hasEnded(item, now)),
      new NotSent("its node did not take it in time"),
    );
    for (const item of items) if (!hasEnded(item, now)) this.#queue.push({ ...item, queuedAt: now });
  }

  async #isFinal(block: Block): Promise<boolean> {
    try {
      return await this.#reorgs.isFinal(block);
    } catch (error) {
      this.#context.logger.warn({ err: error }, "whether a block is final could not be read");
      return false;
    }
  }

  #resolve(item: Waiting, index: number, batch: MinedBatch): void {
    const { hash, blockNumber } = batch;
    const { kind, jobId } = item.operation;
    if (!batch.success) {
      item.tries += 1;
      if (item.tries < MAX_TRIES) return this.#queue.push(item);
      return item.mined.resolve({ status: "reverted", hash, blockNumber, revert: { name: "BatchReverted", args: [] } });
    }
    const revert = batch.failures.get(index);
    const { confirmationSeconds, operations } = this.#context.metrics;
    confirmationSeconds.observe({ kind }, (Date.now() - item.queuedAt) / 1000);
    operations.inc({ kind, outcome: revert?.name ?? "mined" });
    if (revert) item.mined.resolve({ status: "reverted", hash, blockNumber, revert });
    else item.mined.resolve({ status: "mined", ...successOf(jobId, batch) });
  }

  /** A transaction that is not ours took the nonce: ours can never be mined, so its operations go into another batch. */
  async #foreign({ nonce }: OutboxRow, used: { count: number; block: Block }, waiters: Waiters): Promise<void> {
    const { logger, metrics } = this.#context;
    logger.error({ nonce }, "another transaction of this signer used our nonce: is its key used elsewhere?");
    metrics.transactionSteps.inc({ step: "foreign" });
    if (used.count > (this.#usedElsewhere?.count ?? 0)) this.#usedElsewhere = used;
    for (const item of waiters.values()) this.#queue.push(item);
    await this.#close(nonce, VOID, used.block);
  }

  /** Closes the outbox row, as of a block. If that fails the row stays open, and the next process finds the receipt again. */
  async #close(nonce: number, hash: Hex, block: Block): Promise<void> {
    const { outbox, logger } = this.#context;
    try {
      await outbox.markMined(nonce, hash, block.number, block.hash);
      if (nonce % 100 === 0) await outbox.prune(block.number - KEEP_BLOCKS);
    } catch (error) {
      logger.error({ err: error, nonce }, "a mined transaction could not be marked as such");
    }
  }
}

/** How long the first of these transactions has been on its way, ms; 0 without one. */
function ageOfFirst([first]: Iterable<InFlight>): number {
  return first === undefined ? 0 : performance.now() - first.since;
}

/** The outcome of a batch for one of its jobs. */
function successOf(jobId: Hex, { hash, blockNumber, blockTime, eventsByJob }: MinedBatch) {
  return { hash, blockNumber, blockTime, events: eventsByJob.get(jobId) ?? [] };
}

/** Tells who waits for it what the sequencer promises. That an operation would fail is no promise: the next block can have it otherwise. */
function tellPromise({ variant, batch }: PlacedVariant, waiters: Waiters): void {
  if (!batch.success) return;
  for (const [index, { operation, promised }] of waiters) {
    if (index >= variant.operations || batch.failures.has(index)) continue;
    promised.resolve({ status: "promised", ...successOf(operation.jobId, batch) });
  }
}

/** True if the operation's deadline has passed, so that the contract refuses it. */
const hasEnded = ({ operation: { kind, deadline } }: Waiting, now: number): boolean =>
  HAS_DEADLINE.has(kind) && now >= deadline;

function refuse(items: readonly Waiting[], error: NotSent): void {
  for (const { signed, mined } of items) {
    signed.reject(error);
    mined.reject(error);
  }
}
