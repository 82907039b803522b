/** Answers that are kept, read back for the wallets that paid for them. */
import { type Address, getAddress, type Hex } from "viem";
import type { FinishReason } from "../../protocol/dispatch.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import type { Completion } from "../../protocol/messages.ts";
import type { Cipher } from "../../shared/cipher.ts";
import { sleep } from "../../shared/sleep.ts";
import type { JobStore, StoredJob } from "../db/jobs.ts";
import { ApiError } from "../errors.ts";

/** An answer as it was delivered. */
type StoredAnswer = {
  text: string;
  finishReason: FinishReason;
  billedTokens: number;
  /** The worker that answered, and the Completion that it signed. */
  worker: Address;
  signed: { completion: Completion; signature: Hex };
};

/** The connection of a client that reads an answer. `destroyed`: it has left. */
type Connection = { readonly destroyed: boolean };

/**
 * Characters a second that are read of one wallet's answers, and of all wallets' long ones together. A usual answer takes a millisecond of this, one
 * of eight megabytes two seconds.
 */
const RATE = 4 * 1024 * 1024;
/** Bytes of an answer from which on it is long. */
const LONG = 16 * 1024;
/** Reads of one wallet that wait for each other. */
const MOST_WAITING = 100;

/**
 * Reads one answer of a wallet at a time, at a pace by its length. To decrypt a long one and to write it as JSON takes the event loop's
 * time from everybody else. A wallet that paid for it once can ask for it without an end. Long answers of different wallets wait for each
 * other, too: a wallet costs nothing to make, and its deposit can be withdrawn.
 */
export class KeptAnswers {
  readonly #store: Pick<JobStore, "output">;
  readonly #cipher: Pick<Cipher, "decrypt">;
  readonly #rate: number;
  /** By wallet: how many wait, and the end of the last one's turn. */
  readonly #lines = new Map<string, { waiting: number; over: Promise<void> }>();
  /** The end of the last turn of a long answer. */
  #longOver: Promise<void> = Promise.resolve();

  constructor(store: Pick<JobStore, "output">, cipher: Pick<Cipher, "decrypt">, rate = RATE) {
    this.#store = store;
    this.#cipher = cipher;
    this.#rate = rate;
  }

  /**
   * The kept answer of a job; null if it has none, or its time is over, or its reader has left before its turn. Rejects with `rate_limited` where
   * too many reads of the wallet wait.
   */
  async read(job: StoredJob, reader: Connection): Promise<StoredAnswer | null> {
    const { wallet } = job;
    const line = this.#lines.get(wallet) ?? { waiting: 0, over: Promise.resolve() };
    if (line.waiting >= MOST_WAITING) {
      const message = `${MOST_WAITING} reads of this wallet's kept answers wait for each other; retry in a second.`;
      throw new ApiError("rate_limited", message, { details: { retry_after: 1 } });
    }
    this.#lines.set(wallet, line);
    line.waiting += 1;
    const turn = line.over.then(() => (isLong(job) ? this.#readLong(job, reader) : this.#readNow(job, reader)));
    line.over = turn
      .then(
        (answer) => this.#rest(answer),
        () => {}, // its reader hears of it
      )
      .then(() => {
        line.waiting -= 1;
        if (line.waiting === 0) this.#lines.delete(wallet);
      });
    return await turn;
  }

  async #rest(answer: StoredAnswer | null): Promise<void> {
    const ms = ((answer?.text.length ?? 0) / this.#rate) * 1_000;
    // A shorter rest is the time that the read itself took.
    if (ms >= 1) await sleep(ms);
  }

  /** A wallet has one of them in this line at a time, so wallets take turns. */
  async #readLong(job: StoredJob, reader: Connection): Promise<StoredAnswer | null> {
    const answer = this.#longOver.then(() => this.#readNow(job, reader));
    this.#longOver = answer.then(
      (found) => this.#rest(found),
      () => {}, // its reader hears of it
    );
    return await answer;
  }

  async #readNow(job: StoredJob, reader: Connection): Promise<StoredAnswer | null> {
    if (reader.destroyed) return null;
    const signed = job.completion;
    const encrypted = signed === null ? null : await this.#store.output(job.jobId);
    if (signed === null || encrypted === null || job.worker === null || job.countedTokens === null) return null;
    return {
      text: this.#cipher.decrypt(encrypted, toApiJobId(job.jobId)),
      finishReason: signed.finish_reason as FinishReason,
      billedTokens: job.countedTokens,
      worker: getAddress(job.worker),
      signed,
    };
  }
}

/** By what its worker signed, which is the length of the text. */
const isLong = ({ completion }: StoredJob): boolean => (completion?.completion.textBytes ?? 0) > LONG;
