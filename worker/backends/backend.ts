import type { ChatRequest, FinishReason } from "../../protocol/dispatch.ts";

export type Usage = { promptTokens: number; completionTokens: number };
/** As model servers count: `completionTokens` with reasoning. `reasoningTokens` is null where they do not tell. */
export type BackendUsage = Usage & { reasoningTokens: number | null };

/**
 * What a backend yields: text as it comes, with its number of tokens, then exactly one end. A sequence without an end is a failed generation.
 * `usage` is null where the model server counts nothing.
 */
export type BackendPiece =
  | { kind: "text" | "reasoning"; text: string; tokens: number }
  | { kind: "end"; finishReason: FinishReason; usage: BackendUsage | null };
export type Pieces = AsyncGenerator<BackendPiece, void, undefined>;

/** Something that generates text. */
export interface Backend {
  /** Name for logs. */
  readonly name: string;
  /**
   * Generates an answer. Every field of the request is honoured. `signal` stops it at once and makes it throw.
   * Throws a BackendError for every failure of the model server.
   */
  generate(model: string, request: ChatRequest, signal: AbortSignal): Pieces;
  /** Model names it can serve now; null when it serves any name. Throws a BackendError when it cannot be reached. */
  models(): Promise<string[] | null>;
  /** Releases connections. */
  close(): Promise<void>;
}

/** The model server failed. The message goes to the gateway, so it says what happened and quotes nothing. */
export class BackendError extends Error {
  override name = "BackendError";
}

/** The model server does not take this request: too long for it, or a parameter it does not have. It is well otherwise. */
export class RequestRefused extends BackendError {
  override name = "RequestRefused";
}

/** Why the backend cannot serve all of these models now, and what to do; null if it can. `where` names it for the operator. */
export async function modelsFault(backend: Backend, names: Iterable<string>, where: string): Promise<string | null> {
  try {
    const served = await backend.models();
    const missing = served === null ? [] : [...names].filter((name) => !served.includes(name));
    if (served === null || missing.length === 0) return null;
    return (
      `the model server ${where} does not serve ${missing.join(", ")}; it serves ${served.join(", ") || "nothing"}. ` +
      "Name its models with --models catalog-id=name-at-the-server"
    );
  } catch (error) {
    if (!(error instanceof BackendError)) throw error;
    return `the model server ${where} cannot be asked for its models: ${error.message}. Is it running, and is that its address?`;
  }
}

/** A token is up to 12 letters, up to 3 digits or a run of other characters, each with the white space before it. */
const TOKEN = /\s*(?:\p{L}{1,12}|\p{N}{1,3}|[^\s\p{L}\p{N}]+)|\s+$/gu;

/** Splits text into the built-in generator's tokens; joined they are the text. */
export function tokenize(text: string): string[] {
  return text.match(TOKEN) ?? [];
}

/** Tokens of a conversation: its texts, and three for each message's frame. An estimate where a model server counts none. */
export function countPromptTokens(messages: readonly { content: string }[]): number {
  return messages.reduce((sum, message) => sum + tokenize(message.content).length + 3, 0);
}
