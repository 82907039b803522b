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

/** Longest piece given to the tokenizer at once: its time grows with the square of a run without a word break. */
const PIECE = 256;
/** Longer texts are counted by samples: counting must not hold up everybody else's requests. */
const SAMPLED_ABOVE = 200_000;
const SAMPLES = 100;
const SAMPLE = 2_000;

/** Prompt tokens by a common tokenizer: an estimate, because each model has its own. */
export function estimatePromptTokens(messages: Messages): number {
  return messages.reduce((sum, message) => sum + estimateTokens(message.content) + PER_MESSAGE, PER_REQUEST);
}

/** Tokens of a text by a common tokenizer; long texts by samples. */
export function estimateTokens(text: string): number {
  if (text.length <= SAMPLED_ABOVE) return countPieces(text);
  const step = Math.floor(text.length / SAMPLES);
  let tokens = 0;
  for (let i = 0; i < SAMPLES; i++) tokens += countPieces(text.slice(i * step, i * step + SAMPLE));
  return Math.ceil((tokens * text.length) / (SAMPLES * SAMPLE));
}

function countPieces(text: string): number {
  let tokens = 0;
  for (let i = 0; i < text.length; i += PIECE) {
    // Text that looks like a control token is text.
    tokens += countTokens(text.slice(i, i + PIECE), { disallowedSpecial: new Set() });
  }
  return tokens;
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
