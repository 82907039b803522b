import type { FinishReason } from "../../protocol/dispatch.ts";

export type Usage = { prompt_tokens: number; completion_tokens: number; total_tokens: number };

/** What plain and streamed replies of one job share. `created` in Unix seconds. */
export type CompletionBase = { jobId: string; model: string; created: number };

export function usageOf(promptTokens: number, completionTokens: number): Usage {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}

/** The chat completion object of the specification. */
export function completionObject(base: CompletionBase, content: string, finishReason: FinishReason, usage: Usage) {
  return {
    id: `chatcmpl-${base.jobId}`,
    object: "chat.completion",
    created: base.created,
    model: base.model,
    choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: finishReason }],
    usage,
  };
}

/** Writes the chunks of one stream as SSE lines. The constant part is serialised once. */
export class ChunkWriter {
  readonly #head: string;
  #first = true;

  constructor(base: CompletionBase) {
    const fixed = {
      id: `chatcmpl-${base.jobId}`,
      object: "chat.completion.chunk",
      created: base.created,
      model: base.model,
    };
    this.#head = JSON.stringify(fixed).slice(0, -1);
  }

  /** A piece of text; the first one also carries the role. */
  content(text: string): string {
    const delta = this.#first ? { role: "assistant", content: text } : { content: text };
    this.#first = false;
    return this.#event([{ index: 0, delta, finish_reason: null }]);
  }

  /** The last choice: an empty delta with the reason. An empty answer still gets its first chunk. */
  finish(reason: FinishReason): string {
    const opening = this.#first ? this.content("") : "";
    return opening + this.#event([{ index: 0, delta: {}, finish_reason: reason }]);
  }

  /** `stream_options.include_usage`: a chunk without choices. */
  usage(usage: Usage): string {
    return `data: ${this.#head},"choices":[],"usage":${JSON.stringify(usage)}}\n\n`;
  }

  #event(choices: unknown): string {
    return `data: ${this.#head},"choices":${JSON.stringify(choices)}}\n\n`;
  }
}
