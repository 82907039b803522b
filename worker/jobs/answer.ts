import type { Hex } from "viem";
import { AnswerHash } from "../../protocol/answer-hash.ts";

/**
 * The text of an answer as it is delivered, hashed as it grows.
 *
 * Two things are held back until more text follows: newlines at the end, which are dropped if nothing follows, so that a trailing
 * newline never is a question of the hash; and half of a surrogate pair, so that every piece is text by itself on any wire.
 */
export class Answer {
  readonly #hash = new AnswerHash();
  readonly #pieces: string[] = [];
  /** Newlines at the end so far, as they came: joined only when text follows, so that a backend stuck on them costs nothing. */
  #newlines: string[] = [];
  /** First half of a surrogate pair, after those newlines. */
  #half = "";
  #thinking = false;
  #characters = 0;

  /** UTF-8 bytes delivered so far. */
  get bytes(): number {
    return this.#hash.bytes;
  }

  /** Adds reasoning, which is delivered inside `<think>…</think>`. Returns what can be sent now, possibly nothing. */
  think(text: string): string {
    if (this.#thinking) return this.#add(text);
    this.#thinking = true;
    return this.#add(`<think>${text}`);
  }

  /** Adds text. Returns what can be sent now, possibly nothing. */
  write(text: string): string {
    if (!this.#thinking) return this.#add(text);
    this.#thinking = false;
    return this.#add(`</think>${text}`);
  }

  /** Ends the answer. Returns a last piece to send (an open `<think>` is closed), possibly nothing. */
  end(): string {
    let last = "";
    if (this.#thinking) last = this.write("");
    // Half a pair will never be whole, but it is text: the newlines before it count.
    const rest = this.#half === "" ? "" : this.#newlines.join("") + this.#half;
    this.#newlines = [];
    this.#half = "";
    return last + this.#deliver(rest.toWellFormed());
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

  #add(text: string): string {
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

  #deliver(piece: string): string {
    if (piece === "") return "";
    this.#hash.update(piece);
    this.#pieces.push(piece);
    return piece;
  }
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isNewline = (unit: number): boolean => unit === 10 || unit === 13;
