/**
 * The index is down while the service is under load. INDEX_AWAY_SECONDS sets for how long (10); docs/faults.md tells of five minutes.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { type Address, createPublicClient, type Hex, http } from "viem";
import { afterAll, beforeAll, expect, it } from "vitest";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { eventually } from "../support/api-client.ts";
import { type Asked, ask } from "../support/asked.ts";
import { Client, openStore } from "../support/client.ts";
import { Receiver } from "../support/receiver.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";

const AWAY_MS = Number(process.env["INDEX_AWAY_SECONDS"] ?? 10) * 1000;
/** Between two requests of a client: more than a page of jobs come of it, and no core is busy with them alone. */
const PAUSE_MS = 50;
const CREDITS = 100_000;
const LAG = "indexed-until";
const MODEL = "qwen3-1.7b";
/** Blocks whose events are asked for at once: an answer has a largest size. */
const RANGE = 500n;

let stack: TestStack;
let pool: pg.Pool;
let receiver: Receiver;
let client: Client;

beforeAll(async () => {
  stack = await startTestStack({
    workers: [{ models: [MODEL] }],
    // One at a time, so that the order in which they are sent is the order in which they come.
    env: { api: { LOG_LEVEL: "warn", WEBHOOK_CONCURRENCY_EACH: "1" }, workers: { WORKER_FIRST_TOKEN_MS: "20" } },
  });
  pool = openStore(stack);
  receiver = await Receiver.open();
  client = await Client.create(stack, pool, 2 * CREDITS);
  await client.deposit(CREDITS);
  await client.webhook(receiver.url("/jobs"), ["job.submitted", "job.completed", "credit.topup"]);
}, 180_000);
afterAll(async () => {
  receiver?.close();
  await pool?.end();
  await stack?.remove();
});

/** Requests of three clients, one after the other, for so long. */
async function load(ms: number): Promise<Asked[]> {
  const end = Date.now() + ms;
  const asked: Asked[] = [];
  const one = async () => {
    while (Date.now() < end) {
      const body = { model: MODEL, stream: false, max_tokens: 20, messages: [{ role: "user", content: "Hello" }] };
      asked.push(await ask({ gateway: stack.info.base_url, apiKey: client.apiKey, body, patienceMs: 60_000 }));
      await sleep(PAUSE_MS);
    }
  };
  await Promise.all([one(), one(), one()]);
  return asked;
}

/** Ids of all jobs, by pages. */
async function listed(): Promise<string[]> {
  const ids: string[] = [];
  for (let before = ""; ; ) {
    const { body } = await client.api.get(`/v1/jobs?limit=100${before && `&before=${before}`}`);
    ids.push(...body.data.map((job: { id: string }) => job.id));
    if (!body.has_more) return ids;
    before = body.next_cursor;
  }
}

/** What the webhook is to be told, in the order of the chain. */
async function told(): Promise<string[]> {
  const reader = createPublicClient({ transport: http(stack.info.rpc_url) });
  const address = stack.info.contracts["InferenceEscrow"] as Address;
  const newest = await reader.getBlockNumber();
  const from = Array.from({ length: Number(newest / RANGE) + 1 }, (_, n) => BigInt(n) * RANGE);
  const ranges = from.map((fromBlock) => ({ fromBlock, toBlock: fromBlock + RANGE - 1n }));
  const parts = await Promise.all(
    ranges.map((range) => reader.getContractEvents({ address, abi: inferenceEscrowAbi, ...range })),
  );
  const events = parts.flat();
  const names: Record<string, string> = { JobLocked: "job.submitted", JobSettled: "job.completed" };
  return events.flatMap(({ eventName, args }) => {
    const name = names[eventName];
    const jobId = (args as { jobId?: Hex }).jobId;
    return name === undefined || jobId === undefined ? [] : [`${name} ${toApiJobId(jobId)}`];
  });
}

it(
  "chat goes on, lists say what they lack, and what was missed follows in the order of the chain",
  async () => {
    const before = await load(2_000);
    const lag = async () => (await client.api.get("/v1/jobs")).headers.get(LAG);
    expect(await eventually(lag, (until) => until === null, 60_000)).toBeNull();
    const { last_topup_at: topup } = (await client.api.get("/v1/account")).body;

    await stack.kill("indexer");
    // What the index cannot know of.
    const reader = createPublicClient({ transport: http(stack.info.rpc_url) });
    const awaySince = Number((await reader.getBlock()).timestamp) * 1000;
    const running = load(AWAY_MS);
    await client.deposit(CREDITS);
    await sleep(AWAY_MS / 2);
    for (const path of ["/v1/jobs", "/v1/account"]) {
      const until = await eventually(
        async () => (await client.api.get(path)).headers.get(LAG),
        (header) => header !== null,
        60_000,
      );
      expect(Date.parse(String(until)), path).toBeLessThanOrEqual(awaySince);
    }
    const asked = [...before, ...(await running)];
    expect(asked.filter(({ outcome }) => outcome !== "answered")).toEqual([]);
    // All of them, far more than a page: what this service did itself is there without the index. What others did is not.
    const jobIds = asked.map(({ jobId }) => jobId as string).toSorted();
    expect((await listed()).toSorted()).toEqual(jobIds);
    const account = (await client.api.get("/v1/account")).body;
    expect(account.last_topup_at).toBe(topup);
    expect(account.credits_remaining).toBeGreaterThan(CREDITS);
    const early = receiver.received.length;

    const backSince = Date.now();
    await stack.restart("indexer");
    await eventually(lag, (until) => until === null, 120_000);
    const caughtUp = Date.now() - backSince;
    expect((await client.api.get("/v1/account")).body.last_topup_at).not.toBe(topup);
    expect((await listed()).toSorted()).toEqual(jobIds);
    const expected = await told();
    const ofJobs = () =>
      receiver.received
        .filter(({ event }) => event.event !== "credit.topup")
        .map(({ event }) => `${event.event} ${event.data.job_id}`);
    await eventually(
      async () => ofJobs().length,
      (count) => count >= expected.length,
      120_000 + AWAY_MS,
    );
    console.log(
      `away ${AWAY_MS} ms: ${asked.length} answers, index complete ${caughtUp} ms after its start, webhooks ${Date.now() - backSince} ms; ` +
        `${expected.length} events, ${early} of them before`,
    );
    expect(ofJobs()).toEqual(expected);
    expect(receiver.names("/jobs").filter((name) => name === "credit.topup")).toHaveLength(1);
  },
  400_000 + 2 * AWAY_MS,
);
