import type { ChatRequest } from "../../../protocol/dispatch.ts";
import type { BackendPiece } from "../../../worker/backends/backend.ts";
import type { OpenAiBackend } from "../../../worker/backends/openai.ts";

const REQUEST: ChatRequest = { messages: [{ role: "user", content: "What is the answer?" }], max_tokens: 100 };

/** A backend's answer; `failure` is what it threw. */
export async function answerOf(
  backend: OpenAiBackend,
  more: Partial<ChatRequest> = {},
  signal = AbortSignal.timeout(20_000),
) {
  const pieces: BackendPiece[] = [];
  let failure: Error | null = null;
  try {
    for await (const piece of backend.generate("m", { ...REQUEST, ...more }, signal)) pieces.push(piece);
  } catch (error) {
    failure = error as Error;
  }
  const textOf = (kind: string) =>
    pieces.map((piece) => (piece.kind === kind && "text" in piece ? piece.text : "")).join("");
  const end = pieces.find((piece) => piece.kind === "end");
  return {
    text: textOf("text"),
    reasoning: textOf("reasoning"),
    finish: end?.finishReason,
    usage: end?.usage,
    failure,
  };
}
