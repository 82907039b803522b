import type { Address, Hex } from "viem";
import type { FinishReason } from "../../protocol/dispatch.ts";
import type { Completion } from "../../protocol/messages.ts";

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

/**
 * The worker's own statement of the answer, as the additive field `service` of a plain reply and of a stream's last choice.
 * `completion` is the EIP-712 message exactly as it was signed (domain: `escrowDomain`), so that a client can verify the
 * signature, and open a dispute with it, without asking anybody. Its token count is the worker's; `usage` is what was billed.
 */
export type SignedStatement = { worker_address: Address; completion: Completion; signature: Hex };

/** The statement of an answer's worker. */
export function statementOf(worker: Address, signed: { completion: Completion; signature: Hex }): SignedStatement {
  return { worker_address: worker, completion: signed.completion, signature: signed.signature };
}

/** The chat completion object of the specification, with the worker's statement. */
export function completionObject(
  base: CompletionBase,
  content: string,
  finishReason: FinishReason,
  usage: Usage,
  service: SignedStatement,
) {
  return {
    id: `chatcmpl-${base.jobId}`,
    object: "chat.completion",
    created: base.created,
    model: base.model,
    choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: finishReason }],
    usage,
    service,
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

  /** The last choice: an empty delta with the reason, and the worker's statement. An empty answer still gets its first chunk. */
  finish(reason: FinishReason, service: SignedStatement): string {
    const opening = this.#first ? this.content("") : "";
    const choices = JSON.stringify([{ index: 0, delta: {}, finish_reason: reason }]);
    return `${opening}data: ${this.#head},"choices":${choices},"service":${JSON.stringify(service)}}\n\n`;
  }

  /** `stream_options.include_usage`: a chunk without choices. */
  usage(usage: Usage): string {
    return `data: ${this.#head},"choices":[],"usage":${JSON.stringify(usage)}}\n\n`;
  }

  #event(choices: unknown): string {
    return `data: ${this.#head},"choices":${JSON.stringify(choices)}}\n\n`;
  }
}
