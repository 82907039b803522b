/** A tiny GGUF model in llama.cpp's `llama-server`, behind a real worker of a real stack: loaded, tokenized, sampled, streamed, paid. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ApiClient, apiClient, chat, eventually, readStream } from "../support/api-client.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { type LlamaServer, llamaServer, MODEL } from "./llama-server.ts";

const SLOTS = 2;
/** Of the model in the catalog: credits of an answer of up to 500 tokens. */
const PRICE = 2;
const sha256 = (text: string) => `sha256:${createHash("sha256").update(text, "utf8").digest("hex")}`;

type Chunk = { choices: { delta: { content?: string } }[]; error?: { code: string } };

/** A stack whose only worker has this server. */
async function withServer(server: LlamaServer, env: Record<string, string> = {}) {
  const stack = await startTestStack({
    workers: [{ models: [MODEL], env: { WORKER_BACKEND: server.baseUrl, ...env } }],
  });
  return { stack, api: apiClient(stack) };
}

const ask = (api: ApiClient, more: Record<string, unknown> = {}) =>
  api.post(
    "/v1/chat/completions",
    chat(MODEL, "What is the thing that people call time?", { max_tokens: 24, ...more }),
  );

const balance = async (api: ApiClient): Promise<number> => (await api.get("/v1/account")).body.credits_remaining;

describe("through the API", () => {
  let server: LlamaServer;
  let stack: TestStack;
  let api: ApiClient;
  beforeAll(async () => {
    server = await llamaServer({ context: 512, slots: SLOTS });
    ({ stack, api } = await withServer(server, { WORKER_ABILITIES: "json_object,json_schema" }));
  });
  afterAll(async () => {
    await stack?.remove();
    await server?.remove();
  });

  const settled = (id: string) =>
    eventually(
      () => api.get(`/v1/jobs/${id}`),
      ({ body }) => body.status === "settled",
    );

  it("answers, is settled for what it generated, and the hash on chain is the text's", async () => {
    const reply = await ask(api);
    expect(reply.status).toBe(200);
    const [choice] = reply.body.choices;
    expect(choice.message.content.length).toBeGreaterThan(0);
    expect(reply.body.usage.completion_tokens).toBeLessThanOrEqual(24);
    const { body: job } = await settled(reply.headers.get("x-service-job-id") as string);
    expect(job.on_chain.proof_hash).toBe(sha256(choice.message.content));
    expect(job).toMatchObject({ credits_charged: PRICE, usage: reply.body.usage });
  });

  it("streams the same", async () => {
    const body = chat(MODEL, "Once more", { max_tokens: 400, seed: 3, stream: true });
    const stream = await api.request("POST", "/v1/chat/completions", body);
    const events = await readStream(stream);
    expect(events.at(-1)).toBe("[DONE]");
    const pieces = events.slice(0, -1).map((event) => (JSON.parse(event) as Chunk).choices[0]?.delta.content ?? "");
    expect(pieces.filter((piece) => piece !== "").length).toBeGreaterThan(1);
    const { body: job } = await settled(stream.headers.get("x-service-job-id") as string);
    expect(job.on_chain.proof_hash).toBe(sha256(pieces.join("")));
  });

  it("honours seed, max_tokens and stop", async () => {
    const text = async (more: Record<string, unknown>) =>
      (await ask(api, more)).body.choices[0].message.content as string;
    const first = await text({ seed: 7 });
    expect(await text({ seed: 7 })).toBe(first);
    expect(await text({ seed: 8 })).not.toBe(first);

    const short = (await ask(api, { seed: 7, max_tokens: 5 })).body;
    expect(short).toMatchObject({ choices: [{ finish_reason: "length" }], usage: { completion_tokens: 5 } });

    const stop = /[a-z]{3}/.exec(first.slice(8))?.[0] as string;
    const stopped = (await ask(api, { seed: 7, stop: [stop] })).body.choices[0];
    expect(stopped.finish_reason).toBe("stop");
    expect(stopped.message.content).toBe(first.slice(0, first.indexOf(stop)));
  });

  it("answers in the form of a JSON schema", async () => {
    const schema = {
      type: "object",
      properties: { a: { type: "boolean" } },
      required: ["a"],
      additionalProperties: false,
    };
    const response_format = { type: "json_schema", json_schema: { name: "a", schema, strict: true } };
    const { body } = await ask(api, { response_format, max_tokens: 100 });
    expect(JSON.parse(body.choices[0].message.content)).toEqual({ a: expect.any(Boolean) });
  });

  it("refuses a conversation beyond its context without a charge", async () => {
    const before = await balance(api);
    const reply = await api.post("/v1/chat/completions", chat(MODEL, "word ".repeat(1_000)));
    expect(reply.status).toBeGreaterThanOrEqual(400);
    expect(await balance(api)).toBe(before);
    expect((await ask(api)).status).toBe(200);
  });

  it("answers 16 clients at once with its two slots", async () => {
    const before = await balance(api);
    const replies = await Promise.all(Array.from({ length: 16 }, (_, seed) => ask(api, { seed, max_tokens: 300 })));
    expect(replies.map(({ status }) => status)).toEqual(Array(16).fill(200));
    for (const { headers } of replies) await settled(headers.get("x-service-job-id") as string);
    expect(await balance(api)).toBe(before - 16 * PRICE);
  });

  it("answers 1,000 requests one after the other, each charged once", { timeout: 600_000 }, async () => {
    const before = await balance(api);
    const failed: unknown[] = [];
    for (let seed = 0; seed < 1_000; seed++) {
      const { status, body } = await ask(api, { seed, max_tokens: 4 });
      if (status !== 200) failed.push(body);
    }
    expect(failed).toEqual([]);
    await eventually(
      () => balance(api),
      (credits) => credits === before - 1_000 * PRICE,
    );
  });
});

describe("a server that ends in mid-answer", () => {
  let server: LlamaServer;
  let stack: TestStack;
  let api: ApiClient;
  beforeAll(async () => {
    // It goes on for seconds.
    server = await llamaServer({ context: 16_384, slots: 1, flags: ["--ignore-eos"] });
    ({ stack, api } = await withServer(server));
  });
  afterAll(async () => {
    await stack?.remove();
    await server?.remove();
  });

  it("costs its client nothing, plain and streamed, and answers again when it is back", async () => {
    for (const stream of [true, false]) {
      const before = await balance(api);
      const body = chat(MODEL, "Go on", { max_tokens: 15_000, stream });
      const response = api.request("POST", "/v1/chat/completions", body);
      const slots = `${server.baseUrl.replace("/v1", "")}/slots`;
      const isBusy = async () =>
        ((await (await fetch(slots)).json()) as { is_processing: boolean }[])[0]?.is_processing;
      // A stream has begun when its headers are there. Before that, the server's end is an answer with an error.
      if (stream) expect((await response).status).toBe(200);
      await eventually(isBusy, (busy) => busy === true);
      await server.kill();
      if (stream) {
        const events = await readStream(await response);
        // It ends with an error, and without `[DONE]` as a good one has it.
        expect(
          (JSON.parse(events.findLast((event) => event !== "[DONE]") as string) as Chunk).error?.code,
        ).toBeDefined();
      } else expect((await response).status).toBeGreaterThanOrEqual(500);
      expect(await balance(api)).toBe(before);
      await server.start();
      await eventually(
        () => ask(api),
        ({ status }) => status === 200,
      );
      await eventually(
        () => balance(api),
        (credits) => credits === before - PRICE,
      );
    }
  });
});
