/** Counts tokens as o200k_base does, and is the thread that counts them for a gateway (tokens.ts). */
import { isMainThread, parentPort, workerData } from "node:worker_threads";
import vocabulary from "gpt-tokenizer/bpeRanks/o200k_base";
import { O200K_TOKEN_SPLIT_REGEX } from "gpt-tokenizer/encodingParams/constants";

/** A thread that is started with this as its data answers each `Task` with a `Counted`. */
export const TOKENIZER_THREAD = "tokenizer";
/** `limit`: counting stops beyond it. */
export type Texts = { texts: readonly string[]; limit: number };
/** Texts to count, or a task that nobody waits for any more. */
export type Task = { id: number } & (Texts | { texts: null });
export type Counted = { id: number; tokens: number };

/** Longest word merged as one, in UTF-8 bytes. No language has one; a longer run is counted in parts, each exact. */
const LONGEST_WORD = 2_048;
/**
 * Bytes of words that are merged, the slow part of counting. What comes after them is estimated by samples. Prose in most scripts that fills the
 * largest window has fewer: most of its words are tokens.
 */
const MOST_MERGED = 96 * 1024;
const SAMPLES = 64;
const SAMPLE_LENGTH = 256;
/** Only this share of an estimate is counted, so that no request is refused because the estimate was somewhat too high. */
const BENEFIT_OF_DOUBT = 0.9;
/** Steps of a count between two looks at the others, some milliseconds. A merged byte takes as long as a few words that are tokens. */
const SLICE = 10_000;
const STEPS_A_BYTE = 4;
/** A merge in the heap is one number: its rank times this, and where it is. The least rank comes first, and of equal ones the leftmost. */
const PLACES = 2 ** 15;

/** These are their own bytes. */
const ASCII = /^\p{ASCII}*$/u;

/** Rank of each token, by its bytes as Latin-1. Merging two parts is allowed when both together are a token. */
const RANKS = new Map<string, number>();
vocabulary.forEach((token: string | readonly number[], rank: number) => {
  const isAscii = typeof token === "string" && ASCII.test(token);
  RANKS.set(isAscii ? token : Buffer.from(token as string).toString("latin1"), rank);
});

/** Tokens of a text; of one with many long words, about. Stops when they are more than `limit`, and says so many. */
export const countTokens = (text: string, limit = Number.POSITIVE_INFINITY): number =>
  resultOf(counting({ texts: [text], limit }));

/** About the tokens of a text, for a plausibility check: of a long one by samples, in a few milliseconds. */
export const estimateTokens = (text: string): number => Math.ceil(resultOf(estimating(text)));

/** Runs a count to its end at once. */
function resultOf(count: Generator<undefined, number>): number {
  for (;;) {
    const { done, value } = count.next();
    if (done) return value;
  }
}

/** Counts as `countTokens` does, in slices of a few milliseconds. */
function* counting({ texts, limit }: Texts): Generator<undefined, number> {
  let tokens = 0;
  let merged = 0;
  let steps = 0;
  /** A run of one character is the same part over and over. */
  let last = { part: "", tokens: 0 };
  for (const [at, text] of texts.entries()) {
    for (const { 0: word, index } of text.matchAll(O200K_TOKEN_SPLIT_REGEX)) {
      const bytes = Buffer.from(word).toString("latin1");
      for (let from = 0; from < bytes.length; from += LONGEST_WORD) {
        const part = bytes.length <= LONGEST_WORD ? bytes : bytes.slice(from, from + LONGEST_WORD);
        if (RANKS.has(part)) tokens += 1;
        else if (part === last.part) tokens += last.tokens;
        else {
          last = { part, tokens: tokensOfWord(part) };
          tokens += last.tokens;
          merged += part.length;
          steps += STEPS_A_BYTE * part.length;
        }
        steps += 1;
        if (tokens > limit) return tokens;
        if (merged > MOST_MERGED) {
          const counted =
            index + Math.floor((word.length * Math.min(from + LONGEST_WORD, bytes.length)) / bytes.length);
          const rest = [text.slice(counted), ...texts.slice(at + 1)].join("");
          return Math.ceil(tokens + BENEFIT_OF_DOUBT * (yield* estimating(rest)));
        }
        if (steps >= SLICE) {
          steps = 0;
          yield;
        }
      }
    }
  }
  return tokens;
}

/** About the tokens of a text, by samples from all over it. */
function* estimating(text: string): Generator<undefined, number> {
  if (text.length <= SAMPLES * SAMPLE_LENGTH) return yield* sampling(text);
  const step = Math.floor(text.length / SAMPLES);
  let tokens = 0;
  for (let at = 0; at < SAMPLES; at++) tokens += yield* sampling(text.slice(at * step, at * step + SAMPLE_LENGTH));
  return (tokens * text.length) / (SAMPLES * SAMPLE_LENGTH);
}

function* sampling(text: string): Generator<undefined, number> {
  let tokens = 0;
  for (const [word] of text.matchAll(O200K_TOKEN_SPLIT_REGEX)) {
    const bytes = Buffer.from(word).toString("latin1");
    for (let from = 0; from < bytes.length; from += SAMPLE_LENGTH) {
      tokens += tokensOfWord(bytes.slice(from, from + SAMPLE_LENGTH));
    }
  }
  yield;
  return tokens;
}

/**
 * Byte-pair encoding: the pair with the least rank is merged until none is a token. With a heap of the pairs, a word takes n log n steps; the
 * usual search for the least pair takes n², which a client could make last for minutes.
 */
function tokensOfWord(bytes: string): number {
  if (RANKS.has(bytes)) return 1;
  const end = bytes.length;
  // Parts are known by where they begin. `merge`: the rank of a part with the next one, -1 if the two are no token.
  const next = Int32Array.from({ length: end + 1 }, (_, at) => at + 1);
  const previous = Int32Array.from({ length: end + 1 }, (_, at) => at - 1);
  const merge = new Int32Array(end + 1).fill(-1);
  const heap: number[] = [];
  const rate = (at: number): void => {
    const middle = next[at] as number;
    const rank = middle < end ? RANKS.get(bytes.slice(at, next[middle])) : undefined;
    merge[at] = rank ?? -1;
    if (rank !== undefined) push(heap, rank * PLACES + at);
  };
  for (let at = 0; at < end; at++) rate(at);
  let parts = end;
  while (heap.length > 0) {
    const least = pop(heap);
    const rank = Math.floor(least / PLACES);
    const at = least % PLACES;
    // One of the two parts was merged with another meanwhile.
    if (merge[at] !== rank) continue;
    const middle = next[at] as number;
    const after = next[middle] as number;
    merge[middle] = -1;
    next[at] = after;
    previous[after] = at;
    parts -= 1;
    rate(at);
    if (at > 0) rate(previous[at] as number);
  }
  return parts;
}

function push(heap: number[], value: number): void {
  let at = heap.push(value) - 1;
  while (at > 0) {
    const above = (at - 1) >> 1;
    if ((heap[above] as number) <= value) break;
    heap[at] = heap[above] as number;
    at = above;
  }
  heap[at] = value;
}

/** Takes the least value out. */
function pop(heap: number[]): number {
  const least = heap[0] as number;
  const value = heap.pop() as number;
  let at = 0;
  for (let below = 1; below < heap.length; below = 2 * at + 1) {
    if (below + 1 < heap.length && (heap[below + 1] as number) < (heap[below] as number)) below += 1;
    if ((heap[below] as number) >= value) break;
    heap[at] = heap[below] as number;
    at = below;
  }
  if (heap.length > 0) heap[at] = value;
  return least;
}

/** Counts all tasks a slice at a time, in turn: a slow one holds up no other. */
class SlicedCounts {
  readonly #counts = new Map<number, Generator<undefined, number>>();
  readonly #done: (counted: Counted) => void;
  #isRunning = false;

  constructor(done: (counted: Counted) => void) {
    this.#done = done;
  }

  take({ id, ...task }: Task): void {
    if (task.texts === null) this.#counts.delete(id);
    else this.#counts.set(id, counting(task));
    if (!this.#isRunning) this.#run();
  }

  #run(): void {
    for (const [id, count] of this.#counts) {
      const { done, value } = count.next();
      if (!done) continue;
      this.#counts.delete(id);
      this.#done({ id, tokens: value });
    }
    this.#isRunning = this.#counts.size > 0;
    // Meanwhile others come, and some are dropped.
    if (this.#isRunning) setImmediate(() => this.#run());
  }
}

if (!isMainThread && workerData === TOKENIZER_THREAD) {
  const counts = new SlicedCounts((counted) => parentPort?.postMessage(counted));
  parentPort?.on("message", (task: Task) => counts.take(task));
}
