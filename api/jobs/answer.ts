import type { Hex } from "viem";
import { AnswerHash } from "../../shared/answer-hash.ts";

/**
 * The part of an answer that was sent to its client: hash and length of the text, whether that is all of the text, and the length of the
 * reasoning. Lengths are UTF-16 code units.
 */
export type Sent = { sentHash: Hex; sentCharacters: number; sentComplete: boolean; sentReasoning: number };

/** The answer as it goes to its client. */
export class SentAnswer {
  readonly #hash = new AnswerHash();
  #characters = 0;
  #reasoning = 0;
  #isWhole = false;
  #isClosed = false;

  /** Notes a piece that is about to be written. After the connection's end nothing is sent any more. */
  piece({ kind, text }: Piece): void {
    if (this.#isClosed) return;
    if (kind === "content") {
      this.#hash.update(text);
      this.#characters += text.length;
    } else this.#reasoning += text.length;
  }

  /** Bytes of the text that have been written. */
  get bytes(): number {
    return this.#hash.bytes;
  }

  /** Nothing more follows: the reply has a good end. */
  end(): void {
    this.#isWhole = true;
  }

  /** The connection ended, once: what had been sent by then. `isFlushed`: all that was written went out. */
  closed(isFlushed: boolean): Sent {
    this.#isClosed = true;
    const sentComplete = this.#isWhole && isFlushed;
    const [sentCharacters, sentReasoning] = [this.#characters, this.#reasoning];
    return { sentHash: this.#hash.digest(), sentCharacters, sentComplete, sentReasoning };
  }
}

/** Whether the text begins with what its client was sent; true where that is not known. */
export function beginsAsSent(
  text: string,
  { sentHash, sentCharacters }: { sentHash: Hex | null; sentCharacters: number | null },
): boolean {
  if (sentCharacters === null) return true;
  return new AnswerHash().update(text.slice(0, sentCharacters)).digest() === sentHash;
}

/** Characters of a piece that still grows. */
const PIECE = 4_096;

/** Text of the answer, or what the model reasoned beside it. */
export type Piece = { kind: "content" | "reasoning"; text: string };

/**
 * One answer as it arrives. Its text and hash are those of its content alone. The worker is drained into it at full speed; readers follow at their own pace from
 * the start, so a slow client never delays the proof.
 */
export class Answer {
  readonly #pieces: Piece[] = [];
  /** Pieces that a reader has taken: those after them can still grow. */
  #taken = 0;
  readonly #hash = new AnswerHash();
  #ended = false;
  #wake: (() => void)[] = [];

  /** Number of pieces, those of content and those of reasoning. */
  get pieces(): number {
    return this.#pieces.length;
  }

  get bytes(): number {
    return this.#hash.bytes;
  }

  get text(): string {
    return this.#textOf("content");
  }

  get reasoning(): string {
    return this.#textOf("reasoning");
  }

  append(text: string): void {
    this.#add("content", text);
    this.#hash.update(text);
  }

  reason(text: string): void {
    this.#add("reasoning", text);
  }

  /** Removes the reasoning: a reader gets only the content from now on. */
  forgetReasoning(): void {
    const content = this.#pieces.filter(({ kind }) => kind === "content");
    this.#pieces.splice(0, this.#pieces.length, ...content);
  }

  /** No more text will come. Returns the hash of all of it. */
  end(): Hex {
    this.#ended = true;
    this.#signal();
    return this.#hash.digest();
  }

  /** No more text will come, and what came is not an answer. */
  abort(): void {
    this.#ended = true;
    this.#signal();
  }

  /** Pieces from the first on; neighbours of one kind that are there already come as one. Ends with the answer. */
  async *read(): AsyncGenerator<Piece> {
    let next = 0;
    for (;;) {
      const piece = this.#pieces[next];
      if (piece !== undefined) {
        let end = next + 1;
        while (this.#pieces[end]?.kind === piece.kind) end += 1;
        const run = this.#pieces.slice(next, end);
        next = end;
        this.#taken = Math.max(this.#taken, end);
        yield { kind: piece.kind, text: run.map(({ text }) => text).join("") };
      } else if (this.#ended) return;
      else await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  /** A worker may send a character at a time: what nobody has read yet becomes one piece, up to a size. */
  #add(kind: Piece["kind"], text: string): void {
    const last = this.#pieces.at(-1);
    const canGrow = this.#pieces.length > this.#taken && last?.kind === kind && last.text.length < PIECE;
    if (canGrow) last.text += text;
    else this.#pieces.push({ kind, text });
    this.#signal();
  }

  #textOf(kind: Piece["kind"]): string {
    return this.#pieces.flatMap((piece) => (piece.kind === kind ? piece.text : [])).join("");
  }

  #signal(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}
