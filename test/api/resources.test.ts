/** The resources of the specification, field by field. */
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Keys } from "../../api/accounts/keys.ts";
import { type ApiClient, apiClient, chat, eventually } from "../support/api-client.ts";
import { openStore } from "../support/client.ts";
import { untilIndexed } from "../support/indexed.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";

let stack: TestStack;
let api: ApiClient;

beforeAll(async () => {
  stack = await startTestStack({ workers: [{}] });
  api = apiClient(stack);
});
afterAll(() => stack?.remove());

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const HASH = /^0x[0-9a-f]{64}$/;
const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

describe("the balance header", () => {
  it("is on the very first answer to a key", async () => {
    const store = openStore(stack);
    // An answer does not wait for it long: with a chain that stands still for a moment, it has none. Then another key is asked with.
    const first = async () => {
      const key = await new Keys(store).regenerate(privateKeyToAddress(generatePrivateKey()));
      return (await apiClient(stack, key).get("/v1/models")).headers.get("x-service-credits-remaining");
    };
    await eventually(first, (credits) => credits === "0");
    await store.end();
    const owner = async () => (await api.get("/v1/models")).headers.get("x-service-credits-remaining");
    await eventually(owner, (credits) => credits === "10000");
  });
});

describe("models", () => {
  it("are the launch catalog with tiers, prices and windows", async () => {
    const { body } = await api.get("/v1/models");
    expect(body.object).toBe("list");
    const rows = body.data.map(({ service }: { service: Record<string, unknown> }) => [
      service.parameters,
      service.context_window,
      service.tier,
      service.credits_per_request,
      service.credits_per_1k_tokens,
    ]);
    expect(rows).toEqual([
      ["70B", 128_000, "max", 40, 20],
      ["70B", 128_000, "max", 40, 20],
      ["27B", 128_000, "pro", 18, 9],
      ["14B", 32_768, "pro", 18, 9],
      ["8B", 32_768, "standard", 8, 4],
      ["7B", 32_768, "standard", 8, 4],
      ["3B", 128_000, "lite", 2, 1],
      ["1.7B", 32_768, "lite", 2, 1],
    ]);
    expect(Object.keys(body.data[0])).toEqual(["id", "object", "created", "owned_by", "service"]);
    expect(body.data[0]).toMatchObject({ object: "model", created: expect.any(Number), owned_by: expect.any(String) });
  });

  it("one model is the same object as in the list", async () => {
    const { body } = await api.get("/v1/models");
    expect((await api.get(`/v1/models/${body.data[4].id}`)).body).toEqual(body.data[4]);
  });
});

describe("a model", () => {
  it("tells the observed median time to its first token: 0 before its first answer", async () => {
    const latency = async () => (await api.get("/v1/models/gemma-3-27b-it")).body.service.median_latency_ms;
    expect(await latency()).toBe(0);
    const reply = await api.post("/v1/chat/completions", chat("gemma-3-27b-it", "Hello"));
    expect(reply.status).toBe(200);
    expect(await latency()).toBeGreaterThan(0);
    expect(Number.isInteger(await latency())).toBe(true);
  });
});

describe("a job", () => {
  it("has every field, at once after the reply and unchanged once the index has it", async () => {
    // A reply waits a second for the hash of its settlement: where the machine stood still for so long, the next one has it.
    const reply = await eventually(
      () => api.post("/v1/chat/completions", chat("qwen3-8b", "Hello")),
      ({ headers }) => headers.has("x-service-settlement-tx"),
    );
    const id = reply.headers.get("x-service-job-id");
    const settled = await eventually(
      () => api.get(`/v1/jobs/${id}`),
      ({ body }) => body.status === "settled",
    );
    const expected = {
      id,
      object: "job",
      status: "settled",
      model: "qwen3-8b",
      tier: "standard",
      credits_charged: 8,
      usdg_value: 0.08,
      worker_address: reply.headers.get("x-service-worker"),
      created_at: expect.stringMatching(ISO),
      completed_at: expect.stringMatching(ISO),
      on_chain: {
        escrow_tx: reply.headers.get("x-service-tx-hash"),
        settlement_tx: reply.headers.get("x-service-settlement-tx"),
        escrow_address: stack.info.contracts.InferenceEscrow,
        block_number: expect.any(Number),
        proof_hash: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      },
      usage: reply.body.usage,
    };
    expect(settled.body).toEqual(expected);
    expect(Object.keys(settled.body)).toEqual(Object.keys(expected));
    expect(settled.headers.get("x-service-job-id")).toBe(id);
    expect(settled.headers.get("x-service-settlement-tx")).toMatch(HASH);
    expect(reply.headers.get("x-service-settlement-tx")).toMatch(HASH);
    expect(settled.headers.get("x-service-worker")).toMatch(ADDRESS);
    // The index lags by some blocks at most; what it says must not differ from what we said before.
    await untilIndexed(stack);
    const indexed = await api.get(`/v1/jobs/${id}`);
    expect(indexed.body).toEqual(settled.body);
    expect((await api.get("/v1/jobs?limit=1")).body.data[0]).toEqual(settled.body);
  });

  it("is in the list the moment its reply is there", async () => {
    const reply = await api.post("/v1/chat/completions", chat("qwen3-1.7b", "Hello"));
    const list = await api.get("/v1/jobs");
    expect(list.body.data[0].id).toBe(reply.headers.get("x-service-job-id"));
    expect(["settling", "settled"]).toContain(list.body.data[0].status);
  });

  it("is found by status and model, and by neither of another", async () => {
    await eventually(
      () => api.get("/v1/jobs?status=settled&model=qwen3-1.7b"),
      ({ body }) => body.data.length === 1,
    );
    expect((await api.get("/v1/jobs?status=failed")).body.data).toEqual([]);
    expect((await api.get("/v1/jobs?model=qwen3-14b")).body.data).toEqual([]);
  });

  it("pages hold still while new jobs arrive", async () => {
    for (let i = 0; i < 4; i++) await api.post("/v1/chat/completions", chat("qwen3-1.7b", `Hello ${i}`));
    await eventually(
      () => api.get("/v1/jobs"),
      ({ body }) => body.data.every((job: { status: string }) => job.status === "settled"),
    );
    await untilIndexed(stack);
    const first = (await api.get("/v1/jobs?limit=3")).body;
    expect(first.has_more).toBe(true);
    expect(first.next_cursor).toBe(first.data[2].id);
    const second = (await api.get(`/v1/jobs?limit=3&before=${first.next_cursor}`)).body;
    await api.post("/v1/chat/completions", chat("qwen3-1.7b", "One more"));
    expect((await api.get(`/v1/jobs?limit=3&before=${first.next_cursor}`)).body.data.map(idOf)).toEqual(
      second.data.map(idOf),
    );
    const newer = (await api.get(`/v1/jobs?after=${first.data[0].id}`)).body.data;
    expect(newer).toHaveLength(1);
  });
});

describe("the account", () => {
  it("shows wallet, credits, value and times, and the same balance in the header", async () => {
    const { body, headers } = await api.get("/v1/account");
    expect(body).toEqual({
      wallet: stack.info.demo?.wallet,
      credits_remaining: expect.any(Number),
      usdg_value: body.credits_remaining / 100,
      last_topup_at: expect.stringMatching(ISO),
      api_key_created_at: expect.stringMatching(ISO),
    });
    expect(headers.get("x-service-credits-remaining")).toBe(String(body.credits_remaining));
  });

  it("every authenticated answer carries the balance", async () => {
    const { body } = await api.get("/v1/account");
    for (const path of ["/v1/models", "/v1/jobs", "/v1/nothing"]) {
      expect((await api.get(path)).headers.get("x-service-credits-remaining")).toBe(String(body.credits_remaining));
    }
  });
});

describe("the operator's routes", () => {
  it("answer without a key", async () => {
    for (const path of ["/healthz", "/readyz", "/metrics"]) {
      expect((await fetch(`${stack.info.base_url}${path}`)).status).toBe(200);
    }
  });

  it("/metrics counts requests by route, jobs by state, and what batches and workers do", async () => {
    const scrape = async () => (await fetch(`${stack.info.base_url}/metrics`)).text();
    const valueIn = (text: string, line: string) =>
      Number(
        text
          .split("\n")
          .find((each) => each.startsWith(line))
          ?.split(" ")
          .at(-1),
      );
    // The last jobs are being settled, and a worker that missed a probe takes the next one.
    const text = await eventually(
      scrape,
      (now) =>
        valueIn(now, 'gateway_operations_total{kind="complete",outcome="mined"}') > 3 &&
        valueIn(now, 'gateway_jobs_total{state="settled"}') > 3 &&
        /gateway_worker_healthy\{worker="0x[0-9a-fA-F]{40}"\} 1/.test(now),
    );
    const value = (line: string) => valueIn(text, line);
    expect(value('gateway_requests_total{route="/v1/chat/completions",method="POST",status="200"}')).toBeGreaterThan(3);
    expect(value("gateway_batch_items_count")).toBeGreaterThan(3);
    expect(value("gateway_index_lag_blocks")).toBeGreaterThanOrEqual(0);
    expect(value("gateway_signer_balance_ether")).toBeGreaterThan(1);
    expect(text).not.toMatch(/job_[0-9a-f]{32}/);
  });
});

const idOf = (job: { id: string }) => job.id;
