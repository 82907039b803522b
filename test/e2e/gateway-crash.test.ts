/**
 * `kill -9` of the gateway at the moments when a worker has signed and nobody has paid yet. After its restart the gateway itself settles the
 * job, once: the windows are long enough that no worker helps itself meanwhile.
 */
import type pg from "pg";
import type { Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { answerHash, toProofHash } from "../../protocol/answer-hash.ts";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { fromApiJobId } from "../../protocol/job-id.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import { freePort, freePorts } from "../../scripts/dev/ports.ts";
import { type ApiClient, apiClient, chat, eventually, JSON_TYPE, readStream } from "../support/api-client.ts";
import { type ChainReader, chainReader } from "../support/chain-reader.ts";
import { openStore } from "../support/client.ts";
import { mining, pendingSettlements } from "../support/mempool.ts";
import type { Part } from "../support/processes.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { Wire } from "../support/wire.ts";
import { startWorker } from "../support/worker-process.ts";

const MODEL = "qwen3-8b";
const REMOTE = "mistral-7b-instruct-v0.3";
/** Eight seconds of text: what a test does after the first token is done before the last one. */
const TOKENS = 160;
const PROMPT = `Write. [[tokens:${TOKENS}]]`;
const SPEED = { WORKER_TOKENS_PER_SECOND: "20" };
/** Of 8 credits, the worker's part after the protocol's 10 %. */
const PAY = 72_000n;

let stack: TestStack;
let api: ApiClient;
let chain: ChainReader;
let store: pg.Pool;
/** The gateway's way to the chain, and its way to the second worker. */
let chainWire: Wire;
let workerWire: Wire;
let remote: Part;
let remoteUrl: string;

beforeAll(async () => {
  const ports = await freePorts(2);
  chainWire = await Wire.open(ports.chain);
  stack = await startTestStack({
    ports,
    windows: { completion: 30, inclusion: 60, finalization: 30 },
    workers: [
      { models: [MODEL], env: SPEED },
      { models: [REMOTE], start: false },
    ],
    env: { api: { RPC_URL: `http://127.0.0.1:${chainWire.port}` } },
  });
  api = apiClient(stack);
  chain = chainReader(stack);
  store = openStore(stack);
  await startRemoteWorker();
});
afterAll(async () => {
  await store?.end();
  await remote?.stop("SIGTERM");
  await stack?.remove();
  chainWire?.close();
  workerWire?.close();
});

/** A worker that the gateway reaches by a wire. */
async function startRemoteWorker(): Promise<void> {
  const { port } = stack.workers[1] as TestStack["workers"][number];
  const own = await freePort();
  remoteUrl = `http://127.0.0.1:${own}`;
  workerWire = await Wire.open(own, port);
  const { dataDir } = stack.options;
  remote = await startWorker({ ...stack, dataDir }, 2, {
    ...SPEED,
    WORKER_PORT: String(own),
    WORKER_KEEP_SETTLED_SECONDS: "0",
  });
}

const isListed = (model: string) =>
  eventually(
    () => api.get("/v1/models"),
    ({ body }) => body.data.some((entry: { id: string }) => entry.id === model),
  );

/** Balances before a job; afterwards the worker is paid once and the client charged once. */
async function balances(worker: number) {
  const wallet = stack.info.demo?.wallet as string;
  const payee = privateKeyToAccount(stack.workers[worker - 1]?.privateKey as Hex).address;
  const { free, escrowed } = await chain.account(wallet);
  return { free, escrowed, paid: await chain.held(payee) };
}

/** Everything that the chain tells about a job. */
async function story(jobId: string): Promise<string[]> {
  const events = await chain.client.getContractEvents({
    address: chain.escrow,
    abi: inferenceEscrowAbi,
    fromBlock: 0n,
  });
  const id = fromApiJobId(jobId);
  return events.filter(({ args }) => "jobId" in args && args.jobId === id).map(({ eventName }) => eventName);
}

/** Begins a streamed request; resolves at its first token. With a key it can be sent again. */
async function begin(model: string, key?: string): Promise<{ jobId: string; events: Promise<string[] | "cut"> }> {
  await isListed(model);
  const headers = { ...JSON_TYPE, ...(key === undefined ? {} : { "idempotency-key": key }) };
  const body = JSON.stringify(chat(model, PROMPT, { stream: true }));
  const response = await api.send("POST", "/v1/chat/completions", headers, body);
  expect(response.status).toBe(200);
  return {
    jobId: response.headers.get("x-service-job-id") as string,
    events: readStream(response).catch(() => "cut" as const),
  };
}

const textOf = (events: string[]): string =>
  events
    .filter((event) => event.startsWith("{"))
    .map((event) => JSON.parse(event).choices[0]?.delta?.content ?? "")
    .join("");

/** The row in which the gateway keeps the worker's signature. */
const completionOf = async (jobId: string): Promise<unknown> =>
  (await store.query("SELECT completion FROM job WHERE job_id = $1", [jobId])).rows[0]?.completion ?? null;

/** Waits for the settlement after a restart, and for what it must have come to. */
async function settledOnce(jobId: string, worker: number, before: Awaited<ReturnType<typeof balances>>): Promise<void> {
  const job = await eventually(
    () => api.get(`/v1/jobs/${jobId}`),
    ({ body }) => body.status === "settled" && body.on_chain.settlement_tx !== null,
  );
  expect(job.body).toMatchObject({ credits_charged: 8, usage: { completion_tokens: TOKENS } });
  const after = await balances(worker);
  expect(after).toEqual({ free: before.free - 8, escrowed: 0, paid: before.paid + PAY });
  const events = await story(jobId);
  expect(events.filter((name) => name === "JobSettled")).toHaveLength(1);
  // Not by the worker's own proof.
  expect(events).not.toContain("JobProven");
  const output = await api.get(`/v1/jobs/${jobId}/output`);
  expect(toProofHash(answerHash(output.body.content))).toBe(job.body.on_chain.proof_hash);
}

describe("a gateway killed between the worker's signature and the settlement", { timeout: 150_000 }, () => {
  it("that had answered its client and sent nothing yet settles after its restart", async () => {
    const before = await balances(1);
    const { jobId, events } = await begin(MODEL);
    // From here on nothing that it sends reaches the chain.
    chainWire.weather = { kind: "deaf" };
    const answer = await events;
    expect(answer.at(-1)).toBe("[DONE]");
    expect(await completionOf(jobId)).not.toBeNull();
    await stack.kill("api");
    expect((await chain.job(jobId)).status).not.toBe(ChainStatus.Settled);
    expect(await pendingSettlements(stack, jobId)).toEqual([]);
    chainWire.weather = { kind: "fair" };
    await stack.restart("api");
    await settledOnce(jobId, 1, before);
    const { body } = await api.get(`/v1/jobs/${jobId}`);
    expect(body.on_chain.proof_hash).toBe(toProofHash(answerHash(textOf(answer as string[]))));
  });

  it("that had sent the settlement, which was not mined, does not settle again", async () => {
    const before = await balances(1);
    const { jobId, events } = await begin(MODEL);
    await mining(stack, false);
    const answer = await events;
    expect(answer.at(-1)).toBe("[DONE]");
    const sent = await eventually(
      () => pendingSettlements(stack, jobId),
      (hashes) => hashes.length > 0,
    );
    await stack.kill("api");
    expect((await chain.job(jobId)).status).not.toBe(ChainStatus.Settled);
    await mining(stack, true);
    await stack.restart("api");
    await settledOnce(jobId, 1, before);
    expect((await api.get(`/v1/jobs/${jobId}`)).body.on_chain.settlement_tx).toBe(sent[0]);
  });

  it("that never saw the signature fetches the answer for a request that can be sent again, and settles", async () => {
    const before = await balances(2);
    const { jobId, events } = await begin(REMOTE, `crash-${Date.now()}`);
    // From here on nothing that the worker says arrives.
    workerWire.weather = { kind: "mute" };
    const health = async () =>
      (await (await fetch(`${remoteUrl}/healthz`)).json()) as { in_flight: number; unsettled: number };
    await eventually(health, ({ in_flight, unsettled }) => in_flight === 0 && unsettled === 1);
    expect(await completionOf(jobId)).toBeNull();
    await stack.kill("api");
    const answer = await events;
    expect(answer === "cut" || answer.at(-1) !== "[DONE]").toBe(true);
    expect((await chain.job(jobId)).status).not.toBe(ChainStatus.Settled);
    workerWire.weather = { kind: "fair" };
    await stack.restart("api");
    await settledOnce(jobId, 2, before);
    await eventually(health, ({ unsettled }) => unsettled === 0);
  });
});
