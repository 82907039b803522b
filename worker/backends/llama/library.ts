import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { ConfigError } from "../../errors.ts";

/** The part of node-llama-cpp that is used here; the package itself is installed only when asked for, so its types are not there. */
export type LlamaLibrary = {
  getLlama(options: { gpu: "auto" | false; build: "never"; skipDownload: true; logLevel: "error" }): Promise<Llama>;
  LlamaChat: new (options: { contextSequence: Sequence }) => Chat;
};
export type Llama = { loadModel(options: { modelPath: string }): Promise<Model>; dispose(): Promise<void> };
export type Model = {
  readonly trainContextSize: number;
  readonly tokenizer: unknown;
  createContext(options: { sequences: number; contextSize?: { max: number }; threads?: number }): Promise<Context>;
};
export type Context = { getSequence(): Sequence };
export type Sequence = {
  readonly contextSize: number;
  readonly tokenMeter: { getState(): Meter; diff(before: Meter): Meter };
  clearHistory(): Promise<void>;
};
export type Meter = { usedInputTokens: number; usedOutputTokens: number };
export type HistoryItem = { type: "system" | "user"; text: string } | { type: "model"; response: string[] };
export type Chat = {
  readonly chatWrapper: {
    generateContextState(options: { chatHistory: HistoryItem[] }): {
      contextText: { tokenize(tokenizer: unknown): unknown[] };
    };
  };
  generateResponse(
    history: HistoryItem[],
    options: {
      signal: AbortSignal;
      maxTokens: number;
      temperature: number;
      topP: number;
      seed?: number;
      customStopTriggers?: readonly string[];
      repeatPenalty: false | { lastTokens: number; penalty: 1; frequencyPenalty: number; presencePenalty: number };
      onResponseChunk: (chunk: { type: "segment" | undefined; text: string }) => void;
    },
  ): Promise<{ metadata: { stopReason: string } }>;
  dispose(): void;
};

export const LLAMA_VERSION = "3.22.1";
/** A folder of its own: `npm ci` leaves it alone, and the project's lock file knows nothing of it. */
export const LLAMA_FOLDER = fileURLToPath(new URL("../../../.engines/node-llama-cpp/", import.meta.url));

/** Where the library's entry is: installed beside the project's packages, or by `install-llama`; null if it is not installed. */
export function findLibrary(): string | null {
  const own = join(LLAMA_FOLDER, "node_modules", "node-llama-cpp", "dist", "index.js");
  if (existsSync(own)) return own;
  try {
    return createRequire(import.meta.url).resolve("node-llama-cpp");
  } catch {
    // Not being installed is the usual case, and what null says.
    return null;
  }
}

/** Loads the library, or says how to install it. */
export async function loadLibrary(): Promise<LlamaLibrary> {
  const entry = findLibrary();
  if (entry === null) {
    throw new ConfigError(
      "a GGUF file needs node-llama-cpp, which is not installed. Install it once with\n" +
        "  npm run worker -- install-llama        (CPU, about 60 MB; add --gpu cuda or --gpu vulkan for a GPU)",
    );
  }
  return (await import(pathToFileURL(entry).href)) as LlamaLibrary;
}
