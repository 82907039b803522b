/** Bodies of somebody else's replies and requests. They can be as long as their sender likes, so each is read with a limit. */

export class BodyTooLarge extends Error {
  readonly code = "BODY_TOO_LARGE";
  constructor(limit: number, size: number) {
    super(size > limit ? `the body is larger than ${limit} bytes` : "the body comes in thousands of tiny pieces");
    this.name = "BodyTooLarge";
  }
}

/** Pieces of a body (chunks of HTTP) that have fewer than `TINY` bytes. Nobody was found who sends JSON in so many. */
const MOST_TINY = 4_096;
const TINY = 64;

/**
 * Counts the pieces of one body; true once it has too many tiny ones. Each takes about as long as a large one, and some memory until it is read: a
 * sender of a few megabytes a second so would hold up everybody else. Large pieces before them earn nothing: the tiny ones would come all at once.
 */
export function tinyPieces(): (piece: Uint8Array) => boolean {
  let count = 0;
  return (piece) => {
    if (piece.length < TINY) count += 1;
    return count > MOST_TINY;
  };
}

/**
 * The whole body, if it has at most `limit` bytes and few tiny pieces. Otherwise rejects with BodyTooLarge, and destroys the body and with it the
 * connection.
 */
export async function readBounded(body: AsyncIterable<Uint8Array>, limit: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  const areTooMany = tinyPieces();
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    // Leaving the loop destroys the body.
    if (size > limit || areTooMany(chunk)) throw new BodyTooLarge(limit, size);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The first `limit` bytes of a body, or those that came before its connection broke or tiny pieces were too many. The rest is destroyed. */
export async function readStart(body: AsyncIterable<Uint8Array>, limit: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  const areTooMany = tinyPieces();
  let size = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > limit || areTooMany(chunk)) break;
    }
  } catch {
    // The beginning is all that was asked for, and what came of it counts.
  }
  return Buffer.concat(chunks).subarray(0, limit);
}
