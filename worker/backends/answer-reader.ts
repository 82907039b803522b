/**
 * Reads what a model server answers: text and an end, nothing else. What it can do without is done without: counts that are none, events
 * without data, an end that is not written in full. What might be text and is not understood is a failure, never an empty answer.
 */
import { createParser } from "eventsource-parser";
import type { FinishReason } from "../../protocol/dispatch.ts";
import { BackendError, type BackendPiece, type BackendUsage } from "./backend.ts";
import { faultOfEvent } from "./server-fault.ts";

/** No event of a sane server comes near it, nor a whole answer as one document; a server that sends a line without end is cut off. */
const EVENT_LIMIT = 4_194_304;

/** Ends as servers spell them, in small letters. What is not here (tool_calls, abort, error, …) is no answer to sell. */
const FINISH: ReadonlyMap<string, FinishReason> = new Map([
  ["stop", "stop"],
  ["eos", "stop"],
  ["eos_token", "stop"],
  ["stop_sequence", "stop"],
  ["end_turn", "stop"],
  ["length", "length"],
  ["max_tokens", "length"],
  ["model_length", "length"],
  // vLLM, where it was told to end an answer that repeats itself.
  ["repetition", "length"],
  ["content_filter", "content_filter"],
]);

/** Events that fill silence; their data is none of ours. */
const KEEP_ALIVE = /^(?:ping|heartbeat|keep-?alive)$/i;

export type Text = Exclude<BackendPiece, { kind: "end" }>;

/** Reads the bytes of one answer, as a stream of events or as one document: the first character tells, since servers and proxies name either as they like. */
export class AnswerReader {
  readonly #decoder = new TextDecoder();
  readonly #parser = createParser({
    maxBufferSize: EVENT_LIMIT,
    onEvent: ({ event, data }) => this.#event(event ?? "", data),
    onError: ({ type }) => {
      if (type === "max-buffer-size-exceeded") throw new BackendError("the model server sent an event without end");
      if (type === "unknown-field") throw new BackendError("the model server sent a line that is no event");
    },
  });
  #form: "unknown" | "events" | "document" = "unknown";
  /** The text before the first character that tells the form; of a document, all of its text. */
  #head = "";
  #pieces: Text[] = [];
  #finish: FinishReason | null = null;
  #usage: BackendUsage = { promptTokens: null, completionTokens: null, reasoningTokens: null };
  #done = false;
  #hasText = false;
  /** The number of the choice that is read. */
  #index: unknown = null;
  /** A whole message that came where a piece was expected. */
  #message: string | null = null;
  /** Something came that might be text, and was not understood. */
  #isUnread = false;

  /** True once the server said that nothing more comes. */
  get isDone(): boolean {
    return this.#done;
  }

  /** True once the server said how the answer ended: only its counts may follow. */
  get isFinished(): boolean {
    return this.#finish !== null;
  }

  /** Takes bytes. Throws a BackendError when the server reports one, or sends what cannot be read. */
  feed(bytes: Uint8Array): void {
    this.#text(this.#decoder.decode(bytes, { stream: true }));
  }

  /**
   * The text that was read since the last call. Deltas that arrived together are one piece: each one costs worker, gateway and client an
   * event.
   */
  take(): Text[] {
    return this.#pieces.splice(0);
  }

  /** Nothing more comes. An event that was not ended by a blank line counts, unless the answer has its end. */
  close(): void {
    if (this.#done || this.isFinished) return;
    this.#text(this.#decoder.decode());
    if (this.#form === "events") this.#parser.feed("\n\n");
    else if (this.#head.trim() !== "") this.#chunk(parse(this.#head));
  }

  /** The end of the answer. Throws when there is no reason for it, since half an answer is none, and when the answer would only seem empty. */
  end(): BackendPiece {
    if (this.#finish === null) throw new BackendError("the model server broke off without a finish reason");
    if (!this.#hasText && this.#isUnread)
      throw new BackendError("the model server answered in a form that is not understood");
    const { promptTokens, completionTokens } = this.#usage;
    const usage = promptTokens === null && completionTokens === null ? null : this.#usage;
    return { kind: "end", finishReason: this.#finish, usage };
  }

  #text(text: string): void {
    if (this.#form === "events") return this.#parser.feed(text);
    this.#head += text;
    if (this.#head.length > EVENT_LIMIT) throw new BackendError("the model server sent a document without end");
    if (this.#form === "document") return;
    const first = /\S/.exec(this.#head)?.[0];
    if (first === undefined) return;
    this.#form = first === "{" ? "document" : "events";
    if (this.#form === "events") this.#parser.feed(this.#head);
  }

  #event(name: string, data: string): void {
    if (this.#done || data.trim() === "" || KEEP_ALIVE.test(name)) return;
    if (data.trim() === "[DONE]") this.#done = true;
    else if (name.toLowerCase() === "error") throw faultOfEvent(parse(data));
    else this.#chunk(parse(data));
  }

  /** One chunk, or a whole completion. */
  #chunk(value: Record<string, unknown>): void {
    const { error, object, choices, usage } = value;
    const isError = (error != null && error !== "") || object === "error" || isText(value["detail"]);
    if (isError) throw faultOfEvent(value);
    this.#count(usage ?? Object(value["x_groq"]).usage);
    if (choices == null) {
      this.#isUnread ||= Object.keys(value).some(
        (name) => !/^(id|object|created|model|usage|system_fingerprint|timings|.*_filter_.*)$/.test(name),
      );
      return;
    }
    if (!Array.isArray(choices))
      throw new BackendError("the model server sent a chunk that is not in the OpenAI format");
    for (const choice of choices) this.#choice(Object(choice));
  }

  #choice(choice: Record<string, unknown>): void {
    const { index, delta, message, messages, text, finish_reason, native_finish_reason } = choice;
    // There is one choice, whatever its number: some servers count from 1.
    this.#index ??= index ?? 0;
    if ((index ?? this.#index) !== this.#index) {
      this.#isUnread = true;
      return;
    }
    if (delta != null && Object.keys(Object(delta)).length > 0) this.#delta(Object(delta));
    else if (message != null) this.#whole(Object(message));
    // Mistral has a list where a completion is of several messages.
    else if (Array.isArray(messages)) for (const one of messages) this.#whole(Object(one));
    else if (typeof text === "string") this.#add("text", text);
    else if (text != null) this.#isUnread = true;
    // OpenRouter ends with a good reason where the server behind it failed.
    if (/^(?:network_)?error$/i.test(String(native_finish_reason)))
      throw new BackendError("the model server's own server failed");
    if (finish_reason == null || finish_reason === "") return;
    const reason = String(finish_reason).toLowerCase();
    const finish = FINISH.get(reason);
    if (finish === undefined) {
      throw new BackendError(
        `the model server ended the answer with "${reason.replace(/[^\w -]/g, "?").slice(0, 40)}"`,
      );
    }
    this.#finish = finish;
  }

  #delta({
    content,
    reasoning_content,
    reasoning,
    role: _,
    reasoning_details: __,
    ...rest
  }: Record<string, unknown>): void {
    this.#reasoned(reasoning_content || reasoning);
    this.#content(content);
    // Refusals, calls of tools, and what nobody knows yet.
    this.#isUnread ||= Object.values(rest).some(isText);
  }

  /** A whole message instead of a piece: the answer, if no piece of it came, and the same again if it did. */
  #whole(message: Record<string, unknown>): void {
    const said = JSON.stringify(message["content"] ?? "");
    if (this.#message === null) {
      if (this.#hasText) return;
      this.#delta(message);
      if (this.#hasText) this.#message = said;
    } else if (said !== '""' && said !== this.#message) {
      // It may go on after the one before, or begin with it.
      throw new BackendError("the model server sent several messages in one answer");
    }
  }

  #reasoned(value: unknown): void {
    if (typeof value === "string") this.#add("reasoning", value);
    else if (isText(value)) this.#isUnread = true;
  }

  /** Text, or a list of parts as Mistral's models send it. */
  #content(value: unknown): void {
    if (value == null) return;
    if (typeof value === "string") return this.#add("text", value);
    if (!Array.isArray(value)) throw new BackendError("the model server sent content that is not text");
    for (const part of value) this.#part(part);
  }

  #part(part: unknown): void {
    if (typeof part === "string") return this.#add("text", part);
    const { type, text, thinking } = Object(part);
    if (typeof text === "string") this.#add("text", text);
    else if (Array.isArray(thinking)) for (const thought of thinking) this.#reasoned(Object(thought).text ?? thought);
    else if (type === "thinking") this.#reasoned(thinking);
    else if (type !== "reference" && isText(part)) this.#isUnread = true;
  }

  #add(kind: Text["kind"], text: string): void {
    if (text === "") return;
    if (kind === "text") this.#hasText = true;
    const last = this.#pieces.at(-1);
    if (last?.kind === kind) last.text += text;
    else this.#pieces.push({ kind, text });
  }

  /** Counts are taken where they are counts. A later one replaces an earlier one, a later nothing does not. */
  #count(usage: unknown): void {
    const { prompt_tokens, completion_tokens, completion_tokens_details, reasoning_tokens } = Object(usage);
    const before = this.#usage;
    const reasoning = countOf(Object(completion_tokens_details).reasoning_tokens ?? reasoning_tokens);
    this.#usage = {
      promptTokens: countOf(prompt_tokens) ?? before.promptTokens,
      completionTokens: countOf(completion_tokens) ?? before.completionTokens,
      reasoningTokens: reasoning ?? before.reasoningTokens,
    };
  }
}

/** A count above zero; null for everything else. No answer that anybody reads took no tokens. */
const countOf = (value: unknown): number | null =>
  Number.isSafeInteger(value) && (value as number) > 0 && (value as number) <= 0xffffffff ? (value as number) : null;

/** Whether a value holds any text at all. */
function isText(value: unknown): boolean {
  if (typeof value === "string") return value !== "";
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some(isText);
}

function parse(data: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch (error) {
    // Its message would quote the text.
    throw new BackendError("the model server sent an event that is not JSON", { cause: error });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new BackendError("the model server sent an event that is not in the OpenAI format");
  }
  return value as Record<string, unknown>;
}
