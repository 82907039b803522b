/** Every recorded server with every fault laid over it: the answer comes through, or fails, and is never taken for an empty one. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { ChatRequest } from "../../../protocol/dispatch.ts";
import { ContextExceeded, modelsFault, ServerBusy } from "../../../worker/backends/backend.ts";
import { OpenAiBackend } from "../../../worker/backends/openai.ts";
import { answerOf as answerOfBackend } from "../../worker/support/backend-answer.ts";
import { type RecordedServer, type Refusal, SERVERS } from "../../worker/support/recorded-servers.ts";

type Handler = (body: Record<string, unknown>, res: ServerResponse, req: IncomingMessage) => unknown;

let server: Server;
let backend: OpenAiBackend;
/** Answers of `POST /v1/chat/completions`. */
let handle: Handler;
/** Other paths. */
let paths: Record<string, Handler>;
/** Bodies of the chat requests. */
let asked: Record<string, unknown>[];

beforeAll(async () => {
  const listener: RequestListener = async (req, res) => {
    const parts: Buffer[] = [];
    for await (const part of req) parts.push(part as Buffer);
    const text = Buffer.concat(parts).toString("utf8");
    const body = text === "" ? {} : JSON.parse(text);
    const path = req.url ?? "";
    if (path === "/v1/chat/completions") {
      asked.push(body);
      await handle(body, res, req);
    } else if (paths[path] === undefined) res.writeHead(404).end("{}");
    else await paths[path](body, res, req);
  };
  server = createServer({ keepAliveTimeout: 60_000 }, listener).listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
const open = () => {
  handle = (_body, res) => void res.writeHead(500).end();
  paths = {};
  asked = [];
  const { port } = server.address() as { port: number };
  backend = new OpenAiBackend({ baseUrl: `http://127.0.0.1:${port}/v1/`, key: null, connections: 8 });
};
beforeAll(open);
afterEach(async () => {
  await backend.close();
  open();
});
afterAll(() => backend.close());

const TEXTS = ["The", " answer", " is", " 42", ".", " naïve", " 東京", " 🌱"];
const TEXT = TEXTS.join("");
const ANSWER = { texts: TEXTS, finish: "stop", usage: { prompt: 9, completion: 11 } } as const;

/** The backend's answer; `failure` is what it threw. */
const answerOf = (more: Partial<ChatRequest> = {}, signal?: AbortSignal) => answerOfBackend(backend, more, signal);

const event = (data: unknown) => `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
const EVENT_STREAM = { "content-type": "text/event-stream; charset=utf-8" };

/** What a server sends, and how. */
type Sent = { parts: (string | Buffer)[]; headers: Record<string, string>; hold?: boolean };
const streamed = (recorded: RecordedServer, change: (data: unknown[]) => unknown[] = (data) => data): Sent => ({
  parts: change(recorded.events(ANSWER)).map(event),
  headers: EVENT_STREAM,
});
const plain = (recorded: RecordedServer): Sent => ({
  parts: [JSON.stringify(recorded.document(ANSWER))],
  headers: { "content-type": "application/json" },
});
const send =
  ({ parts, headers, hold }: Sent): Handler =>
  async (_body, res) => {
    res.writeHead(200, headers);
    for (const part of parts) {
      res.write(part);
      await sleep(0);
    }
    if (hold !== true) res.end();
  };
const refuse =
  ({ status, body, headers }: Refusal): Handler =>
  (_body, res) =>
    status === 200
      ? void res.writeHead(200, EVENT_STREAM).end(event(body) + event("[DONE]"))
      : void res.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));

type Chunk = { choices?: Record<string, unknown>[]; usage?: Record<string, unknown> | null };
/** Changes each chunk. */
const chunks = (data: unknown[], change: (chunk: Chunk) => unknown): unknown[] =>
  data.map((one) => (typeof one === "string" ? one : change(structuredClone(one) as Chunk)));
const choices = (data: unknown[], change: (choice: Record<string, unknown>) => Record<string, unknown>) =>
  chunks(data, (chunk) => ({ ...chunk, choices: chunk.choices?.map(change) }));
const usages = (data: unknown[], usage: unknown) =>
  chunks(data, (chunk) => (chunk.usage == null ? chunk : { ...chunk, usage }));
/** Puts something before the last piece of text. */
const between = (data: unknown[], ...more: unknown[]) => data.toSpliced(3, 0, ...more);
/** Where the chunk with the reason of the end is. */
const endAt = (data: unknown[]) => data.findIndex((one) => (one as Chunk).choices?.[0]?.["finish_reason"] != null);

/** Faults with which the answer is whole. `counted`: whether the server's counts can be had. */
const HARMLESS: [name: string, sent: (recorded: RecordedServer) => Sent, counted?: false][] = [
  ["nothing unusual", (recorded) => streamed(recorded)],
  ["a document instead of a stream", plain],
  ["a document that says it is a stream", (recorded) => ({ ...plain(recorded), headers: EVENT_STREAM })],
  ["a document without a content type", (recorded) => ({ ...plain(recorded), headers: {} })],
  ["a stream without a content type", (recorded) => ({ ...streamed(recorded), headers: {} })],
  [
    "a content type in capitals",
    (recorded) => ({ ...streamed(recorded), headers: { "content-type": "Text/Event-Stream" } }),
  ],
  [
    "a content type of something else",
    (recorded) => ({ ...streamed(recorded), headers: { "content-type": "application/json" } }),
  ],
  [
    "events with CRLF",
    (recorded) => ({
      ...streamed(recorded),
      parts: streamed(recorded).parts.map((part) => String(part).replaceAll("\n", "\r\n")),
    }),
  ],
  [
    "no space behind the colon",
    (recorded) => ({
      ...streamed(recorded),
      parts: streamed(recorded).parts.map((part) => String(part).replace("data: ", "data:")),
    }),
  ],
  ["a byte order mark", (recorded) => ({ ...streamed(recorded), parts: ["\ufeff", ...streamed(recorded).parts] })],
  [
    "packets that end anywhere",
    (recorded) => {
      const bytes = Buffer.from(streamed(recorded).parts.join(""));
      const size = 11;
      const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
        bytes.subarray(at * size, (at + 1) * size),
      );
      return { parts, headers: EVENT_STREAM };
    },
  ],
  ["all in one packet", (recorded) => ({ ...streamed(recorded), parts: [streamed(recorded).parts.join("")] })],
  [
    "gzip that nobody asked for",
    (recorded) => ({
      parts: [gzipSync(streamed(recorded).parts.join(""))],
      headers: { ...EVENT_STREAM, "content-encoding": "gzip" },
    }),
  ],
  [
    "comments, and events that only fill silence",
    (recorded) => ({
      headers: EVENT_STREAM,
      parts: [
        ": ping\n\n",
        ...streamed(recorded).parts.flatMap((part) => [
          part,
          ": PROCESSING\n\n",
          "event: ping\ndata: ping\n\n",
          "id: 7\nretry: 100\n\n",
        ]),
      ],
    }),
  ],
  ["events without data", (recorded) => streamed(recorded, (data) => data.flatMap((one) => [one, "", " "]))],
  [
    "chunks without choices",
    (recorded) =>
      streamed(recorded, (data) => [{ id: "c", choices: null }, { choices: [], prompt_filter_results: [] }, ...data]),
  ],
  [
    "an index that is null",
    (recorded) => streamed(recorded, (data) => choices(data, (one) => ({ ...one, index: null }))),
  ],
  [
    "an index that counts from 1",
    (recorded) => streamed(recorded, (data) => choices(data, (one) => ({ ...one, index: 1 }))),
  ],
  ["no index", (recorded) => streamed(recorded, (data) => choices(data, ({ index: _, ...one }) => one))],
  [
    "an empty reason before the end",
    (recorded) =>
      streamed(recorded, (data) => choices(data, (one) => ({ ...one, finish_reason: one["finish_reason"] ?? "" }))),
  ],
  [
    "an end in capitals",
    (recorded) =>
      streamed(recorded, (data) =>
        choices(data, (one) => (one["finish_reason"] === "stop" ? { ...one, finish_reason: "STOP" } : one)),
      ),
  ],
  [
    "an end that another server calls otherwise",
    (recorded) =>
      streamed(recorded, (data) =>
        choices(data, (one) => (one["finish_reason"] === "stop" ? { ...one, finish_reason: "eos_token" } : one)),
      ),
  ],
  [
    "a delta that is null at the end",
    (recorded) =>
      streamed(recorded, (data) =>
        choices(data, (one) => (one["finish_reason"] === "stop" ? { ...one, delta: null } : one)),
      ),
  ],
  [
    "its end twice",
    (recorded) =>
      streamed(recorded, (data) => [...data.slice(0, -1), ...data.slice(endAt(data), -1), "[DONE]", "[DONE]"]),
  ],
  ["no `[DONE]`", (recorded) => streamed(recorded, (data) => data.slice(0, -1))],
  ["a connection that stays open after `[DONE]`", (recorded) => ({ ...streamed(recorded), hold: true })],
  [
    "a connection that stays open after the reason of the end",
    (recorded) => ({
      ...streamed(recorded, (data) => [...data.slice(0, endAt(data)), { ...Object(data[endAt(data)]), usage: null }]),
      hold: true,
    }),
    false,
  ],
  [
    "no blank line at the end",
    (recorded) => {
      const { parts } = streamed(recorded, (data) => [
        ...data.slice(0, endAt(data)),
        { ...Object(data[endAt(data)]), usage: null },
      ]);
      return { parts: [...parts.slice(0, -1), String(parts.at(-1)).trimEnd()], headers: EVENT_STREAM };
    },
    false,
  ],
  [
    "a whole message again at the end",
    (recorded) =>
      streamed(recorded, (data) =>
        choices(data, (one) =>
          one["finish_reason"] === "stop" ? { ...one, delta: {}, message: { role: "assistant", content: TEXT } } : one,
        ),
      ),
  ],
  ...(
    [
      ["missing", undefined],
      ["empty", {}],
      ["null", { prompt_tokens: null, completion_tokens: null }],
      ["zero", { prompt_tokens: 0, completion_tokens: 0 }],
      ["fractional", { prompt_tokens: 9.5, completion_tokens: 11.5 }],
      ["negative", { prompt_tokens: -1, completion_tokens: -1 }],
      ["text", { prompt_tokens: "9", completion_tokens: "11" }],
      ["a list", [9, 11]],
      ["infinite", { prompt_tokens: 1e300, completion_tokens: 1e300 }],
    ] as const
  ).map(([what, usage]): (typeof HARMLESS)[number] => [
    `counts that are ${what}`,
    (recorded) => streamed(recorded, (data) => usages(data, usage)),
    false,
  ]),
  [
    "counts of nothing after its counts",
    (recorded) =>
      streamed(recorded, (data) => [
        ...data.slice(0, -1),
        { choices: [], usage: { prompt_tokens: 0, completion_tokens: 0 } },
        "[DONE]",
      ]),
  ],
];

/** Faults with which there is no answer, whatever came before. */
const HARMFUL: [name: string, sent: (recorded: RecordedServer) => Sent][] = [
  ["an error of its own in the stream", (recorded) => streamed(recorded, (data) => between(data, recorded.broken))],
  ["an error of its own as a document", (recorded) => ({ parts: [JSON.stringify(recorded.broken)], headers: {} })],
  [
    "an event with the name `error`",
    (recorded) => ({
      headers: EVENT_STREAM,
      parts: streamed(recorded).parts.toSpliced(3, 0, 'event: error\ndata: {"message":"boom"}\n\n'),
    }),
  ],
  ["`detail` in the stream", (recorded) => streamed(recorded, (data) => between(data, { detail: "boom" }))],
  ["HTML", () => ({ parts: ["<html><body>502 Bad Gateway</body></html>"], headers: { "content-type": "text/html" } })],
  [
    "HTML in the stream",
    (recorded) => ({
      ...streamed(recorded),
      parts: streamed(recorded).parts.toSpliced(3, 0, "<html>\n502\n</html>\n"),
    }),
  ],
  [
    "JSON lines without events",
    (recorded) => ({ parts: recorded.events(ANSWER).map((data) => `${JSON.stringify(data)}\n`), headers: {} }),
  ],
  ["what is not JSON", (recorded) => streamed(recorded, (data) => between(data, "swordfish"))],
  ["a list in place of a chunk", (recorded) => streamed(recorded, (data) => between(data, []))],
  ["text in place of a chunk", (recorded) => streamed(recorded, (data) => between(data, '"a piece of text"'))],
  [
    "content that is an object",
    (recorded) => streamed(recorded, (data) => choices(data, (one) => ({ ...one, delta: { content: { x: "text" } } }))),
  ],
  [
    "an end before the reason of the end",
    (recorded) => streamed(recorded, (data) => [...data.slice(0, endAt(data)), "[DONE]"]),
  ],
  ["nothing but `[DONE]`", (recorded) => streamed(recorded, () => ["[DONE]"])],
  ["nothing", (recorded) => streamed(recorded, () => [])],
  ...["tool_calls", "abort", "error", "load"].map((reason): (typeof HARMFUL)[number] => [
    `the end "${reason}"`,
    (recorded) =>
      streamed(recorded, (data) =>
        choices(data, (one) => (one["finish_reason"] === "stop" ? { ...one, finish_reason: reason } : one)),
      ),
  ]),
  // What might be text and is not understood.
  ...(
    [
      ["a refusal", (text) => ({ delta: { content: null, refusal: text } })],
      [
        "the call of a tool",
        (text) => ({ delta: { tool_calls: [{ index: 0, function: { name: "f", arguments: text } }] } }),
      ],
      ["a field of its own", (text) => ({ delta: { output_text: text } })],
      ["parts of its own", (text) => ({ delta: { content: [{ type: "output_text", value: text }] } })],
      ["another choice", (text) => ({ index: 1, delta: { content: text } })],
    ] as [string, (text: unknown) => Record<string, unknown>][]
  ).map(([what, choice]): (typeof HARMFUL)[number] => [
    `all text in ${what}`,
    (recorded) =>
      streamed(recorded, (data) =>
        choices(data, ({ index, delta, finish_reason }) => {
          const { content } = Object(delta);
          const text = Array.isArray(content) ? content[0]?.text : content;
          return finish_reason == null && text
            ? { index, finish_reason, ...choice(text) }
            : { index, delta: {}, finish_reason };
        }),
      ),
  ]),
];

describe.each(SERVERS.map((recorded) => [recorded.name, recorded] as const))("%s", (_name, recorded) => {
  it.each(HARMLESS)("answers with %s", async (_fault, sent, counted) => {
    handle = send(sent(recorded));
    const { text, finish, usage, failure } = await answerOf();
    expect(failure).toBeNull();
    expect([text, finish]).toEqual([TEXT, "stop"]);
    if (counted === undefined) expect(usage).toMatchObject({ promptTokens: 9, completionTokens: 11 });
    else expect(usage).toBeNull();
  });

  it.each(HARMFUL)("fails with %s", async (_fault, sent) => {
    handle = send(sent(recorded));
    const { finish, failure } = await answerOf();
    expect(failure?.name).toMatch(/^(BackendError|ServerBusy|RequestRefused)$/);
    expect(failure?.message).not.toMatch(/swordfish|boom|CUDA|crashed/);
    expect(finish).toBeUndefined();
  });

  const { busy } = recorded;
  // A server that lets everybody wait is never full.
  if (busy !== null) {
    it("that is full is busy, and not broken", async () => {
      handle = refuse(busy);
      const { failure } = await answerOf();
      expect(failure).toBeInstanceOf(ServerBusy);
      const seconds = busy.headers?.["retry-after"] ?? "1";
      expect((failure as ServerBusy).retryAfterMs).toBe(Number(seconds) * 1_000);
    });
  }

  it("gets what fits behind its own count of the prompt", async () => {
    const window = 32_768;
    const prompt = 9;
    handle = (body, res, req) => {
      const refusal = recorded.tooLong({ prompt, max_tokens: Number(body["max_tokens"]), window });
      return (refusal === null ? send(streamed(recorded)) : refuse(refusal))(body, res, req);
    };
    const { text, failure } = await answerOf({ max_tokens: 32_760 });
    expect([failure, text]).toEqual([null, TEXT]);
    expect(asked.at(-1)?.["max_tokens"]).toBeGreaterThanOrEqual(window - prompt - 1);
    expect(asked.length).toBeLessThanOrEqual(3);
  });

  it("that does not hold a conversation says so, whatever is asked for", async () => {
    handle = (body, res, req) => {
      const refusal = recorded.tooLong({ prompt: 40_000, max_tokens: Number(body["max_tokens"]), window: 32_768 });
      return refuse(refusal as Refusal)(body, res, req);
    };
    const { failure } = await answerOf();
    expect(failure).toBeInstanceOf(ContextExceeded);
  });
});

describe("a model server", () => {
  const good = send(streamed(SERVERS[0] as RecordedServer));

  it.each([
    ["resets", (socket: Socket) => socket.resetAndDestroy()],
    ["closes", (socket: Socket) => socket.destroy()],
  ])("that %s a connection which it served before is asked on a new one", async (_what, drop) => {
    const served = new WeakSet<Socket>();
    let drops = 0;
    handle = (body, res, req) => {
      if (!served.has(req.socket)) {
        served.add(req.socket);
        return good(body, res, req);
      }
      drops += 1;
      return void drop(req.socket);
    };
    for (let i = 0; i < 4; i++) expect(await answerOf()).toMatchObject({ failure: null, text: TEXT });
    expect(drops).toBeGreaterThan(0);
  });

  it("that drops every connection is broken after the second try", async () => {
    handle = (_body, _res, req) => void req.socket.destroy();
    expect((await answerOf()).failure?.message).toBe("the model server cannot be reached");
    expect(asked.length).toBe(2);
  });

  it("that breaks off after a first byte is not asked again", async () => {
    handle = (_body, res) => void res.writeHead(200, EVENT_STREAM).write(event({ choices: [] }), () => res.destroy());
    expect((await answerOf()).failure?.message).toBe("the connection to the model server broke during the answer");
    expect(asked.length).toBe(1);
  });

  it("that cuts the connection after the reason of the end has answered", async () => {
    const { parts } = streamed(SERVERS[0] as RecordedServer, (data) => data.slice(0, endAt(data) + 1));
    handle = (_body, res) => void res.writeHead(200, EVENT_STREAM).write(parts.join(""), () => res.destroy());
    expect(await answerOf()).toMatchObject({ failure: null, text: TEXT, finish: "stop", usage: null });
  });

  it.each([
    [
      "text/event-stream",
      (text: string) => event({ choices: [{ index: 0, message: { content: text }, finish_reason: "stop" }] }),
    ],
    [
      "text/event-stream, of the older API",
      (text: string) => event({ choices: [{ index: 0, text, finish_reason: "stop" }] }),
    ],
  ])("whose text is under another name is understood: %s", async (_what, body) => {
    handle = (_body, res) => void res.writeHead(200, EVENT_STREAM).end(body(TEXT));
    expect(await answerOf()).toMatchObject({ failure: null, text: TEXT });
  });

  it("that sends one message after the other may repeat or go on: that is a failure", async () => {
    const message = (content: string, finish_reason: string | null) =>
      event({ choices: [{ index: 0, message: { content }, finish_reason }] });
    handle = (_body, res) =>
      void res.writeHead(200, EVENT_STREAM).end(message("Yes", null) + message("Yes, no", "stop"));
    expect((await answerOf()).failure?.message).toBe("the model server sent several messages in one answer");
    handle = (_body, res) => void res.writeHead(200, EVENT_STREAM).end(message("Yes", null) + message("Yes", "stop"));
    expect(await answerOf()).toMatchObject({ failure: null, text: "Yes" });
  });

  it("has its reasoning told apart, under each name that servers have for it", async () => {
    const thought = (delta: Record<string, unknown>) => event({ choices: [{ index: 0, delta, finish_reason: null }] });
    const thoughts = [
      thought({ reasoning_content: "a" }), // vLLM before 0.12, SGLang, llama-server, DeepSeek
      thought({ reasoning: "b", reasoning_content: null }), // vLLM, Ollama, OpenRouter
      thought({ reasoning: "c", reasoning_details: [{ type: "reasoning.text", text: "c" }] }), // OpenRouter
      thought({ content: [{ type: "thinking", thinking: [{ type: "text", text: "d" }] }] }), // Mistral
      thought({ content: "42" }),
    ];
    const end = event({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
    handle = (_body, res) => void res.writeHead(200, EVENT_STREAM).end(thoughts.join("") + end);
    expect(await answerOf()).toMatchObject({ failure: null, reasoning: "abcd", text: "42" });
  });

  it("that only reasons until its limit has an empty answer, and no failure", async () => {
    const events = [
      { choices: [{ index: 0, delta: { reasoning: "a", reasoning_details: [{ text: "a" }] }, finish_reason: null }] },
      { choices: [{ index: 0, delta: {}, finish_reason: "length" }] },
    ];
    handle = (_body, res) => void res.writeHead(200, EVENT_STREAM).end(events.map(event).join(""));
    expect(await answerOf()).toMatchObject({ failure: null, reasoning: "a", text: "", finish: "length" });
  });

  it("is not sent what servers refuse or misread", async () => {
    handle = good;
    const odd = { stop: ["", "end"], top_p: 0, min_p: 0, top_k: 0, repetition_penalty: 0, temperature: 0.7 };
    await answerOf(odd);
    expect(asked[0]).toMatchObject({ stop: ["end"], temperature: 0, top_k: -1 });
    expect(asked[0]).not.toHaveProperty("top_p");
    expect(asked[0]).not.toHaveProperty("min_p");
    expect(asked[0]).not.toHaveProperty("repetition_penalty");
    await answerOf({ stop: [""] });
    expect(asked[1]).not.toHaveProperty("stop");
  });

  it("is told to reason only where that is asked for", async () => {
    handle = good;
    await answerOf();
    await answerOf({ reasoning_effort: "none" });
    await answerOf({ reasoning_effort: "high" });
    expect(asked.map(({ reasoning_effort, chat_template_kwargs }) => [reasoning_effort, chat_template_kwargs])).toEqual(
      [
        ["none", { enable_thinking: false, thinking: false }],
        ["none", { enable_thinking: false, thinking: false }],
        ["high", { enable_thinking: true, thinking: true }],
      ],
    );
  });

  it.each([
    [
      "FastAPI's words",
      422,
      (name: string) => ({
        detail: [{ type: "extra_forbidden", loc: ["body", name], msg: "Extra inputs are not permitted", input: {} }],
      }),
    ],
    [
      "OpenAI's words",
      400,
      (name: string) => ({ error: { message: `Unrecognized request argument supplied: ${name}`, param: null } }),
    ],
    ["a parameter", 400, (name: string) => ({ error: { message: "Unsupported", param: name } })],
    [
      "pydantic's words",
      400,
      (name: string) => ({
        error: { message: `[{'type': 'literal_error', 'loc': ('body', '${name}'), 'msg': 'Input should be low'}]` },
      }),
    ],
  ])("that does not know a field gets none of it: %s", async (_what, status, body) => {
    const unknown = ["stream_options", "chat_template_kwargs", "top_k"];
    handle = (asking, res, req) => {
      const name = unknown.find((field) => field in asking);
      return (name === undefined ? good : refuse({ status, body: body(name) }))(asking, res, req);
    };
    expect(await answerOf({ top_k: 40 })).toMatchObject({ failure: null, text: TEXT });
    expect(asked.length).toBe(4);
    // What the worker adds by itself is not sent again; what clients ask for may be good another time.
    expect(await answerOf()).toMatchObject({ failure: null });
    expect(asked.length).toBe(5);
  });

  it("that wants `max_completion_tokens` gets that", async () => {
    handle = (asking, res, req) =>
      "max_tokens" in asking
        ? refuse({
            status: 400,
            body: {
              error: {
                message:
                  "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                param: "max_tokens",
                code: "unsupported_parameter",
              },
            },
          })(asking, res, req)
        : good(asking, res, req);
    expect(await answerOf()).toMatchObject({ failure: null, text: TEXT });
    expect(asked.at(-1)).toMatchObject({ max_completion_tokens: 100 });
  });

  it("that refuses what a client asked for is not talked out of it", async () => {
    handle = refuse({ status: 400, body: { error: { message: "temperature must be below 1", param: "temperature" } } });
    expect((await answerOf({ temperature: 2 })).failure?.name).toBe("RequestRefused");
    expect(asked.length).toBe(1);
  });

  it.each([
    [
      500,
      {
        error: {
          code: 500,
          message: "Jinja Exception: Conversation roles must alternate user/assistant",
          type: "server_error",
        },
      },
    ],
    [400, { error: { message: "Only user and assistant roles are supported!", code: 400 } }],
    [422, { error: "Template error: unknown method", error_type: "template_error" }],
  ])("whose template refuses a conversation (%i) does not take the request", async (status, body) => {
    handle = refuse({ status, body });
    expect((await answerOf()).failure?.name).toBe("RequestRefused");
  });

  it.each([401, 403, 404, 424, 500, 502, 504, 307])("that answers %i is broken", async (status) => {
    handle = (_body, res) => void res.writeHead(status, { location: "http://127.0.0.1:1/" }).end("{}");
    expect((await answerOf()).failure?.name).toBe("BackendError");
  });

  it.each([
    ["3", 3_000],
    ["0.5", 500],
    ["3600", 20_000],
    ["soon", 1_000],
    ["-1", 100],
  ])("that is full until %s s is asked again after %i ms", async (header, ms) => {
    handle = refuse({ status: 429, body: {}, headers: { "retry-after": header } });
    expect((await answerOf()).failure).toMatchObject({ name: "ServerBusy", retryAfterMs: ms });
  });

  it("that is full until a date is asked again then", async () => {
    const headers = { "retry-after": new Date(Date.now() + 10_000).toUTCString() };
    handle = refuse({ status: 503, body: {}, headers });
    const { failure } = await answerOf();
    expect((failure as ServerBusy).retryAfterMs).toBeGreaterThan(5_000);
    expect((failure as ServerBusy).retryAfterMs).toBeLessThanOrEqual(10_000);
  });

  it.each<[string, number, unknown, number | null, number | null]>([
    [
      "vLLM, of max_tokens alone",
      400,
      {
        error: {
          message:
            "'max_tokens' or 'max_completion_tokens' is too large: 40000. This model's maximum context length is 32768 tokens and your request has 9 input tokens (40000 > 32768 - 9).",
        },
      },
      9,
      32_768,
    ],
    [
      "vLLM, which stopped counting",
      400,
      {
        error: {
          message:
            "This model's maximum context length is 32768 tokens. However, you requested 100 output tokens and your prompt contains at least 32669 input tokens, for a total of at least 32769 tokens.",
        },
      },
      null,
      32_768,
    ],
    [
      "vLLM's engine",
      400,
      {
        error: {
          message:
            "The decoder prompt (length 40000) is longer than the maximum model length of 32768. Make sure that `max_model_len` is no smaller than the number of text tokens.",
        },
      },
      40_000,
      32_768,
    ],
    [
      "SGLang",
      400,
      {
        object: "error",
        message: "The input (40000 tokens) is longer than the model's context length (32768 tokens).",
      },
      40_000,
      32_768,
    ],
    [
      "TGI",
      422,
      {
        error: "Input validation error: `inputs` must have less than 32768 tokens. Given: 40000",
        error_type: "validation",
      },
      40_000,
      32_768,
    ],
    [
      "OpenAI",
      400,
      {
        error: {
          message:
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 150000 tokens.",
          code: "context_length_exceeded",
        },
      },
      150_000,
      128_000,
    ],
    [
      "LM Studio",
      400,
      { error: "The number of tokens to keep from the initial prompt is greater than the context length." },
      null,
      null,
    ],
    ["Groq", 400, { error: { message: "Please reduce the length of the messages or completion." } }, null, null],
    [
      "Ollama with a status of its own",
      500,
      { error: { message: "input length exceeds the context length" } },
      null,
      null,
    ],
  ])("that does not hold a conversation is understood: %s", async (_what, status, body, promptTokens, window) => {
    handle = refuse({ status, body });
    expect((await answerOf({ max_tokens: 1 })).failure).toMatchObject({
      name: "ContextExceeded",
      promptTokens,
      window,
    });
  });
});

describe("the models of a server", () => {
  const serving = (...ids: string[]) => {
    paths = { "/v1/models": (_body, res) => void res.end(JSON.stringify({ data: ids.map((id) => ({ id })) })) };
  };

  it("may be named without the tag of their newest version", async () => {
    serving("qwen3:latest", "llama3:8b");
    expect(await modelsFault(backend, ["qwen3", "llama3:8b"], "here")).toBeNull();
    expect(await modelsFault(backend, ["llama3"], "here")).toMatch(
      /does not serve llama3; it serves qwen3:latest, llama3:8b\./,
    );
  });

  it("are listed as far as a person reads", async () => {
    serving(...Array.from({ length: 5_000 }, (_, at) => `${at}-${"x".repeat(500)}`));
    const fault = await modelsFault(backend, ["m"], "here");
    expect(fault).toMatch(/ and 4980 more\. Name its models/);
    expect(fault?.length).toBeLessThan(3_000);
  });

  it("are found behind an address without a path", async () => {
    serving("m");
    const { port } = server.address() as { port: number };
    const short = new OpenAiBackend({ baseUrl: `http://127.0.0.1:${port}`, key: null, connections: 1 });
    expect(await short.models()).toEqual(["m"]);
    await short.close();
  });
});

describe("a model server that counts on request", () => {
  const window = 1_000;
  const models =
    (more: Record<string, unknown>): Handler =>
    (_body, res) =>
      void res.end(JSON.stringify({ object: "list", data: [{ id: "m", ...more }] }));
  const good = send(streamed(SERVERS[0] as RecordedServer));
  const long = { messages: [{ role: "user" as const, content: "word ".repeat(180) }], max_tokens: 900 };

  const ways: [string, Record<string, unknown>, (count: number) => Record<string, Handler>][] = [
    [
      "vLLM",
      { max_model_len: window },
      (count) => ({
        "/tokenize": (_body, res) => void res.end(JSON.stringify({ count, max_model_len: window, tokens: [] })),
      }),
    ],
    [
      "llama-server",
      { meta: { n_ctx: window, n_ctx_train: 40_960 } },
      (count) => ({
        "/apply-template": (_body, res) => void res.end(JSON.stringify({ prompt: "<|user|>word" })),
        "/tokenize": (body, res) =>
          void res.end(JSON.stringify({ tokens: body["content"] === "<|user|>word" ? Array(count).fill(7) : [] })),
      }),
    ],
    [
      "TGI",
      { max_model_len: window },
      (count) => ({
        "/chat_tokenize": (_body, res) =>
          void res.end(JSON.stringify({ tokenize_response: Array(count).fill({ id: 1 }), templated_text: "" })),
      }),
    ],
  ];

  it.each(ways)("is asked before a large request: %s", async (_name, model, counting) => {
    paths = { "/v1/models": models(model), ...counting(300) };
    handle = good;
    expect(await backend.models()).toEqual(["m"]);
    expect(backend.counting("m")).toEqual({ by: "server", window });
    expect((await answerOf(long)).failure).toBeNull();
    expect(asked[0]?.["max_tokens"]).toBe(700);
    // What certainly fits needs no count.
    paths = { "/v1/models": models(model) };
    await answerOf({ max_tokens: 100 });
    expect(asked[1]?.["max_tokens"]).toBe(100);
  });

  it.each(ways)("says that a prompt leaves no room, before it is sent: %s", async (_name, model, counting) => {
    paths = { "/v1/models": models(model), ...counting(window) };
    handle = good;
    await backend.models();
    expect((await answerOf(long)).failure).toMatchObject({ name: "ContextExceeded", promptTokens: window, window });
    expect(asked).toEqual([]);
  });

  it("that shortens conversations (Ollama) is sent none beyond its window", async () => {
    let context_length = window;
    paths = {
      "/v1/models": models({ owned_by: "library" }),
      "/api/ps": (_body, res) => void res.end(JSON.stringify({ models: [{ name: "m", model: "m", context_length }] })),
    };
    handle = good;
    await backend.models();
    expect(backend.counting("m")).toEqual({ by: "estimate", window });
    const asks = (words: number) =>
      answerOf({ messages: [{ role: "user", content: "word ".repeat(words) }], max_tokens: 100 });
    expect((await asks(900)).failure).toBeNull();
    expect((await asks(1_500)).failure).toMatchObject({ name: "ContextExceeded", promptTokens: null, window });
    // Loaded anew with a larger window, which it tells when it is asked again.
    context_length = 4_096;
    vi.useFakeTimers({ toFake: ["Date"] }).setSystemTime(Date.now() + 61_000);
    try {
      expect((await asks(1_500)).failure).toBeNull();
    } finally {
      vi.useRealTimers();
    }
    expect(asked.length).toBe(2);
  });

  it("that is started anew with another window is asked for that", async () => {
    let max_model_len = window;
    paths = {
      "/v1/models": (_body, res) => void res.end(JSON.stringify({ data: [{ id: "m", max_model_len }] })),
      "/tokenize": (_body, res) => void res.end(JSON.stringify({ count: 1_200 })),
    };
    handle = good;
    await backend.models();
    expect((await answerOf(long)).failure).toBeInstanceOf(ContextExceeded);
    max_model_len = 1_900;
    vi.useFakeTimers({ toFake: ["Date"] }).setSystemTime(Date.now() + 61_000);
    try {
      expect((await answerOf(long)).failure).toBeNull();
      // One that was away when the worker started is found later.
      const late = new OpenAiBackend({ baseUrl: `http://${backend.name}`, key: null, connections: 1 });
      expect((await answerOfBackend(late, long)).failure).toBeNull();
      expect(late.counting("m")).toEqual({ by: "server", window: 1_900 });
      await late.close();
    } finally {
      vi.useRealTimers();
    }
    expect(asked.map(({ max_tokens }) => max_tokens)).toEqual([700, 700]);
  });

  it("is estimated where it does not, and asked by its refusal", async () => {
    paths = { "/v1/models": models({ max_model_len: window }) };
    await backend.models();
    expect(backend.counting("m")).toEqual({ by: "estimate", window });
    handle = (body, res, req) => {
      const max_tokens = Number(body["max_tokens"]);
      if (max_tokens + 200 <= window) return good(body, res, req);
      // Only the window is told: what is left is estimated, with a margin.
      return refuse({ status: 400, body: { error: { message: `maximum context length is ${window}` } } })(
        body,
        res,
        req,
      );
    };
    expect((await answerOf(long)).failure).toBeNull();
    expect(asked.map(({ max_tokens }) => max_tokens)).toEqual([900, 731]);
  });
});
