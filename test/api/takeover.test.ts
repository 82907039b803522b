/**
 * Gateways of one operator share the recovery of jobs: what a gateway left that is gone, or that lost its database, another one ends. Whatever the
 * old one still writes must fail, and each job is charged once at most.
 */

import type pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runOperator } from "../../operator/main.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import { OPERATOR_ADMIN } from "../../scripts/deploy/config.ts";
import { PARTS } from "../../scripts/dev/stack.ts";
import { OPERATOR } from "../../scripts/dev/wallets.ts";
import { type ApiClient, apiClient, chat, eventually, JSON_TYPE, readStream } from "../support/api-client.ts";
import { type ChainReader, chainReader } from "../support/chain-reader.ts";
import { openStore } from "../support/client.ts";
import { giveGas } from "../support/gas.ts";
import { SECOND_ADDRESS, SECOND_KEY, SecondGateway } from "../support/second-gateway.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { Wire } from "../support/wire.ts";
import { event, PlayedWorker } from "../worker/support/played-worker.ts";

const MODEL = "qwen3-8b";
/** Its worker is played: it ends its answer when the test says so. */
const HELD_MODEL = "mistral-7b-instruct-v0.3";
/** About ten seconds of text: the database is away before the last token. */
const PROMPT = "Write. [[tokens:200]]";

let stack: TestStack;
/** The stack's own gateway stays; this one is lost. */
let other: SecondGateway;
/** Its way to the database. */
let wire: Wire;
let api: ApiClient;
let lost: ApiClient;
let chain: ChainReader;
let store: pg.Pool;
/** Hosts `HELD_MODEL`. */
let worker: PlayedWorker;

beforeAll(async () => {
  stack = await startTestStack({
    // Nothing here is read from the index.
    parts: PARTS.filter((part) => part !== "indexer"),
    workers: [
      { models: [MODEL], env: { WORKER_TOKENS_PER_SECOND: "20" } },
      { models: [HELD_MODEL], start: false },
    ],
    gatewayKeys: [SECOND_KEY],
  });
  worker = await PlayedWorker.start(stack, 2);
  await giveGas(stack, SECOND_ADDRESS, "10");
  const database = new URL(stack.info.database_url);
  wire = await Wire.open(Number(database.port));
  database.port = String(wire.port);
  other = new SecondGateway(stack, { DATABASE_URL: database.href });
  await other.start();
  api = apiClient(stack);
  lost = apiClient({ ...stack, info: { ...stack.info, base_url: other.url } });
  chain = chainReader(stack);
  store = openStore(stack);
});
afterAll(async () => {
  await store?.end();
  await other?.kill();
  wire?.close();
  await worker?.stop();
  await stack?.remove();
});

const ask = (at: ApiClient, key?: string, model = MODEL) =>
  at.send(
    "POST",
    "/v1/chat/completions",
    { ...JSON_TYPE, ...(key === undefined ? {} : { "idempotency-key": key }) },
    JSON.stringify(chat(model, PROMPT, { stream: true })),
  );

/** Begins a streamed job at the gateway that is lost; resolves at its first token. With a key its request can be sent again. */
async function begin(key?: string, model = MODEL): Promise<{ jobId: string; events: Promise<string[] | "cut"> }> {
  await eventually(
    () => lost.get("/v1/models"),
    ({ body }) => body.data.some(({ id }: { id: string }) => id === model),
  );
  const response = await ask(lost, key, model);
  expect(response.status).toBe(200);
  return {
    jobId: response.headers.get("x-service-job-id") as string,
    events: readStream(response).catch(() => "cut" as const),
  };
}

const gatewayOf = async (jobId: string): Promise<string> =>
  (await store.query("SELECT gateway FROM job WHERE job_id = $1", [jobId])).rows[0]?.gateway;

/** Waits until the chain has the job's end, and asks what its client was charged. */
async function ended(jobId: string) {
  const over: number[] = [ChainStatus.Settled, ChainStatus.Failed];
  const { status } = await eventually(
    () => chain.job(jobId),
    (job) => over.includes(job.status),
    120_000,
  );
  const wanted = status === ChainStatus.Settled ? "settled" : "failed";
  const job = await eventually(
    () => api.get(`/v1/jobs/${jobId}`),
    ({ body }) => body.status === wanted,
  );
  return job.body;
}

/** Cuts the lost gateway off its database until another one has these jobs; what each job's client is told then. */
async function takenOver(jobs: Awaited<ReturnType<typeof begin>>[]) {
  wire.weather = { kind: "cut" };
  for (const { jobId } of jobs) {
    await eventually(
      () => gatewayOf(jobId),
      (gateway) => gateway !== SECOND_ADDRESS.toLowerCase(),
    );
  }
  // The old gateway's database is back: it would store the answer and settle it.
  wire.weather = { kind: "fair" };
  const told = await Promise.all(jobs.map(async ({ events }) => ((await events) as string[]).at(-1) as string));
  expect(told).not.toContain("[DONE]");
  await eventually(
    async () => (await fetch(`${other.url}/readyz`)).status,
    (status) => status === 200,
  );
  return told.map((text) => JSON.parse(text).error);
}

/** Asks the gateway that stays for the answer once more. */
async function repeated(key: string, jobId: string): Promise<void> {
  const again = await ask(api, key);
  expect(again.headers.get("x-service-job-id")).toBe(jobId);
  expect((await readStream(again)).at(-1)).toBe("[DONE]");
}

describe("a job of another gateway of the operator", () => {
  it("that lost its database in a stream is taken over: a repetition is answered", async () => {
    const [job, repeatable] = await Promise.all([begin(), begin("database-lost")]);
    const [error, other] = await takenOver([job, repeatable]);
    expect(error).toMatchObject({ code: "service_unavailable", details: { job_id: job.jobId } });
    expect(error.message).toContain("another one took the job over");
    expect(other).toMatchObject({ details: { job_id: repeatable.jobId } });
    // Nobody can have the first one's answer, so nobody pays for it. The key is its job's, although its first request got an error.
    await repeated("database-lost", repeatable.jobId);
    expect(await ended(repeatable.jobId)).toMatchObject({ status: "settled", credits_charged: 8 });
    expect(await ended(job.jobId)).toMatchObject({ status: "failed", credits_charged: 0 });
  });

  it("that was killed has its job ended by the other: a repetition gets the answer", async () => {
    const { jobId, events } = await begin("taken-over");
    await other.kill("SIGKILL");
    await events;
    expect(await ended(jobId)).toMatchObject({ status: "settled", credits_charged: 8 });
    expect(await gatewayOf(jobId)).not.toBe(SECOND_ADDRESS.toLowerCase());
    await repeated("taken-over", jobId);
  });

  it("whose key was removed in mid-stream has its whole answer settled by the other", async () => {
    const found = Promise.withResolvers<void>();
    worker.play(async (offer, response) => {
      response.write(await worker.acknowledgement(offer));
      response.write(event("delta", { content: "The beginning, " }));
      await found.promise;
      response.write(event("delta", { content: "and the end." }));
      response.end(event("completed", await worker.completion(offer, "The beginning, and the end.")));
    });
    await other.start();
    const { jobId, events } = await begin(undefined, HELD_MODEL);
    const { rpc_url: RPC_URL } = stack.info;
    const env = { RPC_URL, DEPLOYMENT_FILE: stack.deploymentFile, OPERATOR_PRIVATE_KEY: OPERATOR_ADMIN.privateKey };
    await runOperator(["signers", "rotate", String(OPERATOR), "--remove", SECOND_ADDRESS, "--yes"], env);
    // The gateway looks each 5 s whether its key is in office: it finds out in the middle of the answer.
    await eventually(
      async () => other.output,
      (output) => output.includes("this gateway's key signs for operator"),
    );
    found.resolve();
    expect(((await events) as string[]).at(-1)).toBe("[DONE]");
    expect(await ended(jobId)).toMatchObject({ status: "settled", credits_charged: 8 });
    expect(await gatewayOf(jobId)).not.toBe(SECOND_ADDRESS.toLowerCase());
    const refused = await ask(lost);
    expect([refused.status, await refused.json()]).toMatchObject([503, { error: { code: "service_unavailable" } }]);
  });
});
