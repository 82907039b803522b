/** A response body larger than its reader accepts. */
export class BodyTooLarge extends Error {
  readonly code = "BODY_TOO_LARGE";
  constructor(limit: number) {
    super(`the body is larger than ${limit} bytes`);
    this.name = "BodyTooLarge";
  }
}

type Body = AsyncIterable<Buffer> & { destroy(error?: Error): unknown };

/** The whole body, if it is at most `limit` bytes; otherwise closes the connection and rejects with BodyTooLarge. */
export async function readBounded(body: Body, limit: number): Promise<Buffer> {
  const { bytes, complete } = await readStart(body, limit);
  if (!complete) throw new BodyTooLarge(limit);
  return bytes;
}

/** The first `limit` bytes of a body. What is longer is cut and its connection closed: no more than one chunk past the limit is taken. */
export async function readStart(body: Body, limit: number): Promise<{ bytes: Buffer; complete: boolean }> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Leaving the loop early destroys the stream, and with it the connection.
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > limit) return { bytes: Buffer.concat(chunks).subarray(0, limit), complete: false };
  }
  return { bytes: Buffer.concat(chunks), complete: true };
}

/** Closes the connection of a body that nobody will read. */
export function discard(body: { on(event: "error", listener: () => void): unknown; destroy(): unknown }): void {
  // A body that is destroyed before its end reports that as an error; without a listener it would end the process.
  body.on("error", () => {});
  body.destroy();
}
