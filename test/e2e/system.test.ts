/** The system as `npm start` starts it: its main job, checked on the chain itself; stopped or killed, and started again. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { text as textOf } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decodeAccountWord, decodeJobWord } from "../../protocol/words.ts";
import { chainFiles, rpc } from "../../scripts/dev/chain.ts";
import { removeDataDir } from "../../scripts/dev/postgres.ts";
import { DEFAULT_WORKERS } from "../../scripts/dev/stack.ts";
import { OPERATOR } from "../../scripts/dev/wallets.ts";
import { type ApiClient, apiClient, chat, eventually, JSON_TYPE, readStream } from "../support/api-client.ts";
import { dumpChain } from "../support/chain-dump.ts";
import { type ChainReader, chainReader } from "../support/chain-reader.ts";
import { startTestStack, type TestStack, temporaryDataDir } from "../support/stack.ts";
import { verifyJson } from "../verify/support/cli.ts";

const SETTLEMENT = "x-service-settlement-tx";
/** For workers that are at work for a while. */
const SLOW = { WORKER_TOKENS_PER_SECOND: "100" };

const dataDir = temporaryDataDir();
let stack: TestStack;
let api: ApiClient;
/** The chain as a stranger sees it. */
let chain: ChainReader;

/** Starts the stack, or starts it again; returns what that says. */
async function start(env: Record<string, string> = {}): Promise<string> {
  const said: string[] = [];
  const workers = DEFAULT_WORKERS.map((worker) => ({ ...worker, env }));
  stack = await startTestStack({ dataDir, workers, write: (line) => said.push(line) });
  api = apiClient(stack);
  chain = chainReader(stack);
  return said.join("\n");
}

beforeAll(async () => {
  await start();
});
afterAll(async () => {
  await stack?.stop();
  removeDataDir(dataDir);
});

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

it("the chain alone shows the whole job, and the escrow stays solvent", async () => {
  const before = await solvency();
  expect(before.held).toBe(before.owed);
  const reply = await api.post("/v1/chat/completions", chat("llama-3.2-3b-instruct", "Hello"));
  const choices = [{ index: 0, finish_reason: "stop" }];
  expect(reply.body).toMatchObject({ object: "chat.completion", model: "llama-3.2-3b-instruct", choices });
  const { prompt_tokens, completion_tokens, total_tokens } = reply.body.usage;
  expect(total_tokens).toBe(prompt_tokens + completion_tokens);
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

const state = async () => {
  const { body: jobs } = await eventually(
    () => api.get("/v1/jobs?limit=100"),
    ({ body }) => body.data.length > 0 && body.data.every((job: { status: string }) => job.status === "settled"),
  );
  return { key: stack.info.demo?.api_key, account: (await api.get("/v1/account")).body, jobs };
};
const complete = () =>
  eventually(
    () => api.post("/v1/chat/completions", chat("qwen3-8b", "Hello")),
    ({ status }) => status === 200,
  );

/** Begins short jobs, which are somewhere between lock and settlement then, and one whose worker is at work; their ends. */
async function underWay(): Promise<Promise<unknown>[]> {
  const ask = (content: string, more = {}) =>
    api.request("POST", "/v1/chat/completions", chat("qwen3-8b", content, { max_tokens: 400, ...more }));
  const rest = (response: Response) => response.text().catch(() => null);
  const short = Array.from({ length: 4 }, () => ask("Hello").then(rest, () => null));
  // The headers of a stream come with its first token.
  return [...short, rest(await ask("Write. [[tokens:400]]", { stream: true }))];
}

describe("the whole stack", () => {
  let before: { key: string | undefined; account: unknown; jobs: { data: unknown[] } };
  beforeAll(async () => {
    before = await state();
  });

  it("stopped and started again goes on where it was", async () => {
    await stack.stop();
    await start(SLOW);
    expect(await state()).toEqual(before);
    await complete();
    const { length } = before.jobs.data;
    before = await state();
    expect(before.jobs.data).toHaveLength(length + 1);
  });

  it("killed at once it leaves no process; the next start ends each job", async () => {
    const dump = await dumpChain(stack.info.rpc_url);
    for (let n = 0; n < 3; n++) await complete();
    const head = Number(await rpc<string>(stack.info.rpc_url, "eth_blockNumber"));
    const cut = await underWay();
    const killed = stack.processes().map(({ pid }) => pid);
    stack.killAll();
    await stack.stop();
    await Promise.all(cut);
    // The node may have dumped since: what it leaves is the dump from before.
    writeFileSync(chainFiles(dataDir).state, dump);
    const said = await start(SLOW);
    const [, from, to] = said.match(/blocks (\d+) to (\d+) are lost/) ?? [];
    expect(Number(from), said).toBeLessThanOrEqual(head);
    expect(Number(to)).toBeGreaterThanOrEqual(head);
    for (const pid of killed) expect(() => process.kill(pid, 0)).toThrow(/ESRCH/);

    const ended = (job: { status: string }) => ["settled", "failed", "refunded"].includes(job.status);
    const { body: jobs } = await eventually(
      () => api.get("/v1/jobs?limit=100"),
      ({ body }) => body.data.every(ended),
    );
    // The key, and what was in the chain before its last dump, are there.
    expect(stack.info.demo?.api_key).toBe(before.key);
    expect(jobs.data).toEqual(expect.arrayContaining(before.jobs.data));
    const charged = jobs.data.reduce((sum: number, job: { credits_charged: number }) => sum + job.credits_charged, 0);
    const { body: account } = await api.get("/v1/account");
    expect(account.credits_remaining + charged).toBe(10_000);
    await complete();
  });
});
