/** Answers that are kept, read back for the wallets that paid for them. */
import { type Address, getAddress, type Hex } from "viem";
import type { FinishReason } from "../../protocol/dispatch.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import type { Completion } from "../../protocol/messages.ts";
import type { Cipher } from "../../shared/cipher.ts";
import { FairLimit } from "../../shared/fair-limit.ts";
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

/**
 * Characters a second that are read of one wallet's answers, and of all wallets' long ones together. A usual answer takes a millisecond of this, one
 * of eight megabytes two seconds.
 */
const RATE = 4 * 1024 * 1024;
/** Bytes of an answer from which on it is long. */
const LONG = 16 * 1024;
/** Reads of one wallet that wait for another one. */
const MOST_WAITING = 99;

const tooMany = () =>
  new ApiError("rate_limited", `${MOST_WAITING} reads of this wallet's kept answers wait; retry in a second.`, {
    details: { retry_after: 1 },
  });

/**
 * Reads one answer of a wallet at a time, at a pace by its length. To decrypt a long one and to write it as JSON takes the event loop's
 * time from everybody else. A wallet that paid for it once can ask for it without an end. Long answers of different wallets wait for each
 * other, too: a wallet costs nothing to make, and its deposit can be withdrawn.
 */
export class KeptAnswers {
  readonly #store: Pick<JobStore, "output">;
  readonly #cipher: Pick<Cipher, "decrypt">;
  readonly #rate: number;
  readonly #reads = new FairLimit({ each: 1, waitingEach: MOST_WAITING, refusal: tooMany });
  /** A wallet has one of its reads here at a time. */
  readonly #longReads = new FairLimit({ all: 1, refusal: tooMany });

  constructor(store: Pick<JobStore, "output">, cipher: Pick<Cipher, "decrypt">, rate = RATE) {
    this.#store = store;
    this.#cipher = cipher;
    this.#rate = rate;
  }

  /**
   * The kept answer of a job; null if it has none, or its time is over, or `signal` aborts before its turn. Rejects with `rate_limited` where too many
   * reads of the wallet wait.
   */
  async read(job: StoredJob, signal: AbortSignal): Promise<StoredAnswer | null> {
    const restMs = (_: number, answer: StoredAnswer | null = null) => ((answer?.text.length ?? 0) / this.#rate) * 1_000;
    const read = () => this.#readNow(job);
    const readLong = () => this.#longReads.run(job.wallet, read, { restMs, signal });
    try {
      return await this.#reads.run(job.wallet, isLong(job) ? readLong : read, { restMs, signal });
    } catch (error) {
      if (signal.aborted) return null;
      throw error;
    }
  }

  async #readNow(job: StoredJob): Promise<StoredAnswer | null> {
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
