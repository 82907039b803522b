/**
 * Finds how many tokens of answer a model server has room for behind a prompt, by that server's own count if it can be asked.
 *
 * Counts: vLLM 040a2cc2 (`/tokenize` takes messages), llama-server b11669 (recorded), TGI 3.3.6 (db931fcf, router/src/server.rs). SGLang's
 * `/tokenize` (0351c1fa, serving_tokenize.py) takes no messages. Windows: `max_model_len` of vLLM and SGLang, `meta.n_ctx` of llama-server,
 * `loaded_context_length` of LM Studio, `context_length` of OpenRouter, `context_window` of Groq; Ollama 0.33 (fb307609, api/types.go) in `/api/ps`.
 */
import type { ChatRequest } from "../../protocol/dispatch.ts";
import { ContextExceeded, type Counting, estimatePrompt } from "./backend.ts";

/** Asks the model server for a document: with GET, or with POST where there is a body. Null if the answer is an error or no JSON. `path` is below the server's root. */
export type Ask = (path: string, body: unknown, signal: AbortSignal) => Promise<unknown>;
/** A model as the server's list has it. */
export type ListedModel = { id: string } & Record<string, unknown>;
/** The server's list of models. */
export type List = (signal: AbortSignal) => Promise<ListedModel[]>;
type Messages = ChatRequest["messages"];

/** A way to have a conversation counted, with the server's template. */
type Way = (
  ask: (path: string, body: unknown) => Promise<unknown>,
  model: string,
  messages: Messages,
) => Promise<number | null>;

/** The template is the one of an answer without reasoning: with it, the answer begins a few tokens later at most. */
const chat_template_kwargs = { enable_thinking: false, thinking: false };
const WAYS: readonly Way[] = [
  // vLLM
  async (ask, model, messages) => {
    const body = { model, messages, add_generation_prompt: true, chat_template_kwargs };
    return countOf(Object(await ask("/tokenize", body)).count);
  },
  // llama-server
  async (ask, _model, messages) => {
    const { prompt } = Object(await ask("/apply-template", { messages, chat_template_kwargs }));
    if (typeof prompt !== "string") return null;
    return lengthOf(Object(await ask("/tokenize", { content: prompt, add_special: true, parse_special: true })).tokens);
  },
  // TGI
  async (ask, model, messages) => lengthOf(Object(await ask("/chat_tokenize", { model, messages })).tokenize_response),
];

/** Ollama's names have a tag, and what is in its own library says so. */
const isOllamas = ({ id, owned_by }: ListedModel): boolean => owned_by === "library" || /:[^/:]+$/.test(id);

const countOf = (value: unknown) => (Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : null);
const lengthOf = (value: unknown) => (Array.isArray(value) && value.length > 0 ? value.length : null);

/** More than any template adds to a conversation, once and for each message. */
const TEMPLATE = 128;
const PER_MESSAGE = 8;
/** A count takes milliseconds. A server that is too busy for it is sent the request as it is. */
const COUNT_MS = 3_000;
/** A server may be started anew with another window, and Ollama loads models anew by itself. */
const WINDOW_KEPT_MS = 60_000;
/** An estimate above the window times this is no error of the estimate. */
const ESTIMATE_SLACK = 1.25;
/** A server that could not be asked is asked again after this time: another one may be there by then. */
const LOOK_AGAIN_MS = 600_000;

/** The known windows of one model server, and its known way to count tokens. */
export class ServerContext {
  readonly #ask: Ask;
  readonly #list: List;
  readonly #windows = new Map<string, number>();
  #readAt = 0;
  #way: Way | null = null;
  #lookAgainAt = 0;
  /** Ollama: it shortens a conversation that is too long, without a word. */
  #isOllama = false;

  constructor(ask: Ask, list: List) {
    this.#ask = ask;
    this.#list = list;
  }

  counting(model: string): Counting {
    return { by: this.#way === null ? "estimate" : "server", window: this.#windows.get(model) ?? null };
  }

  /** Reads the server's list of models, what it says of them, and how it counts. Rejects if there is no list. */
  async read(signal: AbortSignal): Promise<ListedModel[]> {
    const models = await this.#readWindows(signal);
    for (const { id } of models.slice(0, 1)) await this.#count(id, [{ role: "user", content: "Hello" }], signal);
    return models;
  }

  /**
   * Tokens of answer that fit behind the prompt, `max_tokens` at most. Throws a ContextExceeded if there is no room for one. Where the server
   * cannot be asked it is what was asked for: the server's refusal then tells its count.
   */
  async room(
    model: string,
    { messages, max_tokens }: Pick<ChatRequest, "messages" | "max_tokens">,
    signal: AbortSignal,
  ): Promise<number> {
    // No text has more tokens than bytes: most prompts need no count.
    const bytes = messages.reduce((sum, { content }) => sum + Buffer.byteLength(content) + PER_MESSAGE, TEMPLATE);
    if (bytes + max_tokens <= (this.#windows.get(model) ?? 0)) return max_tokens;
    if (Date.now() > this.#readAt + WINDOW_KEPT_MS) {
      const inTime = AbortSignal.any([signal, AbortSignal.timeout(COUNT_MS)]);
      await this.#readWindows(inTime).catch((error: unknown) => {
        if (signal.aborted) throw error;
        // The request itself will tell that the server is away.
      });
    }
    const window = this.#windows.get(model);
    if (window === undefined || bytes + max_tokens <= window) return max_tokens;
    const prompt = await this.#count(model, messages, signal);
    if (prompt === null) {
      // It would answer another conversation than the client's.
      const isShortened = this.#isOllama && estimatePrompt(messages) > window * ESTIMATE_SLACK;
      if (isShortened) throw new ContextExceeded(null, window);
      return max_tokens;
    }
    if (prompt >= window) throw new ContextExceeded(prompt, window);
    return Math.min(max_tokens, window - prompt);
  }

  /** Notes what the server holds of each model. */
  async #readWindows(signal: AbortSignal): Promise<ListedModel[]> {
    this.#readAt = Date.now();
    const models = await this.#list(signal);
    for (const { id, meta, max_model_len, loaded_context_length, context_length, context_window } of models) {
      const named = [max_model_len, Object(meta).n_ctx, loaded_context_length, context_length, context_window];
      this.#noteWindow(id, named.map(countOf).find((value) => value !== null) ?? null);
    }
    if (models.some(isOllamas)) await this.#readLoaded(signal);
    return models;
  }

  /** Notes the windows of the models that Ollama has loaded: it has one for each, which its operator or its memory decides. */
  async #readLoaded(signal: AbortSignal): Promise<void> {
    const { models } = Object(await this.#asking(signal)("/api/ps", undefined));
    if (!Array.isArray(models)) return;
    this.#isOllama = true;
    for (const { name, context_length } of models.map(Object)) this.#noteWindow(name, countOf(context_length));
  }

  #noteWindow(name: unknown, window: number | null): void {
    if (typeof name === "string" && window !== null) this.#windows.set(name, window);
  }

  async #count(model: string, messages: Messages, signal: AbortSignal): Promise<number | null> {
    const ask = this.#asking(signal);
    if (this.#way !== null) {
      const count = await this.#way(ask, model, messages);
      if (count !== null) return count;
    }
    if (Date.now() < this.#lookAgainAt) return null;
    this.#lookAgainAt = Date.now() + LOOK_AGAIN_MS;
    for (const way of WAYS) {
      const count = await way(ask, model, messages);
      if (count === null) continue;
      this.#way = way;
      return count;
    }
    this.#way = null;
    return null;
  }

  /** Questions that belong together. Null as well where an answer is late, or the server away: the request itself will tell. */
  #asking(signal: AbortSignal): (path: string, body: unknown) => Promise<unknown> {
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(COUNT_MS)]);
    return async (path, body) => {
      try {
        return await this.#ask(path, body, inTime);
      } catch (error) {
        if (signal.aborted) throw error;
        return null;
      }
    };
  }
}
