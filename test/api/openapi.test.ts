/** Real answers held against the OpenAPI document: it is true, and nothing is sent that it does not describe. */
import { Ajv2020 } from "ajv/dist/2020.js";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { Keys } from "../../api/account/keys.ts";
import { apiClient, chat, eventually, JSON_TYPE } from "../support/api-client.ts";
import { Contract } from "../support/contract.ts";
import { type JsonSchema, violations } from "../support/violations.ts";
import { LARGE_MODEL, MODEL, UNHOSTED_MODEL } from "./global-setup.ts";
import { openService } from "./support/service.ts";

const { stack, pool, client } = await openService();
const document = await Contract.of(stack.info.base_url);

const ask = (body: unknown, key = client.apiKey) => apiClient(stack, key).request("POST", "/v1/chat/completions", body);
const get = (path: string, key: string | null = client.apiKey) => apiClient(stack, key).request("GET", path);
const CHAT = ["post", "/v1/chat/completions"] as const;

describe("answers are what docs/openapi.json says", () => {
  it("plain and streamed completions", async () => {
    await document.check(...CHAT, await ask(chat(MODEL, "Hello")));
    const chunks = await document.check(
      ...CHAT,
      await ask(chat(MODEL, "Hello", { stream: true, stream_options: { include_usage: true } })),
    );
    expect(chunks.at(-1).usage.total_tokens).toBeGreaterThan(0);
  });

  it("models, jobs in every stage of theirs, the kept answer, the account", async () => {
    await document.check("get", "/v1/models", await get("/v1/models"));
    await document.check("get", "/v1/models/{model_id}", await get(`/v1/models/${MODEL}`));
    const response = await ask(chat(MODEL, "Write. [[tokens:1500]]", { stream: true }));
    const path = `/v1/jobs/${response.headers.get("x-service-job-id")}`;
    await document.check("get", "/v1/jobs/{job_id}", await get(path));
    await response.text();
    const settled = await eventually(
      async () => document.check("get", "/v1/jobs/{job_id}", await get(path)),
      ({ status }) => status === "settled",
    );
    expect(settled.on_chain.settlement_tx).not.toBeNull();
    await document.check("get", "/v1/jobs/{job_id}/output", await get(`${path}/output`));
    await document.check("get", "/v1/jobs", await get("/v1/jobs?limit=2"));
    await document.check("get", "/v1/account", await get("/v1/account"));
  });

  it("webhooks from their creation to their end", async () => {
    const path = "/v1/webhooks";
    const body = { url: "https://example.com/hook", events: ["job.completed", "credit.low"] };
    const { id, secret } = await document.check("post", path, await client.api.request("POST", path, body));
    expect(secret.length).toBeGreaterThan(30);
    await document.check("post", path, await client.api.request("POST", path, { ...body, events: ["job.done"] }));
    const { data } = await document.check("get", path, await client.api.request("GET", path));
    expect(data).toHaveLength(1);
    for (const _ of ["deleted", "unknown"]) {
      await document.check("delete", `${path}/{webhook_id}`, await client.api.request("DELETE", `${path}/${id}`));
    }
  });

  it("errors of every status that a client can bring about", async () => {
    await document.check(...CHAT, await ask({}));
    await document.check(...CHAT, await ask(chat("none", "Hello")));
    await document.check(...CHAT, await ask(chat(MODEL, "word ".repeat(40_000))));
    await document.check(...CHAT, await ask(chat(UNHOSTED_MODEL, "Hello")));
    await document.check("get", "/v1/account", await get("/v1/account", null));
    await document.check("get", "/v1/account", await get("/v1/account", "svc_live_unknown"));
    await document.check("get", "/v1/jobs", await get("/v1/jobs?limit=0"));
    await document.check("get", "/v1/jobs/{job_id}", await get("/v1/jobs/none"));
    await document.check("get", "/v1/jobs/{job_id}/output", await get("/v1/jobs/none/output"));
    await document.check("get", "/v1/models/{model_id}", await get("/v1/models/none"));
    const stranger = privateKeyToAddress(generatePrivateKey());
    const keys = new Keys(pool);
    const key = await keys.regenerate(stranger);
    await document.check(...CHAT, await ask(chat(LARGE_MODEL, "Hello"), key));
    await keys.setSuspended(stranger, true);
    await document.check("get", "/v1/account", await get("/v1/account", key));
    await keys.setSuspended(stranger, false);
    const statuses = new Set([...document.seen].map((each) => each.split(" ").at(-1)));
    expect([...statuses].toSorted()).toEqual(["200", "201", "400", "401", "402", "403", "404", "503"]);
  });
});

type Described = {
  components: { schemas: Record<string, JsonSchema> };
  paths: Record<string, Record<string, { parameters: { name: string; schema: JsonSchema }[] }>>;
};
const described = async () => (await (await fetch(`${stack.info.base_url}/openapi.json`)).json()) as Described;

describe("what the request schemas forbid", () => {
  const isRefused = async (asked: Promise<Response>, what: string) => {
    const response = await asked;
    expect(response.status, what).toBe(400);
    await response.text();
  };
  const user = { role: "user", content: [{ type: "text", text: "x" }] };
  const BODIES = [
    [
      "/v1/chat/completions",
      "ChatCompletionRequest",
      {
        model: MODEL,
        messages: [user],
        response_format: { type: "json_schema", json_schema: { name: "any", schema: {} } },
      },
    ],
    ["/v1/webhooks", "WebhookRequest", { url: "https://example.com/hook", events: ["job.failed"] }],
    ["/v1/jobs/none/dispute", "DisputeRequest", { received_output_hash: `sha256:${"a7".repeat(32)}` }],
  ] as const;

  it.each(BODIES)("the server refuses: the body of %s", async (path, name, good) => {
    const { components } = await described();
    const schema = components.schemas[name] as JsonSchema;
    const allows = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
    expect(allows(good)).toBe(true);
    const cases = violations(schema, good);
    expect(cases.length).toBeGreaterThan(3);
    for (const { name: what, value } of cases) {
      expect(allows(value), `${what}: ${JSON.stringify(value)}`).toBe(false);
      await isRefused(client.api.request("POST", path, value), `${what}: ${JSON.stringify(value)}`);
    }
  });

  it("the server refuses: the headers of POST /v1/chat/completions", async () => {
    const { parameters } = (await described()).paths["/v1/chat/completions"]?.["post"] ?? { parameters: [] };
    expect(parameters.map(({ name }) => name)).toEqual(["Idempotency-Key", "x-service-authorization"]);
    for (const { name, schema } of parameters) {
      const { type: _, ...limits } = schema;
      // HTTP itself carries no NUL.
      const cases = violations(limits, undefined, name).filter(({ value }) => value !== "\0");
      for (const { name: what, value } of cases) {
        const headers = { ...JSON_TYPE, [name]: String(value) };
        const body = JSON.stringify(chat(MODEL, "Hello"));
        await isRefused(client.api.send("POST", "/v1/chat/completions", headers, body), `${what}: ${value}`);
      }
    }
  });

  it("the server refuses: the query of GET /v1/jobs", async () => {
    for (const { name, schema } of (await described()).paths["/v1/jobs"]?.["get"]?.parameters ?? []) {
      // Everything in a query is text, and text without a limit may be anything.
      const { type: _, ...limits } = schema;
      for (const { name: what, value } of violations(limits, undefined, name)) {
        await isRefused(get(`/v1/jobs?${name}=${encodeURIComponent(String(value))}`), `${what}: ${value}`);
      }
    }
  });
});
