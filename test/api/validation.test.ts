/** What a request must look like: fields and their ranges, bodies, methods, headers, and HTTP itself. */
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { apiClient, chat, errorOf, JSON_TYPE } from "../support/api-client.ts";
import { errorBody } from "../support/contract.ts";
import { MODEL } from "../support/service-stack.ts";
import { openService } from "./support/service.ts";

const { stack, client } = await openService();

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
  ["content that is null", withContent(null), "messages[0].content"],
  [
    "an image part",
    withContent([{ type: "image_url", image_url: { url: "https://x" } }]),
    "messages[0].content[0].type",
  ],
  ["null", null, null],
  ["a text", "x", null],
  ["stream_options that are text", chat(MODEL, "x", { stream_options: "usage" }), "stream_options"],
  [
    "include_usage that is text",
    chat(MODEL, "x", { stream_options: { include_usage: "yes" } }),
    "stream_options.include_usage",
  ],
  ["a stop sequence that is a number", chat(MODEL, "x", { stop: ["a", 1] }), "stop[1]"],
  ["a stop sequence of 513 characters", chat(MODEL, "x", { stop: "a".repeat(513) }), "stop"],
];

/** A JSON schema under this name, or one that is too long. */
const schemaNamed = (name: string, size = 1) => ({
  type: "json_schema",
  json_schema: { name, schema: { type: "string", description: "x".repeat(size) } },
});
const RANGES: Case[] = [
  withField("response_format", 5),
  ["an answer of an unknown form", chat(MODEL, "x", { response_format: { type: "xml" } }), "response_format.type"],
  ["no schema", chat(MODEL, "x", { response_format: { type: "json_schema" } }), "response_format.json_schema"],
  [
    "a schema without a fit name",
    chat(MODEL, "x", { response_format: schemaNamed("a b") }),
    "response_format.json_schema.name",
  ],
  [
    "a schema that is too long",
    chat(MODEL, "x", { response_format: schemaNamed("long", 70_000) }),
    "response_format.json_schema",
  ],
  withField("reasoning_effort", "great"),
  withField("reasoning_effort", 3),
  withField("temperature", 2.1),
  withField("temperature", -0.1),
  withField("temperature", "1"),
  withField("top_p", 1.5),
  withField("top_p", -0.1),
  withField("frequency_penalty", 2.01),
  withField("frequency_penalty", -2.01),
  withField("presence_penalty", 2.5),
  withField("presence_penalty", -2.5),
  withField("top_k", -2),
  withField("top_k", 1.5),
  withField("min_p", 1.1),
  withField("repetition_penalty", -0.1),
  withField("max_tokens", 0),
  withField("max_tokens", -1),
  withField("max_tokens", 1.5),
  withField("max_tokens", "100"),
  withField("max_tokens", 2 ** 32),
  withField("max_completion_tokens", 0),
  withField("seed", 1.5),
  withField("seed", "1"),
  withField("seed", 2 ** 63),
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
  withField("logprobs", true),
  withField("top_logprobs", 3),
  withField("logit_bias", { "50256": -100 }),
  withField("logit_bias", 5),
  withField("modalities", ["text", "audio"]),
  withField("audio", { voice: "x" }),
  withField("web_search_options", {}),
  withField("reasoning", { effort: "high" }),
  withField("include_reasoning", true),
  withField("guided_json", {}),
  withField("models", ["a", "b"]),
  withField("route", "fallback"),
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
  "starting_after=job_0198c0de5f7a7c3e9b1d2f3a4b5c6d7e",
  "page=2",
  "status=done",
  "status=",
  "status=SETTLED",
  "status=settled&status=failed",
  "before=a&before=b",
  "before=job_1",
  "before=%00",
  "after=%27%3B--",
  "before=job_018f",
  `after=0x${"0".repeat(32)}`,
  "model=a&model=b",
  "model=%00",
];

describe("a chat request", () => {
  it.each([...STRUCTURE, ...RANGES, ...NOT_OFFERED])("with %s: 400 invalid_request", async (_name, body, param) => {
    const reply = await client.api.post("/v1/chat/completions", body);
    expect(reply.status).toBe(400);
    expect(reply.body).toEqual(errorBody(stack, "invalid_request", "invalid_request_error", { param }));
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
    ["the ends of every range of further sampling fields", { top_k: -1, min_p: 1, repetition_penalty: 2 }],
    ["sixteen stop sequences of 512 characters", { stop: Array.from({ length: 16 }, () => "a".repeat(512)) }],
  ])("with %s is valid", async (_name, more) => {
    // An unknown model is looked up after everything else was found right, and costs nothing.
    const reply = await client.api.post(
      "/v1/chat/completions",
      chat("no-such-model", "x", more as Record<string, unknown>),
    );
    expect(reply.body.error.code).toBe("model_not_found");
  });
});

describe("GET /v1/jobs", () => {
  it.each(QUERIES)("?%s: 400 with its param", async (query) => {
    const response = await client.api.send("GET", `/v1/jobs?${query}`);
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({ code: "invalid_request", param: query.split("=")[0] });
  });

  it.each(["limit=1", "limit=100", "status=disputed", "model=none", ""])("?%s is valid", async (query) => {
    expect((await client.api.send("GET", `/v1/jobs?${query}`)).status).toBe(200);
  });
});

describe("a request body", () => {
  it.each([
    ["text/plain", JSON.stringify(chat(MODEL, "Hello"))],
    ["application/x-www-form-urlencoded", "model=x"],
    ["multipart/form-data; boundary=x", "--x--"],
  ])("of type %s: 400 that names Content-Type", async (type, body) => {
    const response = await client.api.send("POST", "/v1/chat/completions", { "content-type": type }, body);
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({ code: "invalid_request", param: "Content-Type" });
    expect(response.headers.get("x-service-credits-remaining")).toBe("1000");
  });

  it.each(["/v1/jobs/job_0/dispute", "/v1/webhooks"])("of more than 32 KiB for %s: 400", async (path) => {
    const response = await client.api.post(path, { pad: "a".repeat(32 * 1024) });
    expect(response.status).toBe(400);
    expect(response.body.error).toMatchObject({
      code: "invalid_request",
      message: expect.stringMatching(/larger than 32 KiB/),
    });
  });

  it("with another charset than UTF-8: 400 that names it", async () => {
    const headers = { "content-type": "application/json; charset=utf-16" };
    const response = await client.api.send("POST", "/v1/chat/completions", headers, "{}");
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({
      code: "invalid_request",
      param: "Content-Type",
      message: "Content-Type: the charset must be utf-8, not 'utf-16'; send JSON as UTF-8.",
    });
  });

  it.each([
    [
      "a comma too many",
      '{"model": "m",\n "messages": [],}',
      /^The body is not valid JSON at line 2, column 17: check /,
    ],
    ["a cut end", '{"model": "s3cret', /^The body is not valid JSON.*: check its quotes, commas and brackets/],
    ["no JSON", "s3cret=1", /^The body is not valid JSON/],
  ])("with %s: 400 that says where, and quotes nothing", async (_what, body, message) => {
    const response = await client.api.send("POST", "/v1/chat/completions", JSON_TYPE, body);
    expect(response.status).toBe(400);
    const error = await errorOf(response);
    expect(error).toMatchObject({ code: "invalid_request", param: null, message: expect.stringMatching(message) });
    expect(error.message).not.toContain("s3cret");
  });

  const user = (content: unknown) => ({ model: MODEL, messages: [{ role: "user", content }] });
  it.each([
    ["/v1/chat/completions", user([]), "messages[0].content: must hold at least one text part (it is a list of 0)"],
    ["/v1/chat/completions", user(5), "messages[0].content: must be a string (it is 5)"],
    ["/v1/chat/completions", [1], "The body must be a JSON object (it is a list of 1)"],
    [
      "/v1/chat/completions",
      { model: MODEL, messages: [{ role: "developer", content: "x" }] },
      "messages[0].role: must be one of system, user, assistant; send your instructions as system: in pi set " +
        "compat.supportsDeveloperRole to false, in the AI SDK use @ai-sdk/openai-compatible or systemMessageMode " +
        "\"system\" (it is 'developer')",
    ],
    [
      "/v1/chat/completions",
      { ...user("x"), tools: [{ type: "function", function: { name: "f" } }] },
      "tools: is not offered: this service has no tool calling, so switch tools off in your client (it is a list of 1)",
    ],
    ["/v1/chat/completions", { ...user("x"), temperature: 3 }, "temperature: must be at most 2 (it is 3)"],
    [
      `/v1/jobs/job_${"0".repeat(32)}/dispute`,
      { received_output_hash: `sha256:${"a".repeat(65)}` },
      "received_output_hash: must be sha256: and 64 hex digits (it is a text of 72 characters)",
    ],
    [
      "/v1/webhooks",
      { url: "https://example.com", events: ["job.completed"], secret: "s3cret" },
      "secret: must be at least 16 characters (it is a text of 6 characters)",
    ],
  ])("of %s, %j: a sentence with what it must be and what it is", async (path, body, message) => {
    const { status, body: answer } = await client.api.post(path, body);
    expect([status, answer.error.code, answer.error.message]).toEqual([400, "invalid_request", message]);
  });

  it("with a charset and in any case is JSON all the same", async () => {
    const body = JSON.stringify(chat("none", "Hello"));
    const response = await client.api.send(
      "POST",
      "/v1/chat/completions",
      { "content-type": "Application/JSON; charset=UTF-8" },
      body,
    );
    expect((await errorOf(response)).code).toBe("model_not_found");
  });

  it("of 4 MiB is read, one byte more is not", async () => {
    const text = JSON.stringify(chat("none", ""));
    const fill = (size: number) => text.replace('"content":""', `"content":"${"a".repeat(size - text.length)}"`);
    const fits = await client.api.send("POST", "/v1/chat/completions", JSON_TYPE, fill(4 * 1024 * 1024));
    expect((await errorOf(fits)).code).toBe("model_not_found");
    const large = await client.api.send("POST", "/v1/chat/completions", JSON_TYPE, fill(4 * 1024 * 1024 + 1));
    expect(large.status).toBe(400);
    expect(await errorOf(large)).toMatchObject({
      code: "invalid_request",
      message: expect.stringContaining("4 MiB"),
    });
  });

  it("with a field nested a million deep is refused before anybody looks at it", async () => {
    const body = `{"logit_bias":${"[".repeat(1_000_000)}${"]".repeat(1_000_000)}}`;
    const response = await client.api.send("POST", "/v1/chat/completions", JSON_TYPE, body);
    expect(response.status).toBe(400);
    expect((await errorOf(response)).message).toContain("deep");
  });

  it.each([
    ["compressed", { "content-encoding": "gzip" }],
    ["of an unknown encoding", { "content-encoding": "snappy" }],
  ])("that is %s: 400 invalid_request", async (_name, headers) => {
    const response = await client.api.send("POST", "/v1/chat/completions", { ...JSON_TYPE, ...headers }, "{}");
    expect(response.status).toBe(400);
    expect((await errorOf(response)).code).toBe("invalid_request");
  });

  it("that is missing: 400 invalid_request", async () => {
    const response = await client.api.send("POST", "/v1/chat/completions");
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({ code: "invalid_request", param: null });
  });
});

describe("what a client sent", () => {
  const LONG = "x".repeat(10_000);
  it.each<[string, () => Promise<Response>]>([
    ["a model", () => client.api.send("POST", "/v1/chat/completions", JSON_TYPE, JSON.stringify(chat(LONG, "Hi")))],
    ["a model's path", () => client.api.send("GET", `/v1/models/${LONG}`)],
    ["a job's path", () => client.api.send("GET", `/v1/jobs/${LONG}`)],
    ["an unknown path", () => client.api.send("GET", `/${LONG}`)],
  ])("is quoted by its beginning only: %s", async (_what, ask) => {
    const { message } = await errorOf(await ask());
    expect(message).toContain("xxx");
    expect(message.length).toBeLessThan(400);
  });
});

describe("what is no HTTP request", () => {
  const send = (bytes: string) =>
    new Promise<string>((resolve, reject) => {
      const { port, hostname } = new URL(stack.info.base_url);
      const socket = connect(Number(port), hostname, () => socket.write(bytes));
      let received = "";
      socket.on("data", (data) => {
        received += data;
      });
      socket.on("close", () => resolve(received));
      // A server that has answered need not read what is left of this: then the connection is reset.
      socket.on("error", (error) => received === "" && reject(error));
    });

  it.each([
    ["garbage", "\u0000\u0001 nonsense\r\n\r\n"],
    ["headers without end", `GET /v1/models HTTP/1.1\r\nhost: x\r\nx-long: ${"a".repeat(20_000)}\r\n\r\n`],
    ["two lengths", "POST /v1/jobs HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab"],
  ])("%s: 400 with the error body", async (_name, bytes) => {
    const answer = await send(bytes);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toMatch(/\r\nx-request-id: [0-9a-f-]{36}\r\n/);
    expect(JSON.parse(answer.split("\r\n\r\n")[1] as string).error).toEqual({
      code: "invalid_request",
      message: expect.any(String),
      type: "invalid_request_error",
      param: null,
      docs: `${stack.info.base_url}/docs/errors#invalid_request`,
    });
  });

  it("an Expect header that nobody knows is passed over", async () => {
    const head = "GET /v1/models HTTP/1.1\r\nhost: x\r\nexpect: miracles\r\nconnection: close\r\n";
    const answer = await send(`${head}authorization: Bearer ${client.apiKey}\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe("a method that a path does not have", () => {
  it.each([
    ["GET", "/v1/chat/completions", "POST"],
    ["HEAD", "/v1/chat/completions", "POST"],
    ["DELETE", "/v1/models/x", "GET, HEAD"],
    ["PUT", "/v1/account", "GET, HEAD"],
    ["PATCH", "/v1/jobs?limit=2", "GET, HEAD"],
  ])("%s %s: 404 route_not_found with Allow: %s", async (method, path, allow) => {
    const response = await client.api.send(method, path);
    expect(response.status).toBe(404);
    expect(response.headers.get("allow")).toBe(allow);
    if (method !== "HEAD") expect((await errorOf(response)).code).toBe("route_not_found");
  });

  it("HEAD answers where GET does, without a body", async () => {
    const response = await client.api.send("HEAD", "/v1/models");
    expect(response.status).toBe(200);
    expect(Number(response.headers.get("content-length"))).toBeGreaterThan(100);
    expect(await response.text()).toBe("");
  });
});

describe("a browser on another site", () => {
  const preflight = (names: string) =>
    fetch(`${stack.info.base_url}/v1/chat/completions`, {
      method: "OPTIONS",
      headers: {
        origin: "https://somewhere.test",
        "access-control-request-method": "POST",
        "access-control-request-headers": names,
      },
    });

  it("gets its preflight answered without a key, with the headers that SDKs send", async () => {
    const response = await preflight("authorization,content-type,x-stainless-os");
    expect(response.status).toBe(204);
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(response.headers.get("access-control-allow-methods")).toBe("POST");
    expect(response.headers.get("access-control-allow-headers")).toBe("authorization,content-type,x-stainless-os");
    expect(response.headers.get("access-control-allow-credentials")).toBeNull();
  });

  it("gets no long head back for long names: a proxy would take the gateway for broken", async () => {
    const response = await preflight(`authorization,${"x".repeat(5_000)}`);
    expect(response.status).toBe(204);
    expect(response.headers.get("access-control-allow-headers")).toBe("authorization, content-type, idempotency-key");
    const folder = await fetch(`${stack.info.base_url.replace(/\/v1$/, "")}/app/assets?${"x".repeat(5_000)}`, {
      redirect: "manual",
    });
    expect([folder.status, folder.headers.get("location")]).toEqual([404, null]);
  });

  it("may read the service's headers, of errors as well", async () => {
    for (const reply of [await client.api.get("/v1/models"), await apiClient(stack, null).get("/v1/models")]) {
      expect(reply.headers.get("access-control-allow-origin")).toBe("*");
      expect(reply.headers.get("access-control-expose-headers")).toContain("x-service-settlement-tx");
    }
  });
});

describe("every answer", () => {
  it("has its own request id, no cache, and the rest of the burst limit", async () => {
    const replies = [
      await client.api.get("/v1/models"),
      await client.api.get("/v1/jobs/x"),
      await apiClient(stack, null).get("/v1/jobs"),
    ];
    expect(new Set(replies.map(({ headers }) => headers.get("x-request-id"))).size).toBe(3);
    for (const { headers } of replies) {
      expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("ratelimit")).toMatch(/r=\d+; t=\d/);
      expect(headers.get("ratelimit-policy")).toMatch(/q=1000000; w=1/);
    }
  });

  it("is not compressed: events reach a client that takes gzip one by one", async () => {
    const body = JSON.stringify(chat(MODEL, "Hello", { stream: true }));
    const response = await client.api.send(
      "POST",
      "/v1/chat/completions",
      { ...JSON_TYPE, "accept-encoding": "gzip, br" },
      body,
    );
    expect(response.headers.get("content-encoding")).toBeNull();
    expect(response.headers.get("cache-control")).toBe("no-cache, no-transform");
    expect(response.headers.get("x-accel-buffering")).toBe("no");
    expect(await response.text()).toContain("data: [DONE]");
  });
});
