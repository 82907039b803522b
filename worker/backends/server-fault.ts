/**
 * Reads what a model server means by an error: that it is full, that it does not take this request, that the conversation is too long for
 * it, or that it is broken. Servers say so by a status, by an event of a stream that began well, or only in words; the table test names
 * each one's form. A server's words may quote the conversation: nothing of them goes further but numbers and the names of fields.
 */
import { BackendError, ContextExceeded, RequestRefused, ServerBusy } from "./backend.ts";

/**
 * The statuses of a server without room: Too Many Requests, Service Unavailable (also while it loads its model), and one of some hosted
 * APIs.
 */
const BUSY = new Set([429, 503, 529]);
/** The request's own fault. 404 and 401 are its operator's, 424 is TGI's word for a failed generation. */
const REFUSED = new Set([400, 413, 422]);

/** Wait where a full server does not say how long, and the longest that it is believed. */
const RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 20_000;

/** An error reply: its status, the header `retry-after`, and its body. */
type Reply = { status: number; retryAfter: string | null; body: string };

/** The error that a reply other than 200 stands for. */
export function faultOf({ status, retryAfter, body }: Reply): BackendError {
  if (BUSY.has(status)) return new ServerBusy(retryMs(retryAfter));
  return faultOfWords(status, jsonOf(body) ?? body);
}

/** The error that a server reported inside of a 200: in the stream, or as the document. */
export function faultOfEvent(value: unknown): BackendError {
  const { error, code } = Object(value);
  const status = [
    code,
    Object(error).code,
    Object(error).http_status_code,
    Object(error).status,
    Object(error).status_code,
    // A router passes on what it heard: "Streaming response failed: [503] The request queue is full."
    /\[(\d{3})\]/.exec(wordsOf(value))?.[1],
  ]
    .map(Number)
    .find((number) => number >= 400 && number < 600);
  if (status !== undefined && BUSY.has(status)) return new ServerBusy(RETRY_MS);
  return faultOfWords(status ?? 500, value);
}

function faultOfWords(status: number, value: unknown): BackendError {
  const words = wordsOf(value);
  const isRefused = REFUSED.has(status);
  const mostTokens = isRefused ? mostTokensOf(words) : null;
  const context = mostTokens === null && (isRefused || status >= 500) ? contextOf(value, words) : null;
  if (context !== null) return context;
  // A template that refuses a conversation is an exception to llama-server: 500.
  if (isRefused || (status >= 500 && /\bjinja\b|chat.template|roles must alternate/i.test(words))) {
    const message = `the model server refused the request (${status})`;
    return new RequestRefused(message, fieldsOf(value, words), mostTokens);
  }
  return new BackendError(`the model server answered with an error (${status})`);
}

function retryMs(header: string | null): number {
  if (header === null) return RETRY_MS;
  const seconds = Number(header);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.min(LONGEST_RETRY_MS, Math.max(100, ms)) : RETRY_MS;
}

// ---------------------------------------------------------------- too long

const TOO_LONG =
  /context.?(length|window|size|limit)|(context|prompt|input|model).{0,3} length|too many tokens|(prompt|input) is too long|`inputs`|max_(input|total)_tokens|reduce the length|tokens? limit|token count \(?\d+|larger than the maximum/i;

/** How servers name both counts in their errors; `prompt` is missing where a server stops counting at its window. */
const COUNTS = [
  // vLLM, OpenAI: "… maximum context length is 32768 tokens and your request has 9 input tokens", "… your messages resulted in 40000 tokens"
  /maximum context length is (?<window>\d+)\D.*?(?:request has|prompt contains|resulted in) (?<prompt>\d+)/is,
  // vLLM before 0.6, OpenAI, LiteLLM: "… However, you requested 40009 tokens (9 in the messages, 40000 in the completion)"
  /maximum context length is (?<window>\d+)\D.*?\((?<prompt>\d+) in (?:the|your) (?:messages|prompt)/is,
  /maximum context length is (?<window>\d+)/i,
  // SGLang
  /context length of (?<window>\d+) tokens\D+\d+ tokens: (?<prompt>\d+) tokens from the input/is,
  /\((?:length )?(?<prompt>\d+)(?: tokens)?\) (?:is longer than|exceeds) the (?:available )?\D{0,40}?(?<window>\d+)/is,
  /Input length \((?<prompt>\d+)\) exceeds \D*?(?<window>\d+)/is,
  // TGI
  /must be <= (?<window>\d+)\. Given: (?<prompt>\d+) `inputs`/is,
  /`inputs` must have less than (?<window>\d+) tokens\. Given: (?<prompt>\d+)/is,
  // Anthropic, of the prompt alone and with the answer
  /prompt is too long: (?<prompt>\d+) tokens > (?<window>\d+)/i,
  /exceed context limit: (?<prompt>\d+) \+ \d+ > (?<window>\d+)/i,
  // Gemini
  /token count \((?<prompt>\d+)\) exceeds \D*?(?<window>\d+)/i,
  // Mistral
  /Prompt contains (?<prompt>\d+) tokens.*?(?<window>\d+) maximum context length/is,
];

function contextOf(value: unknown, words: string): ContextExceeded | null {
  const { error, ...own } = Object(value);
  const { n_prompt_tokens, n_ctx, code, type } = { ...own, ...Object(error) };
  const named = [code, type].some((name) => /context_(length|size|window)/.test(String(name)));
  if (!named && !TOO_LONG.test(words)) return null;
  if (Number.isSafeInteger(n_prompt_tokens) && Number.isSafeInteger(n_ctx))
    return new ContextExceeded(n_prompt_tokens, n_ctx);
  const counts = COUNTS.map((pattern) => pattern.exec(words)?.groups).find((groups) => groups !== undefined);
  const number = (text: string | undefined) => (text === undefined ? null : Number(text));
  return new ContextExceeded(number(counts?.["prompt"]), number(counts?.["window"]));
}

/** How servers name in their errors the most tokens of answer that they write: OpenAI and SGLang, DeepSeek, Volcengine and Groq. */
const MOST_TOKENS = [
  /supports at most (\d+) completion tokens/i,
  /range of max_(?:completion_)?tokens is \[\d+, ?(\d+)\]/i,
  /max_(?:completion_)?tokens\b.*?(?:<=|less than or equal to) ?`?(\d+)/is,
];

function mostTokensOf(words: string): number | null {
  const most = MOST_TOKENS.map((pattern) => pattern.exec(words)?.[1]).find((count) => count !== undefined);
  return most === undefined || Number(most) < 1 ? null : Number(most);
}

// ---------------------------------------------------------------- which field

/** The fields that an error names: by `param` and `loc`, and in its words. A body that is quoted does not count. */
function fieldsOf(value: unknown, words: string): string[] {
  const { error, detail } = Object(value);
  const places = Array.isArray(detail) ? detail.map((entry) => Object(entry).loc) : [];
  const named = [Object(error).param, Object(value).param, ...places].flat();
  const fields = named.filter((name): name is string => typeof name === "string");
  // "Harmony does not support reasoning effort none"
  if (/reasoning effort/i.test(words)) fields.push("reasoning_effort");
  return [...fields, ...(words.match(/\b[a-z]+(?:_[a-z]+)*\b/g) ?? [])];
}

/** The words of an error: its messages, without what it quotes as input. */
function wordsOf(value: unknown): string {
  if (typeof value === "string") return value.slice(0, 8_192);
  const { error, message, msg, detail, reason } = Object(value);
  const parts: unknown[] = [error, message, msg, reason, ...(Array.isArray(detail) ? detail : [detail])];
  return parts
    .filter((part) => part != null)
    .map((part) => wordsOf(part))
    .join(" ")
    .slice(0, 8_192);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
