/**
 * Reads a chat reply on its way to the program. What the program gets and what is checked must be the same text. So a reply is passed on in
 * whole events only, and a form that another reader could take for another text ends it.
 */
import type { Address, Hex } from "viem";
import type { Completion } from "../protocol/messages.ts";
import { AnswerHash } from "../shared/answer-hash.ts";
import { BodyTooLarge, readBounded } from "../shared/bounded-body.ts";
import { lineJson } from "../shared/line-json.ts";
import { oneLine } from "../shared/one-line.ts";

/** The worker's signed statement, as the service passes it on. */
export type Statement = { worker_address: Address; completion: Completion; signature: Hex };
export type Usage = {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  completion_tokens_details?: { reasoning_tokens: number };
};

/** The reply has a form in which the service sends none: what the program would take of it cannot be known. */
export class ReplyFormError extends Error {
  override name = "ReplyFormError";
  constructor(what: string) {
    super(`The reply is not passed on: ${what}.`);
  }
}

/** Longest answer of the service, and the most that one of its events can be in JSON. */
const MOST_TEXT = 8 * 1024 * 1024;
const MOST_PENDING = 6 * MOST_TEXT + 65_536;

/** The text of a reply; null for one that is longer than any answer: a hostile service could send, or compress, bytes without an end. */
export async function textOf({ body }: Response): Promise<string | null> {
  if (body === null) return "";
  try {
    return new TextDecoder().decode(await readBounded(body, MOST_PENDING));
  } catch (error) {
    if (error instanceof BodyTooLarge) return null;
    throw error;
  }
}

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Throws for a field beside those named: an SDK may show it, and nobody signed it. */
function demandOnly(value: Json, where: string, ...fields: string[]): void {
  for (const field in value) {
    if (!fields.includes(field))
      throw new ReplyFormError(`${where} has '${oneLine(field, 40)}', which is in no answer`);
  }
}

/** Fields of the service's completion objects. A reader that matches names in any case finds no second one. */
const FIELDS = ["id", "object", "created", "model", "choices", "usage", "service"];

const STATEMENT = ["worker_address", "completion", "signature"];
const COMPLETION = [
  "jobId",
  "proofHash",
  "promptTokens",
  "completionTokens",
  "reasoningTokens",
  "textBytes",
  "completedAt",
];
const USAGE = ["prompt_tokens", "completion_tokens", "total_tokens", "completion_tokens_details"];

/** Throws for a choice that is not the one answer: some readers look at its number. */
function demandChoice(choice: Json, where: string, text: "message" | "delta"): void {
  demandOnly(choice, where, "index", text, "finish_reason");
  if (choice["index"] !== 0) throw new ReplyFormError(`${where} has another number than 0`);
}

/** A reply as far as the program has it, over however many connections. */
export class Reply {
  text = "";
  reasoning = "";
  /** Names that the reply gives itself, each once. */
  readonly ids = new Set<unknown>();
  readonly models = new Set<unknown>();
  statement: Statement | null = null;
  usage: Usage | null = null;
  finished = false;
  /** It ended as an answer does. */
  complete = false;
  /** The service said that it failed. */
  failed = false;
  #hash: Hex | null = null;
  /** Text that the program has from an earlier connection and this one must send again: it is compared, and not passed on again. */
  #had = { content: "", reasoning_content: "" };
  /** As JSON, the values that each connection sends once and that must be the same on all; and those that this connection has sent. */
  readonly #said = new Map<string, string>();
  #saidNow = new Set<string>();

  /** The reply is sent again, from its start. */
  repeat(): void {
    this.#had = { content: this.text, reasoning_content: this.reasoning };
    this.#saidNow = new Set();
  }

  /** SHA-256 of the text; asked for when there is no more of it. */
  get hash(): Hex {
    this.#hash ??= new AnswerHash().update(this.text).digest();
    return this.#hash;
  }

  /** Reads a plain reply; returns it as it is passed on. Throws a ReplyFormError. */
  readPlain(body: string): string {
    const value = parse(body);
    demandOnly(value, "it", ...FIELDS);
    const { choices } = value;
    const [choice] = Array.isArray(choices) ? (choices as unknown[]) : [];
    if (!isObject(choice) || (choices as unknown[]).length !== 1) throw new ReplyFormError("it has not one choice");
    demandChoice(choice, "its choice", "message");
    if (!isObject(choice["message"])) throw new ReplyFormError("its choice has no message");
    this.#names(value);
    this.#piece(choice["message"], "its message");
    this.#end(value);
    this.finished = this.complete = true;
    return lineJson(value);
  }

  /** Reads the end of a stream. Throws a ReplyFormError. */
  readDone(): void {
    this.complete = this.finished;
    if (!this.finished) throw new ReplyFormError("it ends before its answer does");
  }

  /** Reads an event of a stream, and takes out what the program has. Returns whether there is more in it. Throws a ReplyFormError. */
  readEvent(value: Json): boolean {
    if (value["error"] != null) {
      // Some SDKs would show the text beside it.
      demandOnly(value, "an error", "error");
      this.failed = true;
      return true;
    }
    delete value["error"];
    demandOnly(value, "an event", ...FIELDS);
    const { choices } = value;
    if (!Array.isArray(choices) || choices.length > 1) throw new ReplyFormError("an event has more than one choice");
    this.#names(value);
    this.#end(value);
    const choice: unknown = choices[0];
    if (choice === undefined) return true;
    if (!isObject(choice) || !isObject(choice["delta"])) throw new ReplyFormError("a choice has no delta");
    demandChoice(choice, "a choice", "delta");
    const { delta, finish_reason } = choice;
    const repeats = this.#takeOut(delta);
    if (this.finished && delta["content"]) throw new ReplyFormError("text follows its last event");
    this.#piece(delta, "a delta");
    if (finish_reason == null) return !repeats || Boolean(delta["content"]) || Boolean(delta["reasoning_content"]);
    // Reasoning is not kept, so it can be missing.
    if (this.#had.content !== "") throw new ReplyFormError("repeated, it is another answer");
    this.finished = true;
    return true;
  }

  /** Takes out of a delta what the program has; returns whether there was any. */
  #takeOut(delta: Json): boolean {
    let repeats = false;
    for (const field of ["content", "reasoning_content"] as const) {
      const text = delta[field];
      const had = this.#had[field];
      if (typeof text !== "string" || text === "" || had === "") continue;
      const again = had.slice(0, text.length);
      if (!text.startsWith(again)) throw new ReplyFormError("repeated, it is another answer");
      this.#had[field] = had.slice(again.length);
      delta[field] = text.slice(again.length);
      repeats = true;
    }
    return repeats;
  }

  #names({ id, model }: Json): void {
    this.ids.add(id);
    this.models.add(model);
  }

  #piece(delta: Json, where: string): void {
    demandOnly(delta, where, "role", "content", "reasoning_content");
    const content = delta["content"] ?? "";
    const reasoning = delta["reasoning_content"] ?? "";
    // Half of a character in each of two pieces is text in JavaScript only.
    if (![content, reasoning].every((text) => typeof text === "string" && text.isWellFormed()))
      throw new ReplyFormError(`the content of ${where} is no text`);
    if ((delta["role"] ?? "assistant") !== "assistant")
      throw new ReplyFormError(`the role of ${where} is not the assistant's`);
    this.text += content;
    this.reasoning += reasoning;
    if (Math.max(this.text.length, this.reasoning.length) > MOST_TEXT)
      throw new ReplyFormError("it is longer than any answer");
  }

  #end(value: Json): void {
    const service = this.#once(value, "service", STATEMENT);
    const completion = service?.["completion"];
    if (isObject(completion)) {
      demandOnly(completion, "its completion", ...COMPLETION);
      this.statement = service as unknown as Statement;
    }
    const usage = this.#once(value, "usage", USAGE);
    if (usage === null) return;
    const details = usage["completion_tokens_details"] ?? {};
    if (!isObject(details)) throw new ReplyFormError("the details of its usage are no object");
    demandOnly(details, "the details of its usage", "reasoning_tokens");
    this.usage = usage as unknown as Usage;
  }

  /** A field that is checked as it was said: some readers take the first one, some the last one, some add them up. */
  #once(value: Json, name: "service" | "usage", fields: readonly string[]): Json | null {
    const found = value[name] ?? null;
    if (found === null) return null;
    if (!isObject(found)) throw new ReplyFormError(`its ${name} is no object`);
    demandOnly(found, `its ${name}`, ...fields);
    const json = JSON.stringify(found);
    if (this.#saidNow.has(name) || (this.#said.get(name) ?? json) !== json)
      throw new ReplyFormError(`it has more than one ${name}`);
    this.#saidNow.add(name);
    this.#said.set(name, json);
    return found;
  }
}

function parse(text: string): Json {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ReplyFormError("it is no JSON");
  }
  if (!isObject(value)) throw new ReplyFormError("it is no JSON object");
  return value;
}

const encoder = new TextEncoder();

/** Cuts a stream of Server-Sent Events into events, reads them into a reply, and says what of it can be passed on. */
export class EventStream {
  readonly reply: Reply;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  #pending = "";

  /** A stream of one connection. What the reply has already, of earlier ones, is not passed on again. */
  constructor(reply: Reply) {
    this.reply = reply;
    reply.repeat();
  }

  /** Takes a chunk of bytes; returns what to pass on, null for nothing yet. Throws a ReplyFormError. */
  take(chunk: Uint8Array): Uint8Array | null {
    const text = this.#decode(chunk);
    if (text.includes("\r")) throw new ReplyFormError("it holds a carriage return between its events");
    const waiting = this.#pending !== "";
    const all = waiting ? this.#pending + text : text;
    const end = all.lastIndexOf("\n\n");
    this.#pending = end === -1 ? all : all.slice(end + 2);
    if (this.#pending.length > MOST_PENDING) throw new ReplyFormError("an event is longer than any answer");
    if (end === -1) return null;
    const ready = all.slice(0, end);
    const kept: string[] = [];
    let changed = false;
    for (const event of ready.split("\n\n")) {
      const shown = this.#event(event);
      if (shown !== event) changed = true;
      if (shown !== null) kept.push(shown, "\n\n");
    }
    if (!changed && !waiting && this.#pending === "") return chunk;
    return kept.length === 0 ? null : encoder.encode(kept.join(""));
  }

  /** An event as it is passed on; null for not at all. */
  #event(event: string): string | null {
    // Comments keep the connection open.
    if (event.startsWith(":")) {
      if (event.includes("\n")) throw new ReplyFormError("a comment is followed by something else");
      // Not its text: some readers end a line at other characters, too.
      return ":";
    }
    if (!event.startsWith("data: ") || event.includes("\n"))
      throw new ReplyFormError("an event is not one line of data");
    const { reply } = this;
    const payload = event.slice(6);
    if (reply.complete || reply.failed) throw new ReplyFormError("it goes on after its end");
    if (payload === "[DONE]") {
      reply.readDone();
      return event;
    }
    const value = parse(payload);
    if (!reply.readEvent(value)) return null;
    return `data: ${lineJson(value)}`;
  }

  #decode(chunk: Uint8Array): string {
    try {
      return this.#decoder.decode(chunk, { stream: true });
    } catch {
      throw new ReplyFormError("it is not UTF-8");
    }
  }
}
