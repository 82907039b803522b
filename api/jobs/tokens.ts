/** How many tokens a request may produce: what the client asks for, within what its prompt leaves of the model's context window. */
import { Worker } from "node:worker_threads";
import type { ChatRequest } from "../../protocol/dispatch.ts";
import { DEFAULT_MAX_TOKENS } from "../../protocol/pricing.ts";
import { countTokens, type Texts, TOKENIZER_THREAD } from "./tokenizer.ts";

/** Tokens that chat templates add to each message, and once. */
const PER_MESSAGE = 4;
const PER_REQUEST = 3;

type Messages = ChatRequest["messages"];

// ---------------------------------------------------------------- estimates

/** Longer texts are counted by samples. */
const SAMPLED_ABOVE = 20_000;
const SAMPLES = 100;
const SAMPLE = SAMPLED_ABOVE / SAMPLES;

/** Tokens of an answer by a common tokenizer, for a plausibility check: of a long text by samples, in a few milliseconds. */
export function estimateTokens(text: string): number {
  if (text.length <= SAMPLED_ABOVE) return countTokens(text);
  const step = Math.floor(text.length / SAMPLES);
  let tokens = 0;
  for (let i = 0; i < SAMPLES; i++) tokens += countTokens(text.slice(i * step, i * step + SAMPLE));
  return Math.ceil((tokens * text.length) / SAMPLED_ABOVE);
}

// ---------------------------------------------------------------- exact counts, beside the event loop

/** Counts that may wait for the thread: with more, it is behind by minutes. One wallet has a small part of them. */
const MOST_WAITING = 1_000;
const WALLET_WAITING = 64;

/** There are too many prompts to count. */
export class TokenizerBusy extends Error {
  override name = "TokenizerBusy";
}

type Count = { task: Texts; done: PromiseWithResolvers<number> };

/**
 * Counts prompts in a thread of its own: a large one takes up to a second, in which the event loop would answer nobody. Wallets take turns, so
 * that one with many large prompts makes nobody else wait for more than one of them.
 */
export class TokenCounter {
  readonly #waiting = new Map<string, Count[]>();
  #size = 0;
  #thread: Worker | undefined;
  #running: Count | undefined;

  /** Tokens of all texts; when they are more than `limit`, any number above it. Rejects with TokenizerBusy when too many wait. */
  count(wallet: string, task: Texts): Promise<number> {
    const own = this.#waiting.get(wallet);
    if (this.#size >= MOST_WAITING || (own?.length ?? 0) >= WALLET_WAITING) {
      return Promise.reject(new TokenizerBusy("too many prompts wait to be counted"));
    }
    const done = Promise.withResolvers<number>();
    if (own === undefined) this.#waiting.set(wallet, [{ task, done }]);
    else own.push({ task, done });
    this.#size += 1;
    this.#next();
    return done.promise;
  }

  /** Ends the thread. */
  async stop(): Promise<void> {
    await this.#thread?.terminate();
  }

  #next(): void {
    if (this.#running !== undefined) return;
    const [turn] = this.#waiting;
    if (turn === undefined) return;
    const [wallet, counts] = turn;
    this.#running = counts.shift();
    this.#size -= 1;
    // The next turn is another wallet's.
    this.#waiting.delete(wallet);
    if (counts.length > 0) this.#waiting.set(wallet, counts);
    this.#thread ??= this.#start();
    this.#thread.postMessage(this.#running?.task);
  }

  #start(): Worker {
    const thread = new Worker(new URL("./tokenizer.ts", import.meta.url), { workerData: TOKENIZER_THREAD });
    thread.unref();
    thread.on("message", (tokens: number) => this.#end((count) => count.done.resolve(tokens)));
    let fault: unknown = new Error("the tokenizer's thread was stopped");
    thread.on("error", (error) => {
      fault = error;
    });
    thread.on("exit", () => {
      this.#thread = undefined;
      this.#end((count) => count.done.reject(fault));
    });
    return thread;
  }

  #end(settle: (count: Count) => void): void {
    const count = this.#running;
    this.#running = undefined;
    if (count !== undefined) settle(count);
    this.#next();
  }
}

// ---------------------------------------------------------------- the budget

/** A prompt, and what is asked for it. Without `requested` the answer has the default. */
export type Prompt = { wallet: string; messages: Messages; requested: number | undefined; contextWindow: number };

/** Output tokens that a request may produce; or, when the prompt leaves no room for one, how large it is, in words. */
export type TokenBudget = { fits: true; maxTokens: number } | { fits: false; size: string };

/** Bytes a token in a text that is mostly runs of one character. A window times this is the most that is counted. */
const BYTES_PER_TOKEN = 16;

/**
 * Effective `max_tokens`. The boundary is exact: a text of one token less than the window has room for one token of answer. The
 * model's own tokenizer and template may need more or less, so nothing is refused for what a template adds.
 */
export async function tokenBudget(counter: TokenCounter, prompt: Prompt): Promise<TokenBudget> {
  const { messages, contextWindow } = prompt;
  const wanted = prompt.requested ?? DEFAULT_MAX_TOKENS;
  const template = messages.length * PER_MESSAGE + PER_REQUEST;
  // No text has more tokens than bytes: most prompts need no count.
  const bytes = messages.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
  if (bytes + template + wanted <= contextWindow) return { fits: true, maxTokens: wanted };
  if (bytes > contextWindow * BYTES_PER_TOKEN) return { fits: false, size: `${bytes} bytes` };
  const texts = messages.map(({ content }) => content);
  const tokens = await counter.count(prompt.wallet, { texts, limit: contextWindow });
  if (tokens >= contextWindow) return { fits: false, size: `${tokens} tokens or more` };
  return { fits: true, maxTokens: Math.max(1, Math.min(wanted, contextWindow - tokens - template)) };
}
