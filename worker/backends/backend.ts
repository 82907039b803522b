import type { ChatRequest, FinishReason } from "../../protocol/dispatch.ts";

export type Usage = { promptTokens: number; completionTokens: number };

/** What a backend yields: text as it comes, then exactly one end. A sequence without an end is a failed generation. */
export type BackendPiece =
  | { kind: "text"; text: string }
  | { kind: "reasoning"; text: string }
  | { kind: "end"; finishReason: FinishReason; usage: Usage };

/** Something that generates text. */
export interface Backend {
  /** Name for logs and health. */
  readonly name: string;
  /**
   * Generates an answer. Every field of the request is honoured. `signal` stops it at once and makes it throw.
   * Throws a BackendError for every failure of the model server.
   */
  generate(model: string, request: ChatRequest, signal: AbortSignal): AsyncGenerator<BackendPiece, void, undefined>;
  /** Model names it can serve now; null when it serves any name. Throws a BackendError when it cannot be reached. */
  models(): Promise<string[] | null>;
  /** Releases connections. */
  close(): Promise<void>;
}

/** The model server failed. The message goes to the gateway, so it says what happened and quotes nothing. */
export class BackendError extends Error {
  override name = "BackendError";
}
