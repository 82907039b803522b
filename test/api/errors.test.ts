/** Every refusal of the API with its specified body, and that it costs nothing. */

import { pino } from "pino";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Keys } from "../../api/accounts/keys.ts";
import { openDatabase } from "../../api/store/database.ts";
import { type ApiClient, apiClient, chat } from "../support/api-client.ts";
import { type ChainReader, chainReader } from "../support/chain-reader.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";

let stack: TestStack;
let api: ApiClient;
let chain: ChainReader;
let pool: ReturnType<typeof openDatabase>;
let keys: Keys;

beforeAll(async () => {
  stack = await startTestStack({ workers: [{ models: ["qwen3-8b", "llama-3.3-70b-instruct"] }] });
  api = apiClient(stack);
  chain = chainReader(stack);
  pool = openDatabase(stack.info.database_url, pino({ level: "silent" }), 2);
  keys = new Keys(pool);
});
afterAll(async () => {
  await pool?.end();
  await stack?.remove();
});

const STRANGER = privateKeyToAccount(`0x${"42".repeat(32)}`).address;

/** The error body with every key, in the specification's shape. */
const errorBody = (code: string, type: string, more: object = {}) => ({
  error: {
    code,
    message: expect.stringMatching(/.{10,}/),
    type,
    param: null,
    docs: `${stack.info.base_url}/docs/errors#${code}`,
    ...more,
  },
});

describe("authentication", () => {
  it.each(["/v1/models", "/v1/account", "/v1/jobs", "/v1/no-such-route"])(
    "%s without a key: 401 missing_api_key",
    async (path) => {
      const reply = await apiClient(stack, null).get(path);
      expect(reply.status).toBe(401);
      expect(reply.body).toEqual(errorBody("missing_api_key", "authentication_error"));
    },
  );

  it.each([
    ["unknown", `svc_live_${"a".repeat(32)}`],
    ["of another format", "sk-1234"],
    ["with SQL in it", "svc_live_' OR 1=1 --"],
  ])("a key %s: 401 invalid_api_key", async (_name, key) => {
    const reply = await apiClient(stack, key).get("/v1/models");
    expect(reply.status).toBe(401);
    expect(reply.body).toEqual(errorBody("invalid_api_key", "authentication_error"));
  });

  it("a revoked key is refused by the very next request", async () => {
    const key = await keys.regenerate(STRANGER);
    expect((await apiClient(stack, key).get("/v1/models")).status).toBe(200);
    await keys.revoke(STRANGER);
    expect((await apiClient(stack, key).get("/v1/models")).body.error.code).toBe("invalid_api_key");
  });

  it("a regenerated key replaces the one before it: one key a wallet", async () => {
    const first = await keys.regenerate(STRANGER);
    const second = await keys.regenerate(STRANGER);
    expect((await apiClient(stack, first).get("/v1/models")).status).toBe(401);
    expect((await apiClient(stack, second).get("/v1/models")).status).toBe(200);
  });

  it("a suspended key: 403 key_suspended, until it is released", async () => {
    const key = await keys.regenerate(STRANGER);
    await keys.setSuspended(STRANGER, true);
    const reply = await apiClient(stack, key).get("/v1/models");
    expect(reply.status).toBe(403);
    expect(reply.body).toEqual(errorBody("key_suspended", "permission_error"));
    await keys.setSuspended(STRANGER, false);
    expect((await apiClient(stack, key).get("/v1/models")).status).toBe(200);
  });

  it("the key itself is stored nowhere", async () => {
    const key = await keys.regenerate(STRANGER);
    const dump = await pool.query("SELECT row_to_json(api_key)::text AS row FROM api_key");
    expect(dump.rows.map((row) => row.row).join()).not.toContain(key.slice("svc_live_".length));
    expect(key).toMatch(/^svc_live_[A-Za-z0-9]{32}$/);
  });
});

describe("a chat request that cannot be served", () => {
  it("with too little balance: 402 insufficient_credits with its details", async () => {
    const poor = apiClient(stack, await keys.regenerate(STRANGER));
    const reply = await poor.post(
      "/v1/chat/completions",
      chat("llama-3.3-70b-instruct", "Hello", { max_tokens: 4_000 }),
    );
    expect(reply.status).toBe(402);
    expect(reply.body).toEqual(
      errorBody("insufficient_credits", "payment_error", {
        details: { credits_remaining: 0, credits_required: 80, tier: "max" },
      }),
    );
  });

  it("for an unknown model: 400 model_not_found", async () => {
    const reply = await api.post("/v1/chat/completions", chat("gpt-none", "Hello"));
    expect(reply.status).toBe(400);
    expect(reply.body).toEqual(errorBody("model_not_found", "invalid_request_error", { param: "model" }));
  });

  it("for a model that no worker hosts: 503 no_workers_available, and it is not listed", async () => {
    const reply = await api.post("/v1/chat/completions", chat("qwen3-1.7b", "Hello"));
    expect(reply.status).toBe(503);
    expect(reply.body).toEqual(
      errorBody("no_workers_available", "capacity_error", { details: { model: "qwen3-1.7b", retry_after: 5 } }),
    );
    const { body } = await api.get("/v1/models");
    expect(body.data.map((model: { id: string }) => model.id).toSorted()).toEqual([
      "llama-3.3-70b-instruct",
      "qwen3-8b",
    ]);
    expect((await api.get("/v1/models/qwen3-1.7b")).status).toBe(404);
  });

  it("with more tokens than the model takes: 400 context_length_exceeded", async () => {
    const reply = await api.post("/v1/chat/completions", chat("qwen3-8b", "word ".repeat(40_000)));
    expect(reply.status).toBe(400);
    expect(reply.body).toEqual(errorBody("context_length_exceeded", "invalid_request_error", { param: "messages" }));
  });

  it.each<[string, unknown, string | null]>([
    ["no model", { messages: [{ role: "user", content: "x" }] }, "model"],
    ["no messages", { model: "qwen3-8b" }, "messages"],
    ["empty messages", { model: "qwen3-8b", messages: [] }, "messages"],
    [
      "an unknown role",
      {
        model: "qwen3-8b",
        messages: [
          { role: "user", content: "x" },
          { role: "tool", content: "y" },
        ],
      },
      "messages[1].role",
    ],
    [
      "content that is a number",
      { model: "qwen3-8b", messages: [{ role: "user", content: 5 }] },
      "messages[0].content",
    ],
    [
      "an image part",
      chatParts([{ type: "image_url", image_url: { url: "https://x" } }]),
      "messages[0].content[0].type",
    ],
    ["temperature 2.1", chat("qwen3-8b", "x", { temperature: 2.1 }), "temperature"],
    ["temperature -0.1", chat("qwen3-8b", "x", { temperature: -0.1 }), "temperature"],
    ["presence_penalty 2.5", chat("qwen3-8b", "x", { presence_penalty: 2.5 }), "presence_penalty"],
    ["top_p 1.5", chat("qwen3-8b", "x", { top_p: 1.5 }), "top_p"],
    ["max_tokens 0", chat("qwen3-8b", "x", { max_tokens: 0 }), "max_tokens"],
    ["max_tokens 1.5", chat("qwen3-8b", "x", { max_tokens: 1.5 }), "max_tokens"],
    ["stream as text", chat("qwen3-8b", "x", { stream: "yes" }), "stream"],
    ["n 2", chat("qwen3-8b", "x", { n: 2 }), "n"],
    ["tools", chat("qwen3-8b", "x", { tools: [{ type: "function" }] }), "tools"],
    ["a JSON response format", chat("qwen3-8b", "x", { response_format: { type: "json_object" } }), "response_format"],
    ["an array", [], null],
    ["null", null, null],
  ])("with %s: 400 invalid_request", async (_name, body, param) => {
    const reply = await api.post("/v1/chat/completions", body);
    expect(reply.status).toBe(400);
    expect(reply.body).toEqual(errorBody("invalid_request", "invalid_request_error", { param }));
  });

  it("with broken JSON: 400 invalid_request", async () => {
    const response = await fetch(`${stack.info.base_url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${stack.info.demo?.api_key}`, "content-type": "application/json" },
      body: '{"model": "qwen3-8b", ',
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual(errorBody("invalid_request", "invalid_request_error"));
  });

  it("leaves no job and no charge behind", async () => {
    expect((await api.get("/v1/jobs")).body).toEqual({ object: "list", data: [], has_more: false, next_cursor: null });
    const { free, escrowed } = await chain.account(stack.info.demo?.wallet as string);
    expect({ free, escrowed }).toEqual({ free: 10_000, escrowed: 0 });
  });
});

describe("the docs link of an error", () => {
  it("leads to a page that has the code, with cause, fix and whether to retry", async () => {
    const { docs } = (await api.post("/v1/chat/completions", chat("gpt-none", "Hello"))).body.error;
    const response = await fetch(docs);
    expect(response.status).toBe(200);
    const page = await response.text();
    const section = page.split(`<section id="${new URL(docs).hash.slice(1)}">`)[1]?.split("</section>")[0];
    expect(section).toMatch(/Status 400/);
    for (const title of ["Cause", "What to do", "Retry"]) expect(section).toContain(title);
    expect(page).not.toMatch(/<script|src=/);
  });
});

describe("things that do not exist", () => {
  it("somebody else's job: 404 job_not_found", async () => {
    const jobId = (await api.post("/v1/chat/completions", chat("qwen3-8b", "Hello"))).headers.get("x-service-job-id");
    expect((await api.get(`/v1/jobs/${jobId}`)).status).toBe(200);
    const stranger = apiClient(stack, await keys.regenerate(STRANGER));
    const reply = await stranger.get(`/v1/jobs/${jobId}`);
    expect(reply.status).toBe(404);
    expect(reply.body).toEqual(errorBody("job_not_found", "not_found_error"));
    expect((await stranger.get("/v1/jobs")).body.data).toEqual([]);
  });

  it.each(["job_0", `job_${"0".repeat(32)}`, "%00", "job_' OR 1=1"])("job %s: 404 job_not_found", async (id) => {
    expect((await api.get(`/v1/jobs/${encodeURIComponent(id)}`)).body.error.code).toBe("job_not_found");
  });

  it.each([
    ["GET", "/v1/nothing"],
    ["POST", "/v1/models"],
    ["GET", "/nothing"],
  ])("%s %s: 404 route_not_found", async (method, path) => {
    const response = await api.request(method, path);
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual(errorBody("route_not_found", "not_found_error"));
  });

  it.each(["limit=0", "limit=101", "limit=x", "status=done", "before=a&before=b"])(
    "GET /v1/jobs?%s: 400 with its param",
    async (query) => {
      const reply = await api.get(`/v1/jobs?${query}`);
      expect(reply.status).toBe(400);
      expect(reply.body.error).toMatchObject({ code: "invalid_request", param: query.split("=")[0] });
    },
  );
});

function chatParts(content: unknown) {
  return { model: "qwen3-8b", messages: [{ role: "user", content }] };
}
