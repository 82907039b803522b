import { createHash } from "node:crypto";
import type { Hex } from "viem";

/**
 * SHA-256 of an answer, fed piece by piece; the same hash as `answerHash` of the whole text.
 *
 * A chunk boundary may fall inside a surrogate pair; hashing each piece alone would turn both halves into U+FFFD. The
 * high half is carried over, so plain and streamed replies of one text have one hash.
 */
export class AnswerHash {
  readonly #hash = createHash("sha256");
  #carry = "";
  #bytes = 0;

  /** Adds the next piece of text. */
  update(piece: string): this {
    if (piece === "") return this;
    let text = this.#carry + piece;
    const last = text.charCodeAt(text.length - 1);
    const endsOpen = last >= 0xd800 && last <= 0xdbff;
    this.#carry = endsOpen ? text.slice(-1) : "";
    if (endsOpen) text = text.slice(0, -1);
    this.#write(text);
    return this;
  }

  /** Bytes hashed so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The hash; the object is used up. */
  digest(): Hex {
    this.#write(this.#carry);
    this.#carry = "";
    return `0x${this.#hash.digest("hex")}`;
  }

  #write(text: string): void {
    if (text === "") return;
    const bytes = Buffer.from(text, "utf8");
    this.#bytes += bytes.length;
    this.#hash.update(bytes);
  }
}
