/** The worker's backend in front of a real `llama-server`: what it counts, refuses and enforces. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ChatRequest } from "../../protocol/dispatch.ts";
import { type BackendPiece, ContextExceeded, RequestRefused } from "../../worker/backends/backend.ts";
import { OpenAiBackend } from "../../worker/backends/openai.ts";
import { type LlamaServer, llamaServer, MODEL } from "./llama-server.ts";

const CONTEXT = 512;

const request = (more: Partial<ChatRequest> = {}): ChatRequest => ({
  messages: [{ role: "user", content: "Go on and on" }],
  max_tokens: 40,
  seed: 3,
  ...more,
});

async function collect(backend: OpenAiBackend, more: Partial<ChatRequest> = {}, signal = new AbortController().signal) {
  const pieces: BackendPiece[] = [];
  for await (const piece of backend.generate(MODEL, request(more), signal)) pieces.push(piece);
  const end = pieces.at(-1);
  if (end?.kind !== "end") throw new Error("no end");
  const text = pieces.map((piece) => (piece.kind === "end" ? "" : piece.text)).join("");
  return { text, finish: end.finishReason, usage: end.usage, pieces: pieces.length - 1 };
}

describe("llama-server", () => {
  let server: LlamaServer;
  let backend: OpenAiBackend;
  beforeAll(async () => {
    server = await llamaServer({ context: CONTEXT });
    backend = new OpenAiBackend({ baseUrl: server.baseUrl, key: null, connections: 4 });
  });
  afterAll(async () => {
    await backend?.close();
    await server?.remove();
  });

  it("names its model by its alias, and its window", async () => {
    expect(await backend.models()).toEqual([MODEL]);
    expect(backend.counting(MODEL)).toEqual({ by: "server", window: CONTEXT });
  });

  it("tells what it counted", async () => {
    const { finish, usage } = await collect(backend);
    expect([finish, usage?.completionTokens]).toEqual(["length", 40]);
    expect(usage?.promptTokens).toBeGreaterThan(5);
  });

  it("is asked for no more than it has room for, by its own count to the token", async () => {
    const messages = [
      { role: "system" as const, content: "You say naïve things 🌱" },
      { role: "user" as const, content: "word ".repeat(60) },
    ];
    const { usage, finish } = await collect(backend, { messages, max_tokens: 32_760 });
    if (finish === "length") expect((usage?.promptTokens ?? 0) + (usage?.completionTokens ?? 0)).toBe(CONTEXT);
    // With the room of one token, it answers with that.
    const prompt = usage?.promptTokens ?? 0;
    expect((await collect(backend, { messages, max_tokens: CONTEXT - prompt })).usage?.promptTokens).toBe(prompt);
  });

  it.each([
    ["before it is asked, where it can count", true],
    ["by its refusal, where nobody looked before", false],
  ])("does not hold a conversation: %s", async (_when, looked) => {
    const fresh = new OpenAiBackend({ baseUrl: server.baseUrl, key: null, connections: 1 });
    try {
      if (looked) await fresh.models();
      const messages = [{ role: "user" as const, content: "word ".repeat(1_000) }];
      const failure = await collect(fresh, { messages }).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(ContextExceeded);
      expect(failure).toMatchObject({ window: CONTEXT });
      expect((failure as ContextExceeded).promptTokens).toBeGreaterThan(2_000);
      // It is well.
      expect((await collect(fresh)).usage?.completionTokens).toBe(40);
    } finally {
      await fresh.close();
    }
  });

  it("is stopped at once by its signal, and the next job finds it free", async () => {
    for (let i = 0; i < 8; i++) {
      const abort = new AbortController();
      const generation = (async () => {
        for await (const _ of backend.generate(MODEL, request({ max_tokens: 400 }), abort.signal)) abort.abort();
      })();
      await expect(generation).rejects.toThrow();
    }
    expect((await collect(backend)).text.length).toBeGreaterThan(0);
  });

  it("stops when its reader leaves, and carries nothing into the next request", async () => {
    const fresh = (await collect(backend, { temperature: 0 })).text;
    const other = request({ messages: [{ role: "user", content: "Else" }] });
    for await (const _ of backend.generate(MODEL, other, new AbortController().signal)) break;
    expect((await collect(backend, { temperature: 0 })).text).toBe(fresh);
  });

  it("samples as asked: penalties, temperature, seeds and stops change the text", async () => {
    const text = async (more: Partial<ChatRequest>) => (await collect(backend, more)).text;
    const plain = await text({ temperature: 0 });
    expect(await text({ temperature: 0 })).toBe(plain);
    // The likeliest token, said in another way.
    expect(await text({ top_p: 0, temperature: 1 })).toBe(plain);
    expect(await text({ temperature: 2 })).not.toBe(plain);
    const repetitive = await text({ temperature: 0, frequency_penalty: -2, max_tokens: 60 });
    expect(repetitive).not.toBe(await text({ temperature: 0, frequency_penalty: 2, max_tokens: 60 }));
    for (const seed of [0, 7, 2 ** 31, 2 ** 40]) expect(await text({ seed })).toBe(await text({ seed }));
    const stop = plain.slice(5, 9);
    expect(await text({ temperature: 0, stop: ["", stop] })).toBe(plain.slice(0, plain.indexOf(stop)));
    // It would end an answer before its first token.
    expect(await text({ temperature: 0, stop: [""] })).toBe(plain);
  });

  it("enforces a JSON schema, and refuses one that is none", async () => {
    const schema = {
      type: "object",
      properties: { agreed: { type: "boolean" }, side: { enum: ["left", "right"] } },
      required: ["agreed", "side"],
      additionalProperties: false,
    };
    const format = (value: unknown): Partial<ChatRequest> => ({
      max_tokens: 200,
      response_format: { type: "json_schema", json_schema: { name: "answer", schema: value, strict: true } },
    });
    const { text, finish } = await collect(backend, format(schema));
    expect(finish).toBe("stop");
    expect(JSON.parse(text)).toEqual({ agreed: expect.any(Boolean), side: expect.stringMatching(/^(left|right)$/) });
    await expect(collect(backend, format({ type: "nonsense" }))).rejects.toBeInstanceOf(RequestRefused);
    expect((await collect(backend)).usage?.completionTokens).toBe(40);
  });

  it("keeps a connection for 100 requests: none of 250 one after the other fails", async () => {
    for (let i = 0; i < 250; i++) expect((await collect(backend, { max_tokens: 2, seed: i })).usage).not.toBeNull();
  });
});

describe("a template that refuses a conversation", () => {
  let server: LlamaServer;
  let backend: OpenAiBackend;
  beforeAll(async () => {
    const template =
      "{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}" +
      "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}" +
      "{{ '<|' + m['role'] + '|>' + m['content'] + '</s>' }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}";
    server = await llamaServer({ flags: ["--jinja", "--chat-template", template] });
    backend = new OpenAiBackend({ baseUrl: server.baseUrl, key: null, connections: 2 });
  });
  afterAll(async () => {
    await backend?.close();
    await server?.remove();
  });

  it("is the request's fault, before and after the server was asked how it counts", async () => {
    const twice = [
      { role: "user" as const, content: "One" },
      { role: "user" as const, content: "Two" },
    ];
    const bad = () => collect(backend, { messages: twice }).catch((error: unknown) => error);
    expect(await bad()).toBeInstanceOf(RequestRefused);
    await backend.models();
    expect(await bad()).toBeInstanceOf(RequestRefused);
    const long = { messages: [...twice, { role: "user" as const, content: "word ".repeat(400) }] };
    await expect(collect(backend, long)).rejects.toBeInstanceOf(RequestRefused);
    expect((await collect(backend)).usage?.completionTokens).toBe(40);
  });
});
