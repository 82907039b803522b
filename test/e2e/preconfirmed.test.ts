/**
 * Jobs that begin on a sequencer's promise, with the real gateway, workers and indexer. The sequencer is the stand-in of scripts/dev/sequencer.ts. The
 * tests make the blocks: whatever happens before one happens without it.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { ChainStatus } from "../../protocol/job-status.ts";
import type { Sequencer } from "../../scripts/dev/sequencer.ts";
import { chat, eventually, readStream } from "../support/api-client.ts";
import type { ChainReader } from "../support/chain-reader.ts";
import type { Client } from "../support/client.ts";
import { untilIndexed } from "../support/indexed.ts";
import { type PromisedStack, startPromisedStack } from "../support/promised-stack.ts";
import type { TestStack } from "../support/stack.ts";

/** Its worker begins on a promise. */
const MODEL = "qwen3-8b";
/** Its worker waits for the block. */
const CAREFUL_MODEL = "qwen3-14b";
const LOCK_SECONDS = 20;
/** A lock with so many tokens is above the gateway's limit for one job. */
const EXPENSIVE_TOKENS = 30_000;

let promised: PromisedStack;
let sequencer: Sequencer;
let stack: TestStack;
let store: pg.Pool;
let chain: ChainReader;
let client: Client;

const seenByChain = async (jobId: string) => (await chain.job(jobId)).status;

beforeAll(async () => {
  promised = await startPromisedStack({
    env: {
      api: { LOCK_SECONDS: String(LOCK_SECONDS) },
      workers: { WORKER_LOCK_WAIT_MS: "500", WORKER_SETTLEMENT_POLL_MS: "200" },
    },
    workers: [{ models: [MODEL] }, { models: [CAREFUL_MODEL], env: { WORKER_LOCK_SEEN: "latest" } }],
  });
  ({ sequencer, stack, store, chain, client } = promised);
});
afterEach(async () => {
  await promised.stopMining();
  sequencer.faults = {};
});
afterAll(() => promised?.remove());

/** A streamed job of which something has been said: no block was made for it. */
async function begun(model: string, tokens = 20) {
  const body = chat(model, "Tell me. [[tokens:20]]", { stream: true, max_tokens: tokens });
  const response = await client.api.request("POST", "/v1/chat/completions", body);
  expect(response.status).toBe(200);
  return { jobId: response.headers.get("x-service-job-id") as string, response };
}

const jobOf = async (jobId: string) => (await client.api.get(`/v1/jobs/${jobId}`)).body;

/** Waits until the job is settled; returns what it cost. */
async function settled(jobId: string): Promise<number> {
  const { credits_charged } = await eventually(
    () => jobOf(jobId),
    ({ status }) => status === "settled",
  );
  return credits_charged;
}

it("tokens come before the block, and the charge comes with it", async () => {
  const { jobId, response } = await begun(MODEL);
  expect(await seenByChain(jobId)).toBe(ChainStatus.None);
  // Lists and resources are of mined blocks.
  expect((await client.api.get(`/v1/jobs/${jobId}`)).status).toBe(404);
  promised.mineBlocks();
  expect(await readStream(response)).toContain("[DONE]");
  expect(await settled(jobId)).toBeGreaterThan(0);
});

it("a job above the gateway's limit waits for its block", async () => {
  promised.mineBlocks();
  const { jobId, response } = await begun(MODEL, EXPENSIVE_TOKENS);
  expect(await seenByChain(jobId)).not.toBe(ChainStatus.None);
  await readStream(response);
  expect(await settled(jobId)).toBeGreaterThan(0);
});

it("a worker that waits for the block gets the job again with it", async () => {
  const before = sequencer.counts.promised;
  const asked = begun(CAREFUL_MODEL);
  await eventually(
    async () => sequencer.counts.promised,
    (count) => count > before,
  );
  // The worker looks for the lock for half a second, and refuses the job then.
  await sleep(2_000);
  promised.mineBlocks();
  const { jobId, response } = await asked;
  expect(await readStream(response)).toContain("[DONE]");
  expect(await settled(jobId)).toBeGreaterThan(0);
  const incidents = await store.query("SELECT code FROM worker_incident");
  expect(incidents.rows).toEqual([]);
});

it("after a broken promise the same bytes are mined, and charged once", async () => {
  const { jobId, response } = await begun(MODEL);
  await sequencer.breakPromises();
  await promised.mine();
  expect(await seenByChain(jobId)).toBe(ChainStatus.None);
  const lock = response.headers.get("x-service-tx-hash");
  promised.mineBlocks();
  expect(await readStream(response)).toContain("[DONE]");
  await settled(jobId);
  expect((await jobOf(jobId)).on_chain.escrow_tx).toBe(lock);
});

it("a lock that never comes is charged to nobody", async () => {
  const before = await chain.account(client.account.address);
  const { jobId, response } = await begun(MODEL);
  sequencer.faults = { losesAll: true };
  await sequencer.breakPromises();
  promised.mineBlocks();
  const events = await readStream(response);
  expect(events).not.toContain("[DONE]");
  expect(JSON.parse(events.at(-1) as string).error).toMatchObject({ code: "service_unavailable" });
  sequencer.faults = {};
  const stateOf = async () => {
    const { rows } = await store.query("SELECT state FROM job WHERE job_id = $1", [jobId]);
    return rows[0]?.state;
  };
  await eventually(stateOf, (state) => state === "unlocked");
  expect((await client.api.get(`/v1/jobs/${jobId}`)).status).toBe(404);
  expect(await chain.account(client.account.address)).toMatchObject({ free: before.free, escrowed: before.escrowed });
});

it("with one promise in ten broken all answers are paid once and the books agree", async () => {
  const before = await chain.account(client.account.address);
  sequencer.faults = { breakEvery: 10 };
  const broken = sequencer.counts.broken;
  promised.mineBlocks();
  const jobs: string[] = [];
  const ask = async (): Promise<void> => {
    while (sequencer.counts.broken < broken + 2) {
      const { jobId, response } = await begun(MODEL);
      expect(await readStream(response)).toContain("[DONE]");
      jobs.push(jobId);
    }
  };
  await Promise.all(Array.from({ length: 6 }, ask));
  let charged = 0;
  for (const jobId of jobs) charged += await settled(jobId);
  const after = await chain.account(client.account.address);
  expect(after.escrowed).toBe(0);
  expect(before.free - after.free).toBe(charged);
  await untilIndexed(stack);
  expect((await client.api.get("/v1/account")).body).toMatchObject({ credits_remaining: after.free });
});
