import { createParser } from "eventsource-parser";
import { Agent, request } from "undici";
import type { z } from "zod";
import {
  acknowledgedEvent,
  completedEvent,
  type Dispatch,
  deltaEvent,
  errorEvent,
  type OutputRequest,
  outputSchema,
  refusalSchema,
  type WorkerOutput,
} from "../../protocol/dispatch.ts";

export type CompletedEvent = z.infer<typeof completedEvent>;

/** What happens while a worker runs a job, in the order of protocol/dispatch.ts. */
export type DispatchEvents = {
  acknowledged(signature: `0x${string}`): void;
  delta(content: string): void;
};

/** Why a worker gave no completion. `offered`: whether the signed assignment may have reached it. */
export class WorkerFailure extends Error {
  readonly code: string;
  readonly offered: boolean;
  constructor(code: string, message: string, offered: boolean, cause?: unknown) {
    super(message, { cause });
    this.name = "WorkerFailure";
    this.code = code;
    this.offered = offered;
  }
}

// Workers are somebody else's machines: bounded headers, no redirects, connections kept for the next job.
const agent = new Agent({ connections: 256, pipelining: 1, keepAliveTimeout: 30_000, connect: { timeout: 3_000 } });
/** No event of the protocol is larger, an answer in one piece included. */
const MAX_EVENT_BYTES = 9 * 1024 * 1024;
/** Workers fill silence with comments; a connection quiet for longer is dead. */
const SILENCE_MS = 60_000;
const REFUSAL_BYTES = 4_096;

const NEVER_CONNECTED = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** Gives a job to the worker at `endpoint` and follows it to its completion. Rejects with WorkerFailure. */
export async function dispatch(
  endpoint: string,
  body: Dispatch,
  events: DispatchEvents,
  signal: AbortSignal,
): Promise<CompletedEvent> {
  let response: Awaited<ReturnType<typeof request>>;
  try {
    response = await request(new URL("/jobs", endpoint), {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify(body),
      dispatcher: agent,
      signal,
      headersTimeout: SILENCE_MS,
      bodyTimeout: SILENCE_MS,
    });
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "";
    throw new WorkerFailure(
      "unreachable",
      `no answer from the worker: ${message(error)}`,
      !NEVER_CONNECTED.has(code),
      error,
    );
  }
  if (response.statusCode !== 200) throw await refusal(response);
  return followStream(response.body, events);
}

/** Fetches the finished answer of a job after a lost connection; null if the worker has none. */
export async function fetchOutput(
  endpoint: string,
  body: OutputRequest,
  signal: AbortSignal,
): Promise<WorkerOutput | null> {
  const response = await request(new URL("/jobs/output", endpoint), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    dispatcher: agent,
    signal,
  });
  if (response.statusCode === 404) {
    await response.body.dump();
    return null;
  }
  if (response.statusCode !== 200) throw await refusal(response);
  return outputSchema.parse(JSON.parse(await readBounded(response.body, MAX_EVENT_BYTES)));
}

/** Asks a worker how it is: at most a few kilobytes of JSON. */
export async function probe(
  endpoint: string,
  signal: AbortSignal,
): Promise<{ status: number; body: { status?: string; worker?: string } }> {
  const response = await request(new URL("/healthz", endpoint), { dispatcher: agent, signal });
  return { status: response.statusCode, body: JSON.parse(await readBounded(response.body, REFUSAL_BYTES)) };
}

async function followStream(stream: AsyncIterable<Buffer>, events: DispatchEvents): Promise<CompletedEvent> {
  let completed: CompletedEvent | undefined;
  let failure: WorkerFailure | undefined;
  const parser = createParser({
    maxBufferSize: MAX_EVENT_BYTES,
    onEvent({ event, data }) {
      // What follows the last event is none of ours.
      if (completed || failure) return;
      const value: unknown = JSON.parse(data);
      if (event === "delta") events.delta(deltaEvent.parse(value).content);
      else if (event === "acknowledged") events.acknowledged(acknowledgedEvent.parse(value).signature);
      else if (event === "completed") completed = completedEvent.parse(value);
      else if (event === "error") {
        const { code, message } = errorEvent.parse(value);
        failure = new WorkerFailure(code, message, true);
      }
    },
    onError(error) {
      failure ??= new WorkerFailure("malformed", `the worker's stream is malformed: ${error.message}`, true, error);
    },
  });
  // One decoder for the whole stream: a character may be cut between two network packets.
  const decoder = new TextDecoder();
  try {
    for await (const chunk of stream) {
      parser.feed(decoder.decode(chunk, { stream: true }));
      if (completed || failure) break;
    }
  } catch (error) {
    throw new WorkerFailure("broken_stream", `the worker's stream broke: ${message(error)}`, true, error);
  }
  if (failure) throw failure;
  if (!completed) throw new WorkerFailure("unfinished", "the worker's stream ended without a completion", true);
  return completed;
}

async function refusal(response: { statusCode: number; body: AsyncIterable<Buffer> }): Promise<WorkerFailure> {
  const text = await readBounded(response.body, REFUSAL_BYTES).catch((error) => message(error));
  try {
    const { error } = refusalSchema.parse(JSON.parse(text));
    return new WorkerFailure(error.code, `the worker refused: ${error.message}`, false);
  } catch {
    // Not our protocol's refusal (a proxy's error page, say): whether the worker saw the offer is unknown.
    return new WorkerFailure("refused", `the worker answered ${response.statusCode}`, true);
  }
}

async function readBounded(body: AsyncIterable<Buffer>, limit: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > limit) throw new WorkerFailure("oversized", `the worker sent more than ${limit} bytes`, true);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

const message = (error: unknown) => (error instanceof Error ? error.message : String(error));
