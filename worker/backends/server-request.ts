/** A chat request as a model server gets it, and what is changed in it where the server refuses it. Pure. */
import { asksReasoning, type ChatRequest, chatRequestJson, contextMargin } from "../../protocol/dispatch.ts";
import { type BackendError, ContextExceeded, estimatePrompt, RequestRefused } from "./backend.ts";

type ServerRequest = Record<string, unknown> & Pick<ChatRequest, "messages" | "max_tokens">;

/** Fields that the worker adds for its own sake: a server that does not know one gets none of it from then on. */
export const OWN_FIELDS = ["stream_options", "reasoning_effort", "chat_template_kwargs"] as const;
export type OwnField = (typeof OWN_FIELDS)[number];

/** Fields that a server may lack by what clients are told, and the values of the others that ask for nothing. */
const OPTIONAL: Record<string, (value: unknown) => boolean> = {
  top_k: () => true,
  min_p: () => true,
  repetition_penalty: () => true,
  seed: () => true,
  top_p: (value) => value === 1,
  frequency_penalty: (value) => value === 0,
  presence_penalty: (value) => value === 0,
};

/**
 * The request in the servers' own terms. Values that servers refuse or take for something else say the same in another way, or nothing: `top_p` 0
 * is the likeliest token, an empty `stop` would end every answer at once, and the other zeros mean "off".
 */
export function serverRequest(model: string, request: ChatRequest, unknown: ReadonlySet<OwnField>): ServerRequest {
  const { stop, top_p, min_p, top_k, repetition_penalty, reasoning_effort, ...rest } = request;
  const stops = (stop ?? []).filter((text) => text !== "");
  const thinks = asksReasoning(request);
  const own = {
    stream_options: { include_usage: true },
    reasoning_effort: reasoning_effort ?? "none",
    // By this servers of Qwen, GLM, DeepSeek and Granite models tell a template whether to think.
    chat_template_kwargs: { enable_thinking: thinks, thinking: thinks },
  };
  return {
    ...rest,
    ...(stops.length > 0 && { stop: stops }),
    ...(top_p === 0 ? { temperature: 0 } : given({ top_p })),
    ...given({ min_p: min_p || undefined }),
    ...given({ top_k: top_k === 0 ? -1 : top_k }),
    ...given({ repetition_penalty: repetition_penalty || undefined }),
    model,
    stream: true,
    ...Object.fromEntries(Object.entries(own).filter(([name]) => !unknown.has(name as OwnField))),
  };
}

const given = (fields: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/**
 * The request after a refusal, changed in what the server complained of: fewer tokens of answer, or without fields that the answer does not need.
 * Null where there is nothing to change. Each change makes the request smaller, so that trying again has an end.
 */
export function adapted(request: ServerRequest, error: BackendError): ServerRequest | null {
  if (error instanceof ContextExceeded) return shorter(request, error);
  if (!(error instanceof RequestRefused)) return null;
  const { fields, mostTokens } = error;
  if (mostTokens !== null && mostTokens < request.max_tokens) return { ...request, max_tokens: mostTokens };
  if (fields.includes("max_completion_tokens") && !("max_completion_tokens" in request)) {
    // OpenAI's newer models demand `max_completion_tokens`. The worker itself goes on reading `max_tokens`.
    return { ...request, max_completion_tokens: request.max_tokens };
  }
  const dropped = Object.entries(request).filter(
    ([name, value]) => fields.includes(name) && (isOwn(name, value) || OPTIONAL[name]?.(value) === true),
  );
  if (dropped.length === 0) return null;
  return Object.fromEntries(
    Object.entries(request).filter((entry) => !dropped.some(([name]) => name === entry[0])),
  ) as ServerRequest;
}

/** An effort that a client named is the client's field. */
const isOwn = (name: string, value: unknown): boolean =>
  OWN_FIELDS.some((own) => own === name) && (name !== "reasoning_effort" || value === "none");

function shorter(request: ServerRequest, { promptTokens, window }: ContextExceeded): ServerRequest | null {
  if (window === null) return null;
  const room =
    promptTokens === null ? window - estimatePrompt(request.messages) - contextMargin(window) : window - promptTokens;
  // Some want less than what is left, and say so by refusing it once more.
  const max_tokens = Math.min(room, request.max_tokens - 1);
  return max_tokens < 1 ? null : { ...request, max_tokens };
}

/** The body that is sent to the server. */
export function bodyOf({ max_tokens, ...rest }: ServerRequest): string {
  return chatRequestJson(
    "max_completion_tokens" in rest ? { ...rest, max_completion_tokens: max_tokens } : { ...rest, max_tokens },
  );
}
