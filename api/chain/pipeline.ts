import type { Logger } from "pino";
import type { Hex } from "viem";
import { batchCalldata, batchGas, type Operation } from "./operations.ts";
import type { OutboxRow } from "./outbox.ts";
import { type MinedBatch, type Outcome, readReceipt } from "./outcome.ts";
import { Pacer } from "./pacer.ts";
import { OperationQueue, type Pending } from "./queue.ts";
import type { Rpc } from "./rpc.ts";
import { type SigningContext, settleNonce, signVariant } from "./transaction.ts";

/** Consecutive nonces in flight. */
const MAX_IN_FLIGHT = 4;
/** How long operations gather while another transaction is in flight. */
const GATHER_MS = 20;
/** A backlog older than this refuses new locks. */
const BACKLOG_LIMIT_MS = 10_000;
const MAX_TRIES = 3;
/** Rows of mined transactions are kept this many blocks, for reorganisations. */
const KEEP_BLOCKS = 1_000;

/** The operation did not leave this process: nothing happened on chain, nothing will. */
export class NotSent extends Error {
  constructor(reason: string) {
    super(`the operation was not sent: ${reason}`);
    this.name = "NotSent";
  }
}

/** A submitted operation. `sent`: hash of the transaction it left in. `mined`: its outcome. Both reject only with NotSent. */
export type Submission = { sent: Promise<Hex>; mined: Promise<Outcome> };

type Waiting = Pending & {
  sent: (hash: Hex) => void;
  mined: (outcome: Outcome) => void;
  reject: (error: NotSent) => void;
};

type Options = { batchGas: bigint; sendsPerSecond: number };

/**
 * Group commit onto the chain: operations become batches, one transaction a batch, one signer a process.
 * A batch goes out at once when nothing is in flight; otherwise operations gather. See docs/architecture.md.
 */
export class Pipeline {
  readonly #context: SigningContext;
  readonly #rpc: Rpc;
  readonly #options: Options;
  readonly #logger: Logger;
  readonly #queue = new OperationQueue<Waiting>();
  readonly #pacer: Pacer;
  readonly #observers: ((batch: MinedBatch, blockTime: number) => void)[] = [];
  #nextNonce = -1;
  #inFlight = 0;
  #sending = false;
  #stopping = false;
  #timer: NodeJS.Timeout | undefined;
  #idle: (() => void)[] = [];

  constructor(context: SigningContext, rpc: Rpc, options: Options) {
    this.#context = context;
    this.#rpc = rpc;
    this.#options = options;
    this.#logger = context.logger;
    this.#pacer = new Pacer(options.sendsPerSecond, 5);
  }

  /** Takes up the signer's nonce and brings every transaction that an earlier process left open to its end. */
  async start(): Promise<void> {
    const { account, outbox } = this.#context;
    const count = await this.#rpc.request<Hex>("eth_getTransactionCount", [account.address, "latest"]);
    const mined = Number(count);
    for (const row of await outbox.minedSince(-1)) {
      // The chain is behind what we saw mined (reorganisation, restored development chain): the same bytes go out again.
      if (row.nonce >= mined) await outbox.markUnmined(row.nonce);
    }
    const open = await outbox.open();
    this.#nextNonce = Math.max(mined, (await outbox.lastNonce()) + 1);
    if (open.length > 0) this.#logger.info({ count: open.length }, "transactions of an earlier process are taken up");
    await Promise.all(open.map((row) => this.#finish(row, batchCalldata(row.items), [])));
  }

  /** Calls `observer` for each mined batch, before the promises of its operations resolve. */
  onMined(observer: (batch: MinedBatch, blockTime: number) => void): void {
    this.#observers.push(observer);
  }

  /** True when new locks must be refused: they would wait too long. */
  get congested(): boolean {
    return this.#queue.age(Date.now()) > BACKLOG_LIMIT_MS;
  }

  get queued(): number {
    return this.#queue.size;
  }

  submit(operation: Operation): Submission {
    let settle!: Pick<Waiting, "sent" | "mined" | "reject">;
    let rejectSent!: (error: NotSent) => void;
    const sent = new Promise<Hex>((resolve, reject) => {
      rejectSent = reject;
      settle = { sent: resolve, mined: () => {}, reject: () => {} };
    });
    const mined = new Promise<Outcome>((resolve, reject) => {
      settle.mined = resolve;
      settle.reject = (error) => {
        rejectSent(error);
        reject(error);
      };
    });
    // A caller may care for one of the two only; the other must not end the process as an unhandled rejection.
    sent.catch(() => {});
    mined.catch(() => {});
    if (this.#stopping) settle.reject(new NotSent("the gateway is stopping"));
    else {
      this.#queue.push({ operation, queuedAt: Date.now(), tries: 0, ...settle });
      this.#pump();
    }
    return { sent, mined };
  }

  /** Sends what is queued, waits for what is in flight (at most `timeoutMs`), and stops. */
  async stop(timeoutMs: number): Promise<void> {
    const idle = new Promise<void>((resolve) => this.#idle.push(resolve));
    this.#pump();
    const deadline = new Promise<void>((resolve) => setTimeout(resolve, timeoutMs).unref());
    await Promise.race([idle, deadline]);
    this.#stopping = true;
    clearTimeout(this.#timer);
    for (const item of this.#queue.drain()) item.reject(new NotSent("the gateway stopped"));
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  #pump(): void {
    if (this.#queue.size === 0 && this.#inFlight === 0 && !this.#sending) {
      for (const resolve of this.#idle.splice(0)) resolve();
    }
    if (this.#sending || this.#stopping || this.#nextNonce < 0 || this.#queue.size === 0) return;
    if (!this.#context.maySend()) return this.#later(250);
    if (this.#inFlight >= MAX_IN_FLIGHT) return;
    const age = this.#queue.age(Date.now());
    if (this.#inFlight > 0 && age < GATHER_MS) return this.#later(GATHER_MS - age);
    const wait = this.#pacer.take();
    if (wait > 0) return this.#later(wait);
    this.#sending = true;
    this.#sendBatch()
      .catch((error) => {
        this.#logger.error({ err: error }, "a batch could not be recorded; its operations wait for the next one");
        this.#later(500);
      })
      .finally(() => {
        this.#sending = false;
        this.#pump();
      });
  }

  #later(ms: number): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#pump();
    }, ms);
  }

  /** Signs and records one batch; broadcasting it goes on in the background. */
  async #sendBatch(): Promise<void> {
    const items = this.#queue.take(this.#options.batchGas);
    const operations = items.map((item) => item.operation);
    const calldata = batchCalldata(operations);
    // A batch that ran out of gas as a whole is repeated with more.
    const factor = 2n ** BigInt(Math.max(...items.map((item) => item.tries)));
    const gas = batchGas(operations) * factor;
    const nonce = this.#nextNonce;
    let row: OutboxRow;
    try {
      const variant = await signVariant(this.#context, nonce, gas, calldata);
      await this.#context.outbox.insert(nonce, gas, operations, variant);
      row = { nonce, gas, items: operations, variants: [variant] };
    } catch (error) {
      for (const item of items) this.#queue.push(item);
      throw error;
    }
    this.#nextNonce = nonce + 1;
    for (const item of items) item.sent(row.variants[0]?.hash as Hex);
    void this.#finish(row, calldata, items);
  }

  async #finish(row: OutboxRow, calldata: Hex, items: Waiting[]): Promise<void> {
    this.#inFlight += 1;
    try {
      while (!(await this.#tryFinish(row, calldata, items))) await sleep(1_000);
    } finally {
      this.#inFlight -= 1;
      this.#pump();
    }
  }

  /** False when it must be tried again: an outcome stays unknown until it is known. */
  async #tryFinish(row: OutboxRow, calldata: Hex, items: Waiting[]): Promise<boolean> {
    try {
      const outcome = await settleNonce(this.#context, row, calldata);
      if (outcome.status === "abandoned") return true;
      if (outcome.status === "mined") await this.#resolve(row, readReceipt(outcome.receipt), items);
      else await this.#giveNonceUp(row, items);
      return true;
    } catch (error) {
      this.#logger.error(
        { err: error, nonce: row.nonce },
        "the outcome of a transaction could not be read; trying again",
      );
      return false;
    }
  }

  /** A transaction that is not ours took the nonce: ours can never be mined, so its operations go into another batch. */
  async #giveNonceUp(row: OutboxRow, items: Waiting[]): Promise<void> {
    const { nonce } = row;
    this.#logger.error({ nonce }, "another transaction of this signer used our nonce: is its key used elsewhere?");
    for (const item of items) this.#queue.push(item);
    await this.#record(nonce, "0x", this.#context.head.block.number);
  }

  async #resolve(row: OutboxRow, batch: MinedBatch, items: Waiting[]): Promise<void> {
    const { head } = this.#context;
    const blockTime = batch.blockTime ?? (await this.#blockTime(batch.blockNumber));
    head.observe(batch.blockNumber, blockTime);
    for (const observer of this.#observers) observer(batch, blockTime);
    for (const [index, item] of items.entries()) this.#resolveItem(item, index, batch, blockTime);
    await this.#record(row.nonce, batch.hash, batch.blockNumber);
  }

  /** Closes the outbox row. If that fails the row stays open, and the next process finds the receipt again. */
  async #record(nonce: number, hash: Hex, blockNumber: number): Promise<void> {
    const { outbox } = this.#context;
    try {
      await outbox.markMined(nonce, hash, blockNumber);
      if (nonce % 100 === 0) await outbox.prune(blockNumber - KEEP_BLOCKS);
    } catch (error) {
      this.#logger.error({ err: error, nonce }, "a mined transaction could not be marked as such");
    }
  }

  #resolveItem(item: Waiting, index: number, batch: MinedBatch, blockTime: number): void {
    const { hash, blockNumber } = batch;
    if (!batch.success) {
      item.tries += 1;
      if (item.tries < MAX_TRIES) return this.#queue.push(item);
      return item.mined({ status: "reverted", hash, blockNumber, revert: { name: "BatchReverted", args: [] } });
    }
    const revert = batch.failures.get(index);
    if (revert) return item.mined({ status: "reverted", hash, blockNumber, revert });
    const events = batch.eventsByJob.get(item.operation.jobId) ?? [];
    item.mined({ status: "mined", hash, blockNumber, blockTime, events });
  }

  async #blockTime(blockNumber: number): Promise<number> {
    const block = await this.#rpc.request<{ timestamp: Hex }>("eth_getBlockByNumber", [
      `0x${blockNumber.toString(16)}`,
      false,
    ]);
    return Number(block.timestamp);
  }
}

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
