/** Stock clients, unmodified but for base URL and key: plain, streamed, refused, retried, aborted. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ApiClient, apiClient, eventually } from "../support/api-client.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { ai } from "./clients/ai.ts";
import type { Client } from "./clients/client.ts";
import { curl } from "./clients/curl.ts";
import { langchain } from "./clients/langchain.ts";
import { openai } from "./clients/openai.ts";

const FAST = "qwen3-8b";
const SLOW = "qwen3-14b";
const ABSENT = "mistral-7b-instruct-v0.3";
const CLIENTS = { openai, "ai with @ai-sdk/openai-compatible": ai, "@langchain/openai": langchain, curl };

let stack: TestStack;
let api: ApiClient;
const clients = {} as Record<keyof typeof CLIENTS, Client>;

beforeAll(async () => {
  stack = await startTestStack({
    workers: [{ models: [FAST] }, { models: [SLOW], env: { WORKER_TOKENS_PER_SECOND: "50" } }, { models: [ABSENT] }],
  });
  api = apiClient(stack);
  const { base_url, demo } = stack.info;
  for (const [name, connect] of Object.entries(CLIENTS)) {
    clients[name as keyof typeof CLIENTS] = connect(base_url, demo?.api_key as string);
  }
});
afterAll(() => stack?.remove());

const sha256 = (text: string) => `sha256:${createHash("sha256").update(text, "utf8").digest("hex")}`;
const settled = (id: string) =>
  eventually(
    () => api.get(`/v1/jobs/${id}`),
    ({ body }) => body.status === "settled",
  ).then(({ body }) => body);
const newest = async (model: string) => (await api.get(`/v1/jobs?limit=1&model=${model}`)).body.data[0];

describe.each(Object.keys(CLIENTS) as (keyof typeof CLIENTS)[])("%s", (name) => {
  it("gets a plain answer, whose hash is on chain", async () => {
    const { text, jobId } = await clients[name].plain(FAST, "Say hello to 東京.");
    expect((await settled(jobId)).on_chain.proof_hash).toBe(sha256(text));
  });

  it("gets a streamed answer piece by piece, whose hash is on chain", async () => {
    const pieces: string[] = [];
    for await (const piece of clients[name].streamed(SLOW, "Tell me about cafés ✨ [[tokens:150]]")) pieces.push(piece);
    // What comes while somebody is slow is put together: how many pieces there are is nobody's promise.
    expect(pieces.filter(Boolean).length).toBeGreaterThan(1);
    const { id } = await newest(SLOW);
    expect((await settled(id)).on_chain.proof_hash).toBe(sha256(pieces.join("")));
  });

  it("reports an error with its status and code", async () => {
    expect(await clients[name].refused("gpt-none")).toEqual({ status: 400, code: "model_not_found" });
  });

  it("that aborts mid-stream is billed for the whole answer, and can fetch it", async () => {
    const before = await newest(SLOW);
    const stop = new AbortController();
    let received = "";
    try {
      for await (const piece of clients[name].streamed(SLOW, `Write for ${name}. [[tokens:400]]`, stop.signal)) {
        received += piece;
        if (received !== "") stop.abort();
      }
    } catch (error) {
      // Some clients end quietly, others throw what they were told.
      expect(stop.signal.aborted, String(error)).toBe(true);
    }
    const { id } = await newest(SLOW);
    expect(id).not.toBe(before?.id);
    const job = await settled(id);
    expect(job).toMatchObject({ credits_charged: 18, usage: { completion_tokens: 400 } });
    const { content } = (await api.get(`/v1/jobs/${id}/output`)).body;
    expect(sha256(content)).toBe(job.on_chain.proof_hash);
    expect(content.startsWith(received)).toBe(true);
    expect(content.length).toBeGreaterThan(received.length);
  });
});

describe("a model without a worker", () => {
  it("is asked for again by every client until there is one: 503, then an answer", { timeout: 120_000 }, async () => {
    await stack.kill("worker-3");
    await eventually(
      () => api.get(`/v1/models/${ABSENT}`),
      ({ status }) => status === 404,
    );
    const answers = Promise.all(Object.values(clients).map((client) => client.patient(ABSENT, "Are you there?")));
    answers.catch(() => {});
    const refusals = async () => {
      const text = await (await fetch(`${stack.info.base_url}/metrics`)).text();
      const count = /gateway_requests_total\{route="\/v1\/chat\/completions",method="POST",status="503"\} (\d+)/.exec(
        text,
      );
      return Number(count?.[1] ?? 0);
    };
    await eventually(refusals, (count) => count >= Object.keys(CLIENTS).length);
    await stack.restart("worker-3");
    for (const text of await answers) expect(text).toMatch(/\w+/);
  });
});
