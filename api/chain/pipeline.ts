import type { Logger } from "pino";
import type { Hex } from "viem";
import type { NewJob } from "../store/new-jobs.ts";
import { type BatchObserver, Finisher } from "./finisher.ts";
import { AT_ONCE, Gathering, MAX_IN_FLIGHT } from "./gathering.ts";
import { recordBatch, signBatch } from "./new-batch.ts";
import { batchCalldata, type Operation } from "./operations.ts";
import type { OutboxRow } from "./outbox.ts";
import { Pacer } from "./pacer.ts";
import { OperationQueue } from "./queue.ts";
import { ReorgWatch, takeBack } from "./reorg-watch.ts";
import type { Rpc } from "./rpc.ts";
import { NotSent, newSubmission, type Submission, type Waiting } from "./submission.ts";
import type { SigningContext } from "./transaction.ts";

/** A backlog older than this refuses new locks. */
const BACKLOG_LIMIT_MS = 10_000;
/** Pause while the signer lock is lost. */
const LOCKLESS_MS = 250;
/** Transactions that may go out at once before pacing sets in. */
const BURST = 5;

/** Called with the nonce of a batch's transaction and its operations; null: they go into another one. */
type SentObserver = (nonce: number | null, operations: readonly Operation[]) => void;
type Options = { batchGas: bigint; sendsPerSecond: number };

/**
 * Group commit onto the chain: operations become batches, one transaction a batch, one signer a process.
 * A batch goes out at once when little is in flight; otherwise operations gather. See docs/architecture.md.
 */
export class Pipeline {
  readonly #context: SigningContext;
  readonly #rpc: Rpc;
  readonly #options: Options;
  readonly #logger: Logger;
  readonly #queue = new OperationQueue<Waiting>();
  readonly #pacer: Pacer;
  readonly #finisher: Finisher;
  readonly #gathering = new Gathering();
  readonly #reorgs: ReorgWatch;
  readonly #sentObservers: SentObserver[] = [];
  #nextNonce = -1;
  /** Transactions that are not mined yet; `since`: when they were recorded or taken up, `performance.now()`. */
  readonly #inFlight = new Set<{ since: number }>();
  #sending = false;
  #stopping = false;
  #timer: NodeJS.Timeout | undefined;
  #idle: (() => void)[] = [];

  constructor(context: SigningContext, rpc: Rpc, options: Options) {
    this.#context = context;
    this.#rpc = rpc;
    this.#options = options;
    this.#logger = context.logger;
    this.#pacer = new Pacer(options.sendsPerSecond, BURST);
    this.#reorgs = new ReorgWatch(context, rpc);
    this.#finisher = new Finisher(context, rpc, (item) => this.#requeue(item));
  }

  /**
   * Takes up the signer's nonce, then brings every transaction that an earlier process left open to its end: `takenUp` resolves when
   * the last one is. Until then what becomes of their jobs is open.
   */
  async start(): Promise<{ takenUp: Promise<void> }> {
    const { account, outbox } = this.#context;
    const count = await this.#rpc.request<Hex>("eth_getTransactionCount", [account.address, "latest"]);
    const mined = Number(count);
    // The chain is behind what we saw mined (reorganisation, restored development chain): the same bytes go out again.
    for (const row of await this.#reorgs.lostMeanwhile()) await takeBack(this.#context, row);
    const open = await outbox.open();
    this.#nextNonce = Math.max(mined, (await outbox.lastNonce()) + 1);
    if (open.length > 0) {
      this.#logger.info({ count: open.length }, "transactions of an earlier process are taken up");
    }
    const again = (row: OutboxRow) => this.#finish(row, batchCalldata(row.items), []);
    const takenUp = Promise.all(open.map(again)).then(() => {
      if (!this.#stopping) this.#reorgs.start(again);
    });
    return { takenUp };
  }

  /** Calls `observer` for each mined batch, before the promises of its operations resolve. */
  onMined(observer: BatchObserver): void {
    this.#finisher.onMined(observer);
  }

  /** True when new locks must be refused: they would wait too long. */
  get congested(): boolean {
    return this.#queue.age(Date.now()) > BACKLOG_LIMIT_MS;
  }

  /** Calls `observer` for each batch that is on record, before it is broadcast, and for operations whose transaction came to nothing. */
  onSent(observer: SentObserver): void {
    this.#sentObservers.push(observer);
  }

  /** Transactions a second that may go out from now on. */
  setSendRate(perSecond: number): void {
    this.#pacer.setRate(perSecond);
  }

  get queued(): number {
    return this.#queue.size;
  }

  /** How long the oldest transaction in flight has waited to be mined, ms; 0 when none does. */
  get oldestMs(): number {
    const [oldest] = this.#inFlight;
    return oldest === undefined ? 0 : performance.now() - oldest.since;
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  /** Queues an operation for the next batch. The row of a new `job` is written together with the transaction, before it is broadcast. */
  submit(operation: Operation, job: NewJob | null = null): Submission {
    const { submission, waiting } = newSubmission(operation, job);
    if (this.#stopping) waiting.reject(new NotSent("the gateway is stopping"));
    else {
      this.#queue.push(waiting);
      this.#pump();
    }
    return submission;
  }

  /** Sends what is queued, waits for what is in flight (at most `timeoutMs`), and stops. */
  async stop(timeoutMs: number): Promise<void> {
    const idle = new Promise<void>((resolve) => this.#idle.push(resolve));
    this.#pump();
    const deadline = new Promise<void>((resolve) => setTimeout(resolve, timeoutMs).unref());
    await Promise.race([idle, deadline]);
    this.#halt("the gateway stopped");
  }

  /** Sends a batch if one may go now, or comes back when one may. */
  #pump(): void {
    if (this.#queue.size === 0 && this.#inFlight.size === 0 && !this.#sending) {
      for (const resolve of this.#idle.splice(0)) resolve();
    }
    if (this.#sending || this.#stopping || this.#nextNonce < 0 || this.#queue.size === 0) return;
    if (!this.#context.maySend()) return this.#later(LOCKLESS_MS);
    if (this.#inFlight.size >= MAX_IN_FLIGHT) return;
    const age = this.#queue.age(Date.now());
    const gather = this.#gathering.ms;
    if (this.#inFlight.size >= AT_ONCE && age < gather) return this.#later(gather - age);
    const wait = this.#pacer.take();
    if (wait > 0) return this.#later(wait);
    this.#sending = true;
    this.#sendBatch().then(
      () => {
        this.#sending = false;
        this.#pump();
      },
      // Signing is local and recording ends by itself: this is a defect, and going on could leave a gap in the nonces.
      (error) => {
        this.#halt("the gateway has to start anew");
        this.#context.fatal(error, "a batch could not be signed: the next process takes up what is recorded");
      },
    );
  }

  /** Sends nothing more. */
  #halt(reason: string): void {
    this.#stopping = true;
    this.#reorgs.stop();
    clearTimeout(this.#timer);
    for (const item of this.#queue.drain()) item.reject(new NotSent(reason));
  }

  /** Takes back an operation whose transaction came to nothing. */
  #requeue(item: Waiting): void {
    for (const observer of this.#sentObservers) observer(null, [item.operation]);
    this.#queue.push(item);
  }

  #later(ms: number): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#pump();
    }, ms);
  }

  /** Signs and records one batch, one after the other so that nonces leave no gap; broadcasting goes on in the background. */
  async #sendBatch(): Promise<void> {
    const items = this.#queue.take(this.#options.batchGas);
    const { row, calldata } = await signBatch(this.#context, this.#nextNonce, items).catch((error) => {
      for (const item of items) item.reject(new NotSent("its batch could not be signed", error));
      throw error;
    });
    const [{ hash }] = row.variants;
    const jobs = items.flatMap(({ job }) => job ?? []);
    const recorded = await recordBatch(this.#context, row, jobs);
    if (recorded === "stopping") {
      for (const item of items) item.reject(new NotSent("the gateway stopped"));
      return;
    }
    this.#nextNonce = row.nonce + 1;
    if (recorded === "taken") {
      for (const item of items) this.#queue.push(item);
      return;
    }
    for (const observer of this.#sentObservers) observer(row.nonce, row.items);
    for (const item of items) item.sent(hash);
    void this.#finish(row, calldata, items);
  }

  async #finish(row: OutboxRow, calldata: Hex, items: Waiting[]): Promise<void> {
    const one = { since: performance.now() };
    this.#inFlight.add(one);
    try {
      await this.#finisher.finish(row, calldata, items);
      this.#gathering.observe(performance.now() - one.since);
    } finally {
      this.#inFlight.delete(one);
      this.#pump();
    }
  }
}
