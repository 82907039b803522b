/** Counts tokens as o200k_base does, and is the thread that counts them for a gateway (tokens.ts). */
import { isMainThread, parentPort, workerData } from "node:worker_threads";
import vocabulary from "gpt-tokenizer/bpeRanks/o200k_base";
import { O200K_TOKEN_SPLIT_REGEX } from "gpt-tokenizer/encodingParams/constants";

/** A thread that is started with this as its data answers `Texts` with their count. */
export const TOKENIZER_THREAD = "tokenizer";
/** `limit`: counting stops beyond it. */
export type Texts = { texts: readonly string[]; limit: number };

/** Longest word merged as one, in UTF-8 bytes. No language has one; a longer run is counted in parts, each exact. */
const LONGEST_WORD = 16_384;
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

/** Tokens of a text. Stops when they are more than `limit`, and says so many. */
export function countTokens(text: string, limit = Number.POSITIVE_INFINITY): number {
  let tokens = 0;
  for (const [word] of text.matchAll(O200K_TOKEN_SPLIT_REGEX)) {
    const bytes = Buffer.from(word).toString("latin1");
    for (let at = 0; at < bytes.length; at += LONGEST_WORD) {
      tokens += tokensOfWord(at === 0 && bytes.length <= LONGEST_WORD ? bytes : bytes.slice(at, at + LONGEST_WORD));
      if (tokens > limit) return tokens;
    }
  }
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

if (!isMainThread && workerData === TOKENIZER_THREAD) {
  parentPort?.on("message", ({ texts, limit }: Texts) => {
    let tokens = 0;
    for (const text of texts) if (tokens <= limit) tokens += countTokens(text, limit - tokens);
    parentPort?.postMessage(tokens);
  });
}
