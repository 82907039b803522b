import { SpanKind } from "@opentelemetry/api";
import { createParser } from "eventsource-parser";
import { Agent, type Dispatcher, request as send } from "undici";
import { z } from "zod";
import { type ChatRequest, chatRequestJson, type FinishReason } from "../../protocol/dispatch.ts";
import { kindOf, markFailed, startSpan, traceHeaders } from "../../shared/tracing.ts";
import {
  type Backend,
  BackendError,
  type BackendPiece,
  type BackendUsage,
  type Pieces,
  RequestRefused,
} from "./backend.ts";

type OpenAiOptions = { baseUrl: string; key: string | null; connections: number };

/** A chat request as it is sent, and the headers of its trace. */
type Question = { body: string; trace: Record<string, string> };

/** No event of a sane server comes near it; a server that sends a line without end is cut off. */
const EVENT_LIMIT = 1_048_576;
const modelList = z.object({ data: z.array(z.object({ id: z.string() })) });

/** Any server that speaks `POST {baseUrl}/chat/completions`: vLLM, Ollama, the llama.cpp server and their like. Reasoning that such a server parses is told apart from the answer. */
export class OpenAiBackend implements Backend {
  readonly name: string;
  readonly #options: OpenAiOptions;
  readonly #agent: Agent;

  constructor(options: OpenAiOptions) {
    this.#options = { ...options, baseUrl: options.baseUrl.replace(/\/+$/, "") };
    this.name = new URL(options.baseUrl).host;
    this.#agent = new Agent({
      connections: options.connections,
      keepAliveTimeout: 30_000,
      connect: { timeout: 5_000 },
      // A long prompt on a busy server keeps the first byte waiting; the job's own deadline ends the wait sooner.
      headersTimeout: 150_000,
      bodyTimeout: 150_000,
    });
  }

  async *generate(model: string, request: ChatRequest, signal: AbortSignal): Pieces {
    const attributes = { "gen_ai.operation.name": "chat", "gen_ai.request.model": model, "server.address": this.name };
    const span = startSpan("chat", { kind: SpanKind.CLIENT, attributes });
    const body = chatRequestJson({ ...request, model, stream: true, stream_options: { include_usage: true } });
    try {
      yield* this.#answer({ body, trace: traceHeaders(span) }, signal);
    } catch (error) {
      markFailed(kindOf(error), span);
      throw error;
    } finally {
      span.end();
    }
  }

  async *#answer(question: Question, signal: AbortSignal): Pieces {
    const response = await this.#send("POST", "/chat/completions", signal, question);
    const type = String(response.headers["content-type"] ?? "");
    if (!type.includes("text/event-stream")) {
      // A body that is destroyed before its end reports that as an error; without a listener it would end the process.
      response.body.on("error", () => {}).destroy();
      throw new BackendError(
        `the model server answered ${type || "without a content type"} instead of an event stream`,
      );
    }
    const reader = new ChunkReader();
    // Collected here, because the parser reports through callbacks.
    const pending: string[] = [];
    const parser = createParser({
      maxBufferSize: EVENT_LIMIT,
      onEvent: (event) => pending.push(event.data),
      onError: (error) => {
        if (error.type === "max-buffer-size-exceeded")
          throw new BackendError("the model server sent an event without end");
      },
    });
    const decoder = new TextDecoder();
    try {
      for await (const bytes of response.body) {
        parser.feed(decoder.decode(bytes as Uint8Array, { stream: true }));
        try {
          for (const data of pending.splice(0)) reader.read(data);
        } finally {
          // What came before an error has been written all the same.
          yield* reader.take();
        }
        if (reader.done) break;
      }
    } catch (error) {
      if (signal.aborted || error instanceof BackendError) throw error;
      throw new BackendError("the connection to the model server broke during the answer", { cause: error });
    } finally {
      // Also stops the server's work when the consumer gave up early.
      if (!response.body.readableEnded) response.body.destroy();
    }
    yield reader.end();
  }

  async models(): Promise<string[]> {
    const response = await this.#send("GET", "/models", AbortSignal.timeout(10_000));
    const list = modelList.safeParse(await response.body.json().catch(() => null));
    if (!list.success) throw new BackendError("the model server's model list is not in the OpenAI format");
    return list.data.data.map((model) => model.id);
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #send(
    method: "GET" | "POST",
    path: string,
    signal: AbortSignal,
    { body, trace }: Partial<Question> = {},
  ): Promise<Dispatcher.ResponseData> {
    const headers: Record<string, string> = { ...trace, accept: "text/event-stream, application/json" };
    if (body !== undefined) headers["content-type"] = "application/json";
    if (this.#options.key !== null) headers.authorization = `Bearer ${this.#options.key}`;
    let response: Dispatcher.ResponseData;
    try {
      response = await send(this.#options.baseUrl + path, {
        method,
        headers,
        body: body ?? null,
        signal,
        dispatcher: this.#agent,
      });
    } catch (error) {
      if (signal.aborted) throw error;
      throw new BackendError("the model server cannot be reached", { cause: error });
    }
    // Whoever reads the body gets its errors; destroying one that nobody reads must not bring the process down.
    response.body.on("error", () => undefined);
    if (response.statusCode === 200) return response;
    if ([400, 413, 422].includes(response.statusCode)) {
      response.body.destroy();
      throw new RequestRefused(`the model server refused the request (${response.statusCode})`);
    }
    await response.body.dump({ limit: 16_384 }).catch((error: unknown) => {
      throw new BackendError(`the model server answered ${response.statusCode}`, { cause: error });
    });
    throw new BackendError(`the model server answered ${response.statusCode}`);
  }
}

const text = z.string().nullish();
const tokens = z.number().int().min(0);
/** A `chat.completion.chunk` as far as it matters here; servers add and leave out fields freely. */
const chunkSchema = z.object({
  choices: z
    .array(
      z.object({
        index: z.number().optional(),
        delta: z.object({ content: text, reasoning_content: text, reasoning: text }).nullish(),
        finish_reason: text,
      }),
    )
    .nullish(),
  usage: z
    .object({
      prompt_tokens: tokens,
      completion_tokens: tokens,
      completion_tokens_details: z.object({ reasoning_tokens: tokens.nullish() }).nullish().catch(null),
    })
    .nullish(),
  error: z.unknown().optional(),
});

/** Finish reasons as servers spell them. What is not here (tool_calls, error, …) is no answer to sell. */
const FINISH: Record<string, FinishReason> = {
  stop: "stop",
  eos: "stop",
  eos_token: "stop",
  stop_sequence: "stop",
  end_turn: "stop",
  length: "length",
  max_tokens: "length",
  model_length: "length",
  content_filter: "content_filter",
};

type Text = Exclude<BackendPiece, { kind: "end" }>;

/** Reads the data of one streamed answer, event by event. */
class ChunkReader {
  #pieces: Text[] = [];
  #finish: FinishReason | null = null;
  #usage: BackendUsage | null = null;
  #done = false;

  /** Whether `[DONE]` was read. */
  get done(): boolean {
    return this.#done;
  }

  /** Reads one event's data. Throws a BackendError when the server reports one or breaks the format. */
  read(data: string): void {
    if (this.#done) return;
    if (data.trim() === "[DONE]") {
      this.#done = true;
      return;
    }
    const chunk = parse(data);
    if (chunk.error !== undefined && chunk.error !== null)
      throw new BackendError("the model server reported an error during the answer");
    if (chunk.usage) {
      const { prompt_tokens, completion_tokens, completion_tokens_details: details } = chunk.usage;
      const reasoningTokens = details?.reasoning_tokens ?? null;
      this.#usage = { promptTokens: prompt_tokens, completionTokens: completion_tokens, reasoningTokens };
    }
    const choice = chunk.choices?.find((c) => (c.index ?? 0) === 0);
    if (choice === undefined) return;
    const reasoning = choice.delta?.reasoning_content ?? choice.delta?.reasoning ?? "";
    const content = choice.delta?.content ?? "";
    if (reasoning !== "") this.#add("reasoning", reasoning);
    if (content !== "") this.#add("text", content);
    if (choice.finish_reason) {
      const finish = FINISH[choice.finish_reason];
      if (finish === undefined)
        throw new BackendError(`the model server ended the answer with "${choice.finish_reason.slice(0, 40)}"`);
      this.#finish = finish;
    }
  }

  /** What was read since the last call. Deltas that arrived together are one piece: each one costs worker, gateway and client an event. */
  take(): Text[] {
    return this.#pieces.splice(0);
  }

  /** Takes one delta for one token: what most servers send, and never more than there were. */
  #add(kind: Text["kind"], text: string): void {
    const last = this.#pieces.at(-1);
    if (last?.kind !== kind) this.#pieces.push({ kind, text, tokens: 1 });
    else {
      last.text += text;
      last.tokens += 1;
    }
  }

  /** The end of the answer. Throws when the stream ended without a finish reason: half an answer is none. */
  end(): BackendPiece {
    if (this.#finish === null) throw new BackendError("the model server broke off without a finish reason");
    return { kind: "end", finishReason: this.#finish, usage: this.#usage };
  }
}

function parse(data: string): z.infer<typeof chunkSchema> {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch (error) {
    throw new BackendError("the model server sent an event that is not JSON", { cause: error });
  }
  const chunk = chunkSchema.safeParse(value);
  if (!chunk.success) throw new BackendError("the model server sent a chunk that is not in the OpenAI format");
  return chunk.data;
}
