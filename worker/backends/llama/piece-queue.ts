import type { BackendPiece } from "../backend.ts";

/** From callbacks to a sequence: what is pushed comes out of `read`, in order, until `end`. For one reader. */
export class PieceQueue {
  readonly #pieces: BackendPiece[] = [];
  #ended = false;
  #wake: () => void = () => {};

  push(piece: BackendPiece): void {
    this.#pieces.push(piece);
    this.#wake();
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  async *read(): AsyncGenerator<BackendPiece, void, undefined> {
    for (;;) {
      const piece = this.#pieces.shift();
      if (piece !== undefined) yield piece;
      else if (this.#ended) return;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}
