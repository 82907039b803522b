import { setImmediate, setTimeout } from "node:timers/promises";
import type { ChatRequest, FinishReason } from "../../protocol/dispatch.ts";
import type { Backend, BackendPiece } from "./backend.ts";
import { composeAnswer } from "./text.ts";
import { countPromptTokens } from "./tokens.ts";

export type BuiltinOptions = {
  /** Speed; 0: as fast as they can be sent. */
  tokensPerSecond: number;
  /** Pause before the first token. */
  firstTokenMs: number;
};

/** Tokens in one piece when there is no speed limit: fewer events to write, still a stream. */
const BATCH = 16;

/**
 * A small deterministic text generator, so that the whole system runs with no GPU and no model. It is no language model and
 * does not pretend to be one: it writes sentences around words of the prompt (see `composeAnswer` for what a prompt can ask).
 * Sampling parameters have no meaning for it; `seed`, `max_tokens` and `stop` do.
 */
export class BuiltinTextGenerator implements Backend {
  readonly name = "builtin-text-generator";
  readonly #options: BuiltinOptions;

  constructor(options: BuiltinOptions) {
    this.#options = options;
  }

  async *generate(
    model: string,
    request: ChatRequest,
    signal: AbortSignal,
  ): AsyncGenerator<BackendPiece, void, undefined> {
    const { tokens, finishReason } = limit(composeAnswer(model, request), request);
    const { tokensPerSecond, firstTokenMs } = this.#options;
    if (firstTokenMs > 0) await setTimeout(firstTokenMs, undefined, { signal });
    // At a speed above 50 tokens a second several tokens share a timer tick: timers are no finer than milliseconds.
    const batch = tokensPerSecond > 0 ? Math.ceil(tokensPerSecond / 50) : BATCH;
    const started = performance.now();
    for (let at = 0; at < tokens.length; at += batch) {
      if (at > 0) {
        const due = tokensPerSecond > 0 ? started + (at * 1000) / tokensPerSecond - performance.now() : 0;
        await (due > 1 ? setTimeout(due, undefined, { signal }) : setImmediate(undefined, { signal }));
      }
      yield { kind: "text", text: tokens.slice(at, at + batch).join("") };
    }
    const usage = { promptTokens: countPromptTokens(request.messages), completionTokens: tokens.length };
    yield { kind: "end", finishReason, usage };
  }

  async models(): Promise<null> {
    return null;
  }

  async close(): Promise<void> {}
}

/** Applies `max_tokens`, then `stop`: the text before the first stop sequence, counted in the tokens it took to get there. */
function limit(all: string[], request: ChatRequest): { tokens: string[]; finishReason: FinishReason } {
  const tokens = all.slice(0, request.max_tokens);
  const finishReason = tokens.length < all.length ? "length" : "stop";
  const text = tokens.join("");
  const cuts = (request.stop ?? [])
    .filter((stop) => stop !== "")
    .map((stop) => text.indexOf(stop))
    .filter((at) => at >= 0);
  if (cuts.length === 0) return { tokens, finishReason };
  const kept: string[] = [];
  let left = Math.min(...cuts);
  for (const token of tokens) {
    if (left <= 0) break;
    kept.push(token.slice(0, left));
    left -= token.length;
  }
  return { tokens: kept, finishReason: "stop" };
}
