/** Clients that mean harm and workers that say nothing: the gateway stays up and serves. What workers can say: test/worker/misconduct.test.ts. */
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { connect } from "node:net";
import type { Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Dispatch } from "../../protocol/dispatch.ts";
import { escrowDomain, jobMessageTypes } from "../../protocol/messages.ts";
import { type ApiClient, apiClient, chat, eventually } from "../support/api-client.ts";
import { type ChainReader, chainReader } from "../support/chain-reader.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";

const GOOD = "qwen3-8b";
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
    workers: [{ models: [GOOD, BOTH] }, { models: [BOTH], start: false }],
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

const event = (name: string, data: unknown) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
const domain = () => escrowDomain(stack.info.chain_id, chain.escrow);
const acknowledge = ({ assignment }: Dispatch) =>
  evil.signTypedData({
    domain: domain(),
    types: jobMessageTypes,
    primaryType: "Acknowledgement",
    message: { jobId: assignment.jobId, attempt: assignment.attempt },
  });
/** Waits until the played worker is offered jobs again after its last failure. */
const offered = () =>
  eventually(
    () => api.get(`/v1/models/${BOTH}`),
    ({ body }) => body.service?.active_workers === 2,
    30_000,
  );

describe("a client", () => {
  it("of HTTP/1.0 gets its stream, without trailers", async () => {
    const body = JSON.stringify(chat(GOOD, "Hello", { stream: true }));
    const head = `POST /v1/chat/completions HTTP/1.0\r\nauthorization: Bearer ${stack.info.demo?.api_key}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`;
    const text = await new Promise<string>((resolve, reject) => {
      const { port, hostname } = new URL(stack.info.base_url);
      const socket = connect(Number(port), hostname, () => socket.write(head + body));
      let received = "";
      socket.on("data", (data) => {
        received += data;
      });
      socket.on("end", () => resolve(received));
      socket.on("error", reject);
    });
    expect(text).toMatch(/^HTTP\/1\.[01] 200/);
    expect(text).toContain("data: [DONE]");
  });

  it("with four megabytes of one letter is answered while others are served", async () => {
    const endless = api.post("/v1/chat/completions", chat(GOOD, "a".repeat(4_000_000)));
    const other = await api.post("/v1/chat/completions", chat(GOOD, "Hello"));
    expect(other.status).toBe(200);
    expect((await endless).body.error.code).toBe("context_length_exceeded");
    const spaces = await api.post("/v1/chat/completions", chat(GOOD, " ".repeat(180_000), { max_tokens: 32_000 }));
    expect([200, 400]).toContain(spaces.status);
  });

  it("may write about control tokens", async () => {
    const reply = await api.post("/v1/chat/completions", chat(GOOD, "What is <|endoftext|>?", { max_tokens: 32_700 }));
    expect(reply.status).toBe(200);
  });

  it("with a path that is no text gets 400", async () => {
    const { status, body } = await new Promise<{ status: number; body: string }>((resolve, reject) => {
      const call = httpRequest(
        `${stack.info.base_url}/v1/jobs/x`,
        { path: "/v1/jobs/%E0%A4%A", headers: { authorization: `Bearer ${stack.info.demo?.api_key}` } },
        (response) => {
          let text = "";
          response.on("data", (data) => {
            text += data;
          });
          response.on("end", () => resolve({ status: response.statusCode ?? 0, body: text }));
        },
      );
      call.on("error", reject);
      call.end();
    });
    expect(status).toBe(400);
    expect(JSON.parse(body).error.code).toBe("invalid_request");
  });

  it("with deeply nested JSON and an Idempotency-Key gets a clear answer", async () => {
    const nested = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
    const response = await fetch(`${stack.info.base_url}/v1/chat/completions`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${stack.info.demo?.api_key}`,
        "content-type": "application/json",
        "idempotency-key": "nested",
      },
      body: `{"model": "${GOOD}", "messages": [{"role": "user", "content": "Hello"}], "metadata": ${nested}}`,
    });
    expect([200, 400]).toContain(response.status);
  });

  it("that leaves its streams half-way leaves nothing behind", async () => {
    const timers = async () => {
      const text = await (await fetch(`${stack.info.base_url}/metrics`)).text();
      return Number(/nodejs_active_resources\{type="Timeout"\} (\d+)/.exec(text)?.[1] ?? 0);
    };
    const round = async () => {
      await Promise.all(
        Array.from({ length: 20 }, async () => {
          const stop = new AbortController();
          const body = chat(GOOD, "Write. [[tokens:1500]]", { stream: true });
          const response = await api.request("POST", "/v1/chat/completions", body, stop.signal);
          await response.body?.getReader().read();
          stop.abort();
        }),
      );
      return eventually(timers, (count) => count < 40, 10_000);
    };
    await round();
    await round();
    await round();
  });
});

describe("a worker", () => {
  // Twelve at once: however the two workers are ranked, some go to the second one.
  const atOnce = () =>
    Promise.all(Array.from({ length: 12 }, () => api.post("/v1/chat/completions", chat(BOTH, "Hello"))));
  const good = () => privateKeyToAccount(stack.workers[0]?.privateKey as Hex).address;

  it("that is silent holds a request no longer than its offer; the next worker answers", async () => {
    await offered();
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
    await offered();
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
