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
  #held = "";
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
    const rest = this.#held.replace(/[\r\n]+$/, "");
    this.#held = "";
    // Only half a surrogate pair can be left, and it will never be whole.
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
    this.#characters += text.length;
    // A backend stuck on newlines must not make each one cost a scan of all before it.
    if (/^[\r\n]*$/.test(text) && /^[\r\n]?$/.test(this.#held.slice(-1))) {
      this.#held += text;
      return "";
    }
    const all = this.#held + text;
    const tail = /[\r\n]*[\ud800-\udbff]?$/.exec(all)?.[0] ?? "";
    this.#held = tail;
    return this.#deliver(all.slice(0, all.length - tail.length).toWellFormed());
  }

  #deliver(piece: string): string {
    if (piece === "") return "";
    this.#hash.update(piece);
    this.#pieces.push(piece);
    return piece;
  }
}
