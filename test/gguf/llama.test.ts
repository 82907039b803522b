/** A tiny GGUF model in llama.cpp's `llama-server`, behind a real worker of a real stack: loaded, tokenized, sampled, streamed, paid. */
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ChatRequest } from "../../protocol/dispatch.ts";
import { freePort } from "../../scripts/dev/ports.ts";
import type { BackendPiece } from "../../worker/backends/backend.ts";
import { OpenAiBackend } from "../../worker/backends/openai.ts";
import { type ApiClient, apiClient, chat, eventually, readStream } from "../support/api-client.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { tinyGguf } from "./tiny-gguf.ts";

const MODEL = "qwen3-1.7b";
const CONTEXT = 512;
const SLOTS = 2;
const folder = mkdtempSync(join(tmpdir(), "gguf-"));
const file = join(folder, "tiny.gguf");

let server: ChildProcess;
let baseUrl: string;
beforeAll(async () => {
  writeFileSync(file, tinyGguf({ contextLength: CONTEXT }));
  const port = await freePort();
  // One thread: two layers are faster done than handed around. The context is shared by the slots.
  const options = ["-m", file, "--alias", MODEL, "--port", String(port), "-t", "1"];
  const slots = ["-c", String(CONTEXT * SLOTS), "-np", String(SLOTS)];
  server = spawn(process.env["LLAMA_SERVER"] as string, [...options, ...slots], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const failed = once(server, "error").then(([error]) => Promise.reject(error));
  baseUrl = `http://127.0.0.1:${port}/v1`;
  const health = async () => (await fetch(`http://127.0.0.1:${port}/health`).catch(() => null))?.ok === true;
  await Promise.race([eventually(health, (ok) => ok), failed]);
});
afterAll(async () => {
  if (server?.exitCode === null && server.kill()) await once(server, "exit");
  rmSync(folder, { recursive: true });
});

const sha256 = (text: string) => `sha256:${createHash("sha256").update(text, "utf8").digest("hex")}`;

describe("through the API", () => {
  let stack: TestStack;
  let api: ApiClient;
  beforeAll(async () => {
    const env = { WORKER_BACKEND: baseUrl, WORKER_CONCURRENCY: String(SLOTS) };
    stack = await startTestStack({ workers: [{ models: [MODEL], env }] });
    api = apiClient(stack);
  });
  afterAll(() => stack?.remove());

  const ask = (more: Record<string, unknown> = {}) =>
    api.post(
      "/v1/chat/completions",
      chat(MODEL, "What is the thing that people call time?", { max_tokens: 24, ...more }),
    );
  const settled = (id: string) =>
    eventually(
      () => api.get(`/v1/jobs/${id}`),
      ({ body }) => body.status === "settled",
    );

  it("answers, is settled for what it generated, and the hash on chain is the text's", async () => {
    const reply = await ask();
    expect(reply.status).toBe(200);
    const [choice] = reply.body.choices;
    expect(choice.message.content.length).toBeGreaterThan(0);
    expect(reply.body.usage.completion_tokens).toBeLessThanOrEqual(24);
    const { body: job } = await settled(reply.headers.get("x-service-job-id") as string);
    expect(job.on_chain.proof_hash).toBe(sha256(choice.message.content));
    expect(job).toMatchObject({ credits_charged: 2, usage: reply.body.usage });
  });

  it("streams the same", async () => {
    const stream = await api.request(
      "POST",
      "/v1/chat/completions",
      chat(MODEL, "Once more", { max_tokens: 24, stream: true }),
    );
    const events = await readStream(stream);
    expect(events.at(-1)).toBe("[DONE]");
    const pieces = events.slice(0, -1).map((event) => JSON.parse(event).choices[0].delta.content ?? "");
    expect(pieces.length).toBeGreaterThan(3);
    const { body: job } = await settled(stream.headers.get("x-service-job-id") as string);
    expect(job.on_chain.proof_hash).toBe(sha256(pieces.join("")));
  });

  it("honours seed, max_tokens and stop", async () => {
    const text = async (more: Record<string, unknown>) => (await ask(more)).body.choices[0].message.content as string;
    const first = await text({ seed: 7 });
    expect(await text({ seed: 7 })).toBe(first);
    expect(await text({ seed: 8 })).not.toBe(first);

    const short = (await ask({ seed: 7, max_tokens: 5 })).body;
    expect(short).toMatchObject({ choices: [{ finish_reason: "length" }], usage: { completion_tokens: 5 } });

    const stop = /[a-z]{3}/.exec(first.slice(8))?.[0] as string;
    const stopped = (await ask({ seed: 7, stop: [stop] })).body.choices[0];
    expect(stopped.finish_reason).toBe("stop");
    expect(stopped.message.content).toBe(first.slice(0, first.indexOf(stop)));
  });

  it("refuses a conversation that its context does not hold, charging nothing", async () => {
    const before = (await api.get("/v1/account")).body.credits_remaining;
    const reply = await api.post("/v1/chat/completions", chat(MODEL, "word ".repeat(2 * CONTEXT)));
    expect(reply.status).toBe(503);
    expect((await api.get("/v1/account")).body.credits_remaining).toBe(before);
  });
});

describe("through the backend alone", () => {
  let backend: OpenAiBackend;
  beforeAll(() => {
    backend = new OpenAiBackend({ baseUrl, key: null, connections: 1 });
  });
  afterAll(() => backend?.close());

  const request = (more: Partial<ChatRequest> = {}): ChatRequest => ({
    messages: [{ role: "user", content: "Go on and on" }],
    max_tokens: 40,
    seed: 3,
    ...more,
  });
  const collect = async (more: Partial<ChatRequest> = {}, signal = new AbortController().signal) => {
    const pieces: BackendPiece[] = [];
    for await (const piece of backend.generate(MODEL, request(more), signal)) pieces.push(piece);
    return pieces;
  };
  const textOf = (pieces: BackendPiece[]) => pieces.map((piece) => (piece.kind === "end" ? "" : piece.text)).join("");

  it("counts what llama.cpp counted", async () => {
    const pieces = await collect();
    const end = pieces.at(-1);
    expect(end).toMatchObject({ kind: "end", finishReason: "length", usage: { completionTokens: 40 } });
    expect(end?.kind === "end" && end.usage?.promptTokens).toBeGreaterThan(5);
  });

  it("is stopped at once by its signal, and the next job finds it free", async () => {
    const abort = new AbortController();
    const generation = (async () => {
      for await (const _ of backend.generate(MODEL, request({ max_tokens: 400 }), abort.signal)) abort.abort();
    })();
    await expect(generation).rejects.toThrow();
    expect(textOf(await collect()).length).toBeGreaterThan(0);
  });

  it("is given up by whoever stops reading, and remembers nothing of one conversation in the next", async () => {
    const fresh = textOf(await collect({ temperature: 0 }));
    for await (const _ of backend.generate(
      MODEL,
      request({ messages: [{ role: "user", content: "Else" }] }),
      new AbortController().signal,
    ))
      break;
    expect(textOf(await collect({ temperature: 0 }))).toBe(fresh);
  });

  it("samples as asked: penalties and temperature change the text", async () => {
    const plain = textOf(await collect({ temperature: 0 }));
    expect(textOf(await collect({ temperature: 0 }))).toBe(plain);
    expect(textOf(await collect({ temperature: 2 }))).not.toBe(plain);
    const repetitive = textOf(await collect({ temperature: 0, frequency_penalty: -2, max_tokens: 60 }));
    expect(repetitive).not.toBe(textOf(await collect({ temperature: 0, frequency_penalty: 2, max_tokens: 60 })));
  });

  it("names its model by its alias", async () => {
    expect(await backend.models()).toEqual([MODEL]);
  });
});
