import type { Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { SpanKind } from "@opentelemetry/api";
import { Agent, type Dispatcher } from "undici";
import type { ChatRequest } from "../../protocol/dispatch.ts";
import { readBounded, readStart } from "../../shared/bounded-body.ts";
import { KeptConnections } from "../../shared/kept-connections.ts";
import { kindOf, markFailed, startSpan, traceHeaders } from "../../shared/tracing.ts";
import { baseUrlOf, rootOf } from "../model-servers.ts";
import { AnswerReader } from "./answer-reader.ts";
import { type Backend, BackendError, type Counting, type Pieces } from "./backend.ts";
import { type ListedModel, ServerContext } from "./server-context.ts";
import { faultOf } from "./server-fault.ts";
import { adapted, bodyOf, OWN_FIELDS, type OwnField, serverRequest } from "./server-request.ts";

type OpenAiOptions = { baseUrl: string; key: string | null; connections: number };

/** A request to the model server: where, with which body, and the headers of its trace. */
type Question = { method: "GET" | "POST"; url: string; body?: string; trace?: Record<string, string> };

/** After the reason of its end an answer has its counts at most: so long they are waited for, whatever the connection does. */
const AFTER_END_MS = 500;
/** The most times that a request is sent: first unchanged, then changed as the server's refusals ask. */
const MOST_TRIES = 5;
/** Read of an error. */
const ERROR_BYTES = 16_384;
/** Read of lists and counts: the tokens of a large prompt, one number each. */
const DOCUMENT_BYTES = 16 * 1024 * 1024;

/** Any server that speaks `POST {baseUrl}/chat/completions`: vLLM, SGLang, llama-server, Ollama, TGI, LM Studio and their like. Reasoning that such a server parses is told apart from the answer. */
export class OpenAiBackend implements Backend {
  readonly name: string;
  readonly #baseUrl: string;
  readonly #root: string;
  readonly #key: string | null;
  readonly #connections: KeptConnections;
  readonly #context: ServerContext;
  /** The fields that the server's own errors name as unknown. */
  readonly #unknown = new Set<OwnField>();

  constructor({ baseUrl, key, connections }: OpenAiOptions) {
    this.#baseUrl = baseUrlOf(baseUrl);
    this.#root = rootOf(this.#baseUrl);
    this.#key = key;
    this.name = new URL(baseUrl).host;
    const options = {
      connections,
      connect: { timeout: 5_000 },
      // A long prompt on a busy server keeps the first byte waiting; the job's own deadline ends the wait sooner.
      headersTimeout: 150_000,
      bodyTimeout: 150_000,
      // uvicorn and llama-server close a connection that was idle for 5 s.
      keepAliveTimeout: 4_000,
    };
    this.#connections = new KeptConnections(({ pipelining }) => new Agent({ ...options, pipelining }));
    this.#context = new ServerContext(
      (path, body, signal) => this.#document(body === undefined ? "GET" : "POST", this.#root + path, signal, body),
      (signal) => this.#list(signal),
    );
  }

  async *generate(model: string, request: ChatRequest, signal: AbortSignal): Pieces {
    const attributes = { "gen_ai.operation.name": "chat", "gen_ai.request.model": model, "server.address": this.name };
    const span = startSpan("chat", { kind: SpanKind.CLIENT, attributes });
    try {
      const max_tokens = await this.#context.room(model, request, signal);
      let asked = serverRequest(model, { ...request, max_tokens }, this.#unknown);
      for (let tries = 1; ; tries++) {
        let hasBegun = false;
        try {
          for await (const piece of this.#answer(bodyOf(asked), traceHeaders(span), signal)) {
            hasBegun = true;
            yield piece;
          }
          return;
        } catch (error) {
          const next =
            hasBegun || tries === MOST_TRIES || !(error instanceof BackendError) ? null : adapted(asked, error);
          if (next === null) throw error;
          for (const field of OWN_FIELDS) if (field in asked && !(field in next)) this.#unknown.add(field);
          asked = next;
        }
      }
    } catch (error) {
      markFailed(kindOf(error), span);
      throw error;
    } finally {
      span.end();
    }
  }

  async *#answer(body: string, trace: Record<string, string>, signal: AbortSignal): Pieces {
    const url = `${this.#baseUrl}/chat/completions`;
    const response = await this.#send({ method: "POST", url, body, trace }, signal);
    if (response.statusCode !== 200) throw await refusal(response);
    const reader = new AnswerReader();
    const content = decoded(response);
    let timer: NodeJS.Timeout | undefined;
    try {
      for await (const bytes of content.iterator({ destroyOnReturn: false })) {
        try {
          reader.feed(bytes as Uint8Array);
        } finally {
          // Text that came before an error is handed on all the same.
          yield* reader.take();
        }
        if (reader.isDone) break;
        if (reader.isFinished) timer ??= setTimeout(() => content.destroy(), AFTER_END_MS);
      }
      reader.close();
      yield* reader.take();
    } catch (error) {
      if (signal.aborted || error instanceof BackendError) throw error;
      if (!reader.isFinished) {
        throw new BackendError("the connection to the model server broke during the answer", { cause: error });
      }
    } finally {
      clearTimeout(timer);
      // Also stops the server's work when the consumer gave up early.
      if (reader.isDone) release(response.body);
      else if (!response.body.readableEnded) response.body.destroy();
    }
    yield reader.end();
  }

  async models(): Promise<string[]> {
    return (await this.#context.read(AbortSignal.timeout(10_000))).map(({ id }) => id);
  }

  counting(model: string): Counting {
    return this.#context.counting(model);
  }

  async close(): Promise<void> {
    await this.#connections.close();
  }

  async #list(signal: AbortSignal): Promise<ListedModel[]> {
    const { data } = Object(await this.#document("GET", `${this.#baseUrl}/models`, signal));
    if (!Array.isArray(data)) throw new BackendError("the model server's model list is not in the OpenAI format");
    return data.filter((model) => typeof Object(model).id === "string");
  }

  /** A short answer as JSON; null where it is no success or no JSON. Throws a BackendError where the list of models cannot be had. */
  async #document(method: "GET" | "POST", url: string, signal: AbortSignal, body?: unknown): Promise<unknown> {
    const response = await this.#send(
      { method, url, ...(body !== undefined && { body: JSON.stringify(body) }) },
      signal,
    );
    if (response.statusCode !== 200) {
      const error = await refusal(response);
      if (method === "GET") throw error;
      return null;
    }
    try {
      return JSON.parse((await readBounded(response.body, DOCUMENT_BYTES)).toString("utf8"));
    } catch {
      return null;
    }
  }

  async #send({ method, url, body, trace }: Question, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const headers: Record<string, string> = { ...trace, accept: "text/event-stream, application/json" };
    if (body !== undefined) headers["content-type"] = "application/json";
    if (this.#key !== null) headers["authorization"] = `Bearer ${this.#key}`;
    try {
      const { response } = await this.#connections.send(url, { method, headers, body: body ?? null, signal });
      // The code that reads the body gets its errors. Destroying a body that nobody reads must not bring the process down.
      response.body.on("error", () => undefined);
      return response;
    } catch (error) {
      if (signal.aborted) throw error;
      throw new BackendError("the model server cannot be reached", { cause: error });
    }
  }
}

/** The error that a reply other than 200 stands for. */
async function refusal({ statusCode: status, headers, body }: Dispatcher.ResponseData): Promise<BackendError> {
  const retryAfter = headers["retry-after"];
  const text = (await readStart(body, ERROR_BYTES)).toString("utf8");
  return faultOf({ status, retryAfter: typeof retryAfter === "string" ? retryAfter : null, body: text });
}

/** Takes the rest of a response that has nothing more to say, so that its connection can be used again; one that goes on is cut. */
function release(body: Readable): void {
  const timer = setTimeout(() => body.destroy(), AFTER_END_MS).unref();
  body.once("close", () => clearTimeout(timer)).resume();
}

/** The content of a response. No encoding was asked for, and some proxies use one all the same. */
function decoded({ headers, body }: Dispatcher.ResponseData): Readable {
  const encoding = String(headers["content-encoding"] ?? "").toLowerCase();
  const decoders: Record<string, () => ReturnType<typeof createGunzip>> = {
    gzip: createGunzip,
    "x-gzip": createGunzip,
    deflate: createInflate,
    br: createBrotliDecompress,
  };
  const decoder = decoders[encoding]?.();
  if (decoder === undefined) return body;
  body.on("error", (error) => decoder.destroy(error));
  // As of the body itself.
  decoder.on("error", () => undefined);
  return body.pipe(decoder);
}
