import { describe, expect, it } from "vitest";
import { chat } from "../../support/api-client.ts";
import { call, errorBody, errorOf, JSON_TYPE, MODEL, type World } from "./world.ts";

type Case = [name: string, body: unknown, param: string | null];

const user = { role: "user", content: "x" };
const withMessages = (...messages: unknown[]) => ({ model: MODEL, messages });
const withContent = (content: unknown) => withMessages({ role: "user", content });
const withField = (field: string, value: unknown): Case => [
  `${field} ${JSON.stringify(value)}`,
  chat(MODEL, "x", { [field]: value }),
  field,
];

const STRUCTURE: Case[] = [
  ["no model", { messages: [user] }, "model"],
  ["an empty model", { model: "", messages: [user] }, "model"],
  ["a model that is a number", { model: 8, messages: [user] }, "model"],
  ["no messages", { model: MODEL }, "messages"],
  ["empty messages", withMessages(), "messages"],
  ["messages that are an object", { model: MODEL, messages: user }, "messages"],
  ["a message that is text", withMessages("x"), "messages[0]"],
  ["a message that is null", withMessages(user, null), "messages[1]"],
  ["a message without role", withMessages({ content: "x" }), "messages[0].role"],
  [
    "an unknown role in the third message",
    withMessages(user, user, { role: "tool", content: "y" }),
    "messages[2].role",
  ],
  ["a message without content", withMessages({ role: "user" }), "messages[0].content"],
  ["content that is a number", withContent(5), "messages[0].content"],
  ["content that is null", withContent(null), "messages[0].content"],
  ["no content parts", withContent([]), "messages[0].content"],
  [
    "an image part",
    withContent([{ type: "image_url", image_url: { url: "https://x" } }]),
    "messages[0].content[0].type",
  ],
  ["an array", [], null],
  ["null", null, null],
  ["a text", "x", null],
  ["stream_options that are text", chat(MODEL, "x", { stream_options: "usage" }), "stream_options"],
  [
    "include_usage that is text",
    chat(MODEL, "x", { stream_options: { include_usage: "yes" } }),
    "stream_options.include_usage",
  ],
  ["a stop sequence that is a number", chat(MODEL, "x", { stop: ["a", 1] }), "stop[1]"],
];

const RANGES: Case[] = [
  withField("temperature", 2.1),
  withField("temperature", -0.1),
  withField("temperature", "1"),
  withField("top_p", 1.5),
  withField("top_p", -0.1),
  withField("frequency_penalty", 2.01),
  withField("frequency_penalty", -2.01),
  withField("presence_penalty", 2.5),
  withField("presence_penalty", -2.5),
  withField("max_tokens", 0),
  withField("max_tokens", -1),
  withField("max_tokens", 1.5),
  withField("max_tokens", "100"),
  withField("max_tokens", 2 ** 32),
  withField("max_completion_tokens", 0),
  withField("seed", 1.5),
  withField("seed", "1"),
  withField("seed", 2 ** 53),
  withField("stream", "yes"),
  withField("stream", 1),
  withField("stop", 1),
  withField(
    "stop",
    Array.from({ length: 17 }, () => "a"),
  ),
];

/** What the specification says is not offered, and what would change the answer without our doing it. */
const NOT_OFFERED: Case[] = [
  withField("n", 2),
  withField("tools", [{ type: "function", function: { name: "f" } }]),
  withField("tool_choice", "required"),
  withField("functions", [{ name: "f" }]),
  withField("function_call", { name: "f" }),
  withField("response_format", { type: "json_object" }),
  withField("response_format", 5),
  withField("logprobs", true),
  withField("top_logprobs", 3),
  withField("logit_bias", { "50256": -100 }),
  withField("logit_bias", 5),
  withField("modalities", ["text", "audio"]),
  withField("audio", { voice: "x" }),
  withField("web_search_options", {}),
];

const QUERIES = [
  "limit=0",
  "limit=101",
  "limit=-1",
  "limit=1.5",
  "limit=x",
  "limit=",
  "limit=0x10",
  "limit=1e1",
  "limit=5&limit=6",
  "status=done",
  "status=",
  "status=SETTLED",
  "status=settled&status=failed",
  "before=a&before=b",
  "before=job_1",
  "before=%00",
  "after=%27%3B--",
  `after=job_${"0".repeat(32)}`,
  "model=a&model=b",
  "model=%00",
];

/** Every field of bodies and queries, with the specification's range; `param` names the one at fault. */
export function validation(world: World): void {
  describe("a chat request", () => {
    it.each([...STRUCTURE, ...RANGES, ...NOT_OFFERED])("with %s: 400 invalid_request", async (_name, body, param) => {
      const reply = await world.api.post("/v1/chat/completions", body);
      expect(reply.status).toBe(400);
      expect(reply.body).toEqual(errorBody(world, "invalid_request", "invalid_request_error", { param }));
    });

    it("with broken JSON: 400 invalid_request", async () => {
      const response = await call(world, "POST", "/v1/chat/completions", JSON_TYPE, '{"model": "qwen3-8b", ');
      expect(response.status).toBe(400);
      expect(await response.json()).toEqual(errorBody(world, "invalid_request", "invalid_request_error"));
    });

    it.each<[string, object]>([
      [
        "fields that mean nothing here",
        { user: "u", metadata: { a: "b" }, store: true, service_tier: "auto", parallel_tool_calls: false },
      ],
      [
        "nulls for what is optional",
        { temperature: null, max_tokens: null, stop: null, stream: null, seed: null, n: null },
      ],
      [
        "the offered values of fields that are not",
        { n: 1, tools: [], tool_choice: "none", response_format: { type: "text" }, logprobs: false },
      ],
      [
        "the ends of every range",
        { temperature: 2, top_p: 0, frequency_penalty: -2, presence_penalty: 2, max_tokens: 1, seed: 0 },
      ],
      ["sixteen stop sequences", { stop: Array.from({ length: 16 }, (_, i) => `stop ${i}`) }],
    ])("with %s is valid", async (_name, more) => {
      // An unknown model is looked up after everything else was found right, and costs nothing.
      const reply = await world.api.post(
        "/v1/chat/completions",
        chat("no-such-model", "x", more as Record<string, unknown>),
      );
      expect(reply.body.error.code).toBe("model_not_found");
    });
  });

  describe("GET /v1/jobs", () => {
    it.each(QUERIES)("?%s: 400 with its param", async (query) => {
      const response = await call(world, "GET", `/v1/jobs?${query}`);
      expect(response.status).toBe(400);
      expect(await errorOf(response)).toMatchObject({ code: "invalid_request", param: query.split("=")[0] });
    });

    it.each(["limit=1", "limit=100", "status=disputed", "model=none", "unknown=1", ""])(
      "?%s is valid",
      async (query) => {
        expect((await call(world, "GET", `/v1/jobs?${query}`)).status).toBe(200);
      },
    );
  });
}
