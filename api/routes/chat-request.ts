import { z } from "zod";
import type { ChatRequest } from "../../protocol/dispatch.ts";
import { firstBad } from "../../shared/json-shape.ts";
import { validate } from "./request.ts";

/** Text of a message: a string, or the text parts of newer clients, joined. */
const textPart = z.object({
  type: z.literal("text", "only text parts are supported"),
  text: z.string("must be a string"),
});
const content = z
  .union([z.string(), z.array(textPart).min(1, "must hold at least one text part")], "must be a string")
  .transform((value) => (typeof value === "string" ? value : value.map((part) => part.text).join("")))
  .meta({ description: "The text; an array of text parts is joined.", examples: ["Say hello."] });

/** Clients choose the role by the name of a model or a provider, and each has a setting against it. */
const SYSTEM_INSTEAD =
  "send your instructions as system: in pi set compat.supportsDeveloperRole to false, in the AI SDK use @ai-sdk/openai-compatible " +
  'or systemMessageMode "system"';

const message = z.object(
  {
    role: z.enum(["system", "user", "assistant"], {
      error: ({ input }) =>
        `must be one of system, user, assistant${input === "developer" ? `; ${SYSTEM_INSTEAD}` : ""}`,
    }),
    content,
  },
  "must be an object with role and content",
);

const number = (min: number, max: number, description: string) =>
  z
    .number(`must be a number from ${min} to ${max}`)
    .min(min, `must be at least ${min}`)
    .max(max, `must be at most ${max}`)
    .nullish()
    .meta({ description });
const positive = (description: string) =>
  z
    .int("must be a whole number")
    .min(1, "must be at least 1")
    .max(0xffff_ffff, "is too large")
    .nullish()
    .meta({ description });
const flag = z.boolean("must be true or false").nullish();
const model = z.string("must be a model id; GET /v1/models lists them").min(1, "must not be empty");

/** Longest stop sequence, in characters. Model servers look for each of them after each token. */
const STOP_LENGTH = 512;
const stopSequence = z.string("must be a string").max(STOP_LENGTH, `must be at most ${STOP_LENGTH} characters`);
const stop = z
  .union(
    [stopSequence, z.array(stopSequence).max(16, "must hold at most 16 sequences")],
    "must be a string or an array of strings",
  )
  .nullish();

const [LEAST_INT64, MOST_INT64] = [-(2n ** 63n), 2n ** 63n - 1n];
/** The body's reader gives integers that a double cannot hold as a bigint. */
const isInt64 = (value: unknown): value is bigint =>
  typeof value === "bigint" && value >= LEAST_INT64 && value <= MOST_INT64;

/** Largest JSON schema, in characters of JSON. */
const SCHEMA_LENGTH = 65_536;
const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh"] as const;

const jsonSchema = z
  .looseObject(
    {
      name: z.string("must be a text").regex(/^[a-zA-Z0-9_-]{1,64}$/, "must be 1 to 64 letters, digits, _ or -"),
      description: z.string("must be a text").nullish(),
      schema: z.looseObject({}, "must be a JSON schema").optional(),
      strict: flag,
    },
    "must be an object with name and schema",
  )
  .refine((value) => JSON.stringify(value).length <= SCHEMA_LENGTH, `is longer than ${SCHEMA_LENGTH} characters`);
const responseFormat = z
  .discriminatedUnion(
    "type",
    [
      z.object({ type: z.literal("text") }),
      z.object({ type: z.literal("json_object") }),
      z.object({ type: z.literal("json_schema"), json_schema: jsonSchema }),
    ],
    {
      error: ({ code }) =>
        code === "invalid_union" ? "must be text, json_object or json_schema" : "must be an object with a type",
    },
  )
  .nullish();

/** The offered fields of `POST /v1/chat/completions` (specification, "Endpoints"). Fields without a meaning for the answer are ignored. */
export const chatBodySchema = z.object(
  {
    model: model.meta({ description: "A listed model id.", examples: ["qwen3-8b"] }),
    messages: z
      .array(message, "must be an array of messages")
      .min(1, "must hold at least one message")
      .meta({ description: "The conversation, oldest first." }),
    stream: flag.meta({ description: "`true`: Server-Sent Events. Default `false`." }),
    stream_options: z
      .object({ include_usage: flag.meta({ description: "A last chunk with `usage`." }) }, "must be an object")
      .nullish(),
    max_tokens: positive(
      "Most output tokens. The credits for all of them are locked; what is not used comes back. Without it, the answer ends with " +
        "`finish_reason` `length` after 2,000 tokens, or what the context leaves, for the flat price.",
    ),
    max_completion_tokens: positive("Newer name of `max_tokens`, which wins."),
    temperature: number(0, 2, "Sampling temperature; the backend's own default without it."),
    top_p: number(0, 1, "Nucleus sampling probability."),
    stop: stop.meta({
      description: `The answer ends before the first of these texts. At most 16, each of at most ${STOP_LENGTH} characters.`,
    }),
    frequency_penalty: number(-2, 2, "Discourages repetition by how often a token came before."),
    presence_penalty: number(-2, 2, "Discourages tokens that came before."),
    top_k: z
      .int("must be a whole number")
      .min(-1, "must be at least -1")
      .max(0xffff_ffff, "is too large")
      .nullish()
      .meta({ description: "Only the likeliest so many tokens are drawn from, where the model server takes it." }),
    min_p: number(
      0,
      1,
      "Least probability of a token, as a share of the likeliest one's, where the model server takes it.",
    ),
    repetition_penalty: number(0, 2, "Above 1 discourages repetition, where the model server takes it."),
    seed: z
      .unknown()
      .refine(
        (value) => value == null || Number.isSafeInteger(value) || isInt64(value),
        `must be a whole number from ${LEAST_INT64} to ${MOST_INT64}`,
      )
      .meta({
        description: "Any 64-bit integer. Asks for the same answer again; not guaranteed with distributed inference.",
        type: ["integer", "null"],
        format: "int64",
      })
      .optional(),
    response_format: responseFormat.meta({
      description:
        "Form of the answer: `text` (default), `json_object`, or `json_schema` with a schema. Other than text only where the model's " +
        "`supported_parameters` have `response_format` (`structured_outputs` for a schema). Nobody but the model server checks the answer's form.",
    }),
    reasoning_effort: z
      .enum(EFFORTS, `must be one of ${EFFORTS.join(", ")}`)
      .nullish()
      .meta({
        description:
          "How much the model reasons before it answers, and that its reasoning is wanted as `reasoning_content`. Only where the model's " +
          "`supported_parameters` have it. Reasoning is billed as output, but not hashed, and `max_tokens` limits both together.",
      }),
  },
  "must be a JSON object",
);

/** A field that would change the answer and is not offered. `harmless` is what may stand in it: the value that asks for nothing. */
function notOffered(harmless: z.ZodType, refusal = "is not offered; leave it out") {
  const { $schema: _, ...json } = z.toJSONSchema(harmless.nullable(), { io: "input" });
  return z
    .unknown()
    .refine((value) => value == null || harmless.safeParse(value).success, refusal)
    .meta({ description: "Not offered.", ...json })
    .optional();
}
const nothing = z.null();
const noTools = z.array(z.unknown()).max(0);
const noChoice = z.enum(["none", "auto"]);
/** Agents show this sentence alone. */
const NO_TOOLS = "is not offered: this service has no tool calling, so switch tools off in your client";

/** The body that a client may send: the offered fields, and those that are refused by name instead of being ignored. */
export const chatRequestSchema = chatBodySchema
  .extend({
    n: notOffered(z.literal(1)),
    tools: notOffered(noTools, NO_TOOLS),
    tool_choice: notOffered(noChoice, NO_TOOLS),
    functions: notOffered(noTools, NO_TOOLS),
    function_call: notOffered(noChoice, NO_TOOLS),
    logprobs: notOffered(z.literal(false)),
    top_logprobs: notOffered(z.literal(0)),
    logit_bias: notOffered(z.strictObject({})),
    modalities: notOffered(z.array(z.literal("text")).length(1)),
    audio: notOffered(nothing),
    prediction: notOffered(nothing),
    web_search_options: notOffered(nothing),
    reasoning: notOffered(nothing),
    include_reasoning: notOffered(z.literal(false)),
    thinking: notOffered(nothing),
    chat_template_kwargs: notOffered(nothing),
    structured_outputs: notOffered(nothing),
    guided_json: notOffered(nothing),
    guided_regex: notOffered(nothing),
    guided_choice: notOffered(nothing),
    guided_grammar: notOffered(nothing),
    grammar: notOffered(nothing),
    models: notOffered(nothing),
    route: notOffered(nothing),
  })
  .meta({ id: "ChatCompletionRequest" });

export type ChatBody = {
  model: string;
  stream: boolean;
  includeUsage: boolean;
  maxTokens: number | undefined;
  /** Everything but `max_tokens`, which depends on the model. */
  request: Omit<ChatRequest, "max_tokens">;
};

/** Validates a request body. Throws `invalid_request` with the offending field. */
export function parseChatBody(body: unknown): ChatBody {
  const parsed = validate(chatRequestSchema, withoutMoreThanOneBadMessage(body));
  const { stop, temperature, top_p, top_k, min_p, response_format, reasoning_effort } = parsed;
  const { frequency_penalty, presence_penalty, repetition_penalty } = parsed;
  const sampling = { temperature, top_p, top_k, min_p, frequency_penalty, presence_penalty, repetition_penalty };
  const seed = parsed.seed as number | bigint | null | undefined;
  const stops = typeof stop === "string" ? [stop] : stop;
  return {
    model: parsed.model,
    stream: parsed.stream ?? false,
    includeUsage: parsed.stream_options?.include_usage ?? false,
    maxTokens: parsed.max_tokens ?? parsed.max_completion_tokens ?? undefined,
    request: {
      messages: parsed.messages,
      // Text is what every model server writes.
      ...(response_format != null && response_format.type !== "text" && { response_format }),
      ...(reasoning_effort != null && { reasoning_effort }),
      ...(stops && stops.length > 0 && { stop: stops }),
      ...given(sampling),
      ...(seed != null && { seed: typeof seed === "bigint" ? String(seed) : seed }),
    },
  };
}

/** The bytes that a value takes beside its text. */
const VALUE_BYTES = 40;

/** Bytes that a value takes in memory, about, with all that is in it: two for each character of a text that has any beyond Latin-1. */
export function sizeOf(value: unknown): number {
  if (typeof value === "string") return VALUE_BYTES + value.length * (/[^\0-\xff]/.test(value) ? 2 : 1);
  if (Array.isArray(value)) return value.reduce((sum: number, entry) => sum + sizeOf(entry), VALUE_BYTES);
  if (typeof value !== "object" || value === null) return VALUE_BYTES;
  return Object.entries(value).reduce((sum, [name, field]) => sum + name.length + sizeOf(field), VALUE_BYTES);
}

/** A schema complains of every message of a list, the answer names the first: what comes after it is left out. */
function withoutMoreThanOneBadMessage(body: unknown): unknown {
  const messages: unknown = Object(body).messages;
  const bad = Array.isArray(messages) ? firstBad(message, messages) : -1;
  return bad === -1 ? body : { ...Object(body), messages: (messages as unknown[]).slice(0, bad + 1) };
}

/** Drops what the client left out or sent as null: the backend's own defaults hold. */
function given<T extends Record<string, number | null | undefined>>(fields: T) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null)) as {
    [K in keyof T]?: number;
  };
}
