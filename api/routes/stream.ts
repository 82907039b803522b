import { once } from "node:events";
import type { Response } from "express";
import type { Answer } from "../jobs/answer.ts";

/** A comment line goes out after this much silence, so that no proxy takes the stream for dead. */
const SILENCE_MS = 10_000;

export type StreamParts = {
  /** SSE text of a piece of the answer. */
  piece: (text: string) => string;
  /** SSE text of a good end, `[DONE]` included. */
  end: () => Promise<string>;
  /** SSE text of a break after the first byte. */
  error: (error: unknown) => string;
  /** HTTP trailers, once the end is out. */
  trailers: () => Promise<Record<string, string>>;
};

/**
 * Sends an answer as Server-Sent Events at the client's own pace. A client that went away ends the sending only: the job
 * runs on by itself. Headers go out with the first text, so that they can be true.
 */
export async function streamAnswer(response: Response, answer: Answer, parts: StreamParts): Promise<void> {
  // Trailers need chunked encoding; Node throws when they are announced to an HTTP/1.0 client.
  const takesTrailers = response.req.httpVersionMajor > 1 || response.req.httpVersionMinor >= 1;
  response.status(200);
  response.setHeader("content-type", "text/event-stream; charset=utf-8");
  response.setHeader("cache-control", "no-cache, no-transform");
  response.setHeader("x-accel-buffering", "no");
  if (takesTrailers) response.setHeader("trailer", "x-service-settlement-tx");
  response.flushHeaders();

  const silence = setInterval(() => {
    if (response.writableLength === 0) response.write(": keep-alive\n\n");
  }, SILENCE_MS);
  try {
    for await (const text of answer.read()) {
      silence.refresh();
      if (!(await write(response, parts.piece(text)))) return;
    }
    if (!(await write(response, await parts.end()))) return;
  } catch (error) {
    // A client SDK takes a plain end of the stream for success; an error event is not to be missed.
    response.end(parts.error(error));
    return;
  } finally {
    clearInterval(silence);
  }
  if (takesTrailers) response.addTrailers(await parts.trailers());
  response.end();
}

/** Writes and waits until the client took it; false once the client is gone. */
async function write(response: Response, text: string): Promise<boolean> {
  if (response.destroyed) return false;
  if (response.write(text)) return true;
  const waiting = new AbortController();
  try {
    await Promise.race(["drain", "close"].map((event) => once(response, event, { signal: waiting.signal })));
  } finally {
    // Takes the listener of the event that did not come away again.
    waiting.abort();
  }
  return !response.destroyed;
}
