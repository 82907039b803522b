/**
 * What servers of each kind answer: llama.cpp b11669 as recorded from `llama-server`; vLLM 0.11 (`ModelCard`), Ollama (docs/api.md) and
 * LM Studio (REST API v0) as their documents show it.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { findModelServers, mayLook, NONE_ANSWERS, readModelServer } from "../../../worker/model-servers.ts";

let server: Server | undefined;
afterEach(() => server?.close());

type Answer = unknown | ((body: string, key: string | undefined) => unknown);

/** A server that knows these paths; returns its address without `/v1`. */
async function serving(answers: Record<string, Answer>): Promise<string> {
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (data) => {
      body += data;
    });
    request.on("end", () => {
      const known = answers[request.url ?? ""];
      const answer = typeof known === "function" ? known(body, request.headers.authorization) : known;
      if (answer === undefined) response.statusCode = 404;
      else if (typeof answer === "number") response.statusCode = answer;
      response.end(typeof answer === "string" ? answer : JSON.stringify(answer ?? { error: "not found" }));
    });
  });
  await new Promise<void>((done) => server?.listen(0, "127.0.0.1", done));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const listed = (...ids: string[]) => ({ object: "list", data: ids.map((id) => ({ id, object: "model" })) });

describe("a model server", () => {
  it("below a path has its own routes there, too", async () => {
    const root = await serving({
      "/gpu1/v1/models": { data: [{ id: "qwen3-8b.gguf", owned_by: "llamacpp" }] },
      "/gpu1/props": { default_generation_settings: { n_ctx: 2048 } },
    });
    expect((await readModelServer(`${root}/gpu1/v1`, null)).models).toMatchObject([{ context: 2048 }]);
  });

  it("that lists more than a thousand models is read up to there", async () => {
    const root = await serving({ "/v1/models": listed(...Array.from({ length: 1_001 }, (_, n) => `model-${n}`)) });
    expect((await readModelServer(root, null)).models).toHaveLength(1_000);
  });

  it("whose list is longer than 16 MiB has none", async () => {
    const root = await serving({ "/v1/models": { ...listed("one"), rest: "x".repeat(17 * 1024 * 1024) } });
    await expect(readModelServer(root, null)).rejects.toThrow(/is no list of models/);
  });
  it("that is llama-server tells parameters and the context of a slot", async () => {
    const meta = { vocab_type: 1, n_vocab: 649, n_ctx: 1024, n_ctx_train: 4096, n_embd: 64, n_params: 165_312 };
    const data = [{ id: "tiny.gguf", aliases: ["tiny.gguf"], object: "model", owned_by: "llamacpp", meta }];
    const root = await serving({ "/v1/models": { models: [{ name: "tiny.gguf" }], object: "list", data } });
    expect(await readModelServer(`${root}/v1`, null)).toEqual({
      kind: "llama-server",
      url: `${root}/v1`,
      models: [{ name: "tiny.gguf", parameters: 165_312, context: 1024 }],
    });
  });

  it("that is an older llama-server tells the context in /props", async () => {
    const data = [
      { id: "qwen3-8b.gguf", owned_by: "llamacpp", meta: { n_ctx_train: 40_960, n_params: 8_190_735_360 } },
    ];
    const root = await serving({ "/v1/models": { data }, "/props": { default_generation_settings: { n_ctx: 2048 } } });
    expect((await readModelServer(root, null)).models).toEqual([
      { name: "qwen3-8b.gguf", parameters: 8_190_735_360, context: 2048 },
    ]);
  });

  it("that is vLLM tells its longest context", async () => {
    const data = [
      { id: "Qwen/Qwen3-8B", object: "model", owned_by: "vllm", root: "Qwen/Qwen3-8B", max_model_len: 32_768 },
    ];
    const root = await serving({ "/v1/models": { object: "list", data } });
    expect(await readModelServer(root, null)).toMatchObject({
      kind: "vLLM",
      models: [{ name: "Qwen/Qwen3-8B", parameters: 8e9, context: 32_768 }],
    });
  });

  it("that is Ollama tells parameters and the context of a model", async () => {
    const shown: Record<string, object> = {
      "llama3.2:latest": {
        parameters: 'num_keep                       24\nstop                           "<|eot_id|>"',
        capabilities: ["completion", "tools"],
        details: { parameter_size: "3.2B" },
        model_info: { "general.parameter_count": 3_212_749_888, "llama.context_length": 131_072 },
      },
      "long:8b": {
        parameters: "num_ctx                        32768",
        details: { parameter_size: "8.0B" },
        model_info: { "llama.context_length": 8_192 },
      },
      "qwen3:8b": { details: { parameter_size: "8.2B" }, model_info: { "qwen3.context_length": 40_960 } },
      "nomic-embed-text:latest": { capabilities: ["embedding"], model_info: {} },
    };
    const names = Object.keys(shown);
    const root = await serving({
      "/v1/models": listed(...names),
      "/api/tags": { models: names.map((name) => ({ name, details: { parameter_size: "" } })) },
      "/api/show": (body: string) => shown[JSON.parse(body).model],
      "/api/ps": { models: [{ name: "qwen3:8b", size_vram: 6_000_000_000, context_length: 32_768 }] },
    });
    expect(await readModelServer(root, null)).toMatchObject({
      kind: "Ollama",
      models: [
        { name: "llama3.2:latest", parameters: 3_212_749_888, context: 4_096 },
        { name: "long:8b", parameters: 8e9, context: 8_192 },
        { name: "qwen3:8b", parameters: 8.2e9, context: 32_768 },
      ],
    });
  });

  it("that is LM Studio tells contexts, and which models only embed", async () => {
    const data = [
      { id: "meta-llama-3.1-8b-instruct", type: "llm", state: "not-loaded", max_context_length: 131_072 },
      {
        id: "qwen2-vl-7b-instruct",
        type: "vlm",
        state: "loaded",
        max_context_length: 32_768,
        loaded_context_length: 4_096,
      },
      { id: "text-embedding-nomic-embed-text-v1.5", type: "embeddings", state: "not-loaded", max_context_length: 2048 },
    ];
    const root = await serving({ "/v1/models": listed(...data.map(({ id }) => id)), "/api/v0/models": { data } });
    expect(await readModelServer(root, null)).toMatchObject({
      kind: "LM Studio",
      models: [
        { name: "meta-llama-3.1-8b-instruct", parameters: 8e9, context: 131_072 },
        { name: "qwen2-vl-7b-instruct", parameters: 7e9, context: 4_096 },
      ],
    });
  });

  it("of another kind has the names of its models", async () => {
    const root = await serving({ "/v1/models": listed("some-model", "mixtral-8x7b", "big-30b-a3b") });
    expect((await readModelServer(root, null)).models).toEqual([
      { name: "some-model", parameters: null, context: null },
      { name: "mixtral-8x7b", parameters: null, context: null },
      { name: "big-30b-a3b", parameters: 30e9, context: null },
    ]);
  });

  it("gets the key that was given for it, and one that is refused is said", async () => {
    const root = await serving({
      "/v1/models": (_body: string, key: string | undefined) => (key === "Bearer k" ? listed("m") : 401),
    });
    expect((await readModelServer(root, "k")).models).toHaveLength(1);
    await expect(readModelServer(root, null)).rejects.toThrow(/answers 401 and wants a key, in WORKER_BACKEND_KEY/);
  });

  it("that is none is said in a sentence", async () => {
    const root = await serving({ "/v1/models": "<html>", "/empty/models": listed() });
    await expect(readModelServer(root, null)).rejects.toThrow("is no list of models");
    await expect(readModelServer(`${root}/empty`, null)).rejects.toThrow("serves no model: load one");
    server?.close();
    await expect(readModelServer(root, null)).rejects.toThrow(/no model server answers at .*(ECONNREFUSED|SOCKET)/);
  });
});

it("looks for model servers on this machine alone, unless forbidden", async () => {
  const places = "Ollama on port 11434, llama-server on port 8080, vLLM on port 8000, LM Studio on port 1234";
  expect(NONE_ANSWERS).toContain(places);
  for (const { url } of await findModelServers()) expect(new URL(url).hostname).toBe("127.0.0.1");
  expect([mayLook({}), mayLook({ LOOK_FOR_MODELS: "no" })]).toEqual([true, false]);
});
