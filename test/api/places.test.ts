/** Requests for a worker with one place: who waits, who has it next, and what the chain sees of that. */

import { createPublicClient, type Hex, http } from "viem";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { PARTS } from "../../scripts/dev/stack.ts";
import { type ApiClient, apiClient, chat, eventually } from "../support/api-client.ts";
import { Client, openStore } from "../support/client.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { event, PlayedWorker, type Script } from "../worker/support/played-worker.ts";

const MODEL = "mistral-7b-instruct-v0.3";

let stack: TestStack;
let api: ApiClient;
let worker: PlayedWorker;
/** Jobs that the worker has, and the most that it had at once. */
let running: number;
let most: number;
let fromBlock: bigint;

beforeAll(async () => {
  // Nothing here is read from the index.
  const parts = PARTS.filter((part) => part !== "indexer");
  stack = await startTestStack({ parts, workers: [{ models: [MODEL], start: false }] });
  worker = await PlayedWorker.start(stack, 1, 1);
  api = apiClient(stack);
});
afterAll(async () => {
  await worker?.stop();
  await stack?.remove();
});
beforeEach(async () => {
  [running, most] = [0, 0];
  fromBlock = (await chain().getBlockNumber({ cacheTime: 0 })) + 1n;
});

const chain = () => createPublicClient({ transport: http(stack.info.rpc_url) });
/** How many such events the chain has of this test's jobs. */
const events = async (eventName: "JobLocked" | "JobFailed" | "JobRefunded" | "BatchItemFailed") => {
  const address = stack.info.contracts["InferenceEscrow"] as Hex;
  return (await chain().getContractEvents({ address, abi: inferenceEscrowAbi, eventName, fromBlock })).length;
};

/** Answers once `until` resolves. */
const answering =
  (until: () => Promise<unknown>): Script =>
  async (offer, response) => {
    running += 1;
    most = Math.max(most, running);
    response.write(await worker.acknowledgement(offer));
    await until();
    running -= 1;
    response.write(event("delta", { content: "Hi" }));
    response.end(event("completed", await worker.completion(offer, "Hi")));
  };
const ask = () => api.post("/v1/chat/completions", chat(MODEL, "Hello"));
/** How many requests wait for a place, as the gateway's metrics say. */
const waiting = async () => {
  const metrics = await (await fetch(`${stack.info.base_url}/metrics`)).text();
  return Number(metrics.match(/^gateway_queue_waiting\{.*\} (\d+)$/m)?.[1]);
};
const waitedMs = ({ headers }: { headers: Headers }) =>
  Number(/queue;dur=([\d.]+)/.exec(headers.get("server-timing") ?? "")?.[1]);

it("requests beyond the worker's places wait, and none is locked before it has one", async () => {
  const jobs = Promise.withResolvers<void>();
  worker.play(answering(() => jobs.promise));
  await worker.isOffered(MODEL);
  const replies = [ask(), ask(), ask()];
  await eventually(
    async () => worker.offers.length,
    (offers) => offers === 1,
  );
  expect(await events("JobLocked")).toBe(1);
  jobs.resolve();
  const answered = await Promise.all(replies);
  expect(answered.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(most).toBe(1);
  expect(answered.map(waitedMs).toSorted((a, b) => a - b)[2]).toBeGreaterThan(0);
  expect([await events("JobLocked"), await events("JobFailed")]).toEqual([3, 0]);
});

it("a client that leaves leaves the queue, and nothing of its request is on chain", async () => {
  const jobs = Promise.withResolvers<void>();
  worker.play(answering(() => jobs.promise));
  const first = ask();
  await eventually(
    async () => worker.offers.length,
    (offers) => offers === 1,
  );
  const client = new AbortController();
  const left = api.request("POST", "/v1/chat/completions", chat(MODEL, "Bye"), client.signal).catch(() => "left");
  await eventually(waiting, (count) => count === 1);
  client.abort();
  await eventually(waiting, (count) => count === 0);
  jobs.resolve();
  expect([await left, (await first).status, (await ask()).status]).toEqual(["left", 200, 200]);
  expect([worker.offers.length, await events("JobLocked"), await events("JobFailed")]).toEqual([2, 2, 0]);
});

it("a job that finds no room is offered again, without failing on chain", async () => {
  const answer = answering(async () => {});
  worker.play(
    async (offer, response) => {
      if (worker.offers.length > 2)
        return answer(offer, response.writeHead(200, { "content-type": "text/event-stream" }));
      const error = { code: "busy", message: "other gateways have my places" };
      response.writeHead(503, { "content-type": "application/json" }).end(JSON.stringify({ error }));
    },
    { raw: true },
  );
  const reply = await ask();
  expect(reply.status).toBe(200);
  const offered = worker.offers.map(({ assignment: { jobId, attempt } }) => ({ jobId, attempt }));
  expect(offered).toEqual(Array(3).fill({ jobId: offered[0]?.jobId, attempt: 1 }));
  expect([await events("JobLocked"), await events("JobFailed"), await events("JobRefunded")]).toEqual([1, 0, 0]);
});

it("of requests that wait while their wallet freezes itself, one lock reverts at most", async () => {
  const pool = openStore(stack);
  const client = await Client.funded(stack, pool, 1_000).finally(() => pool.end());
  const setFrozen = (frozen: boolean) => client.escrow("setLimits", [false, 0, frozen]);
  const jobs = Promise.withResolvers<void>();
  worker.play(answering(() => jobs.promise));
  const first = ask();
  await eventually(
    async () => worker.offers.length,
    (offers) => offers === 1,
  );
  const replies = Array.from({ length: 36 }, () => client.api.post("/v1/chat/completions", chat(MODEL, "Hello")));
  await eventually(waiting, (count) => count === 36);
  await setFrozen(true);
  jobs.resolve();
  const refused = await Promise.all(replies);
  expect(refused.map(({ status, body }) => `${status} ${body.error?.code}`)).toEqual(
    Array(36).fill("403 spending_frozen"),
  );
  // The worker has one place, so one lock was on its way when the gateway learned of it.
  expect(await events("BatchItemFailed")).toBe(1);
  await setFrozen(false);
  expect((await client.api.post("/v1/chat/completions", chat(MODEL, "Hello"))).status).toBe(200);
  expect([(await first).status, await events("BatchItemFailed")]).toEqual([200, 1]);
});
