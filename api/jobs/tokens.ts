import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import type { ChatRequest } from "../../protocol/dispatch.ts";
import { DEFAULT_MAX_TOKENS } from "../../protocol/pricing.ts";

/** Tokens that chat templates add to each message, and once. */
const PER_MESSAGE = 4;
const PER_REQUEST = 3;

type Messages = ChatRequest["messages"];

/** No text has more tokens than UTF-8 bytes: an upper bound that costs nothing. */
function upperBound(messages: Messages): number {
  return messages.reduce((sum, message) => sum + Buffer.byteLength(message.content) + PER_MESSAGE, PER_REQUEST);
}

/** Prompt tokens by a common tokenizer: an estimate, because each model has its own. */
export function estimatePromptTokens(messages: Messages): number {
  return messages.reduce((sum, message) => sum + countTokens(message.content) + PER_MESSAGE, PER_REQUEST);
}

/** Either the number of output tokens a request may produce, or the prompt's size when it does not fit the model. */
export type TokenBudget = { fits: true; maxTokens: number } | { fits: false; promptTokens: number };

/**
 * Effective `max_tokens`: what the client asked for, or 2,000, within what the context window leaves. The tokenizer runs
 * only when the cheap bound cannot decide.
 */
export function tokenBudget(messages: Messages, requested: number | undefined, contextWindow: number): TokenBudget {
  const wanted = requested ?? DEFAULT_MAX_TOKENS;
  const bound = upperBound(messages);
  if (bound + wanted <= contextWindow) return { fits: true, maxTokens: wanted };
  // A token is at most a few dozen bytes of ordinary text; far beyond that the text cannot fit and is not worth counting.
  if (bound > contextWindow * 64) return { fits: false, promptTokens: Math.floor(bound / 64) };
  const promptTokens = estimatePromptTokens(messages);
  if (promptTokens >= contextWindow) return { fits: false, promptTokens };
  return { fits: true, maxTokens: Math.min(wanted, contextWindow - promptTokens) };
}
