/** Answers to everybody that cost the node and this process much: made once in a while, however many ask. */
import { RpcTooLong } from "../../api/chain/rpc.ts";

type Kept = { until: number; bytes: number; answer: Promise<Buffer> };

/**
 * `keptMs`: how long an answer stays as it was; 0 for one that must be made anew. `bytes`: of all answers together. `encode`: as it is sent,
 * JSON unless given.
 */
type Options<T> = {
  keptMs: (answer: T) => number;
  bytes: number;
  encode?: (answer: T) => Buffer;
  now?: () => number;
};

/** How long all who ask get the same error: an answer that is too long stays too long, and any other fault may soon be over. */
const TOO_LONG_MS = 30_000;
const ERROR_MS = 1_000;

/** Keeps answers as they are sent, the newest ones, by what was asked for. One that is being made is waited for by all who ask. */
export class AnswerCache<T> {
  readonly #kept = new Map<string, Kept>();
  readonly #options: Options<T>;
  #bytes = 0;

  constructor(options: Options<T>) {
    this.#options = options;
  }

  /** The answer as it is sent; `make` makes it where none is kept. Rejects with what `make` throws, which is kept for a second. */
  get(key: string, make: () => Promise<T>): Promise<Buffer> {
    const now = this.#options.now ?? Date.now;
    const encode = this.#options.encode ?? ((answer) => Buffer.from(JSON.stringify(answer)));
    const kept = this.#kept.get(key);
    if (kept !== undefined && now() < kept.until) return kept.answer;
    this.#drop(key);
    const entry: Kept = { until: Number.POSITIVE_INFINITY, bytes: 0, answer: Promise.resolve(Buffer.alloc(0)) };
    entry.answer = make().then(
      (answer) => {
        const body = encode(answer);
        this.#settle(key, entry, now() + this.#options.keptMs(answer), body.length);
        return body;
      },
      (error) => {
        this.#settle(key, entry, now() + (error instanceof RpcTooLong ? TOO_LONG_MS : ERROR_MS), 0);
        throw error;
      },
    );
    this.#kept.set(key, entry);
    return entry.answer;
  }

  #settle(key: string, entry: Kept, until: number, bytes: number): void {
    if (this.#kept.get(key) !== entry) return; // it had to go for others meanwhile
    entry.until = until;
    entry.bytes = bytes;
    this.#bytes += bytes;
    // The oldest go first. An entry costs something, also where its answer is an error.
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= this.#options.bytes && this.#kept.size <= MOST) break;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    this.#bytes -= this.#kept.get(key)?.bytes ?? 0;
    this.#kept.delete(key);
  }
}

/** Answers that are kept at most. */
const MOST = 1_000;
