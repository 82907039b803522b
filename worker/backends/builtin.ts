import { createHash } from "node:crypto";
import { setImmediate, setTimeout } from "node:timers/promises";
import type { ChatRequest, FinishReason } from "../../protocol/dispatch.ts";
import { type Backend, countPromptTokens, type Pieces, tokenize } from "./backend.ts";

export type BuiltinOptions = {
  /** Speed; 0: as fast as they can be sent. */
  tokensPerSecond: number;
  /** Pause before the first token. */
  firstTokenMs: number;
};

/** Tokens in one piece when there is no speed limit: fewer events to write, still a stream. */
const BATCH = 16;

/**
 * A small deterministic text generator, so that the whole system runs with no GPU and no model. It is no language model and
 * does not pretend to be one: it writes sentences around words of the prompt (see `composeAnswer` for what a prompt can ask).
 * Sampling parameters have no meaning for it; `seed`, `max_tokens` and `stop` do.
 */
export class BuiltinTextGenerator implements Backend {
  readonly name = "builtin-text-generator";
  readonly #options: BuiltinOptions;

  constructor(options: BuiltinOptions) {
    this.#options = options;
  }

  async *generate(model: string, request: ChatRequest, signal: AbortSignal): Pieces {
    const { tokens, finishReason } = limit(composeAnswer(model, request), request);
    const { tokensPerSecond, firstTokenMs } = this.#options;
    if (firstTokenMs > 0) await setTimeout(firstTokenMs, undefined, { signal });
    // Timers are no finer than milliseconds: above 50 tokens a second several tokens share a tick.
    const batch = tokensPerSecond > 0 ? Math.ceil(tokensPerSecond / 50) : BATCH;
    const started = performance.now();
    for (let at = 0; at < tokens.length; at += batch) {
      if (at > 0) {
        const due = tokensPerSecond > 0 ? started + (at * 1000) / tokensPerSecond - performance.now() : 0;
        await (due > 1 ? setTimeout(due, undefined, { signal }) : setImmediate(undefined, { signal }));
      }
      const piece = tokens.slice(at, at + batch);
      yield { kind: "text", text: piece.join(""), tokens: piece.length };
    }
    const usage = { promptTokens: countPromptTokens(request.messages), completionTokens: tokens.length };
    yield { kind: "end", finishReason, usage };
  }

  async models(): Promise<null> {
    return null;
  }

  async close(): Promise<void> {}
}

/** Applies `max_tokens`, then `stop`: the text before the first stop sequence, counted in the tokens it took to get there. */
function limit(all: string[], request: ChatRequest): { tokens: string[]; finishReason: FinishReason } {
  const tokens = all.slice(0, request.max_tokens);
  const finishReason = tokens.length < all.length ? "length" : "stop";
  const text = tokens.join("");
  const cuts = (request.stop ?? [])
    .filter((stop) => stop !== "")
    .map((stop) => text.indexOf(stop))
    .filter((at) => at >= 0);
  if (cuts.length === 0) return { tokens, finishReason };
  const kept: string[] = [];
  let left = Math.min(...cuts);
  for (const token of tokens) {
    if (left <= 0) break;
    kept.push(token.slice(0, left));
    left -= token.length;
  }
  return { tokens: kept, finishReason: "stop" };
}

/** Sentence patterns; `%` stands for a word of the prompt, `&` for another one. */
const SENTENCES = [
  "The question of % has more than one side.",
  "Most people meet % long before they learn about &.",
  "In practice, % and & are rarely apart.",
  "A good first step is to look at % on its own.",
  "Once that is clear, & follows with little effort.",
  "Some would say that % matters less than &, but both have their place.",
  "Consider a small example: a café that cares about % and nothing else.",
  "Its owner soon finds out that & cannot be left out 🌱",
  "The same holds for % in larger settings.",
  "It helps to write down what is known about & and what is only assumed.",
  "Whoever measures % twice has to explain & once.",
  "None of this is new: 東京 and Zürich tell the same story about %.",
  "There are limits, of course.",
  "Without &, the whole idea of % falls flat.",
  "Taken together, this is why % is worth a closer look ✨",
  "That leaves &, which deserves an answer of its own.",
] as const;

const COMMON = new Set(
  "about after again also answer because been before between could does from give have here into just like make more most much only over please should some such tell than that their them then there these they this those through very want what when where which while will with would write your".split(
    " ",
  ),
);

/** A stream of pseudo-random numbers in [0, 1), the same for the same seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Words the answer can be about: the longer words of the last user message. */
function topics(prompt: string): string[] {
  const words = prompt.match(/\p{L}{4,12}/gu) ?? [];
  const unique = [...new Set(words.map((word) => word.toLowerCase()))].filter((word) => !COMMON.has(word)).slice(0, 24);
  return unique.length > 1 ? unique : [...unique, "patience", "clarity", "balance"];
}

/**
 * The tokens of an answer: sentences about the prompt, the same for the same request. Natural length is 40 to 160 tokens; a prompt
 * that holds `[[tokens:N]]` gets exactly N. A single token cannot be told from the end of a sentence, so the text of an exact
 * length may break off inside one.
 */
function composeAnswer(model: string, request: ChatRequest): string[] {
  const prompt = request.messages.findLast((message) => message.role === "user")?.content ?? "";
  const digest = createHash("sha256")
    .update(JSON.stringify([model, request.messages, request.seed ?? null]))
    .digest();
  const random = randomOf(digest.readUInt32LE(0));
  const exact = /\[\[tokens:(\d{1,6})\]\]/.exec(prompt)?.[1];
  const wanted = exact === undefined ? 40 + Math.floor(random() * 120) : Number(exact);
  const words = topics(prompt.replace(/\[\[.*?\]\]/g, " "));
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;

  const tokens: string[] = [];
  for (let sentence = 0; tokens.length < wanted; sentence++) {
    const body = pick(SENTENCES).replace("%", pick(words)).replace("&", pick(words));
    const space = sentence === 0 ? "" : random() < 0.12 ? "\n\n" : " ";
    const next = tokenize(space + body);
    // A natural answer ends with a sentence.
    if (exact === undefined && sentence > 0 && tokens.length + next.length > wanted) break;
    tokens.push(...next);
  }
  return exact === undefined ? tokens : tokens.slice(0, wanted);
}
