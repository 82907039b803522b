/** Who and what is refused, with which error, and that a refusal costs nothing. */

import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { Keys } from "../../api/account/keys.ts";
import { apiClient, chat } from "../support/api-client.ts";
import { chainReader } from "../support/chain-reader.ts";
import { errorBody } from "../support/contract.ts";
import { LARGE_MODEL, MODEL, UNHOSTED_MODEL } from "../support/service-stack.ts";
import { openService } from "./support/service.ts";

const { stack, pool, client } = await openService();
const keys = new Keys(pool);
/** A wallet without credits. */
const stranger = privateKeyToAddress(generatePrivateKey());

describe("authentication", () => {
  it.each(["/v1/models", "/v1/account", "/v1/jobs", "/v1/no-such-route"])(
    "%s without a key: 401 missing_api_key",
    async (path) => {
      const reply = await apiClient(stack, null).get(path);
      expect(reply.status).toBe(401);
      expect(reply.body).toEqual(errorBody(stack, "missing_api_key", "authentication_error"));
      expect(reply.headers.get("www-authenticate")).toBe("Bearer");
    },
  );

  it.each([
    ["unknown", `svc_live_${"a".repeat(32)}`],
    ["of another format", "sk-1234"],
    ["with SQL in it", "svc_live_' OR 1=1 --"],
  ])("a key %s: 401 invalid_api_key", async (_name, key) => {
    const reply = await apiClient(stack, key).get("/v1/models");
    expect(reply.status).toBe(401);
    expect(reply.body).toEqual(errorBody(stack, "invalid_api_key", "authentication_error"));
    expect(reply.headers.get("www-authenticate")).toBe('Bearer error="invalid_token"');
  });

  it("a regenerated key replaces the one before it: one key a wallet", async () => {
    const first = await keys.regenerate(stranger);
    const second = await keys.regenerate(stranger);
    expect((await apiClient(stack, first).get("/v1/models")).status).toBe(401);
    expect((await apiClient(stack, second).get("/v1/models")).status).toBe(200);
  });

  it("the key itself is stored nowhere", async () => {
    const key = await keys.regenerate(stranger);
    const dump = await pool.query("SELECT row_to_json(api_key)::text AS row FROM api_key");
    expect(dump.rows.map((row) => row.row).join()).not.toContain(key.slice("svc_live_".length));
    expect(key).toMatch(/^svc_live_[A-Za-z0-9]{32}$/);
  });
});

describe("a chat request that cannot be served", () => {
  it("with too little balance: 402 insufficient_credits with its details", async () => {
    const poor = apiClient(stack, await keys.regenerate(stranger));
    const reply = await poor.post("/v1/chat/completions", chat(LARGE_MODEL, "Hello", { max_tokens: 4_000 }));
    expect(reply.status).toBe(402);
    expect(reply.body).toEqual(
      errorBody(stack, "insufficient_credits", "payment_error", {
        details: { credits_remaining: 0, credits_required: 80, tier: "max" },
      }),
    );
  });

  it("for an unknown model: 400 model_not_found", async () => {
    const reply = await client.api.post("/v1/chat/completions", chat("gpt-none", "Hello"));
    expect(reply.status).toBe(400);
    expect(reply.body).toEqual(errorBody(stack, "model_not_found", "invalid_request_error", { param: "model" }));
  });

  it("for a model that no worker hosts: 503 no_workers_available; it is not listed", async () => {
    const reply = await client.api.post("/v1/chat/completions", chat(UNHOSTED_MODEL, "Hello"));
    expect(reply.status).toBe(503);
    expect(reply.body).toEqual(
      errorBody(stack, "no_workers_available", "capacity_error", {
        details: { model: UNHOSTED_MODEL, retry_after: 5 },
      }),
    );
    const { body } = await client.api.get("/v1/models");
    expect(body.data.map((model: { id: string }) => model.id)).not.toContain(UNHOSTED_MODEL);
    expect((await client.api.get(`/v1/models/${UNHOSTED_MODEL}`)).status).toBe(404);
  });

  it("with more tokens than the model takes: 400 context_length_exceeded", async () => {
    const reply = await client.api.post("/v1/chat/completions", chat(MODEL, "word ".repeat(40_000)));
    expect(reply.status).toBe(400);
    expect(reply.body).toEqual(
      errorBody(stack, "context_length_exceeded", "invalid_request_error", { param: "messages" }),
    );
  });

  it("leaves no job and no charge behind", async () => {
    expect((await client.api.get("/v1/jobs")).body).toEqual({
      object: "list",
      data: [],
      has_more: false,
      next_cursor: null,
    });
    expect(await chainReader(stack).account(client.account.address)).toMatchObject({ free: 1_000, escrowed: 0 });
  });
});

describe("things that do not exist", () => {
  it("somebody else's job: 404 job_not_found", async () => {
    const jobId = (await client.api.post("/v1/chat/completions", chat(MODEL, "Hello"))).headers.get("x-service-job-id");
    expect((await client.api.get(`/v1/jobs/${jobId}`)).status).toBe(200);
    const other = apiClient(stack, await keys.regenerate(stranger));
    const reply = await other.get(`/v1/jobs/${jobId}`);
    expect(reply.status).toBe(404);
    expect(reply.body).toEqual(errorBody(stack, "job_not_found", "not_found_error"));
    expect((await other.get("/v1/jobs")).body.data).toEqual([]);
  });

  it("an answer that is not kept: 404 output_not_found", async () => {
    const reply = await client.api.post("/v1/chat/completions", chat(MODEL, "Hello"));
    const id = reply.headers.get("x-service-job-id");
    // As if its retention time were over.
    await pool.query("UPDATE job SET output = NULL WHERE job_id = $1", [id]);
    const { status, body } = await client.api.get(`/v1/jobs/${id}/output`);
    expect(status).toBe(404);
    expect(body).toEqual(errorBody(stack, "output_not_found", "not_found_error"));
  });

  it.each(["job_0", `job_${"0".repeat(32)}`, "%00", "job_' OR 1=1"])("job %s: 404 job_not_found", async (id) => {
    expect((await client.api.get(`/v1/jobs/${encodeURIComponent(id)}`)).body.error.code).toBe("job_not_found");
  });

  it.each([
    ["GET", "/v1/nothing"],
    ["POST", "/v1/models"],
    ["GET", "/nothing"],
  ])("%s %s: 404 route_not_found", async (method, path) => {
    const response = await client.api.request(method, path);
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual(errorBody(stack, "route_not_found", "not_found_error"));
  });
});
