import { type Dispatcher, request } from "undici";
import { z } from "zod";
import {
  type Dispatch,
  type OutputRequest,
  outputSchema,
  refusalSchema,
  type WorkerOutput,
} from "../../protocol/dispatch.ts";
import { type ProbedHealth, probeSchema } from "../../protocol/worker-health.ts";
import type { EndpointPolicy } from "../outbound/address.ts";
import { guardedAgent } from "../outbound/agent.ts";
import { BodyTooLarge, discard, readBounded } from "../outbound/body.ts";
import { EndpointRefused, parseEndpoint } from "../outbound/endpoint.ts";
import { type CompletedEvent, type DispatchEvents, followStream } from "./dispatch-stream.ts";
import { WorkerFailure } from "./worker-failure.ts";

/** An output holds at most an answer, escaped as JSON. */
const OUTPUT_BYTES = 50 * 1024 * 1024;
const REFUSAL_BYTES = 4_096;
/** Workers fill silence with comments; a connection quiet for longer is dead. */
const SILENCE_MS = 60_000;

/** Errors of a connection that never was: the offer cannot have reached anybody. */
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
  readonly #agent: Dispatcher;

  constructor(policy: EndpointPolicy) {
    this.#policy = policy;
    this.#agent = guardedAgent({
      ...policy,
      connections: 256,
      pipelining: 1,
      keepAliveTimeout: 30_000,
      connectTimeoutMs: 3_000,
      headersTimeout: SILENCE_MS,
      bodyTimeout: SILENCE_MS,
    });
  }

  /** Gives a job to the worker at `endpoint` and follows it to its completion. Rejects with WorkerFailure. */
  async dispatch(
    endpoint: string,
    body: Dispatch,
    events: DispatchEvents,
    signal: AbortSignal,
  ): Promise<CompletedEvent> {
    const response = await this.#post(endpoint, "/jobs", body, signal);
    if (response.statusCode !== 200) throw await refusal(response);
    return followStream(response.body, body.request.max_tokens, events);
  }

  /** Fetches the finished answer of a job after a lost connection; null if the worker has none. Rejects with WorkerFailure. */
  async fetchOutput(endpoint: string, body: OutputRequest, signal: AbortSignal): Promise<WorkerOutput | null> {
    const response = await this.#post(endpoint, "/jobs/output", body, signal);
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

  /**
   * Asks a worker how it is: at most a few kilobytes of JSON within `timeoutMs`. Rejects with what is wrong: an error named
   * `TimeoutError` when the answer is late, wherever the time went.
   */
  async probe(endpoint: string, timeoutMs: number): Promise<ProbedHealth> {
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      return await this.#health(endpoint, signal);
    } catch (error) {
      // undici hears of the signal only once it is connected, and rejects in its own words where it does not get so far.
      throw signal.aborted ? signal.reason : error;
    }
  }

  async #health(endpoint: string, signal: AbortSignal): Promise<ProbedHealth> {
    const response = await request(urlOf(endpoint, "/healthz", this.#policy), { dispatcher: this.#agent, signal });
    const text = (await readBounded(response.body, REFUSAL_BYTES)).toString("utf8");
    if (response.statusCode !== 200) throw new Error(`answers ${response.statusCode}`);
    const health = probeSchema.safeParse(jsonOrNull(text));
    if (!health.success) throw new Error("answers what is no health report");
    return health.data;
  }

  /** Closes the connections. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #post(endpoint: string, path: string, body: unknown, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    try {
      return await request(urlOf(endpoint, path, this.#policy), {
        method: "POST",
        headers: { "content-type": "application/json", accept: "text/event-stream, application/json" },
        body: JSON.stringify(body),
        dispatcher: this.#agent,
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
  return new WorkerFailure(code, `the worker refused: ${message}`, false);
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
