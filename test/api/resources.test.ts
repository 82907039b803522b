/** The resources of the specification, field by field. */
import { isDeepStrictEqual } from "node:util";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { Keys } from "../../api/account/keys.ts";
import { apiClient, chat, eventually } from "../support/api-client.ts";
import { untilIndexed } from "../support/indexed.ts";
import { MODEL, QUIET_MODEL } from "../support/service-stack.ts";
import { openService, settled } from "./support/service.ts";

const { stack, pool, client } = await openService();

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const HASH = /^0x[0-9a-f]{64}$/;
const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

it("the balance header is on the very first answer to a key", async () => {
  // An answer does not wait for it long: with a chain that stands still for a moment, it has none. Then another key is asked with.
  const first = async () => {
    const key = await new Keys(pool).regenerate(privateKeyToAddress(generatePrivateKey()));
    return (await apiClient(stack, key).get("/v1/models")).headers.get("x-service-credits-remaining");
  };
  await eventually(first, (credits) => credits === "0");
  const owner = async () => (await client.api.get("/v1/models")).headers.get("x-service-credits-remaining");
  await eventually(owner, (credits) => credits === "1000");
});

describe("a model", () => {
  it("one model is the same object as in the list", async () => {
    const one = async () => (await client.api.get(`/v1/models/${MODEL}`)).body;
    const read = async () => ({
      before: await one(),
      list: (await client.api.get("/v1/models")).body,
      after: await one(),
    });
    // A probe between two reads can change the median latency.
    const { before, list } = await eventually(read, ({ before, after }) => isDeepStrictEqual(before, after));
    expect(list.data.find(({ id }: { id: string }) => id === MODEL)).toEqual(before);
  });

  it("tells the median time to its first token, before any answer that of a probe", async () => {
    const latency = async () => (await client.api.get(`/v1/models/${QUIET_MODEL}`)).body.service.median_latency_ms;
    expect(await latency()).toBeGreaterThan(0);
    const reply = await client.api.post("/v1/chat/completions", chat(QUIET_MODEL, "Hello"));
    expect(reply.status).toBe(200);
    expect(await latency()).toBeGreaterThan(0);
    expect(Number.isInteger(await latency())).toBe(true);
  });
});

describe("a job", () => {
  it("has every field, at once after the reply and unchanged once the index has it", async () => {
    // A reply waits a second for the hash of its settlement: where the machine stood still for so long, the next one has it.
    const reply = await eventually(
      () => client.api.post("/v1/chat/completions", chat(MODEL, "Hello")),
      ({ headers }) => headers.has("x-service-settlement-tx"),
    );
    const id = reply.headers.get("x-service-job-id");
    await settled(client.api, id);
    const first = await client.api.get(`/v1/jobs/${id}`);
    const expected = {
      id,
      object: "job",
      status: "settled",
      model: MODEL,
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
    expect(first.body).toEqual(expected);
    expect(Object.keys(first.body)).toEqual(Object.keys(expected));
    expect(first.headers.get("x-service-job-id")).toBe(id);
    expect(first.headers.get("x-service-settlement-tx")).toMatch(HASH);
    expect(reply.headers.get("x-service-settlement-tx")).toMatch(HASH);
    expect(first.headers.get("x-service-worker")).toMatch(ADDRESS);
    // The index lags by some blocks at most; what it says must not differ from what we said before.
    await untilIndexed(stack);
    const indexed = await client.api.get(`/v1/jobs/${id}`);
    expect(indexed.body).toEqual(first.body);
    expect((await client.api.get("/v1/jobs?limit=1")).body.data[0]).toEqual(first.body);
  });

  it("is in the list the moment its reply is there", async () => {
    const reply = await client.api.post("/v1/chat/completions", chat(MODEL, "Hello"));
    const list = await client.api.get("/v1/jobs");
    expect(list.body.data[0].id).toBe(reply.headers.get("x-service-job-id"));
    expect(["settling", "settled"]).toContain(list.body.data[0].status);
  });
});

describe("the account", () => {
  it("shows wallet, credits, value and times, and the same balance in the header", async () => {
    const { body, headers } = await client.api.get("/v1/account");
    expect(body).toEqual({
      wallet: client.account.address,
      credits_remaining: expect.any(Number),
      usdg_value: body.credits_remaining / 100,
      last_topup_at: expect.stringMatching(ISO),
      api_key_created_at: expect.stringMatching(ISO),
    });
    expect(headers.get("x-service-credits-remaining")).toBe(String(body.credits_remaining));
  });

  it("every authenticated answer carries the balance", async () => {
    const { body } = await client.api.get("/v1/account");
    for (const path of ["/v1/models", "/v1/jobs", "/v1/nothing"]) {
      expect((await client.api.get(path)).headers.get("x-service-credits-remaining")).toBe(
        String(body.credits_remaining),
      );
    }
  });
});
