/**
 * `kill -9` of the gateway when its client has the answer and nobody has paid yet. After its restart the gateway itself settles the job, once:
 * in windows of minutes no worker helps itself meanwhile. Kills at other moments: failures.test.ts; of a settlement on its way:
 * api/chain/pipeline-recovery.test.ts.
 */
import type pg from "pg";
import type { Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, expect, it } from "vitest";
import { answerHash, toProofHash } from "../../protocol/answer-hash.ts";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { fromApiJobId } from "../../protocol/job-id.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import { freePorts } from "../../scripts/dev/ports.ts";
import { PARTS } from "../../scripts/dev/stack.ts";
import { type ApiClient, apiClient, chat, eventually, JSON_TYPE, readStream } from "../support/api-client.ts";
import { type ChainReader, chainReader } from "../support/chain-reader.ts";
import { openStore } from "../support/client.ts";
import { pendingSettlements } from "../support/mempool.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { Wire } from "../support/wire.ts";

const MODEL = "qwen3-8b";
/** Eight seconds of text: what the test does after the first token is done before the last one. */
const TOKENS = 160;
/** Of 8 credits, the worker's part after the protocol's 10 %. */
const PAY = 72_000n;

let stack: TestStack;
let api: ApiClient;
let chain: ChainReader;
let store: pg.Pool;
/** The gateway's way to the chain. */
let wire: Wire;

beforeAll(async () => {
  const ports = await freePorts(1);
  wire = await Wire.open(ports.chain);
  stack = await startTestStack({
    // Nothing here is read from the index.
    parts: PARTS.filter((part) => part !== "indexer"),
    ports,
    workers: [{ models: [MODEL], env: { WORKER_TOKENS_PER_SECOND: "20" } }],
    env: { api: { RPC_URL: `http://127.0.0.1:${wire.port}` } },
  });
  api = apiClient(stack);
  chain = chainReader(stack);
  store = openStore(stack);
});
afterAll(async () => {
  await store?.end();
  await stack?.remove();
  wire?.close();
});

/** What client and worker have. */
async function balances() {
  const { free, escrowed } = await chain.account(stack.info.demo?.wallet as string);
  const payee = privateKeyToAccount(stack.workers[0]?.privateKey as Hex).address;
  return { free, escrowed, paid: await chain.held(payee) };
}

/** Names of all events that the chain has of a job. */
async function story(jobId: string): Promise<string[]> {
  const question = { address: chain.escrow, abi: inferenceEscrowAbi, fromBlock: 0n } as const;
  const events = await chain.client.getContractEvents(question);
  const id = fromApiJobId(jobId);
  return events.filter(({ args }) => "jobId" in args && args.jobId === id).map(({ eventName }) => eventName);
}

const textOf = (events: string[]): string =>
  events
    .filter((event) => event.startsWith("{"))
    .map((event) => JSON.parse(event).choices[0]?.delta?.content ?? "")
    .join("");

it("a gateway that had answered its client and sent no settlement yet settles after its restart", {
  timeout: 150_000,
}, async () => {
  const before = await balances();
  const body = JSON.stringify(chat(MODEL, `Write. [[tokens:${TOKENS}]]`, { stream: true }));
  const response = await api.send("POST", "/v1/chat/completions", JSON_TYPE, body);
  expect(response.status).toBe(200);
  const jobId = response.headers.get("x-service-job-id") as string;
  // From here on nothing that it sends reaches the chain.
  wire.weather = { kind: "deaf" };
  const answer = await readStream(response);
  expect(answer.at(-1)).toBe("[DONE]");
  const { rows } = await store.query("SELECT completion FROM job WHERE job_id = $1", [jobId]);
  expect(rows[0]?.completion ?? null).not.toBeNull();
  await stack.kill("api");
  expect((await chain.job(jobId)).status).not.toBe(ChainStatus.Settled);
  expect(await pendingSettlements(stack, jobId)).toEqual([]);
  wire.weather = { kind: "fair" };
  await stack.restart("api");

  const { body: job } = await eventually(
    () => api.get(`/v1/jobs/${jobId}`),
    ({ body }) => body.status === "settled" && body.on_chain.settlement_tx !== null,
  );
  expect(job).toMatchObject({ credits_charged: 8, usage: { completion_tokens: TOKENS } });
  expect(await balances()).toEqual({ free: before.free - 8, escrowed: 0, paid: before.paid + PAY });
  const events = await story(jobId);
  expect(events.filter((name) => name === "JobSettled")).toHaveLength(1);
  // Not by the worker's own proof.
  expect(events).not.toContain("JobProven");
  expect(job.on_chain.proof_hash).toBe(toProofHash(answerHash(textOf(answer))));
  const output = await api.get(`/v1/jobs/${jobId}/output`);
  expect(toProofHash(answerHash(output.body.content))).toBe(job.on_chain.proof_hash);
});
