import { setTimeout } from "node:timers/promises";
import { type ChatRequest, type FinishReason, JobErrorCode } from "../../protocol/dispatch.ts";
import type { BackendPiece, Usage } from "../backends/backend.ts";
import { BackendError } from "../backends/backend.ts";
import { Answer } from "./answer.ts";

type ErrorCode = (typeof JobErrorCode)[keyof typeof JobErrorCode];

/** Why a taken job ends without a Completion; it becomes the stream's `error` event. */
export class JobError extends Error {
  override name = "JobError";
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export type Generated = { answer: Answer; usage: Usage; finishReason: FinishReason };

/** No token of any tokenizer in use is longer; an answer with more characters than this a token is a broken server's. */
const CHARACTERS_PER_TOKEN = 256;

/**
 * A generation that starts at once, and whose first piece is fetched at once: the model server works while the chain is asked
 * about the lock. What it yields is kept until `drain`.
 */
export class Generation {
  readonly #pieces: AsyncGenerator<BackendPiece, void, undefined>;
  readonly #first: Promise<IteratorResult<BackendPiece, void>>;
  readonly #request: ChatRequest;

  constructor(pieces: AsyncGenerator<BackendPiece, void, undefined>, request: ChatRequest) {
    this.#pieces = pieces;
    this.#request = request;
    this.#first = pieces.next();
    // `drain` throws it; until then, or if the job is refused, it must not count as unhandled.
    this.#first.catch(() => undefined);
  }

  /**
   * Waits for the first piece, but no longer than `ms`. Returns why the generation failed if it did by then; else null.
   */
  async failsWithin(ms: number, signal: AbortSignal): Promise<Error | null> {
    const begun = this.#first.then(
      ({ done }) => (done === true ? brokenOff() : null),
      (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
    );
    const timer = new AbortController();
    const waited = setTimeout(ms, null, { signal: AbortSignal.any([signal, timer.signal]) }).catch(() => null);
    try {
      return await Promise.race([begun, waited]);
    } finally {
      timer.abort();
    }
  }

  /** Hands out the text piece by piece until the end. Throws what the backend throws, and a JobError for an endless answer. */
  async drain(send: (text: string) => void): Promise<Generated> {
    const answer = new Answer();
    const limit = Math.max(65_536, this.#request.max_tokens * CHARACTERS_PER_TOKEN);
    const deliver = (text: string): void => {
      if (text !== "") send(text);
    };
    for (let next = await this.#first; ; next = await this.#pieces.next()) {
      if (next.done) throw brokenOff();
      const piece = next.value;
      if (piece.kind === "end") {
        deliver(answer.end());
        // Lets the backend go: it waits behind its last piece with whatever it holds for this job.
        void this.cancel();
        return { answer, usage: this.#bounded(piece.usage, answer), finishReason: piece.finishReason };
      }
      deliver(piece.kind === "reasoning" ? answer.think(piece.text) : answer.write(piece.text));
      if (answer.characters > limit) {
        throw new JobError(JobErrorCode.TooLong, "the model server sent more text than max_tokens can be");
      }
    }
  }

  /** Lets go of the model server; its abort signal must have fired. */
  async cancel(): Promise<void> {
    // The abort itself comes back as an error here; it was asked for.
    await this.#pieces.return().catch(() => undefined);
  }

  /** What is signed is what a gateway can believe: no more than was asked for, nor than bytes were delivered. */
  #bounded(usage: Usage, answer: Answer): Usage {
    return { ...usage, completionTokens: Math.min(usage.completionTokens, this.#request.max_tokens, answer.bytes) };
  }
}

function brokenOff(): BackendError {
  return new BackendError("the model server broke off without a finish reason");
}
