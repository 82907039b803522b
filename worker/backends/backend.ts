import type { ChatRequest, FinishReason } from "../../protocol/dispatch.ts";

/** The tokens that a model server counted; null for a count that it left out. `completionTokens` is with reasoning. */
export type BackendUsage = Record<"promptTokens" | "completionTokens" | "reasoningTokens", number | null>;

/**
 * The pieces that a backend yields: text as it comes, then exactly one end. A sequence without an end is a failed generation. `usage` is
 * null where the model server counts nothing.
 */
export type BackendPiece =
  | { kind: "text" | "reasoning"; text: string }
  | { kind: "end"; finishReason: FinishReason; usage: BackendUsage | null };
export type Pieces = AsyncGenerator<BackendPiece, void, undefined>;

/**
 * How a prompt's tokens are counted before the model server gets it: the server counts them on request, or the worker estimates them.
 * `window`: the tokens that the server holds; null if it does not tell.
 */
export type Counting = { by: "server" | "estimate"; window: number | null };

/** Something that generates text. */
export interface Backend {
  /** Name for logs. */
  readonly name: string;
  /**
   * Generates an answer. Every field of the request is honoured. `signal` stops it at once and makes it throw.
   * Throws a BackendError for every failure of the model server.
   */
  generate(model: string, request: ChatRequest, signal: AbortSignal): Pieces;
  /** Model names it can serve now; null when it serves any name. Throws a BackendError when it cannot be reached. */
  models(): Promise<string[] | null>;
  /** How this backend counts a model's tokens, as far as that is known. */
  counting(model: string): Counting;
  /** Releases connections. */
  close(): Promise<void>;
}

/** The model server failed. The message goes to the gateway, so it says what happened and quotes nothing. */
export class BackendError extends Error {
  override name = "BackendError";
}

/** The model server has no room for another request now. It is well otherwise. */
export class ServerBusy extends BackendError {
  override name = "ServerBusy";
  /** Milliseconds after which it wants to be asked again. */
  readonly retryAfterMs: number;

  constructor(retryAfterMs: number) {
    super("the model server is full");
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * The model server does not take this request. It is well otherwise. `fields`: which of its fields the server complains of, by its own words.
 * `mostTokens`: the most tokens of answer that it writes, where it complains of that.
 */
export class RequestRefused extends BackendError {
  override name = "RequestRefused";
  readonly fields: readonly string[];
  readonly mostTokens: number | null;

  constructor(message: string, fields: readonly string[] = [], mostTokens: number | null = null) {
    super(message);
    this.fields = fields;
    this.mostTokens = mostTokens;
  }
}

/** The conversation and the answer that was asked for are more than the model server holds. Counts are the server's own; null if it named none. */
export class ContextExceeded extends BackendError {
  override name = "ContextExceeded";
  readonly promptTokens: number | null;
  readonly window: number | null;

  constructor(promptTokens: number | null, window: number | null) {
    const prompt = promptTokens === null ? "the conversation" : `the conversation of ${promptTokens} tokens`;
    super(`the model server does not hold ${prompt}${window === null ? "" : ` in its ${window} tokens`}`);
    this.promptTokens = promptTokens;
    this.window = window;
  }
}

/** Why the backend cannot serve all of these models now, and what to do; null if it can. `where` names it for the operator. */
export async function modelsFault(backend: Backend, names: Iterable<string>, where: string): Promise<string | null> {
  try {
    const served = await backend.models();
    // Ollama takes a name without its tag.
    const isServed = (name: string) => served === null || served.includes(name) || served.includes(`${name}:latest`);
    const missing = [...names].filter((name) => !isServed(name));
    if (served === null || missing.length === 0) return null;
    return (
      `the model server ${where} does not serve ${missing.join(", ")}; it serves ${listOf(served)}. ` +
      "Name its models with --models catalog-id=name-at-the-server"
    );
  } catch (error) {
    if (!(error instanceof BackendError)) throw error;
    return `the model server ${where} cannot be asked for its models: ${error.message}. Is it running, and is that its address?`;
  }
}

/** Names for a sentence: as many as a person reads. */
function listOf(names: readonly string[]): string {
  const shown = names.slice(0, 20).map((name) => name.slice(0, 100));
  const more = names.length - shown.length;
  return `${shown.join(", ") || "nothing"}${more > 0 ? ` and ${more} more` : ""}`;
}

/** Letters that are a token each, as a rule: scripts without spaces between words. */
const DENSE = "\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Hangul}\\p{sc=Thai}";
/**
 * A token, roughly as the tokenizers of today's models cut text: a dense letter or a pictogram, up to 8 other letters, up to 3 digits, or up to
 * four other characters, each with a space before it; or a run of white space.
 */
const TOKEN = new RegExp(
  `[^\\S\\r\\n]?(?:[${DENSE}\\p{Extended_Pictographic}]|(?:(?![${DENSE}])[\\p{L}\\p{M}]){1,8}|\\p{N}{1,3}|(?!\\p{Extended_Pictographic})[^\\s\\p{L}\\p{M}\\p{N}]{1,4})|\\s+`,
  "gu",
);

/** Tokens of a text where its model server counts none: an estimate. */
export function estimateTokens(text: string): number {
  let tokens = 0;
  TOKEN.lastIndex = 0;
  while (TOKEN.test(text)) tokens += 1;
  return tokens;
}

/** Tokens that chat templates add to each message, and once. */
const PER_MESSAGE = 5;
const PER_REQUEST = 3;

/** Tokens of a conversation: its texts, and each message's frame. An estimate where a model server counts none. */
export function estimatePrompt(messages: readonly { content: string }[]): number {
  return messages.reduce((sum, { content }) => sum + estimateTokens(content) + PER_MESSAGE, PER_REQUEST);
}
