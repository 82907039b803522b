/** The main job of the system with a stock client, on the stack that `npm start` starts, checked on the chain itself. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text as textOf } from "node:stream/consumers";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decodeAccountWord, decodeJobWord } from "../../protocol/words.ts";
import { OPERATOR } from "../../scripts/dev/wallets.ts";
import { type ApiClient, apiClient, chat, eventually, JSON_TYPE, readStream } from "../support/api-client.ts";
import { type ChainReader, chainReader } from "../support/chain-reader.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { verifyJson } from "../verify/support/cli.ts";

const SETTLEMENT = "x-service-settlement-tx";

let stack: TestStack;
let api: ApiClient;
/** The chain as a stranger sees it. */
let chain: ChainReader;
let openai: OpenAI;

beforeAll(async () => {
  stack = await startTestStack();
  api = apiClient(stack);
  chain = chainReader(stack);
  const { base_url, demo } = stack.info;
  openai = new OpenAI({ baseURL: `${base_url}/v1`, apiKey: demo?.api_key as string });
});
afterAll(() => stack?.remove());

const sha256 = (text: string) => `sha256:${createHash("sha256").update(text, "utf8").digest("hex")}`;
const jobIdOf = (completionId: string) => completionId.replace("chatcmpl-", "");

/** The job, once it is settled and indexed. */
async function settledJob(id: string) {
  const { body } = await eventually(
    () => api.get(`/v1/jobs/${id}`),
    (job) => job.body.status === "settled" && job.body.on_chain.block_number !== null,
  );
  return body;
}

/** Waits until no job holds credits: what earlier tests started is settled. */
async function quiet(): Promise<void> {
  const wallet = stack.info.demo?.wallet as string;
  await eventually(
    () => chain.account(wallet),
    ({ escrowed }) => escrowed === 0,
  );
}

/** The ledger's debts, in token units, and the tokens that cover them, while no job is under way. */
async function solvency() {
  await quiet();
  const [[credits, claimable], held] = await Promise.all([chain.liabilities(), chain.held()]);
  return { owed: credits * 10_000n + claimable, held };
}

it("models are the launch catalog with tiers, prices and windows", async () => {
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

it("the stock OpenAI SDK gets a plain answer whose hash is on chain", async () => {
  const ask = () =>
    openai.chat.completions
      .create({ model: "qwen3-8b", messages: [{ role: "user", content: "Say hello." }] })
      .withResponse();
  // A reply waits a second for the hash of its settlement: where the machine stood still for so long, the next one has it.
  const { data, response } = await eventually(ask, (reply) => reply.response.headers.has(SETTLEMENT));
  const text = data.choices[0]?.message.content ?? "";
  expect(text.length).toBeGreaterThan(10);
  expect(data).toMatchObject({
    object: "chat.completion",
    model: "qwen3-8b",
    choices: [{ index: 0, finish_reason: "stop" }],
  });
  expect(data.usage?.total_tokens).toBe((data.usage?.prompt_tokens ?? 0) + (data.usage?.completion_tokens ?? 0));
  const job = await settledJob(jobIdOf(data.id));
  expect(job.on_chain.proof_hash).toBe(sha256(text));
  expect(response.headers.get("x-service-job-id")).toBe(job.id);
  expect(response.headers.get("x-service-tx-hash")).toBe(job.on_chain.escrow_tx);
  expect(response.headers.get(SETTLEMENT)).toBe(job.on_chain.settlement_tx);
  expect(response.headers.get("x-service-worker")).toBe(job.worker_address);
  expect(Number(response.headers.get("x-service-credits-remaining"))).toBe(
    (await chain.account(stack.info.demo?.wallet as string)).free,
  );
});

describe("a streamed reply on the wire", () => {
  it("begins with role and content, ends with an empty delta, then [DONE]", async () => {
    const response = await api.request("POST", "/v1/chat/completions", chat("qwen3-8b", "Hello", { stream: true }));
    expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
    const events = await readStream(response);
    expect(events.at(-1)).toBe("[DONE]");
    const chunks = events.slice(0, -1).map((event) => JSON.parse(event));
    expect(chunks[0].choices[0].delta).toEqual({ role: "assistant", content: expect.stringMatching(/./) });
    expect(chunks.at(-1).choices).toEqual([{ index: 0, delta: {}, finish_reason: "stop" }]);
    for (const chunk of chunks.slice(1, -1)) {
      expect(Object.keys(chunk.choices[0].delta)).toEqual(["content"]);
      expect(chunk.choices[0].finish_reason).toBeNull();
    }
    expect(new Set(chunks.map((chunk) => `${chunk.id} ${chunk.object} ${chunk.model}`)).size).toBe(1);
    expect(chunks[0]).toMatchObject({
      id: `chatcmpl-${response.headers.get("x-service-job-id")}`,
      object: "chat.completion.chunk",
    });
  });

  it("carries the settlement transaction as a trailer, and usage when asked for", async () => {
    const asked = chat("qwen3-8b", "Hello", { stream: true, stream_options: { include_usage: true } });
    // A reply waits a second for the hash of its settlement: where the machine stood still for so long, the next one has it.
    const { headers, trailers, body } = await eventually(
      () => streamWithTrailers(asked),
      (reply) => SETTLEMENT in reply.trailers,
    );
    const job = await settledJob(headers["x-service-job-id"] as string);
    expect(trailers[SETTLEMENT]).toBe(job.on_chain.settlement_tx);
    // The head has the balance after the lock, the trailer the one after the charge: here they are the same.
    expect(trailers["x-service-credits-remaining"]).toBe(headers["x-service-credits-remaining"]);
    const chunks = body.split("\n\n").filter((event) => event.startsWith("data: {"));
    expect(JSON.parse(chunks.at(-1)?.slice(6) ?? "")).toMatchObject({ choices: [], usage: job.usage });
  });
});

/** fetch hides trailers; Node's own client shows them. */
async function streamWithTrailers(body: unknown) {
  const headers = { authorization: `Bearer ${stack.info.demo?.api_key}`, ...JSON_TYPE };
  const call = request(`${stack.info.base_url}/v1/chat/completions`, { method: "POST", headers });
  call.end(JSON.stringify(body));
  const [response] = (await once(call, "response")) as [IncomingMessage];
  const received = await textOf(response);
  return { headers: response.headers, trailers: response.trailers, body: received };
}

it("the chain alone shows debit, lock, tier and job id; release, both transfers and proof; and stays solvent", async () => {
  const before = await solvency();
  expect(before.held).toBe(before.owed);
  const reply = await api.post("/v1/chat/completions", chat("llama-3.2-3b-instruct", "Hello"));
  const jobId = jobIdOf(reply.body.id);
  const job = await settledJob(jobId);
  const wallet = stack.info.demo?.wallet as string;

  const escrow = await chain.transaction(job.on_chain.escrow_tx, jobId);
  const [locked] = escrow.events;
  expect(locked).toMatchObject({ eventName: "JobLocked", args: { wallet, tier: 0, credits: 2 } });
  const { job: word } = (locked?.args ?? {}) as { job: bigint };
  expect(decodeJobWord(word)).toMatchObject({
    operator: OPERATOR,
    credits: 2,
    creditsPerRequest: 2,
    creditsPer1kTokens: 1,
    feeBps: 1_000,
  });

  const settlement = await chain.transaction(job.on_chain.settlement_tx, jobId);
  const released = settlement.events.find((event) => event.eventName === "JobSettled");
  expect(released?.args).toMatchObject({ wallet, credits: 2 });
  const { proofHash } = (released?.args ?? {}) as { proofHash?: string };
  expect(proofHash).toBe(sha256(reply.body.choices[0].message.content).replace("sha256:", "0x"));
  // 2 credits are 20,000 units of the stablecoin; the protocol fee is 10 %.
  const treasury = await chain.treasury();
  expect(settlement.transfers).toContainEqual({ from: chain.escrow, to: job.worker_address, value: 18_000n });
  expect(settlement.transfers).toContainEqual({ from: chain.escrow, to: treasury, value: 2_000n });
  expect(Number(settlement.receipt.blockNumber)).toBe(job.on_chain.block_number);

  const env = { DATA_DIR: stack.options.dataDir };
  const audited = await verifyJson(["job", jobId], env);
  expect(audited.report.jobs).toMatchObject([{ holds: true, credits_charged: 2, worker: job.worker_address }]);
  const after = await solvency();
  expect((await verifyJson(["range"], env)).report).toMatchObject({ holds: true });
  expect(after.held).toBe(after.owed);
  expect(before.held - after.held).toBe(20_000n);
});

describe("long completions on the max tier", () => {
  it.each([
    [3_000, 60, 20],
    [700, 40, 40],
  ])("%i tokens of max_tokens 4,000: 80 locked, %i charged, %i back", async (tokens, charged, returned) => {
    const wallet = stack.info.demo?.wallet as string;
    await quiet();
    const before = (await chain.account(wallet)).free;
    const reply = await api.post(
      "/v1/chat/completions",
      chat("llama-3.3-70b-instruct", `Write. [[tokens:${tokens}]]`, { max_tokens: 4_000 }),
    );
    expect(reply.body.usage.completion_tokens).toBe(tokens);
    const job = await settledJob(jobIdOf(reply.body.id));
    const { events } = await chain.transaction(job.on_chain.escrow_tx, job.id);
    expect(events[0]?.args).toMatchObject({ credits: 80, tier: 3 });
    expect(job).toMatchObject({ credits_charged: charged, usdg_value: charged / 100, tier: "max" });
    const settlement = await chain.transaction(job.on_chain.settlement_tx, job.id);
    const released = settlement.events.find((event) => event.eventName === "JobSettled")?.args;
    expect(released).toMatchObject({ credits: charged });
    const balance = (args: unknown) => decodeAccountWord((args as { account: bigint }).account).free;
    expect(balance(released) - balance(events[0]?.args)).toBe(returned);
    expect((await chain.account(wallet)).free).toBe(before - charged);
    expect(Number(reply.headers.get("x-service-credits-remaining"))).toBe(before - charged);
  });

  it("an answer cut by max_tokens says so and costs its lock at most", async () => {
    const reply = await api.post(
      "/v1/chat/completions",
      chat("qwen3-8b", "Write. [[tokens:900]]", { max_tokens: 501 }),
    );
    expect(reply.body.choices[0].finish_reason).toBe("length");
    expect(reply.body.usage.completion_tokens).toBe(501);
    // 501 × 4 / 1,000 is below the flat price of 8.
    expect((await settledJob(jobIdOf(reply.body.id))).credits_charged).toBe(8);
  });
});
