import type pg from "pg";
import type { Logger } from "pino";
import { getHead } from "../db/index-reads.ts";
import type { IndexHead } from "../db/index-rows.ts";
import type { Head } from "./rpc.ts";

const LOOK_MS = 250;
/** An index that has the newest block has nothing new until the next one: it can only go away. */
const CURRENT_LOOK_MS = 1_000;
/** While the index is close behind, nothing is held back. */
const UNPACED = 1_000;
/** Blocks that the index may be behind before sending is slowed down, and before it is slowed down to the configured rate. */
const CLOSE_BLOCKS = 8;
const FAR_BLOCKS = 32;
/** A block that is this old should be in the index; only then is what is read from it called incomplete. */
const DUE_MS = 3_000;

/**
 * Transactions a second that may be sent, by how far the index is behind: a chain with a block a transaction can be faster than
 * any indexer. `configured` is the rate that the index keeps up with for ever.
 */
export function sendRate(behind: number, configured: number): number {
  if (behind <= CLOSE_BLOCKS) return Math.max(UNPACED, configured);
  return behind <= FAR_BLOCKS ? configured * 3 : configured;
}

/** Looks at the index a few times a second: how fast transactions may go out, and what readers have to be told of it. */
export class IndexWatch {
  readonly #pool: pg.Pool;
  readonly #head: Head;
  readonly #logger: Logger;
  /** Heights of the chain of the last seconds, oldest first. */
  readonly #heights: { at: number; block: number }[] = [];
  /** Null while there is none, or it cannot be read; undefined before the first look. */
  #index: IndexHead | null | undefined;
  #readAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(pool: pg.Pool, head: Head, logger: Logger) {
    this.#pool = pool;
    this.#head = head;
    this.#logger = logger;
  }

  /** An absent index means the configured rate. */
  start(configured: number, setRate: (perSecond: number) => void): void {
    const loop = async (): Promise<void> => {
      await this.#look();
      const { blockNumber } = this.#index ?? {};
      setRate(blockNumber === undefined ? configured : sendRate(this.#head.block.number - blockNumber, configured));
      if (!this.#stopped) this.#timer = setTimeout(() => void loop(), LOOK_MS).unref();
    };
    void loop();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  /**
   * Time of the newest block that the index has, ISO 8601, when it lacks a block that it should have by now; `never` when there is no
   * index. Null when it lacks nothing.
   */
  get indexedUntil(): string | null {
    if (this.#index === undefined) return null;
    if (this.#index === null) return "never";
    const due = this.#heights[0];
    if (due === undefined || Date.now() - due.at < DUE_MS || this.#index.blockNumber >= due.block) return null;
    return new Date(this.#index.blockTime * 1000).toISOString();
  }

  async #look(): Promise<void> {
    const now = Date.now();
    this.#heights.push({ at: now, block: this.#head.block.number });
    // The first one is the newest of those that are due.
    while (now - (this.#heights[1]?.at ?? now) >= DUE_MS) this.#heights.shift();
    const isCurrent = this.#index?.blockNumber === this.#head.block.number;
    if (isCurrent && now - this.#readAt < CURRENT_LOOK_MS) return;
    this.#readAt = now;
    try {
      this.#index = await getHead(this.#pool);
    } catch (error) {
      // Logged once; readiness and metrics show that it lasts.
      if (this.#index !== null)
        this.#logger.warn(
          { err: error },
          "the index cannot be read: transactions are sent as slowly as if it were far behind",
        );
      this.#index = null;
    }
  }
}
