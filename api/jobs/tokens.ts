/** How many tokens a request may produce: what the client asks for, within what its prompt leaves of the model's context window. */
import { Worker } from "node:worker_threads";
import type { ChatRequest } from "../../protocol/dispatch.ts";
import { FairLimit } from "../../shared/fair-limit.ts";
import { type Counted, type Task, type Texts, TOKENIZER_THREAD } from "./tokenizer.ts";

/** Tokens that ChatML, and templates like it, add to each message: the marks around it, its role, two line breaks. And once: the answer's head. */
const PER_MESSAGE = 5;
const PER_REQUEST = 3;

type Messages = ChatRequest["messages"];

// ---------------------------------------------------------------- exact counts, beside the event loop

/** Counts that may wait for the thread: with more, it is behind by minutes. One wallet has a small part of them. */
const MOST_WAITING = 1_000;
const WALLET_WAITING = 64;
/** Wallets whose prompts the thread has at once. It holds a copy of their texts. */
const AT_ONCE = 32;

/** There are too many prompts to count. */
export class TokenizerBusy extends Error {
  override name = "TokenizerBusy";
}

/**
 * Counts prompts in a thread of its own: a large one takes up to a second, in which the event loop would answer nobody. The thread counts one
 * prompt of each wallet, all of them a slice at a time: a wallet with many large prompts takes no more of its time than another one.
 */
export class TokenCounter {
  readonly #prompts = new FairLimit({
    each: 1,
    all: AT_ONCE,
    waitingEach: WALLET_WAITING,
    waiting: MOST_WAITING,
    refusal: () => new TokenizerBusy("too many prompts wait to be counted"),
  });
  /** What the thread counts, by the task's id. */
  readonly #running = new Map<number, Omit<PromiseWithResolvers<number>, "promise">>();
  #lastId = 0;
  #thread: Worker | undefined;

  /**
   * Tokens of all texts; when they are more than `limit`, any number above it. Rejects when `signal` aborts, and with TokenizerBusy when too many
   * prompts of the wallet wait. A full queue gives up the newest prompt of the wallet that has most in it, also after it was taken.
   */
  count(wallet: string, texts: Texts, signal: AbortSignal): Promise<number> {
    return this.#prompts.run(wallet, () => this.#count(texts, signal), { signal });
  }

  /** Ends the thread. */
  async stop(): Promise<void> {
    await this.#thread?.terminate();
  }

  async #count(texts: Texts, signal: AbortSignal): Promise<number> {
    this.#lastId += 1;
    const id = this.#lastId;
    const { promise, ...count } = Promise.withResolvers<number>();
    this.#running.set(id, count);
    const drop = () => {
      this.#send({ id, texts: null });
      count.reject(signal.reason);
    };
    signal.addEventListener("abort", drop, { once: true });
    this.#send({ id, ...texts });
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", drop);
      this.#running.delete(id);
    }
  }

  #send(task: Task): void {
    this.#thread ??= this.#start();
    this.#thread.postMessage(task);
  }

  #start(): Worker {
    const thread = new Worker(new URL("./tokenizer.ts", import.meta.url), { workerData: TOKENIZER_THREAD });
    thread.unref();
    thread.on("message", ({ id, tokens }: Counted) => this.#running.get(id)?.resolve(tokens));
    let fault: unknown = new Error("the tokenizer's thread was stopped");
    thread.on("error", (error) => {
      fault = error;
    });
    thread.on("exit", () => {
      this.#thread = undefined;
      for (const { reject } of this.#running.values()) reject(fault);
    });
    return thread;
  }
}

// ---------------------------------------------------------------- the budget

/**
 * A prompt, and the output tokens that are `requested` for it. `serverWindow`: tokens that the largest of the model's servers holds, template and
 * answer included; null if that is not known.
 */
export type Prompt = {
  wallet: string;
  messages: Messages;
  requested: number;
  contextWindow: number;
  serverWindow: number | null;
};

/** Output tokens that a request may produce; or, when the prompt leaves no room for one, how large it is, in words. */
export type TokenBudget = { fits: true; maxTokens: number } | { fits: false; size: string };

/** Bytes a token in a text that is mostly runs of one character. A window times this is the most that is counted. */
const BYTES_PER_TOKEN = 16;
/**
 * The window is for the text of the messages (specification, "Errors"). Templates and answers come on top: servers that do not tell have this
 * much room beside the window, as a share of it. 128K models have 131,072 tokens, of which the catalog lists 128,000.
 */
const ROOM_BESIDE = 1 / 32;
/** A server's own tokenizer may need fewer tokens than the common one, by this share. A prompt is refused only if it fits in no case. */
const OWN_TOKENIZER = 0.9;
/** Output tokens that a prompt may have even if it fills the window: they come from the room beside the window. */
const LEAST_ANSWER = 256;

/**
 * Effective `max_tokens`. The boundary is exact: a text of as many tokens as the window has fits, one more does not. Nor does a prompt that is
 * too large for every server with what its template adds. Rejects as `TokenCounter.count` does.
 */
export async function tokenBudget(
  counter: Pick<TokenCounter, "count">,
  prompt: Prompt,
  signal: AbortSignal,
): Promise<TokenBudget> {
  const { messages, requested, contextWindow, serverWindow } = prompt;
  const held = serverWindow ?? Math.floor(contextWindow * (1 + ROOM_BESIDE));
  const template = messages.length * PER_MESSAGE + PER_REQUEST;
  // No text has more tokens than bytes: most prompts need no count.
  const bytes = messages.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
  if (bytes + template + requested <= contextWindow && bytes + template < held)
    return { fits: true, maxTokens: requested };
  if (bytes > contextWindow * BYTES_PER_TOKEN) return { fits: false, size: `${bytes} bytes` };
  const texts = messages.map(({ content }) => content);
  const tokens = await counter.count(prompt.wallet, { texts, limit: contextWindow }, signal);
  if (tokens > contextWindow) return { fits: false, size: `more than ${contextWindow} tokens` };
  if (Math.floor(tokens * (serverWindow === null ? 1 : OWN_TOKENIZER)) + template >= held) {
    const size = `${tokens} tokens in ${messages.length} messages, ${tokens + template} with what a chat template adds`;
    return { fits: false, size: serverWindow === null ? size : `${size}, and its servers hold ${serverWindow}` };
  }
  const left = Math.max(contextWindow - tokens - template, Math.min(held - tokens - template, LEAST_ANSWER), 1);
  return { fits: true, maxTokens: Math.min(requested, left) };
}
