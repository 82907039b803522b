/**
 * Writes a tiny GGUF model with random weights: llama architecture, a SentencePiece-style vocabulary of pieces and bytes. It says nothing sensible,
 * but everything that loads, tokenizes, samples and streams a real model runs on it. The weights are the same for the same seed.
 */

/** Value types of GGUF metadata. */
const Type = { Uint32: 4, Int32: 5, Float32: 6, Bool: 7, String: 8, Array: 9 } as const;
type Scalar = { type: number; value: number | string | boolean };
type Value = Scalar | { type: typeof Type.Array; of: number; values: (number | string)[] };

const uint32 = (value: number): Value => ({ type: Type.Uint32, value });
const float32 = (value: number): Value => ({ type: Type.Float32, value });
const string = (value: string): Value => ({ type: Type.String, value });
const bool = (value: boolean): Value => ({ type: Type.Bool, value });
const list = (of: number, values: (number | string)[]): Value => ({ type: Type.Array, of, values });

/** Kinds of vocabulary entries in llama.cpp. */
const Token = { Normal: 1, Unknown: 2, Control: 3, Byte: 6 } as const;

const WIDTH = 64;
const HEADS = 4;
const FEED_FORWARD = 128;
const LAYERS = 2;
const ALIGNMENT = 32;
/** Number of the first piece that is neither a special token nor a byte. */
const FIRST_WORD = 3 + 256;
const CHAT_TEMPLATE =
  "{% for message in messages %}{{ '<|' + message['role'] + '|>\n' + message['content'] + '</s>\n' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}";

const WORDS =
  "the of and to in is that it for was on are as with they be at one have this from or had by but some what there we can out other were all your when up use how said an each she which do their time if will way about many then them would write like so these her long make thing see him two has look more day could go come did my no most who over know than call first may down side been now find".split(
    " ",
  );

/** `contextLength`: the context that the model says it was trained for. */
export function tinyGguf({ contextLength = 512, seed = 1 } = {}): Buffer {
  const vocabulary = makeVocabulary();
  const metadata: [string, Value][] = [
    ["general.architecture", string("llama")],
    ["general.name", string("tiny random")],
    ["llama.context_length", uint32(contextLength)],
    ["llama.embedding_length", uint32(WIDTH)],
    ["llama.block_count", uint32(LAYERS)],
    ["llama.feed_forward_length", uint32(FEED_FORWARD)],
    ["llama.attention.head_count", uint32(HEADS)],
    ["llama.attention.head_count_kv", uint32(HEADS)],
    ["llama.attention.layer_norm_rms_epsilon", float32(1e-5)],
    ["llama.rope.dimension_count", uint32(WIDTH / HEADS)],
    ["llama.vocab_size", uint32(vocabulary.length)],
    ["general.file_type", uint32(0)],
    ["tokenizer.ggml.model", string("llama")],
    [
      "tokenizer.ggml.tokens",
      list(
        Type.String,
        vocabulary.map(({ text }) => text),
      ),
    ],
    [
      "tokenizer.ggml.scores",
      list(
        Type.Float32,
        vocabulary.map(({ score }) => score),
      ),
    ],
    [
      "tokenizer.ggml.token_type",
      list(
        Type.Int32,
        vocabulary.map(({ kind }) => kind),
      ),
    ],
    ["tokenizer.ggml.bos_token_id", uint32(1)],
    ["tokenizer.ggml.eos_token_id", uint32(2)],
    ["tokenizer.ggml.unknown_token_id", uint32(0)],
    ["tokenizer.ggml.add_bos_token", bool(true)],
    ["tokenizer.ggml.add_eos_token", bool(false)],
    ["tokenizer.chat_template", string(CHAT_TEMPLATE)],
  ];
  const tensors = makeTensors(vocabulary.length, randomOf(seed));
  return assemble(metadata, tensors);
}

type Piece = { text: string; score: number; kind: number };

/** Special tokens, the 256 bytes, letters and common words with and without the space before them. */
function makeVocabulary(): Piece[] {
  const pieces: Piece[] = [
    { text: "<unk>", score: 0, kind: Token.Unknown },
    { text: "<s>", score: 0, kind: Token.Control },
    { text: "</s>", score: 0, kind: Token.Control },
  ];
  for (let byte = 0; byte < 256; byte++) {
    const text = `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;
    pieces.push({ text, score: 0, kind: Token.Byte });
  }
  const texts = new Set<string>();
  for (const word of WORDS) {
    // A merge needs its parts: each longer piece is built from the shorter ones before it.
    for (let length = 1; length <= word.length; length++)
      texts.add(word.slice(0, length)).add(`▁${word.slice(0, length)}`);
    for (const letter of word) texts.add(letter);
  }
  texts.add("▁");
  const sorted = [...texts].sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
  for (const [index, text] of sorted.entries()) pieces.push({ text, score: -index, kind: Token.Normal });
  return pieces;
}

type Tensor = { name: string; shape: number[]; values: Float32Array };

function makeTensors(vocabulary: number, random: () => number): Tensor[] {
  const tensors: Tensor[] = [];
  const add = (name: string, shape: number[], value: () => number): void => {
    const size = shape.reduce((product, n) => product * n, 1);
    tensors.push({ name, shape, values: Float32Array.from({ length: size }, value) });
  };
  // About normal, small enough that two layers do not overflow; the output is larger, so that answers are not all alike.
  const weight = (scale: number) => () => (random() + random() + random() - 1.5) * scale;
  const one = () => 1;
  add("token_embd.weight", [WIDTH, vocabulary], weight(1));
  add("output_norm.weight", [WIDTH], one);
  // Special tokens and single bytes get the middling score 0: an answer hardly ever ends before it began, nor consists of halves of characters.
  const output = weight(0.5);
  let at = 0;
  add("output.weight", [WIDTH, vocabulary], () => (at++ < WIDTH * FIRST_WORD ? 0 : output()));
  for (let layer = 0; layer < LAYERS; layer++) {
    const name = (part: string): string => `blk.${layer}.${part}.weight`;
    add(name("attn_norm"), [WIDTH], one);
    for (const part of ["attn_q", "attn_k", "attn_v", "attn_output"]) add(name(part), [WIDTH, WIDTH], weight(0.3));
    add(name("ffn_norm"), [WIDTH], one);
    add(name("ffn_gate"), [WIDTH, FEED_FORWARD], weight(0.3));
    add(name("ffn_up"), [WIDTH, FEED_FORWARD], weight(0.3));
    add(name("ffn_down"), [FEED_FORWARD, WIDTH], weight(0.3));
  }
  return tensors;
}

/** GGUF version 3: header, metadata, tensor descriptions, then the tensors, each at an aligned offset. */
function assemble(metadata: [string, Value][], tensors: Tensor[]): Buffer {
  const parts: Buffer[] = [Buffer.from("GGUF"), u32(3), u64(tensors.length), u64(metadata.length)];
  for (const [key, value] of metadata) parts.push(text(key), u32(value.type), encode(value));
  const bodies: Buffer[] = [];
  let offset = 0;
  for (const { name, shape, values } of tensors) {
    parts.push(text(name), u32(shape.length), ...shape.map(u64), u32(0), u64(offset));
    const body = pad(Buffer.from(values.buffer));
    bodies.push(body);
    offset += body.length;
  }
  return Buffer.concat([pad(Buffer.concat(parts)), ...bodies]);
}

function encode(value: Value): Buffer {
  if ("of" in value) {
    const items = value.values.map((item) => scalar(value.of, item));
    return Buffer.concat([u32(value.of), u64(items.length), ...items]);
  }
  return scalar(value.type, value.value);
}

function scalar(type: number, value: number | string | boolean): Buffer {
  if (type === Type.String) return text(String(value));
  if (type === Type.Bool) return Buffer.from([value ? 1 : 0]);
  const bytes = Buffer.alloc(4);
  if (type === Type.Float32) bytes.writeFloatLE(Number(value));
  else if (type === Type.Int32) bytes.writeInt32LE(Number(value));
  else bytes.writeUInt32LE(Number(value));
  return bytes;
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, "utf8");
  return Buffer.concat([u64(bytes.length), bytes]);
}

function pad(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((ALIGNMENT - (bytes.length % ALIGNMENT)) % ALIGNMENT)]);
}

/** Pseudo-random numbers in [0, 1), the same for the same seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
