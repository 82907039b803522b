/** What workers and gateways do in the wild: whoever is silent pays for it, never the client. Windows are shortened. */

import { randomUUID } from "node:crypto";
import type pg from "pg";
import type { Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ChainStatus } from "../../protocol/job-status.ts";
import { rpc } from "../../scripts/dev/chain.ts";
import { type ApiClient, apiClient, chat, eventually, JSON_TYPE, readStream } from "../support/api-client.ts";
import { type ChainReader, chainReader } from "../support/chain-reader.ts";
import { openStore } from "../support/client.ts";
import { Contract } from "../support/contract.ts";
import { giveGas } from "../support/gas.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";

/** Models: of a worker that never answers, and of a slow one. */
const MUTE = "qwen3-14b";
const SLOW = "mistral-7b-instruct-v0.3";
const COMPLETION_SECONDS = 30;
/** Nothing waits for its end in real time: a slow machine has all of it. */
const INCLUSION_SECONDS = 60;

let stack: TestStack;
let api: ApiClient;
let chain: ChainReader;
let store: pg.Pool;
/** Whose key the tests have. */
let wallet: string;

beforeAll(async () => {
  stack = await startTestStack({
    windows: { completion: COMPLETION_SECONDS, inclusion: INCLUSION_SECONDS, finalization: 3 },
    env: {
      api: { ACKNOWLEDGE_SECONDS: "20" },
      workers: { WORKER_SETTLEMENT_POLL_MS: "200" },
    },
    workers: [
      { models: [MUTE], env: { WORKER_FIRST_TOKEN_MS: "600000" } },
      { models: [SLOW], env: { WORKER_TOKENS_PER_SECOND: "20", WORKER_SELF_SETTLE_AFTER: "0" } },
    ],
  });
  api = apiClient(stack);
  chain = chainReader(stack);
  store = openStore(stack);
  wallet = stack.info.demo?.wallet as string;
});
afterAll(async () => {
  await store?.end();
  await stack?.remove();
});

async function account() {
  const { free, escrowed } = await chain.account(wallet);
  return { free, escrowed };
}

/** Waits until the API offers the model, or does not. */
async function isListed(model: string, listed = true): Promise<void> {
  await eventually(
    () => api.get("/v1/models"),
    ({ body }) => body.data.some((entry: { id: string }) => entry.id === model) === listed,
  );
}

it("a worker that never answers costs nothing: 504 with the refund's hash", async () => {
  await isListed(MUTE);
  const before = await account();
  const started = Date.now();
  const reply = await api.request("POST", "/v1/chat/completions", chat(MUTE, "Hello"));
  expect(reply.status).toBe(504);
  expect(Date.now() - started).toBeGreaterThanOrEqual((COMPLETION_SECONDS - 1) * 1000);
  const jobId = reply.headers.get("x-service-job-id") as string;
  const document = await Contract.of(stack.info.base_url);
  const { error } = await document.check("post", "/v1/chat/completions", reply);
  expect(error).toEqual({
    code: "job_timeout",
    message: expect.stringContaining("refunded"),
    type: "timeout_error",
    param: null,
    docs: `${stack.info.base_url}/docs/errors#job_timeout`,
    details: { job_id: jobId, credits_refunded: 18, refund_tx: expect.stringMatching(/^0x[0-9a-f]{64}$/) },
  });
  const { events } = await chain.transaction(error.details.refund_tx, jobId);
  expect(events).toMatchObject([{ eventName: "JobRefunded", args: { wallet: wallet, credits: 18 } }]);
  expect(await account()).toEqual(before);
  expect((await api.get(`/v1/jobs/${jobId}`)).body).toMatchObject({ status: "refunded", credits_charged: 0 });
});

type Shown = { models: string[]; active: boolean; answers: boolean };

describe("a worker that dies mid-stream", () => {
  it("ends the stream with an error event; the job is failed and nothing is charged", async () => {
    await isListed(SLOW);
    const before = await account();
    const response = await api.request(
      "POST",
      "/v1/chat/completions",
      chat(SLOW, "Write. [[tokens:400]]", { stream: true }),
    );
    expect(response.status).toBe(200);
    const jobId = response.headers.get("x-service-job-id") as string;
    const reading = readStream(response);
    await stack.kill("worker-2");
    const events = await reading;
    expect(events.length).toBeGreaterThan(1);
    expect(events).not.toContain("[DONE]");
    expect(JSON.parse(events.at(-1) as string).error).toMatchObject({
      code: "service_unavailable",
      type: "capacity_error",
    });
    expect(await account()).toEqual(before);
    expect((await api.get(`/v1/jobs/${jobId}`)).body).toMatchObject({
      status: "failed",
      credits_charged: 0,
      completed_at: null,
    });
    expect((await chain.job(jobId)).status).toBe(ChainStatus.Failed);
  });

  it("is taken off the list; without another host, a request gets 503", async () => {
    await isListed(SLOW, false);
    // The page of the network says the same, although the chain still takes it for active.
    const network = (await (await fetch(`${stack.info.app_url}/api/workers`)).json()) as { data: Shown[] };
    expect(network.data.find(({ models }) => models.includes(SLOW))).toMatchObject({ active: true, answers: false });
    const reply = await api.post("/v1/chat/completions", chat(SLOW, "Hello"));
    expect(reply.status).toBe(503);
    expect(reply.headers.get("retry-after")).toBe("5");
    expect(reply.body.error).toMatchObject({
      code: "no_workers_available",
      type: "capacity_error",
      details: { model: SLOW, retry_after: 5 },
    });
  });

  it("is back on the list once it runs again", async () => {
    await stack.restart("worker-2");
    await isListed(SLOW);
  });
});

describe("a gateway that is killed while a worker answers", () => {
  // Five seconds of text: the gateway is gone before its end.
  const body = JSON.stringify(chat(SLOW, "Write. [[tokens:100]]", { stream: true }));
  const ask = (key: string) => api.send("POST", "/v1/chat/completions", { ...JSON_TYPE, "idempotency-key": key }, body);

  it.each([
    // The worker settles at once what it has finished, if it has gas for that.
    ["", "0", async () => {}],
    [", also where the worker has settled it by itself meanwhile", "1", isSettled],
  ])("fetches the answer after its restart for a request that can be repeated%s", async (_name, gas, before) => {
    const worker_address = privateKeyToAccount(stack.workers[1]?.privateKey as Hex).address;
    await giveGas(stack, worker_address, gas);
    await isListed(SLOW);
    const key = randomUUID();
    const response = await ask(key);
    const jobId = response.headers.get("x-service-job-id") as string;
    const reading = response.text().catch(() => "cut");
    await stack.kill("api");
    await reading;
    await before(jobId);
    await stack.restart("api");
    const job = await eventually(
      () => api.get(`/v1/jobs/${jobId}`),
      ({ body }) => body.status === "settled" && body.on_chain.settlement_tx !== null,
    );
    expect(job.body).toMatchObject({ credits_charged: 8, worker_address });
    expect((await account()).escrowed).toBe(0);
    const again = await ask(key);
    expect(again.headers.get("x-service-job-id")).toBe(jobId);
    expect((await readStream(again)).at(-1)).toBe("[DONE]");
  });
});

// The last test: it moves the clock of the chain.
it("a job that the database lost is refunded once its time is over", async () => {
  await isListed(MUTE);
  const before = await account();
  const asked = api.post("/v1/chat/completions", chat(MUTE, "Are you there?")).catch(() => null);
  const newest = await eventually(
    () => api.get(`/v1/jobs?model=${MUTE}&limit=1`),
    ({ body }) => ["pending", "processing"].includes(body.data[0]?.status),
  );
  const jobId = newest.body.data[0].id as string;
  await stack.kill("api");
  await asked;
  await loseJob(jobId);
  await stack.restart("api");
  await rpc(stack.info.rpc_url, "evm_increaseTime", [COMPLETION_SECONDS + 2 * INCLUSION_SECONDS]);
  await rpc(stack.info.rpc_url, "evm_mine");
  await eventually(
    async () => (await chain.job(jobId)).status,
    (status) => status === ChainStatus.Refunded,
  );
  expect(await account()).toEqual(before);
});

/** Waits until the worker has been paid for the job, without any gateway. */
async function isSettled(jobId: string): Promise<void> {
  await eventually(
    () => chain.job(jobId),
    ({ status }) => status === ChainStatus.Settled,
  );
}

/** The job as a database that was restored from an older backup knows it: not at all. */
const loseJob = (jobId: string) => store.query("DELETE FROM job WHERE job_id = $1", [jobId]);
