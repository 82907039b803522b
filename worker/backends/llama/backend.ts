import type { ChatRequest, FinishReason } from "../../../protocol/dispatch.ts";
import { type Backend, BackendError, type BackendPiece } from "../backend.ts";
import type { Chat, HistoryItem, Llama, LlamaLibrary, Model, Sequence } from "./library.ts";
import { loadLibrary } from "./library.ts";
import { PieceQueue } from "./piece-queue.ts";

export type LlamaOptions = {
  /** Model name → GGUF file. */
  files: ReadonlyMap<string, string>;
  /** Jobs of one model at once. */
  concurrency: number;
  /** Context of one job in tokens; null: as much as fits the memory, at most what the model was trained for. */
  contextSize: number | null;
  /** CPU threads; null: the library's choice. */
  threads: number | null;
  gpu: boolean;
};

/** llama.cpp's own defaults, for requests that name none. */
const TEMPERATURE = 0.8;
const TOP_P = 0.95;

type Loaded = { model: Model; free: Sequence[]; waiting: ((sequence: Sequence) => void)[] };

/** llama.cpp inside this process: GGUF files, loaded at the start, several jobs of a model in one batch. */
export class LlamaBackend implements Backend {
  readonly name = "llama.cpp";
  readonly #library: LlamaLibrary;
  readonly #llama: Llama;
  readonly #models: ReadonlyMap<string, Loaded>;

  private constructor(library: LlamaLibrary, llama: Llama, models: ReadonlyMap<string, Loaded>) {
    this.#library = library;
    this.#llama = llama;
    this.#models = models;
  }

  /** Loads every model. Throws a ConfigError when the library is missing, a BackendError for a file that is no usable model. */
  static async load(options: LlamaOptions): Promise<LlamaBackend> {
    const library = await loadLibrary();
    const gpu = options.gpu ? "auto" : false;
    const llama = await library.getLlama({ gpu, build: "never", skipDownload: true, logLevel: "error" });
    const models = new Map<string, Loaded>();
    for (const [name, file] of options.files) models.set(name, await loadModel(llama, file, options));
    return new LlamaBackend(library, llama, models);
  }

  async *generate(
    model: string,
    request: ChatRequest,
    signal: AbortSignal,
  ): AsyncGenerator<BackendPiece, void, undefined> {
    const loaded = this.#models.get(model);
    if (loaded === undefined) throw new BackendError(`no GGUF file is loaded as ${model}`);
    const sequence = await take(loaded);
    try {
      signal.throwIfAborted();
      yield* this.#answer(loaded.model, sequence, request, signal);
    } finally {
      // One client's conversation must not be within reach of the next one's.
      await sequence.clearHistory();
      give(loaded, sequence);
    }
  }

  async models(): Promise<string[]> {
    return [...this.#models.keys()];
  }

  async close(): Promise<void> {
    await this.#llama.dispose();
  }

  async *#answer(
    model: Model,
    sequence: Sequence,
    request: ChatRequest,
    signal: AbortSignal,
  ): AsyncGenerator<BackendPiece, void, undefined> {
    const chat = new this.#library.LlamaChat({ contextSequence: sequence });
    try {
      const history = historyOf(request);
      const promptTokens = chat.chatWrapper
        .generateContextState({ chatHistory: history })
        .contextText.tokenize(model.tokenizer).length;
      const room = sequence.contextSize - promptTokens - 1;
      if (room < 1) {
        throw new BackendError(
          `the prompt has ${promptTokens} tokens; this worker's context is ${sequence.contextSize}`,
        );
      }
      const before = sequence.tokenMeter.getState();
      const queue = new PieceQueue();
      // An aborted consumer leaves this generator; the generation must not outlive it.
      const stopped = new AbortController();
      const running = this.#run(chat, history, request, room, AbortSignal.any([signal, stopped.signal]), queue);
      try {
        yield* queue.read();
        const finishReason = await running;
        const { usedOutputTokens } = sequence.tokenMeter.diff(before);
        yield { kind: "end", finishReason, usage: { promptTokens, completionTokens: usedOutputTokens } };
      } finally {
        stopped.abort();
        // Its failure was thrown above, or it is the abort that was just asked for.
        await running.catch(() => undefined);
      }
    } finally {
      chat.dispose();
    }
  }

  async #run(
    chat: Chat,
    history: HistoryItem[],
    request: ChatRequest,
    room: number,
    signal: AbortSignal,
    queue: PieceQueue,
  ): Promise<FinishReason> {
    const { frequency_penalty: frequency = 0, presence_penalty: presence = 0 } = request;
    try {
      const { metadata } = await chat.generateResponse(history, {
        signal,
        maxTokens: Math.min(request.max_tokens, room),
        temperature: request.temperature ?? TEMPERATURE,
        topP: request.top_p ?? TOP_P,
        ...(request.seed === undefined ? {} : { seed: request.seed >>> 0 }),
        ...(request.stop === undefined ? {} : { customStopTriggers: request.stop.filter((stop) => stop !== "") }),
        repeatPenalty:
          frequency === 0 && presence === 0
            ? false
            : { lastTokens: room, penalty: 1, frequencyPenalty: frequency, presencePenalty: presence },
        onResponseChunk: ({ type, text }) => {
          if (text !== "") queue.push({ kind: type === "segment" ? "reasoning" : "text", text });
        },
      });
      return metadata.stopReason === "maxTokens" ? "length" : "stop";
    } catch (error) {
      if (signal.aborted) throw error;
      throw new BackendError("llama.cpp failed during the answer", { cause: error });
    } finally {
      queue.end();
    }
  }
}

async function loadModel(llama: Llama, file: string, options: LlamaOptions): Promise<Loaded> {
  try {
    const model = await llama.loadModel({ modelPath: file });
    const context = await model.createContext({
      sequences: options.concurrency,
      ...(options.contextSize === null ? {} : { contextSize: { max: options.contextSize } }),
      ...(options.threads === null ? {} : { threads: options.threads }),
    });
    const free = Array.from({ length: options.concurrency }, () => context.getSequence());
    return { model, free, waiting: [] };
  } catch (error) {
    const reason = error instanceof Error ? error.message.split("\n")[0] : String(error);
    throw new BackendError(`${file} cannot be loaded: ${reason}`, { cause: error });
  }
}

/** A sequence for one job; the worker's own limit makes that immediate unless an aborted job still winds down. */
function take(loaded: Loaded): Promise<Sequence> {
  const sequence = loaded.free.pop();
  return sequence === undefined ? new Promise((resolve) => loaded.waiting.push(resolve)) : Promise.resolve(sequence);
}

function give(loaded: Loaded, sequence: Sequence): void {
  const next = loaded.waiting.shift();
  if (next === undefined) loaded.free.push(sequence);
  else next(sequence);
}

function historyOf({ messages }: ChatRequest): HistoryItem[] {
  const items = messages.map(
    ({ role, content }): HistoryItem =>
      role === "assistant" ? { type: "model", response: [content] } : { type: role, text: content },
  );
  return [...items, { type: "model", response: [] }];
}
