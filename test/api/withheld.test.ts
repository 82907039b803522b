/** A worker that proves an answer on chain and does not deliver it. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { answerHash, toProofHash } from "../../protocol/answer-hash.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import { type ApiClient, apiClient, chat, eventually } from "../support/api-client.ts";
import { type ChainReader, chainReader } from "../support/chain-reader.ts";
import { Contract } from "../support/contract.ts";
import { giveGas } from "../support/gas.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { PlayedWorker } from "../worker/support/played-worker.ts";

const [WITHHELD, LATE] = ["qwen3-8b", "qwen3-14b"];
const UNSEEN = "Nobody ever sees this.";
const TEXT = "What the worker hands out when it is asked.";
const FINALIZATION = 60;

let stack: TestStack;
let api: ApiClient;
let chain: ChainReader;
let workers: PlayedWorker[];

beforeAll(async () => {
  stack = await startTestStack({
    workers: [
      { models: [WITHHELD], start: false },
      { models: [LATE], start: false },
    ],
    windows: { finalization: FINALIZATION },
    env: { api: { ACKNOWLEDGE_SECONDS: "8" } },
  });
  api = apiClient(stack);
  chain = chainReader(stack);
  workers = [await PlayedWorker.start(stack, 1), await PlayedWorker.start(stack, 2)];
  for (const { address } of workers) await giveGas(stack, address, "10");
});
afterAll(async () => {
  for (const worker of workers ?? []) await worker.stop();
  await stack?.remove();
});

/** Asks for an answer of the worker's model; the client is told that it is withheld. Returns the job. */
async function ask(model: string): Promise<string> {
  const document = await Contract.of(stack.info.base_url);
  const reply = await api.request("POST", "/v1/chat/completions", chat(model, "Hello"));
  expect(reply.status).toBe(500);
  const { error } = await document.check("post", "/v1/chat/completions", reply);
  const jobId = error.details.job_id as string;
  expect(error).toMatchObject({ code: "answer_withheld", details: { credits_held: expect.any(Number) } });
  expect(error.message).toContain(`GET /v1/jobs/${jobId}`);
  const left = Date.parse(error.details.held_until) / 1000 - Date.now() / 1000;
  expect(left).toBeGreaterThan(FINALIZATION - 30);
  expect(left).toBeLessThan(FINALIZATION + 30);
  return jobId;
}

const listed = async (model: string) =>
  (await api.get("/v1/models")).body.data.some(({ id }: { id: string }) => id === model);

it("hands nothing out: its charge is disputed before it can be finalized, and it gets no job until then", async () => {
  const [worker] = workers as [PlayedWorker];
  await worker.isOffered(WITHHELD as string);
  worker.play(
    async (offer, response) => {
      // Its gateway's later questions for the output are hung up on as well.
      if (offer.request !== undefined) await worker.prove(offer, UNSEEN);
      response.destroy();
    },
    { raw: true },
  );
  const jobId = await ask(WITHHELD as string);
  expect(await listed(WITHHELD as string)).toBe(false);
  await eventually(
    () => chain.job(jobId),
    ({ status }) => status === ChainStatus.Disputed,
    120_000,
  );
  const job = await eventually(
    () => api.get(`/v1/jobs/${jobId}`),
    ({ body }) => body.status === "disputed",
  );
  expect(job.body).toMatchObject({
    credits_charged: 0,
    completed_at: null,
    on_chain: { settlement_tx: null, block_number: null, proof_hash: toProofHash(answerHash(UNSEEN)) },
  });
});

it("hands it out when it is asked: the answer is kept, charged and there for the client", async () => {
  const worker = workers[1] as PlayedWorker;
  await worker.isOffered(LATE as string);
  let signed: Awaited<ReturnType<PlayedWorker["prove"]>> | undefined;
  worker.play(
    async (offer, response) => {
      if (offer.request !== undefined) {
        signed = await worker.prove(offer, TEXT);
        return void response.destroy();
      }
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ text: TEXT, ...signed }));
    },
    { raw: true },
  );
  const jobId = await ask(LATE as string);
  const job = await eventually(
    () => api.get(`/v1/jobs/${jobId}`),
    ({ body }) => body.status === "settled",
  );
  expect(job.body).toMatchObject({ credits_charged: 18, worker_address: worker.address });
  const output = await api.get(`/v1/jobs/${jobId}/output`);
  expect(output.body).toMatchObject({ content: TEXT });
  expect(toApiJobId((signed as NonNullable<typeof signed>).completion.jobId)).toBe(jobId);
});
