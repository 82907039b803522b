/** Real answers held against the OpenAPI document: it is true, and nothing is sent that it does not describe. */
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { Keys } from "../../api/account/keys.ts";
import { apiClient, chat, eventually } from "../support/api-client.ts";
import { Contract } from "../support/contract.ts";
import { LARGE_MODEL, MODEL, UNHOSTED_MODEL } from "../support/service-stack.ts";
import { openService } from "./support/service.ts";

const { stack, pool, client } = await openService();
const document = await Contract.of(stack.info.base_url);

const ask = (body: unknown, key = client.apiKey) => apiClient(stack, key).request("POST", "/v1/chat/completions", body);
const get = (path: string, key: string | null = client.apiKey) => apiClient(stack, key).request("GET", path);
const CHAT = ["post", "/v1/chat/completions"] as const;

describe("answers are what /openapi.json says", () => {
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
