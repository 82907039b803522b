import { createParser } from "eventsource-parser";
import type { Dispatcher } from "undici";
import { z } from "zod";
import {
  ASSIGNMENT_HEADER,
  acknowledgedEvent,
  answerBounds,
  completedEvent,
  type Dispatch,
  deltaEvent,
  errorEvent,
  type OutputRequest,
  outputSchema,
  type ProbedHealth,
  probeSchema,
  RefusalCode,
  refusalSchema,
  type Ticket,
  type TrialRequest,
  trialSchema,
  type WorkerOutput,
} from "../../protocol/dispatch.ts";
import { BodyTooLarge, readBounded } from "../../shared/bounded-body.ts";
import { KeptConnections } from "../../shared/kept-connections.ts";
import { oneLine } from "../../shared/one-line.ts";
import { traceHeaders } from "../../shared/tracing.ts";
import { Turns } from "../../shared/turns.ts";
import type { EndpointPolicy } from "../outbound/address.ts";
import { discard, EndpointRefused, guardedAgent, parseEndpoint } from "../outbound/endpoint.ts";

/**
 * Why a worker gave no completion. `code`: the gateway's own (api/db/incidents.ts) or the worker's word. `offered`: whether
 * the signed assignment may have reached it.
 */
export class WorkerFailure extends Error {
  override name = "WorkerFailure";
  readonly code: string;
  readonly offered: boolean;

  constructor(code: string, message: string, offered: boolean, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.offered = offered;
  }
}

/** A health report names what it says of each model. */
const HEALTH_BYTES = 16_384;
/** An output holds at most an answer, escaped as JSON. */
const OUTPUT_BYTES = 50 * 1024 * 1024;
const REFUSAL_BYTES = 4_096;
const TRIAL_BYTES = 64 * 1024;
/** Workers fill silence with comments; a connection quiet for longer is dead. */
const SILENCE_MS = 60_000;

/** Errors before there was a connection: the offer cannot have reached anybody. */
const NEVER_CONNECTED = new Set([
  "ENDPOINT_REFUSED",
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  "ENOTFOUND",
  "ENODATA",
  "ESERVFAIL",
  "ETIMEOUT",
]);

/**
 * Speaks protocol/dispatch.ts with workers. They are somebody else's machines, named by somebody else's URLs: public addresses
 * only, no redirects, every answer bounded in size and time.
 */
export class WorkerClient {
  readonly #policy: EndpointPolicy;
  readonly #connections: KeptConnections;

  constructor(policy: EndpointPolicy) {
    this.#policy = policy;
    const times = { connectTimeoutMs: 3_000, headersTimeout: SILENCE_MS, bodyTimeout: SILENCE_MS };
    // A worker chooses on which of the two it sends: by dropping a kept connection.
    const turns = new Turns(3);
    const options = { ...policy, ...times, turns, connections: 256, keepAliveTimeout: 30_000 };
    this.#connections = new KeptConnections(({ pipelining }) => guardedAgent({ ...options, pipelining }));
  }

  /** Gives a job to the worker at `endpoint` and follows it to its completion. Rejects with WorkerFailure. */
  async dispatch(
    endpoint: string,
    body: Dispatch,
    events: DispatchEvents,
    signal: AbortSignal,
  ): Promise<CompletedEvent> {
    const { assignment, signature } = body;
    const ticket: Ticket = { assignment, signature };
    const { response, isSecond } = await this.#post(endpoint, "/jobs", { body, ticket }, signal);
    if (response.statusCode !== 200) throw isSecond ? asFirst(await refusal(response)) : await refusal(response);
    return followStream(response.body, body.request.max_tokens, events);
  }

  /** Fetches the finished answer of a job after a lost connection; null if the worker has none. Rejects with WorkerFailure. */
  async fetchOutput(endpoint: string, body: OutputRequest, signal: AbortSignal): Promise<WorkerOutput | null> {
    const { response } = await this.#post(endpoint, "/jobs/output", { body }, signal);
    if (response.statusCode === 404) {
      discard(response.body);
      return null;
    }
    if (response.statusCode !== 200) throw await refusal(response);
    try {
      return outputSchema.parse(JSON.parse((await readBounded(response.body, OUTPUT_BYTES)).toString("utf8")));
    } catch (error) {
      if (error instanceof BodyTooLarge) throw new WorkerFailure("oversized", error.message, true, error);
      if (error instanceof SyntaxError || error instanceof z.ZodError) {
        throw new WorkerFailure("malformed", "the output is not what the protocol says", true, error);
      }
      throw new WorkerFailure("broken_stream", `the output broke off: ${messageOf(error)}`, true, error);
    }
  }

  /** Has the worker end a running job's answer where it is, and sign that. Rejects with WorkerFailure. */
  async endJob(endpoint: string, body: OutputRequest, signal: AbortSignal): Promise<void> {
    const { response } = await this.#post(endpoint, "/jobs/end", { body }, signal);
    if (response.statusCode !== 204) throw await refusal(response);
    discard(response.body);
  }

  /** Sends the test prompt to the worker's model, and resolves with its text. Rejects with WorkerFailure, also where the worker has no such route. */
  async trial(endpoint: string, body: TrialRequest, signal: AbortSignal): Promise<string> {
    const { response } = await this.#post(endpoint, "/trial", { body }, signal);
    if (response.statusCode !== 200) throw await refusal(response);
    try {
      return trialSchema.parse(JSON.parse((await readBounded(response.body, TRIAL_BYTES)).toString("utf8"))).text;
    } catch (error) {
      throw new WorkerFailure("malformed", `no answer to a trial: ${messageOf(error)}`, false, error);
    }
  }

  /**
   * Asks a worker how it is: at most a few kilobytes of JSON within `timeoutMs`. Rejects with what is wrong: an error named
   * `TimeoutError` when the answer is late, wherever the time went.
   */
  async probe(endpoint: string, timeoutMs: number): Promise<ProbedHealth> {
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      return await this.#health(endpoint, signal);
    } catch (error) {
      // undici sees the signal only once it is connected. Before that it rejects with an error of its own.
      throw signal.aborted ? signal.reason : error;
    }
  }

  async #health(endpoint: string, signal: AbortSignal): Promise<ProbedHealth> {
    const { response } = await this.#connections.send(urlOf(endpoint, "/healthz", this.#policy), { signal });
    const text = (await readBounded(response.body, HEALTH_BYTES)).toString("utf8");
    if (response.statusCode !== 200) throw new Error(`answers ${response.statusCode}`);
    const health = probeSchema.safeParse(jsonOrNull(text));
    if (!health.success) throw new Error("answers what is no health report");
    return health.data;
  }

  /** Closes the connections. */
  async close(): Promise<void> {
    await this.#connections.close();
  }

  /** A worker that had the first sending of a dispatch all the same says so when it gets the second: it takes a job once. */
  async #post(
    endpoint: string,
    path: string,
    { body, ticket }: { body: unknown; ticket?: Ticket },
    signal: AbortSignal,
  ): ReturnType<KeptConnections["send"]> {
    const accept = "text/event-stream, application/json";
    const headers = { ...traceHeaders(), "content-type": "application/json", accept };
    try {
      return await this.#connections.send(urlOf(endpoint, path, this.#policy), {
        method: "POST",
        headers: ticket === undefined ? headers : { ...headers, [ASSIGNMENT_HEADER]: JSON.stringify(ticket) },
        body: JSON.stringify(body),
        signal,
      });
    } catch (error) {
      const code = error instanceof EndpointRefused ? "endpoint_refused" : "unreachable";
      const offered = !NEVER_CONNECTED.has((error as NodeJS.ErrnoException).code ?? "");
      throw new WorkerFailure(code, `no answer from the worker: ${messageOf(error)}`, offered, error);
    }
  }
}

/** `{endpoint}{path}`; an endpoint may have a path of its own. */
function urlOf(endpoint: string, path: string, policy: EndpointPolicy): URL {
  const url = parseEndpoint(endpoint, policy);
  url.pathname = url.pathname.replace(/\/+$/, "") + path;
  return url;
}

async function refusal({ statusCode, body }: Dispatcher.ResponseData): Promise<WorkerFailure> {
  let text = "";
  try {
    text = (await readBounded(body, REFUSAL_BYTES)).toString("utf8");
  } catch (error) {
    return new WorkerFailure("refused", `the worker answered ${statusCode} and ${messageOf(error)}`, true, error);
  }
  const parsed = refusalSchema.safeParse(jsonOrNull(text));
  // Not our protocol's refusal (a proxy's error page, say): whether the worker saw the offer is unknown.
  if (!parsed.success) return new WorkerFailure("refused", `the worker answered ${statusCode}`, true);
  const { code, message } = parsed.data.error;
  return new WorkerFailure(code, `the worker refused: ${oneLine(message)}`, false);
}

/** The failure of a job that was sent twice: if the worker took it before, it took the first sending, whose connection broke. */
function asFirst(failure: WorkerFailure): WorkerFailure {
  if (failure.code !== RefusalCode.AlreadyTaken) return failure;
  return new WorkerFailure("broken_stream", "the connection broke before the worker's answer", true, failure);
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The caller's schema refuses null, and says so in its own words.
    return null;
  }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

// ---------------------------------------------------------------- the stream of a job

export type CompletedEvent = z.infer<typeof completedEvent>;

/** What happens while a worker runs a job, in the order of protocol/dispatch.ts. */
export type DispatchEvents = {
  acknowledged(signature: `0x${string}`): void;
  /** The model is at work; its first tokens cannot be sent yet. */
  begun(): void;
  delta(content: string): void;
  /** A piece of the model's reasoning, which is no part of the answer. */
  reasoning(content: string): void;
};

/** No event of the protocol is larger, an answer in one piece included. */
const MAX_EVENT_BYTES = 9 * 1024 * 1024;
/** Events of proxies that fill silence. */
const KEEP_ALIVE = /^(?:ping|heartbeat|keep-?alive)$/i;
/** Frame of an event, and the most that JSON makes of a byte (`\u0000`). */
const EVENT_BYTES = 256;
const ESCAPED = 6;
/** Comments that fill silence, before they are too many. */
const SPARE_BYTES = 256 * 1024;
/** After its last event a worker ends the response; then the connection serves the next job. */
const LINGER_MS = 1_000;

type Body = AsyncIterable<Buffer> & { destroy(): unknown };

/**
 * Follows one job's stream to its completion. What a worker sends is bounded: text and reasoning by `maxTokens`, all bytes by
 * what these need on the wire, and the time by the request's signal. Rejects with WorkerFailure.
 */
async function followStream(body: Body, maxTokens: number, events: DispatchEvents): Promise<CompletedEvent> {
  const stream = new JobStream(maxTokens, events);
  const chunks = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await chunks.next();
      if (done) stream.close();
      else stream.feed(value);
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
  readonly #bounds: ReturnType<typeof answerBounds>;
  readonly #events: DispatchEvents;
  readonly #parser: ReturnType<typeof createParser>;
  // One decoder for the whole stream: a character may be cut between two network packets.
  readonly #decoder = new TextDecoder();
  #received = 0;
  /** Bytes that the events so far account for. */
  #accounted = SPARE_BYTES;
  #textBytes = 0;
  #pieces = 0;
  /** Pieces of one kind that came together: each one costs gateway and client an event. */
  #together: { kind: "delta" | "reasoning"; texts: string[] } | null = null;
  readonly #seen = new Set<string>();

  constructor(maxTokens: number, events: DispatchEvents) {
    this.#bounds = answerBounds(maxTokens);
    this.#events = events;
    this.#parser = createParser({
      maxBufferSize: MAX_EVENT_BYTES,
      onEvent: ({ event, data }) => this.#take(event ?? "", data),
      onError: (error) => {
        throw new WorkerFailure("malformed", `the worker's stream is malformed: ${error.type}`, true, error);
      },
    });
  }

  feed(chunk: Buffer): void {
    this.#received += chunk.length;
    try {
      this.#parser.feed(this.#decoder.decode(chunk, { stream: true }));
    } finally {
      // Text that came before a fault is handed on all the same.
      this.#hand();
    }
    // One event may be under way; beyond that, bytes that belong to no event are noise without end.
    if (this.#received > this.#accounted + MAX_EVENT_BYTES) {
      throw new WorkerFailure("oversized", "the worker sends far more than its answer needs", true);
    }
  }

  /** Nothing more comes. An event that was not ended by a blank line counts. */
  close(): void {
    this.#parser.feed("\n\n");
    this.#hand();
    if (this.completed === undefined) {
      throw new WorkerFailure("unfinished", "the worker's stream ended without a completion", true);
    }
  }

  #take(name: string, data: string): void {
    // Events after the last one are ignored, and so is what a proxy sends to keep the connection alive.
    if (this.completed !== undefined || KEEP_ALIVE.test(name) || (name === "" && data.trim() === "")) return;
    if (name === "delta" || name === "reasoning") return this.#piece(name, parse(deltaEvent, data).content);
    this.#hand();
    if (this.#seen.has(name)) throw new WorkerFailure("malformed", `the worker sent \`${name}\` twice`, true);
    if (name === "begun") this.#events.begun();
    else if (name === "acknowledged") this.#events.acknowledged(parse(acknowledgedEvent, data).signature);
    else if (name === "completed") this.completed = parse(completedEvent, data);
    else if (name === "error") {
      const { code, message } = parse(errorEvent, data);
      throw new WorkerFailure(code, oneLine(message), true);
    } else throw new WorkerFailure("malformed", "the worker sent an event that the protocol does not have", true);
    this.#seen.add(name);
  }

  #piece(kind: "delta" | "reasoning", content: string): void {
    const bytes = Buffer.byteLength(content);
    this.#textBytes += bytes;
    this.#accounted += EVENT_BYTES + bytes * ESCAPED;
    this.#pieces += 1;
    const most = this.#bounds;
    if (this.#textBytes > most.bytes) {
      throw new WorkerFailure("oversized", `the answer exceeds ${most.bytes} bytes`, true);
    }
    if (this.#pieces > most.pieces) {
      throw new WorkerFailure("oversized", `the answer comes in more than ${most.pieces} pieces`, true);
    }
    if (this.#together?.kind !== kind) {
      this.#hand();
      this.#together = { kind, texts: [] };
    }
    this.#together.texts.push(content);
  }

  /** Hands out what came together. */
  #hand(): void {
    const together = this.#together;
    this.#together = null;
    if (together !== null) this.#events[together.kind](together.texts.join(""));
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
