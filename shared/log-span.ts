/** A size that was refused is tried again after so long: results may have been what was limited, and other blocks have fewer. */
const AGAIN_MS = 60_000;

/** The number of blocks that are asked for at once: at most the setting, and less than was last refused. */
export class LogSpan {
  readonly #largest: number;
  #span: number;
  #refused = Number.POSITIVE_INFINITY;
  #refusedAt = Number.NEGATIVE_INFINITY;

  constructor(largest: number) {
    this.#largest = largest;
    this.#span = largest;
  }

  get blocks(): number {
    return this.#span;
  }

  /** So many blocks were refused. */
  refused(blocks: number, now = performance.now()): void {
    this.#refused = Math.min(this.#refused, blocks);
    this.#refusedAt = now;
    this.#span = Math.min(this.#span, Math.max(1, Math.floor(blocks / 2)));
  }

  /** So many blocks were answered. */
  taken(blocks: number, now = performance.now()): void {
    if (now - this.#refusedAt > AGAIN_MS) this.#refused = Number.POSITIVE_INFINITY;
    if (blocks >= this.#span) this.#span = Math.min(this.#largest, this.#refused - 1, blocks + Math.ceil(blocks / 4));
  }
}
