import type { Hex } from "viem";
import type { OutboxRow } from "./outbox.ts";
import { type MinedBatch, readReceipt } from "./outcome.ts";
import type { Rpc } from "./rpc.ts";
import type { Waiting } from "./submission.ts";
import { type SigningContext, settleNonce } from "./transaction.ts";

/** A batch that reverted as a whole is tried this often. */
const MAX_TRIES = 3;
/** Rows of mined transactions are kept this many blocks, for reorganisations. */
const KEEP_BLOCKS = 1_000;
const RETRY_MS = 1_000;

/**
 * Called for each mined batch, before the promises of its operations resolve. `awaited`: false where it has none, because an earlier
 * process sent it or a reorganisation took it back.
 */
export type BatchObserver = (batch: MinedBatch, blockTime: number, awaited: boolean) => void;

/** Brings recorded transactions to their end and tells each operation what became of it. */
export class Finisher {
  readonly #context: SigningContext;
  readonly #rpc: Rpc;
  readonly #requeue: (item: Waiting) => void;
  readonly #observers: BatchObserver[] = [];

  /** `requeue` takes operations that must go into another batch. */
  constructor(context: SigningContext, rpc: Rpc, requeue: (item: Waiting) => void) {
    this.#context = context;
    this.#rpc = rpc;
    this.#requeue = requeue;
  }

  onMined(observer: BatchObserver): void {
    this.#observers.push(observer);
  }

  /** Returns when the outcome is known, or when the process stops. An outcome stays unknown until it is known. */
  async finish(row: OutboxRow, calldata: Hex, items: Waiting[]): Promise<void> {
    while (!(await this.#tryFinish(row, calldata, items))) {
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }

  async #tryFinish(row: OutboxRow, calldata: Hex, items: Waiting[]): Promise<boolean> {
    const { logger } = this.#context;
    try {
      const outcome = await settleNonce(this.#context, row, calldata);
      if (outcome.status === "abandoned") return true;
      if (outcome.status === "mined") await this.#resolve(row, readReceipt(outcome.receipt, row.nonce), items);
      else await this.#giveNonceUp(row, items);
      return true;
    } catch (error) {
      logger.error({ err: error, nonce: row.nonce }, "the outcome of a transaction could not be read; trying again");
      return false;
    }
  }

  async #resolve(row: OutboxRow, batch: MinedBatch, items: Waiting[]): Promise<void> {
    const blockTime = batch.blockTime ?? (await this.#blockTime(batch.blockNumber));
    this.#context.head.observe(batch.blockNumber, blockTime);
    for (const observer of this.#observers) observer(batch, blockTime, items.length > 0);
    this.#context.metrics.batchItems.observe(row.items.length);
    for (const [index, item] of items.entries()) this.#resolveItem(item, index, batch, blockTime);
    await this.#record(row.nonce, batch);
  }

  #resolveItem(item: Waiting, index: number, batch: MinedBatch, blockTime: number): void {
    const { hash, blockNumber } = batch;
    if (!batch.success) {
      item.tries += 1;
      if (item.tries < MAX_TRIES) return this.#requeue(item);
      return item.mined({ status: "reverted", hash, blockNumber, revert: { name: "BatchReverted", args: [] } });
    }
    const revert = batch.failures.get(index);
    const { kind } = item.operation;
    const { confirmationSeconds, operations } = this.#context.metrics;
    confirmationSeconds.observe({ kind }, (Date.now() - item.queuedAt) / 1000);
    operations.inc({ kind, outcome: revert?.name ?? "mined" });
    if (revert) return item.mined({ status: "reverted", hash, blockNumber, revert });
    const events = batch.eventsByJob.get(item.operation.jobId) ?? [];
    item.mined({ status: "mined", hash, blockNumber, blockTime, events });
  }

  /** A transaction that is not ours took the nonce: ours can never be mined, so its operations go into another batch. */
  async #giveNonceUp(row: OutboxRow, items: Waiting[]): Promise<void> {
    const { nonce } = row;
    const { logger, head } = this.#context;
    logger.error({ nonce }, "another transaction of this signer used our nonce: is its key used elsewhere?");
    for (const item of items) this.#requeue(item);
    await this.#record(nonce, { hash: "0x", blockNumber: head.block.number, blockHash: null });
  }

  /** Closes the outbox row. If that fails the row stays open, and the next process finds the receipt again. */
  async #record(nonce: number, place: { hash: Hex; blockNumber: number; blockHash: Hex | null }): Promise<void> {
    const { outbox, logger } = this.#context;
    const { hash, blockNumber, blockHash } = place;
    try {
      await outbox.markMined(nonce, hash, blockNumber, blockHash);
      if (nonce % 100 === 0) await outbox.prune(blockNumber - KEEP_BLOCKS);
    } catch (error) {
      logger.error({ err: error, nonce }, "a mined transaction could not be marked as such");
    }
  }

  /** For nodes whose logs carry no block time. */
  async #blockTime(blockNumber: number): Promise<number> {
    const block = await this.#rpc.request<{ timestamp: Hex }>("eth_getBlockByNumber", [
      `0x${blockNumber.toString(16)}`,
      false,
    ]);
    return Number(block.timestamp);
  }
}
