/** A request's trace from its client to the model server, as a collector gets it, and as the model server sees it. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text as textOf } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PARTS } from "../../scripts/dev/stack.ts";
import { GATEWAY } from "../../scripts/dev/wallets.ts";
import { apiClient, chat, eventually, JSON_TYPE } from "../support/api-client.ts";
import { giveGas } from "../support/gas.ts";
import { SECOND_ADDRESS, SECOND_KEY, SecondGateway } from "../support/second-gateway.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { chunk, type Peer, startPeer, stream, usageAndDone } from "../worker/support/peer.ts";

const [PROMPT, ANSWER] = ["What is the colour of the sky at noon?", "Ultramarine, mostly."];
const [BACKEND_KEY, COLLECTOR_KEY] = ["key-of-the-model-server", "key-of-the-collector"];
const CLIENT_SPAN = "00f067aa0ba902b7";

type Span = {
  service: string;
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId: string;
  attributes: Record<string, unknown>;
  isError: boolean;
};

/** An OTLP/HTTP receiver: what it got, as spans and as text. */
class Collector {
  readonly spans: Span[] = [];
  text = "";
  keys = new Set<unknown>();
  readonly #server: Server = createServer(async (request, response) => {
    const text = await textOf(request);
    if (request.url === "/v1/traces") {
      this.keys.add(request.headers["x-key"]);
      this.text += text;
      this.spans.push(...spansOf(JSON.parse(text)));
    }
    response.writeHead(200, JSON_TYPE).end("{}");
  });

  async start(): Promise<string> {
    await once(this.#server.listen(0, "127.0.0.1"), "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** Spans of a trace by name, once these are there. */
  async trace(traceId: string, names: string[]): Promise<Record<string, Span>> {
    const found = () => this.spans.filter((span) => span.traceId === traceId);
    const spans = await eventually(
      async () => found(),
      (list) => names.every((name) => list.some((span) => span.name === name)),
    );
    return Object.fromEntries(spans.map((span) => [span.name, span]));
  }
}

type Attribute = { key: string; value: Record<string, unknown> };
type Exported = {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: { spans: (Omit<Span, "attributes"> & { attributes: Attribute[]; status: { code?: number } })[] }[];
  }[];
};

function spansOf({ resourceSpans }: Exported): Span[] {
  const plain = (list: Attribute[]) =>
    Object.fromEntries(list.map(({ key, value }) => [key, Object.values(value)[0]] as const));
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        ...span,
        service: String(plain(resource.attributes)["service.name"]),
        attributes: plain(span.attributes),
        isError: span.status.code === 2,
      })),
    ),
  );
}

const collector = new Collector();
let peer: Peer;
let stack: TestStack;

beforeAll(async () => {
  const [url, models] = await Promise.all([collector.start(), startPeer(["qwen3-8b", "qwen3-1.7b"])]);
  peer = models;
  const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_HEADERS: `x-key=${COLLECTOR_KEY}` };
  const backend = { WORKER_BACKEND: peer.url, WORKER_BACKEND_KEY: BACKEND_KEY };
  stack = await startTestStack({
    // Nothing here is read from the index.
    parts: PARTS.filter((part) => part !== "indexer"),
    workers: [
      { models: ["qwen3-8b"], env: { ...backend, ...traced, OTEL_SERVICE_NAME: "worker-of-anna" } },
      { models: ["qwen3-1.7b"], env: backend },
    ],
    env: { api: traced },
    gatewayKeys: [SECOND_KEY],
  });
});
afterAll(async () => {
  await stack?.remove();
  await peer?.stop();
  collector.stop();
});

const answers = () => peer.play(stream(chunk({ content: ANSWER }), chunk({}, "stop"), usageAndDone(10, 4)));

/** Asks with a place in the trace of this id. */
async function ask(model: string, traceId: string, { url = stack.info.base_url, more = {} } = {}): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: {
      ...JSON_TYPE,
      authorization: `Bearer ${stack.info.demo?.api_key}`,
      traceparent: `00-${traceId}-${CLIENT_SPAN}-01`,
    },
    body: JSON.stringify(chat(model, PROMPT, more)),
  });
}

const REQUEST = "POST /v1/chat/completions";

describe("a trace", () => {
  it("leads from the client through gateway and worker to the model server", async () => {
    answers();
    const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
    const reply = await ask("qwen3-8b", traceId);
    expect(reply.status).toBe(200);
    const spans = await collector.trace(traceId, [REQUEST, "lock", "dispatch", "job", "chat", "settlement"]);
    const id = (name: string) => spans[name]?.spanId;
    const parents = Object.fromEntries(Object.values(spans).map(({ name, parentSpanId }) => [name, parentSpanId]));
    expect(parents).toEqual({
      [REQUEST]: CLIENT_SPAN,
      lock: id(REQUEST),
      dispatch: id(REQUEST),
      job: id("dispatch"),
      chat: id("job"),
      settlement: id(REQUEST),
    });
    expect(peer.requests.at(-1)?.trace).toBe(`00-${traceId}-${id("chat")}-01`);
    expect(Object.values(spans).filter(({ isError }) => isError)).toEqual([]);
    const jobId = reply.headers.get("x-service-job-id");
    for (const name of [REQUEST, "lock", "dispatch", "job", "settlement"]) {
      expect(spans[name]?.attributes["job.id"], name).toBe(jobId);
    }
    expect([spans["lock"]?.service, spans["job"]?.service]).toEqual(["gateway", "worker-of-anna"]);
    expect(spans[REQUEST]?.attributes).toMatchObject({ "http.response.status_code": 200 });
  });

  it.each([
    ["plain", {}],
    ["streamed", { stream: true }],
  ])("of a %s request says which part failed", async (kind, more) => {
    // After a failed job the gateway tests the model: it is listed again once it answers.
    answers();
    await eventually(
      () => apiClient(stack).get("/v1/models"),
      ({ body }) => body.data.some(({ id }: { id: string }) => id === "qwen3-8b"),
    );
    // Breaks off after the first token, so that the answer has begun.
    peer.play(stream(chunk({ content: ANSWER })));
    const traceId = kind === "plain" ? "a".repeat(32) : "b".repeat(32);
    await (await ask("qwen3-8b", traceId, { more })).text();
    const spans = await collector.trace(traceId, [REQUEST, "lock", "dispatch", "job", "chat"]);
    const kinds = Object.values(spans).map(({ name, isError, attributes }) => [
      name,
      isError ? attributes["error.type"] : null,
    ]);
    expect(Object.fromEntries(kinds)).toEqual({
      [REQUEST]: "service_unavailable",
      lock: null,
      dispatch: "backend_failed",
      job: "backend_failed",
      chat: "BackendError",
    });
  });

  it("holds no text of anybody and no key", () => {
    expect(collector.keys).toEqual(new Set([COLLECTOR_KEY]));
    const { database_url, demo } = stack.info;
    const secrets = [PROMPT, ANSWER, BACKEND_KEY, COLLECTOR_KEY, demo?.api_key, GATEWAY.privateKey.slice(2)];
    for (const secret of [...secrets, new URL(String(database_url)).password || PROMPT])
      expect(collector.text).not.toContain(secret);
  });

  it("is handed on by processes that export nothing", async () => {
    await giveGas(stack, SECOND_ADDRESS);
    const second = new SecondGateway(stack);
    try {
      await second.start();
      answers();
      const traceId = "c".repeat(32);
      expect((await ask("qwen3-1.7b", traceId, { url: second.url })).status).toBe(200);
      expect(peer.requests.at(-1)?.trace).toBe(`00-${traceId}-${CLIENT_SPAN}-01`);
      expect(collector.spans.filter((span) => span.traceId === traceId)).toEqual([]);
    } finally {
      await second.kill("SIGTERM");
    }
  });
});
