import { z } from "zod";
import type { ChatRequest, FinishReason } from "../../protocol/dispatch.ts";
import { BackendError, type BackendPiece, type Usage } from "./backend.ts";
import { countPromptTokens } from "./tokens.ts";

const text = z.string().nullish();
/** A `chat.completion.chunk` as far as it matters here; servers add and leave out fields freely. */
const chunkSchema = z.object({
  choices: z
    .array(
      z.object({
        index: z.number().optional(),
        delta: z.object({ content: text, reasoning_content: text, reasoning: text }).nullish(),
        finish_reason: text,
      }),
    )
    .nullish(),
  usage: z.object({ prompt_tokens: z.number().int().min(0), completion_tokens: z.number().int().min(0) }).nullish(),
  error: z.unknown().optional(),
});

/** Finish reasons as servers spell them. What is not here (content_filter, tool_calls, …) is no answer to sell. */
const FINISH: Record<string, FinishReason> = {
  stop: "stop",
  eos: "stop",
  eos_token: "stop",
  stop_sequence: "stop",
  end_turn: "stop",
  length: "length",
  max_tokens: "length",
  model_length: "length",
};

/** Reads the data of one streamed answer, event by event. */
export class ChunkReader {
  readonly #request: ChatRequest;
  #finish: FinishReason | null = null;
  #usage: Usage | null = null;
  #deltas = 0;
  #done = false;

  constructor(request: ChatRequest) {
    this.#request = request;
  }

  /** Whether `[DONE]` was read. */
  get done(): boolean {
    return this.#done;
  }

  /** Pieces in one event's data. Throws a BackendError when the server reports one or breaks the format. */
  *read(data: string): Generator<BackendPiece, void, undefined> {
    if (this.#done) return;
    if (data.trim() === "[DONE]") {
      this.#done = true;
      return;
    }
    const chunk = parse(data);
    if (chunk.error !== undefined && chunk.error !== null)
      throw new BackendError("the model server reported an error during the answer");
    if (chunk.usage)
      this.#usage = { promptTokens: chunk.usage.prompt_tokens, completionTokens: chunk.usage.completion_tokens };
    const choice = chunk.choices?.find((c) => (c.index ?? 0) === 0);
    if (choice === undefined) return;
    const reasoning = choice.delta?.reasoning_content ?? choice.delta?.reasoning ?? "";
    const content = choice.delta?.content ?? "";
    if (reasoning !== "") yield this.#counted({ kind: "reasoning", text: reasoning });
    if (content !== "") yield this.#counted({ kind: "text", text: content });
    if (choice.finish_reason) {
      const finish = FINISH[choice.finish_reason];
      if (finish === undefined)
        throw new BackendError(`the model server ended the answer with "${choice.finish_reason.slice(0, 40)}"`);
      this.#finish = finish;
    }
  }

  /** The end of the answer. Throws when the stream ended without a finish reason: half an answer is none. */
  end(): BackendPiece {
    if (this.#finish === null) throw new BackendError("the model server broke off without a finish reason");
    // Without usage, one delta is taken for one token: what most servers send, and never more than there were.
    const usage = this.#usage ?? {
      promptTokens: countPromptTokens(this.#request.messages),
      completionTokens: this.#deltas,
    };
    return { kind: "end", finishReason: this.#finish, usage };
  }

  #counted(piece: BackendPiece): BackendPiece {
    this.#deltas++;
    return piece;
  }
}

function parse(data: string): z.infer<typeof chunkSchema> {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch (error) {
    throw new BackendError("the model server sent an event that is not JSON", { cause: error });
  }
  const chunk = chunkSchema.safeParse(value);
  if (!chunk.success) throw new BackendError("the model server sent a chunk that is not in the OpenAI format");
  return chunk.data;
}
