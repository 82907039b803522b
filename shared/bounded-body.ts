/** Bodies of somebody else's replies and requests. They can be as long as their sender likes, so each is read with a limit. */

export class BodyTooLarge extends Error {
  readonly code = "BODY_TOO_LARGE";
  constructor(limit: number) {
    super(`the body is larger than ${limit} bytes`);
    this.name = "BodyTooLarge";
  }
}

/** The whole body, if it has at most `limit` bytes. Otherwise rejects with BodyTooLarge, and destroys the body and with it the connection. */
export async function readBounded(body: AsyncIterable<Uint8Array>, limit: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    // Leaving the loop destroys the body.
    if (size > limit) throw new BodyTooLarge(limit);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The first `limit` bytes of a body, or those that came before its connection broke. A longer body is destroyed. */
export async function readStart(body: AsyncIterable<Uint8Array>, limit: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > limit) break;
    }
  } catch {
    // The beginning is all that was asked for, and what came of it counts.
  }
  return Buffer.concat(chunks).subarray(0, limit);
}
