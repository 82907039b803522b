/** From the pieces of a model server to an answer: hashed as it grows, and bounded by what was asked for. */
import type { Hex } from "viem";
import { answerBounds, type ChatRequest, type FinishReason, JobErrorCode } from "../../protocol/dispatch.ts";
import type { Completion } from "../../protocol/messages.ts";
import { AnswerHash } from "../../shared/answer-hash.ts";
import { BackendError, type BackendUsage, estimatePrompt, estimateTokens, type Pieces } from "../backends/backend.ts";
import type { PieceKind } from "../reply.ts";

/**
 * The text of an answer as it is delivered, hashed as it grows.
 *
 * Two things are held back until more text follows. Newlines at the end are dropped if nothing follows, so that the hash never
 * depends on them. Half of a surrogate pair waits for the other half, so that every piece is valid text by itself.
 */
export class Answer {
  readonly #hash = new AnswerHash();
  readonly #pieces: string[] = [];
  /** Newlines at the end so far, joined only when text follows: a backend that is stuck on them costs nothing. */
  #newlines: string[] = [];
  /** First half of a surrogate pair, after those newlines. */
  #half = "";
  #characters = 0;

  /** UTF-8 bytes delivered so far. */
  get bytes(): number {
    return this.#hash.bytes;
  }

  /** Adds text. Returns what can be sent now, possibly nothing. */
  write(text: string): string {
    if (text === "") return "";
    this.#characters += text.length;
    const halfAt = isHighSurrogate(text.charCodeAt(text.length - 1)) ? text.length - 1 : text.length;
    let end = halfAt;
    while (end > 0 && isNewline(text.charCodeAt(end - 1))) end--;
    if (end === 0 && this.#half === "") {
      if (halfAt > 0) this.#newlines.push(text.slice(0, halfAt));
      this.#half = text.slice(halfAt);
      return "";
    }
    const piece = this.#newlines.join("") + this.#half + text.slice(0, end);
    this.#newlines = end < halfAt ? [text.slice(end, halfAt)] : [];
    this.#half = text.slice(halfAt);
    return this.#deliver(piece.toWellFormed());
  }

  /** Ends the answer. Returns a last piece to send, possibly nothing. */
  end(): string {
    // Half a pair will never be whole, but it is text: the newlines before it count.
    const rest = this.#half === "" ? "" : this.#newlines.join("") + this.#half;
    this.#newlines = [];
    this.#half = "";
    return this.#deliver(rest.toWellFormed());
  }

  /** Characters taken in, held back ones included. */
  get characters(): number {
    return this.#characters;
  }

  /** Everything delivered. */
  text(): string {
    return this.#pieces.join("");
  }

  /** SHA-256 of everything delivered; call once, after `end`. */
  digest(): Hex {
    return this.#hash.digest();
  }

  #deliver(piece: string): string {
    if (piece === "") return "";
    this.#hash.update(piece);
    this.#pieces.push(piece);
    return piece;
  }
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isNewline = (unit: number): boolean => unit === 10 || unit === 13;

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

/** Hands a piece to the gateway. */
export type Send = (kind: PieceKind, text: string) => void;

/** The signals that end an answer early: `cut`, when its time is over; `end`, when nobody waits for it any more. */
export type Ends = { cut: AbortSignal; end?: AbortSignal };

/** The sizes of an answer that its Completion states. */
type Usage = Pick<Completion, "promptTokens" | "completionTokens" | "reasoningTokens" | "textBytes">;
/** `reasoned`: characters of reasoning beside the answer. */
export type Generated = { answer: Answer; usage: Usage; finishReason: FinishReason; reasoned: number };

/** The answer to a request whose client left before the model server had room for it. */
export const emptyAnswer = ({ messages }: ChatRequest): Generated => ({
  answer: new Answer(),
  usage: { promptTokens: estimatePrompt(messages), completionTokens: 0, reasoningTokens: 0, textBytes: 0 },
  finishReason: "length",
  reasoned: 0,
});

/** A generation that starts at once: the model server works while the chain is asked about the lock. Pieces wait for `drain`. */
export class Generation {
  readonly #pieces: Pieces;
  readonly #first: ReturnType<Pieces["next"]>;
  readonly #request: ChatRequest;

  constructor(pieces: Pieces, request: ChatRequest) {
    this.#pieces = pieces;
    this.#request = request;
    this.#first = pieces.next();
    // `drain` throws it; until then, or if the job is refused, it must not count as unhandled.
    this.#first.catch(() => undefined);
  }

  /** Waits for the first piece, but no longer than `ms`. Returns why the generation failed by then, null if it did not. */
  async failsWithin(ms: number, signal: AbortSignal): Promise<Error | null> {
    const begun = this.#first.then(
      ({ done }) => (done === true ? brokenOff() : null),
      (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
    );
    const { promise: waited, resolve } = Promise.withResolvers<null>();
    const stop = () => resolve(null);
    const timer = setTimeout(stop, ms);
    signal.addEventListener("abort", stop, { once: true });
    try {
      return signal.aborted ? null : await Promise.race([begun, waited]);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    }
  }

  /**
   * Hands out text and reasoning piece by piece until the end; `begun` if the model is at work and its text is held back. When `cut` fires, what
   * was delivered is the answer, and its reason `length`; without any piece it goes on. When `end` fires, it ends also without any. Throws what the
   * backend throws, and a JobError for an endless answer.
   */
  async drain(send: Send, { cut, end }: Ends): Promise<Generated> {
    const answer = new Answer();
    const most = answerBounds(this.#request.max_tokens);
    let [bytes, pieces] = [0, 0];
    let reasoning = "";
    let begun = false;
    const hand = (kind: PieceKind, text: string): void => {
      begun = true;
      send(kind, text);
    };
    const deliver = (text: string): void => {
      if (text !== "") hand("delta", text);
      else if (!begun) hand("begun", "");
    };
    const finish = (finishReason: FinishReason, counted: BackendUsage | null): Generated => {
      const last = answer.end();
      if (last !== "") deliver(last);
      // Lets the backend go: it waits behind its last piece with whatever it holds for this job.
      void this.cancel();
      return { answer, usage: this.#usageOf(answer, reasoning, counted), finishReason, reasoned: reasoning.length };
    };
    const fires = (signal: AbortSignal) =>
      new Promise<"cut">((resolve) => {
        if (signal.aborted) resolve("cut");
        else signal.addEventListener("abort", () => resolve("cut"), { once: true });
      });
    const isCut = fires(cut);
    const isEnded = end === undefined ? [] : [fires(end)];
    for (let coming = this.#first; ; coming = this.#pieces.next()) {
      const next = await Promise.race([coming, ...isEnded, ...(begun ? [isCut] : [])]);
      if (next === "cut") {
        // The caller aborts the model server now, and nobody waits for its next piece any more.
        coming.catch(() => undefined);
        return finish("length", null);
      }
      if (next.done) throw brokenOff();
      const piece = next.value;
      if (piece.kind === "end") return finish(piece.finishReason, piece.usage);
      bytes += Buffer.byteLength(piece.text);
      pieces += 1;
      if (bytes > most.bytes || pieces > most.pieces) {
        throw new JobError(JobErrorCode.TooLong, "the model server sent more text than max_tokens can be");
      }
      if (piece.kind === "text") deliver(answer.write(piece.text));
      else {
        reasoning += piece.text;
        hand("reasoning", piece.text);
      }
    }
  }

  /** Lets go of the model server. A piece that is awaited must have come, or the abort signal have fired: the end waits for it. */
  async cancel(): Promise<void> {
    // The abort itself comes back as an error here; it was asked for.
    await this.#pieces.return().catch(() => undefined);
  }

  /**
   * The counts that the worker signs. They are bounded so that a gateway can believe them: by the tokens asked for, and by the bytes of
   * each kind.
   */
  #usageOf(answer: Answer, reasoning: string, counted: BackendUsage | null): Usage {
    const { max_tokens, messages } = this.#request;
    const textBytes = answer.bytes;
    const counts = countsOf(answer, reasoning, counted);
    const completionTokens = Math.min(counts.completionTokens, max_tokens, textBytes);
    return {
      promptTokens: counted?.promptTokens ?? estimatePrompt(messages),
      completionTokens,
      reasoningTokens: Math.min(counts.reasoningTokens, max_tokens - completionTokens, Buffer.byteLength(reasoning)),
      textBytes,
    };
  }
}

/**
 * Output tokens of the answer and of its reasoning. Most model servers count both together; of those that do not tell the part of reasoning, it
 * is that of its characters. Where they count nothing, the texts themselves are counted.
 */
function countsOf(answer: Answer, reasoning: string, counted: BackendUsage | null) {
  const all = counted?.completionTokens ?? null;
  if (all === null) {
    return { completionTokens: estimateTokens(answer.text()), reasoningTokens: estimateTokens(reasoning) };
  }
  const share = reasoning === "" ? 0 : (all * reasoning.length) / (answer.characters + reasoning.length);
  const reasoningTokens = Math.min(all, counted?.reasoningTokens || Math.floor(share));
  return { completionTokens: all - reasoningTokens, reasoningTokens };
}

function brokenOff(): BackendError {
  return new BackendError("the model server broke off without a finish reason");
}
