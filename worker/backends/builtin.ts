import { createHash } from "node:crypto";
import { setImmediate, setTimeout } from "node:timers/promises";
import type { ChatRequest, FinishReason } from "../../protocol/dispatch.ts";
import { type Backend, type Counting, type Pieces, RequestRefused } from "./backend.ts";

type BuiltinOptions = {
  /** Speed; 0: as fast as they can be sent. */
  tokensPerSecond: number;
  /** Pause before the first token. */
  firstTokenMs: number;
};

/** The first sentence of an answer: everybody who reads it sees what it is, and what to do. */
export const DEMO_SENTENCE =
  "This is demo text, written by no model: start a model server (Ollama, llama-server, vLLM, LM Studio) and run `npm start` again, or connect one with `npm run worker -- --backend URL`.";

/** Tokens in one piece when there is no speed limit: fewer events to write, still a stream. */
const BATCH = 16;

/**
 * A small deterministic text generator, so that the whole system runs with no GPU and no model. It is no language model and
 * says so in its first sentence; then it writes sentences around words of the prompt (see `compose` for what a prompt can ask).
 * Sampling parameters have no meaning for it; `seed`, `max_tokens`, `stop`, `response_format` and `reasoning_effort` do.
 */
export class BuiltinTextGenerator implements Backend {
  readonly name = "builtin-text-generator";
  readonly #options: BuiltinOptions;

  constructor(options: BuiltinOptions) {
    this.#options = options;
  }

  async *generate(model: string, request: ChatRequest, signal: AbortSignal): Pieces {
    const { reasoning, answer } = compose(model, request);
    const left = Math.max(0, request.max_tokens - reasoning.length);
    const { tokens, finishReason } = limit(answer, { ...request, max_tokens: left });
    const { tokensPerSecond, firstTokenMs } = this.#options;
    if (firstTokenMs > 0) await setTimeout(firstTokenMs, undefined, { signal });
    // Timers are no finer than milliseconds: above 50 tokens a second several tokens share a tick.
    const batch = tokensPerSecond > 0 ? Math.ceil(tokensPerSecond / 50) : BATCH;
    const started = performance.now();
    const thought = reasoning.slice(0, request.max_tokens);
    let sent = 0;
    for (const [kind, all] of [["reasoning", thought] as const, ["text", tokens] as const]) {
      for (let at = 0; at < all.length; at += batch) {
        if (sent > 0) {
          const due = tokensPerSecond > 0 ? started + (sent * 1000) / tokensPerSecond - performance.now() : 0;
          await (due > 1 ? setTimeout(due, undefined, { signal }) : setImmediate(undefined, { signal }));
        }
        const piece = all.slice(at, at + batch);
        sent += piece.length;
        yield { kind, text: piece.join("") };
      }
    }
    const promptTokens = request.messages.reduce((sum, { content }) => sum + tokenize(content).length + 3, 0);
    const usage = { promptTokens, completionTokens: sent, reasoningTokens: thought.length };
    yield { kind: "end", finishReason, usage };
  }

  async models(): Promise<null> {
    return null;
  }

  counting(): Counting {
    return { by: "server", window: null };
  }

  async close(): Promise<void> {}
}

/** Its tokens: up to 12 letters, up to 3 digits or a run of other characters, each with the white space before it. */
const TOKEN = /\s*(?:\p{L}{1,12}|\p{N}{1,3}|[^\s\p{L}\p{N}]+)|\s+$/gu;

/** Splits text into tokens; joined they are the text. */
export function tokenize(text: string): string[] {
  return text.match(TOKEN) ?? [];
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

/** Tokens of reasoning for each effort. */
const EFFORT: Record<string, number> = { minimal: 8, low: 16, medium: 32, high: 64, xhigh: 128 };

/**
 * The tokens of an answer and of the reasoning before it: the demo sentence and sentences about the prompt, the same for the same request. Natural
 * length is 40 to 160 tokens beside the demo sentence. JSON has no place for that sentence, and a text that is asked for by its length is a
 * test's: a prompt that holds `[[tokens:N]]` gets exactly N, and with `[[reasoning:N]]` exactly N of reasoning, where that is asked for. A single
 * token cannot be told from the end of a sentence, so the text of an exact length may break off inside one.
 */
function compose(model: string, request: ChatRequest): { reasoning: string[]; answer: string[] } {
  const prompt = request.messages.findLast((message) => message.role === "user")?.content ?? "";
  const digest = createHash("sha256")
    .update(JSON.stringify([model, request.messages, request.seed ?? null]))
    .digest();
  const random = randomOf(digest.readUInt32LE(0));
  const asked = (what: string) => {
    const number = new RegExp(`\\[\\[${what}:(\\d{1,6})\\]\\]`).exec(prompt)?.[1];
    return number === undefined ? undefined : Number(number);
  };
  const words = topics(prompt.replace(/\[\[.*?\]\]/g, " "));
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;

  /** Sentences of `exact` tokens, or of at most `wanted`: then the last one is whole. `before` stands in front of the first. */
  const write = (wanted: number, exact: number | undefined, before = ""): string[] => {
    const tokens: string[] = [];
    for (let sentence = 0; tokens.length < (exact ?? wanted); sentence++) {
      const body = pick(SENTENCES).replace("%", pick(words)).replace("&", pick(words));
      const space = sentence === 0 ? before : random() < 0.12 ? "\n\n" : " ";
      const next = tokenize(space + body);
      // A natural answer ends with a sentence.
      if (exact === undefined && sentence > 0 && tokens.length + next.length > wanted) break;
      tokens.push(...next);
    }
    return exact === undefined ? tokens : tokens.slice(0, exact);
  };

  const format = request.response_format;
  const schema = format?.type === "json_schema" ? format.json_schema["schema"] : ANY_OBJECT;
  const exact = asked("tokens");
  const demo = exact === undefined ? tokenize(DEMO_SENTENCE) : [];
  const answer =
    format === undefined
      ? [...demo, ...write(40 + Math.floor(random() * 120), exact, demo.length > 0 ? "\n\n" : "")]
      : tokenize(JSON.stringify(example(schema, { root: schema, word: () => pick(words), values: 0 })));
  const effort = request.reasoning_effort === undefined ? 0 : (EFFORT[request.reasoning_effort] ?? 0);
  return { reasoning: effort === 0 ? [] : write(effort, asked("reasoning")), answer };
}

/** The schema of the answer if the request allows any JSON object. */
const ANY_OBJECT = { type: "object", properties: { topic: { type: "string" }, sides: { type: "integer" } } };
/** Deeper than any schema that does not contain itself. */
const DEEPEST = 32;

/** Values of a schema at most: references can multiply a short one without end. */
const MOST_VALUES = 1_000;

type Source = { root: unknown; word: () => string; values: number };

/** A value that a JSON schema describes, as far as a demonstration needs it. Throws a RequestRefused where a schema has no end. */
function example(schema: unknown, from: Source, depth = 0): unknown {
  from.values += 1;
  if (depth > DEEPEST || from.values > MOST_VALUES) throw new RequestRefused("the schema is too large");
  const inner = (part: unknown) => example(part, from, depth + 1);
  const { $ref, enum: values, anyOf, oneOf, allOf, properties, items, minimum, type, ...rest } = Object(schema);
  if (typeof $ref === "string") {
    const path = $ref.split("/").slice(1);
    return inner(path.reduce<unknown>((part, name) => Object(part)[name], from.root));
  }
  if ("const" in rest) return rest.const;
  if (Array.isArray(values)) return values[0];
  const branch = [anyOf, oneOf, allOf].find(Array.isArray);
  if (branch !== undefined) return inner(branch[0]);
  switch (Array.isArray(type) ? type[0] : (type ?? (properties === undefined ? "string" : "object"))) {
    case "object":
      return Object.fromEntries(Object.entries(Object(properties)).map(([name, part]) => [name, inner(part)]));
    case "array":
      return [inner(items)];
    case "integer":
    case "number":
      return Number(minimum ?? 2);
    case "boolean":
      return true;
    case "null":
      return null;
    default:
      return from.word();
  }
}
