/** What HTTP itself brings along: body types and sizes, methods, CORS, requests that are none. */
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ApiClient, apiClient, chat } from "../support/api-client.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";

const MODEL = "qwen3-8b";
let stack: TestStack;
let api: ApiClient;

beforeAll(async () => {
  stack = await startTestStack({ workers: [{ models: [MODEL] }] });
  api = apiClient(stack);
});
afterAll(() => stack?.remove());

const call = (method: string, path: string, headers: Record<string, string> = {}, body?: string | Uint8Array) =>
  fetch(`${stack.info.base_url}${path}`, {
    method,
    headers: { authorization: `Bearer ${stack.info.demo?.api_key}`, ...headers },
    ...(body === undefined ? {} : { body: body as string }),
  });
// biome-ignore lint/suspicious/noExplicitAny: whatever the API answers is what the tests look at
const errorOf = async (response: Response) => ((await response.json()) as any).error;
const JSON_TYPE = { "content-type": "application/json" };

describe("a request body", () => {
  it.each([
    ["text/plain", JSON.stringify(chat(MODEL, "Hello"))],
    ["application/x-www-form-urlencoded", "model=x"],
    ["multipart/form-data; boundary=x", "--x--"],
  ])("of type %s: 400 that names Content-Type", async (type, body) => {
    const response = await call("POST", "/v1/chat/completions", { "content-type": type }, body);
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({ code: "invalid_request", param: "Content-Type" });
    expect(response.headers.get("x-service-credits-remaining")).toBe("10000");
  });

  it("with a charset and in any case is JSON all the same", async () => {
    const body = JSON.stringify(chat("none", "Hello"));
    const response = await call(
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
    const fits = await call("POST", "/v1/chat/completions", JSON_TYPE, fill(4 * 1024 * 1024));
    expect((await errorOf(fits)).code).toBe("model_not_found");
    const large = await call("POST", "/v1/chat/completions", JSON_TYPE, fill(4 * 1024 * 1024 + 1));
    expect(large.status).toBe(400);
    expect(await errorOf(large)).toMatchObject({ code: "invalid_request", message: expect.stringContaining("4 MiB") });
  });

  it("that is compressed counts with its full size", async () => {
    const body = gzipSync(JSON.stringify(chat(MODEL, " ".repeat(8 * 1024 * 1024))));
    const response = await call("POST", "/v1/chat/completions", { ...JSON_TYPE, "content-encoding": "gzip" }, body);
    expect(response.status).toBe(400);
    expect((await errorOf(response)).message).toContain("4 MiB");
  });

  it.each([
    ["not gzip at all", { "content-encoding": "gzip" }],
    ["of an unknown encoding", { "content-encoding": "snappy" }],
  ])("%s: 400 invalid_request", async (_name, headers) => {
    const response = await call("POST", "/v1/chat/completions", { ...JSON_TYPE, ...headers }, "{}");
    expect(response.status).toBe(400);
    expect((await errorOf(response)).code).toBe("invalid_request");
  });

  it("that is missing: 400 invalid_request", async () => {
    const response = await call("POST", "/v1/chat/completions");
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({ code: "invalid_request", param: null });
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
    const response = await call(method, path);
    expect(response.status).toBe(404);
    expect(response.headers.get("allow")).toBe(allow);
    if (method !== "HEAD") expect((await errorOf(response)).code).toBe("route_not_found");
  });

  it("HEAD answers where GET does, without a body", async () => {
    const response = await call("HEAD", "/v1/models");
    expect(response.status).toBe(200);
    expect(Number(response.headers.get("content-length"))).toBeGreaterThan(100);
    expect(await response.text()).toBe("");
  });
});

describe("a browser on another site", () => {
  it("gets its preflight answered without a key, with the headers that SDKs send", async () => {
    const response = await fetch(`${stack.info.base_url}/v1/chat/completions`, {
      method: "OPTIONS",
      headers: {
        origin: "https://somewhere.test",
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,x-stainless-os",
      },
    });
    expect(response.status).toBe(204);
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(response.headers.get("access-control-allow-methods")).toBe("POST");
    expect(response.headers.get("access-control-allow-headers")).toBe("authorization,content-type,x-stainless-os");
    expect(response.headers.get("access-control-allow-credentials")).toBeNull();
  });

  it("may read the service's headers, of errors as well", async () => {
    for (const reply of [await api.get("/v1/models"), await apiClient(stack, null).get("/v1/models")]) {
      expect(reply.headers.get("access-control-allow-origin")).toBe("*");
      expect(reply.headers.get("access-control-expose-headers")).toContain("x-service-settlement-tx");
    }
  });
});

describe("every answer", () => {
  it("has a request id of its own, is kept by no cache, and tells how much of the burst limit is left", async () => {
    const replies = [
      await api.get("/v1/models"),
      await api.get("/v1/jobs/x"),
      await apiClient(stack, null).get("/v1/jobs"),
    ];
    expect(new Set(replies.map(({ headers }) => headers.get("x-request-id"))).size).toBe(3);
    for (const { headers } of replies) {
      expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("ratelimit")).toMatch(/r=\d+; t=\d/);
      expect(headers.get("ratelimit-policy")).toMatch(/q=300; w=1/);
    }
  });

  it("is not compressed: events reach a client that takes gzip one by one", async () => {
    const body = JSON.stringify(chat(MODEL, "Hello", { stream: true }));
    const response = await call("POST", "/v1/chat/completions", { ...JSON_TYPE, "accept-encoding": "gzip, br" }, body);
    expect(response.headers.get("content-encoding")).toBeNull();
    expect(response.headers.get("cache-control")).toBe("no-cache, no-transform");
    expect(response.headers.get("x-accel-buffering")).toBe("no");
    expect(await response.text()).toContain("data: [DONE]");
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
      socket.on("error", reject);
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
    const answer = await send(`${head}authorization: Bearer ${stack.info.demo?.api_key}\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  });
});
