import { createParser } from "eventsource-parser";
import type { z } from "zod";
import { acknowledgedEvent, completedEvent, deltaEvent, errorEvent } from "../../protocol/dispatch.ts";
import { MAX_ANSWER_BYTES } from "./answer.ts";
import { WorkerFailure } from "./worker-failure.ts";

export type CompletedEvent = z.infer<typeof completedEvent>;

/** What happens while a worker runs a job, in the order of protocol/dispatch.ts. */
export type DispatchEvents = {
  acknowledged(signature: `0x${string}`): void;
  delta(content: string): void;
};

/** No event of the protocol is larger, an answer in one piece included. */
const MAX_EVENT_BYTES = 9 * 1024 * 1024;
/** No token of any tokenizer in use is longer; short answers have this floor. */
const BYTES_PER_TOKEN = 1_024;
const LEAST_ANSWER_BYTES = 64 * 1024;
/** Frame of an event, and the most that JSON makes of a byte (`\u0000`). */
const EVENT_BYTES = 256;
const ESCAPED = 6;
/** Comments that fill silence, before they are too many. */
const SPARE_BYTES = 256 * 1024;
/** After its last event a worker ends the response; then the connection serves the next job. */
const LINGER_MS = 1_000;

/** Bytes of text that an answer of so many tokens can have. */
export function answerLimit(maxTokens: number): number {
  return Math.min(MAX_ANSWER_BYTES, Math.max(LEAST_ANSWER_BYTES, maxTokens * BYTES_PER_TOKEN));
}

type Body = AsyncIterable<Buffer> & { destroy(): unknown };

/**
 * Follows one job's stream to its completion. What a worker sends is bounded in every way: the text by `maxTokens`, everything
 * by what that text needs on the wire, and in time by the request's own signal. Rejects with WorkerFailure.
 */
export async function followStream(body: Body, maxTokens: number, events: DispatchEvents): Promise<CompletedEvent> {
  const stream = new JobStream(answerLimit(maxTokens), events);
  const chunks = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await chunks.next();
      if (done) throw new WorkerFailure("unfinished", "the worker's stream ended without a completion", true);
      stream.feed(value);
      if (stream.completed === undefined) continue;
      void linger(chunks, body);
      return stream.completed;
    }
  } catch (error) {
    body.destroy();
    if (error instanceof WorkerFailure) throw error;
    const message = error instanceof Error ? error.message : String(error);
    throw new WorkerFailure("broken_stream", `the worker's stream broke: ${message}`, true, error);
  }
}

/** Takes the end of the response, so that the connection can be used again; a worker that goes on sending is cut off. */
async function linger(chunks: AsyncIterator<Buffer>, body: Body): Promise<void> {
  const timer = setTimeout(() => body.destroy(), LINGER_MS);
  try {
    if (!(await chunks.next()).done) body.destroy();
  } catch {
    // The connection is gone: there is nothing to use again, and the job is complete.
  } finally {
    clearTimeout(timer);
  }
}

class JobStream {
  completed: CompletedEvent | undefined;
  readonly #limit: number;
  readonly #events: DispatchEvents;
  readonly #parser: ReturnType<typeof createParser>;
  // One decoder for the whole stream: a character may be cut between two network packets.
  readonly #decoder = new TextDecoder();
  #received = 0;
  /** Bytes that the events so far account for. */
  #accounted = SPARE_BYTES;
  #textBytes = 0;

  constructor(limit: number, events: DispatchEvents) {
    this.#limit = limit;
    this.#events = events;
    this.#parser = createParser({
      maxBufferSize: MAX_EVENT_BYTES,
      onEvent: ({ event, data }) => this.#take(event, data),
      onError: (error) => {
        throw new WorkerFailure("malformed", `the worker's stream is malformed: ${error.message}`, true, error);
      },
    });
  }

  feed(chunk: Buffer): void {
    this.#received += chunk.length;
    this.#parser.feed(this.#decoder.decode(chunk, { stream: true }));
    // One event may be under way; beyond that, bytes that belong to no event are noise without end.
    if (this.#received > this.#accounted + MAX_EVENT_BYTES) {
      throw new WorkerFailure("oversized", "the worker sends far more than its answer needs", true);
    }
  }

  #take(name: string | undefined, data: string): void {
    // What follows the last event is none of ours.
    if (this.completed !== undefined) return;
    this.#accounted += EVENT_BYTES;
    if (name === "delta") this.#delta(parse(deltaEvent, data).content);
    else if (name === "acknowledged") this.#events.acknowledged(parse(acknowledgedEvent, data).signature);
    else if (name === "completed") this.completed = parse(completedEvent, data);
    else if (name === "error") {
      const { code, message } = parse(errorEvent, data);
      throw new WorkerFailure(code, message, true);
    } else throw new WorkerFailure("malformed", "the worker sent an event that the protocol does not have", true);
  }

  #delta(content: string): void {
    const bytes = Buffer.byteLength(content);
    this.#textBytes += bytes;
    this.#accounted += bytes * ESCAPED;
    if (this.#textBytes > this.#limit) {
      throw new WorkerFailure("oversized", `the answer exceeds ${this.#limit} bytes`, true);
    }
    this.#events.delta(content);
  }
}

function parse<T>(schema: z.ZodType<T>, data: string): T {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch (error) {
    throw new WorkerFailure("malformed", "the worker sent an event that is not JSON", true, error);
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  // Paths only: values may be a client's text.
  const fields = result.error.issues.map((issue) => issue.path.join(".") || "event").slice(0, 5);
  throw new WorkerFailure("malformed", `the worker sent an event with wrong fields: ${fields.join(", ")}`, true);
}
