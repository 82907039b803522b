import { type Hex, numberToHex } from "viem";
import type { OutboxRow } from "./outbox.ts";
import { type Rpc, RpcError } from "./rpc.ts";
import type { SigningContext } from "./transaction.ts";

const LOOK_MS = 2_000;
/** So many looks must miss a transaction: behind a load balancer, one node can be a block or two behind the one asked before. */
const LOOKS = 3;
/** Blocks with at least so many on top are final where the chain does not say which are, once they have been so old for so long (ms). */
const FINAL_BLOCKS = 64;
const FINAL_MS = 60_000;
const READS_AT_ONCE = 20;
/** Rows of mined transactions are kept this many blocks, for reorganisations. */
export const KEEP_BLOCKS = 1_000;

type Block = { number: Hex; hash: Hex };

/** Notes that a transaction is not where it was seen mined: what became of its operations is open again. */
async function takeBack({ outbox, takenBack }: SigningContext, row: OutboxRow): Promise<void> {
  await takenBack(row.items.map((item) => item.jobId));
  await outbox.markUnmined(row.nonce);
}

/**
 * Notices when a reorganisation takes our transactions back. Either the signer's nonce falls below what we saw mined,
 * or the block of a transaction has another hash. The second case matters because an item can fail in its new block
 * although it succeeded in the old one. The same bytes are then sent again.
 */
export class ReorgWatch {
  readonly #context: SigningContext;
  readonly #rpc: Rpc;
  /** Blocks with transactions of ours that the chain has as long as it has `#newest`: they need not be asked for again. */
  readonly #sure = new Map<number, Hex>();
  #newest: Block | undefined;
  /** Newest blocks of the last looks, and when that was (`performance.now()`): of the last minute, and the last one before it. */
  #heights: { number: number; at: number }[] = [];
  /** Blocks up to this one are not read again: a look found nothing missing when they were deep already. */
  #checked = Number.MAX_SAFE_INTEGER;
  /** Nonces that were missed at the last look, and by how many looks in a row. */
  #missed = new Map<number, number>();
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(context: SigningContext, rpc: Rpc) {
    this.#context = context;
    this.#rpc = rpc;
  }

  /** Takes back what is not where an earlier process saw it mined. Takes a few seconds if it seems that there is something. */
  async takeBackLost(): Promise<void> {
    await this.#look();
    while (this.#missed.size > 0) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      await this.#look();
    }
  }

  /** Transactions that are not where they were seen mined, by this look and those before it. */
  async #lost(): Promise<OutboxRow[]> {
    // A look that the node breaks off says nothing: the counts stay as they are.
    const missing = await this.#missing();
    const before = this.#missed;
    this.#missed = new Map();
    const lost: OutboxRow[] = [];
    for (const row of missing) {
      const looks = (before.get(row.nonce) ?? 0) + 1;
      if (looks < LOOKS) this.#missed.set(row.nonce, looks);
      else lost.push(row);
    }
    if (lost.length > 0) {
      this.#context.logger.warn(
        { nonces: lost.map((row) => row.nonce) },
        "a reorganisation removed our transactions from their blocks: their signed bytes are sent again",
      );
    }
    return lost;
  }

  /** Transactions that are not where they were seen mined, as one node sees it now. */
  async #missing(): Promise<OutboxRow[]> {
    const { account, outbox } = this.#context;
    await this.#followHead();
    const deep = this.#deepBlock();
    // While the node is away, blocks become deep that no look has found in their places since.
    const moved = await this.#moved(Math.min(this.#checked, deep));
    // Asked for before the count: what is mined meanwhile is not lost.
    const last = await outbox.lastMined();
    const count = Number(await this.#rpc.request<Hex>("eth_getTransactionCount", [account.address, "latest"]));
    if (moved.length > 0 || count <= last) return outbox.mined(moved, count, last);
    this.#checked = deep;
    return [];
  }

  /** Looks every two seconds; `again` brings a transaction to its end. */
  start(again: (row: OutboxRow) => Promise<void>): void {
    const { logger, maySend } = this.#context;
    const loop = async (): Promise<void> => {
      try {
        if (maySend()) await this.#look(again);
      } catch (error) {
        logger.warn({ err: error }, "reorganisations could not be looked for");
      }
      if (!this.#stopped) this.#timer = setTimeout(() => void loop(), LOOK_MS).unref();
    };
    this.#timer = setTimeout(() => void loop(), LOOK_MS).unref();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  /** Takes back what is lost by now, so that the next look does not find it missing again. */
  async #look(again: (row: OutboxRow) => Promise<void> = async () => {}): Promise<void> {
    for (const row of await this.#lost()) {
      await takeBack(this.#context, row);
      // Its row is open from here on: should this fail, the next process takes it up.
      again(row).catch((error) =>
        this.#context.logger.error({ err: error, nonce: row.nonce }, "a transaction could not be brought back"),
      );
    }
  }

  /** A reorganisation removed the newest block of the last look, so every block must be read again. */
  async #followHead(): Promise<void> {
    const before = this.#newest;
    const newest = (await this.#block("latest")) ?? before;
    const now = performance.now();
    if (newest !== undefined) this.#heights.push({ number: Number(newest.number), at: now });
    while ((this.#heights[1]?.at ?? now) <= now - FINAL_MS) this.#heights.shift();
    if (before !== undefined && (await this.#block(before.number))?.hash !== before.hash) this.#sure.clear();
    // If the node did not answer, the next look compares with the block of the last whole one.
    this.#newest = newest;
  }

  /** Nonces of transactions that were seen mined above this block and whose block is another one now. */
  async #moved(since: number): Promise<number[]> {
    // A block above `#newest` can be removed without a trace in it: a look with a newer one reads such a block.
    const newest = Number(this.#newest?.number ?? 0);
    for (const number of this.#sure.keys()) if (number <= since || number > newest) this.#sure.delete(number);
    const placed = (await this.#context.outbox.minedAbove(since)).filter(({ block }) => block <= newest);
    const unsure = [...new Set(placed.map(({ block }) => block))].filter((block) => !this.#sure.has(block));
    for (let from = 0; from < unsure.length; from += READS_AT_ONCE) {
      const some = unsure.slice(from, from + READS_AT_ONCE);
      const blocks = await Promise.all(some.map((number) => this.#block(`0x${number.toString(16)}`)));
      // A node that does not have the block yet says nothing about it; the nonce does, if the chain became shorter.
      for (const block of blocks) if (block !== null) this.#sure.set(Number(block.number), block.hash);
    }
    const moved = placed.filter(({ block, hash }) => (this.#sure.get(block) ?? hash) !== hash);
    // The next look asks again, perhaps another node.
    for (const { block } of moved) this.#sure.delete(block);
    return moved.map(({ nonce }) => nonce);
  }

  /**
   * True if no reorganisation is expected to remove a block: the chain calls it final, or, if the node cannot say that, it has many blocks
   * above it. The chain must still have this block at its height: a block that replaced it a moment ago can have as many above it by now.
   */
  async isFinal({ number, hash }: { number: number; hash: Hex }): Promise<boolean> {
    const final = Number((await this.#finalized())?.number ?? this.#deepBlock());
    return number <= final && (await this.#block(numberToHex(number)))?.hash === hash;
  }

  /** The newest block that the chain calls final; null where its node does not know that. */
  async #finalized(): Promise<Block | null> {
    try {
      return await this.#block("finalized");
    } catch (error) {
      if (error instanceof RpcError) return null;
      throw error;
    }
  }

  /**
   * The newest block with so many on top that no reorganisation is expected below it: 64, or as many as the chain made within the last
   * minute. A quick chain makes 64 within the looks that a reorganisation takes to be noticed.
   */
  #deepBlock(): number {
    const newest = Number(this.#newest?.number ?? 0);
    const [oldest] = this.#heights;
    const isKnown = oldest !== undefined && oldest.at <= performance.now() - FINAL_MS;
    return isKnown ? Math.min(newest - FINAL_BLOCKS, oldest.number) : newest - KEEP_BLOCKS;
  }

  #block(tag: string): Promise<Block | null> {
    return this.#rpc.request("eth_getBlockByNumber", [tag, false]);
  }
}
