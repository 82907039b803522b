/** Workers that mean harm: whatever they send, the gateway stays up and nobody is charged wrongly. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { answerHash } from "../../protocol/answer-hash.ts";
import type { Dispatch } from "../../protocol/dispatch.ts";
import { escrowDomain, jobMessageTypes } from "../../protocol/messages.ts";
import { type ApiClient, apiClient, chat, eventually } from "../support/api-client.ts";
import { type ChainReader, chainReader } from "../support/chain-reader.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";

const GOOD = "qwen3-8b";
const EVIL = "qwen3-14b";
const BOTH = "gemma-3-27b-it";

let stack: TestStack;
let api: ApiClient;
let chain: ChainReader;
let server: Server;
/** How the played worker answers a job. */
let play: (offer: Dispatch, response: ServerResponse) => void | Promise<void> = () => {};
let evil: ReturnType<typeof privateKeyToAccount>;

beforeAll(async () => {
  stack = await startTestStack({
    workers: [{ models: [GOOD, BOTH] }, { models: [EVIL, BOTH], start: false }],
    windows: { completion: 20, inclusion: 6 },
    env: { api: { ACKNOWLEDGE_SECONDS: "2", FIRST_TOKEN_SECONDS: "3" } },
  });
  api = apiClient(stack);
  chain = chainReader(stack);
  const { port, privateKey } = stack.workers[1] as (typeof stack.workers)[number];
  evil = privateKeyToAccount(privateKey);
  server = createServer((request: IncomingMessage, response) => {
    if (request.url === "/healthz") {
      response.end(JSON.stringify({ status: "ok", worker: evil.address }));
      return;
    }
    let body = "";
    request.on("data", (data) => {
      body += data;
    });
    request.on("end", () => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      void play(JSON.parse(body), response);
    });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
});
afterEach(async () => {
  // Every test leaves a gateway that serves.
  expect((await api.post("/v1/chat/completions", chat(GOOD, "Hello"))).status).toBe(200);
});
afterAll(async () => {
  server?.closeAllConnections();
  server?.close();
  await stack?.remove();
});

const account = async () => {
  const { free, escrowed } = await chain.account(stack.info.demo?.wallet as string);
  return { free, escrowed };
};
const event = (name: string, data: unknown) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
const domain = () => escrowDomain(stack.info.chain_id, chain.escrow);
const acknowledge = ({ assignment }: Dispatch) =>
  evil.signTypedData({
    domain: domain(),
    types: jobMessageTypes,
    primaryType: "Acknowledgement",
    message: { jobId: assignment.jobId, attempt: assignment.attempt },
  });
async function completed({ assignment }: Dispatch, text: string, more: object = {}) {
  const completion = {
    jobId: assignment.jobId,
    proofHash: answerHash(text),
    promptTokens: 1,
    completionTokens: 1,
    completedAt: Math.floor(Date.now() / 1000),
    ...more,
  };
  const signature = await evil.signTypedData({
    domain: domain(),
    types: jobMessageTypes,
    primaryType: "Completion",
    message: completion,
  });
  return { completion, signature, finish_reason: "stop" };
}
/** Waits until the played worker is offered jobs again after its last failure. */
const offered = (model = EVIL) =>
  eventually(
    () => api.get(`/v1/models/${model}`),
    ({ body }) => body.service?.active_workers === (model === BOTH ? 2 : 1),
    30_000,
  );

describe("a worker", () => {
  it("that acknowledges with garbage is not believed, and answers at its own risk", async () => {
    await offered();
    const before = await account();
    play = async (offer, response) => {
      response.write(event("acknowledged", { signature: `0x${"00".repeat(65)}` }));
      response.write(event("delta", { content: "Hello" }));
      await new Promise((resolve) => setTimeout(resolve, 600));
      response.end(event("error", { code: "internal_error", message: `no ${offer.model}` }));
    };
    expect((await api.post("/v1/chat/completions", chat(EVIL, "Hello"))).status).toBe(503);
    expect(await account()).toEqual(before);
  });

  it("that signs another hash than it sent is not paid", async () => {
    await offered();
    const before = await account();
    play = async (offer, response) => {
      response.write(event("acknowledged", { signature: await acknowledge(offer) }));
      response.write(event("delta", { content: "This is what I send." }));
      response.end(event("completed", await completed(offer, "This is what I sign.")));
    };
    const reply = await api.post("/v1/chat/completions", chat(EVIL, "Hello"));
    expect(reply.status).toBe(503);
    expect(reply.headers.get("x-service-worker")).toBe(evil.address);
    expect(await account()).toEqual(before);
  });

  it("whose completion holds impossible numbers is not paid", async () => {
    await offered();
    const before = await account();
    play = async (offer, response) => {
      response.write(event("acknowledged", { signature: await acknowledge(offer) }));
      response.write(event("delta", { content: "Hello" }));
      const good = await completed(offer, "Hello");
      response.end(event("completed", { ...good, completion: { ...good.completion, completedAt: 2 ** 45 } }));
    };
    expect((await api.post("/v1/chat/completions", chat(EVIL, "Hello"))).status).toBe(503);
    expect(await account()).toEqual(before);
  });

  it("that signs an empty answer is not paid", async () => {
    await offered();
    const before = await account();
    play = async (offer, response) => {
      response.write(event("acknowledged", { signature: await acknowledge(offer) }));
      response.end(event("completed", await completed(offer, "")));
    };
    expect((await api.post("/v1/chat/completions", chat(EVIL, "Hello"))).status).toBe(503);
    expect(await account()).toEqual(before);
  });

  it("that over-reports its tokens is paid for what it delivered", async () => {
    await offered();
    play = async (offer, response) => {
      response.write(event("acknowledged", { signature: await acknowledge(offer) }));
      response.write(event("delta", { content: "Hello" }));
      response.end(event("completed", await completed(offer, "Hello", { completionTokens: 1_000_000 })));
    };
    const reply = await api.post("/v1/chat/completions", chat(EVIL, "Hello", { max_tokens: 4_000 }));
    expect(reply.status).toBe(200);
    expect(reply.body.usage.completion_tokens).toBe(5);
    const job = await eventually(
      () => api.get(`/v1/jobs/${reply.headers.get("x-service-job-id")}`),
      ({ body }) => body.status === "settled",
    );
    expect(job.body.credits_charged).toBe(18);
  });

  // Twelve at once: however the two workers are ranked, some go to the second one.
  const atOnce = () =>
    Promise.all(Array.from({ length: 12 }, () => api.post("/v1/chat/completions", chat(BOTH, "Hello"))));
  const good = () => privateKeyToAccount(stack.workers[0]?.privateKey as Hex).address;

  it("that is silent holds a request no longer than its offer; the next worker answers", async () => {
    await offered(BOTH);
    let asked = 0;
    play = (_offer, response) => {
      asked += 1;
      const timer = setInterval(() => response.write(": still here\n\n"), 200);
      response.on("close", () => clearInterval(timer));
    };
    const replies = await atOnce();
    expect(asked).toBeGreaterThan(0);
    expect(replies.map(({ status }) => status)).toEqual(Array(12).fill(200));
    expect(new Set(replies.map(({ headers }) => headers.get("x-service-worker")))).toEqual(new Set([good()]));
  });

  it("that acknowledges and then says nothing is replaced as well", async () => {
    await offered(BOTH);
    let asked = 0;
    play = async (offer, response) => {
      asked += 1;
      response.write(event("acknowledged", { signature: await acknowledge(offer) }));
    };
    const replies = await atOnce();
    expect(asked).toBeGreaterThan(0);
    expect(replies.map(({ status }) => status)).toEqual(Array(12).fill(200));
    expect(new Set(replies.map(({ headers }) => headers.get("x-service-worker")))).toEqual(new Set([good()]));
  });
});
