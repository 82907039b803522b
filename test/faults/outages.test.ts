/**
 * What is down for a while under load, and what webhooks and lists make of it: the index, then a gateway that is told to stop, then two
 * gateways that are killed again and again while events flow.
 * INDEX_AWAY_SECONDS sets for how long the index is away (10); test/README.md tells of five minutes. WEBHOOK_CRASH_EVENTS sets how many events
 * (60), WEBHOOK_CRASH_KILLS how many kills (3: one of each kind).
 */
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { type Address, createPublicClient, type Hex, http } from "viem";
import { afterAll, beforeAll, expect, it } from "vitest";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { eventually } from "../support/api-client.ts";
import { Client, openStore } from "../support/client.ts";
import { untilIndexed } from "../support/indexed.ts";
import { answer, Receiver } from "../support/receiver.ts";
import { ask, type RecordedRequest } from "../support/recorded-request.ts";
import { MASTER_KEY, SECOND_KEY, SecondGateway } from "../support/second-gateway.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";

const AWAY_MS = Number(process.env["INDEX_AWAY_SECONDS"] ?? 10) * 1000;
/** Between two requests of a client: more than a page of jobs come of it, and no core is busy with them alone. */
const PAUSE_MS = 100;
const CREDITS = 100_000;
const LAG = "indexed-until";
const MODEL = "qwen3-1.7b";
/** Blocks whose events are asked for at once: an answer has a largest size. */
const RANGE = 500n;
const EVENTS = Number(process.env["WEBHOOK_CRASH_EVENTS"] ?? 60);
const KILLS = Number(process.env["WEBHOOK_CRASH_KILLS"] ?? 3);
const PATHS = ["/one", "/two", "/three", "/four", "/five"];

let stack: TestStack;
let pool: pg.Pool;
let receiver: Receiver;
let second: SecondGateway;

beforeAll(async () => {
  stack = await startTestStack({
    workers: [{ models: [MODEL] }],
    gatewayKeys: [SECOND_KEY],
    env: {
      // One at a time, so that the order in which they are sent is the order in which they come.
      api: { MASTER_KEY, LOG_LEVEL: "warn", WEBHOOK_CONCURRENCY_EACH: "1" },
      workers: { WORKER_FIRST_TOKEN_MS: "20" },
    },
  });
  pool = openStore(stack);
  receiver = await Receiver.open();
  second = new SecondGateway(stack);
});
afterAll(async () => {
  receiver?.close();
  await second?.kill();
  await pool?.end();
  await stack?.remove();
});

/** Requests of three clients, one after the other, for so long. */
async function load(client: Client, ms: number): Promise<RecordedRequest[]> {
  const end = Date.now() + ms;
  const asked: RecordedRequest[] = [];
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
async function listed(client: Client): Promise<string[]> {
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
  "while the index is away chat goes on, and what was missed follows in order",
  async () => {
    const client = await Client.create(stack, pool, 2 * CREDITS);
    await client.deposit(CREDITS);
    await client.webhook(receiver.url("/jobs"), ["job.submitted", "job.completed", "credit.topup"]);
    const before = await load(client, 2_000);
    const lag = async () => (await client.api.get("/v1/jobs")).headers.get(LAG);
    expect(await eventually(lag, (until) => until === null, 60_000)).toBeNull();
    const { last_topup_at: topup } = (await client.api.get("/v1/account")).body;

    await stack.kill("indexer");
    // What the index cannot know of.
    const reader = createPublicClient({ transport: http(stack.info.rpc_url) });
    const awaySince = Number((await reader.getBlock()).timestamp) * 1000;
    const running = load(client, AWAY_MS);
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
    expect((await listed(client)).toSorted()).toEqual(jobIds);
    const account = (await client.api.get("/v1/account")).body;
    expect(account.last_topup_at).toBe(topup);
    expect(account.credits_remaining).toBeGreaterThan(CREDITS);
    const early = receiver.received.length;

    const backSince = Date.now();
    await stack.restart("indexer");
    await eventually(lag, (until) => until === null, 120_000);
    const caughtUp = Date.now() - backSince;
    expect((await client.api.get("/v1/account")).body.last_topup_at).not.toBe(topup);
    expect((await listed(client)).toSorted()).toEqual(jobIds);
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

const first = {
  kill: () => stack.kill("api"),
  stop: () => stack.kill("api", "SIGTERM"),
  start: () => stack.restart("api"),
  /** Whether it takes requests: not any more once it knows that it stops. */
  isReady: () =>
    fetch(`${stack.info.base_url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    ),
};

/** How many deliveries of these webhooks there are in each state. */
async function deliveries(ids: string[]): Promise<Record<string, number>> {
  const text = "SELECT status, count(*) FROM webhook_delivery WHERE webhook_id = ANY ($1) GROUP BY status";
  const { rows } = await pool.query<{ status: string; count: number }>(text, [ids]);
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}

it("a stopped gateway waits for running attempts, and leaves the rest", async () => {
  const client = await Client.create(stack, pool, 1_000);
  const asked = new Promise<ServerResponse>((resolve) => receiver.behave("/stopped", resolve));
  const { id } = await client.webhook(receiver.url("/stopped"), ["credit.topup"]);
  await client.deposit(100);
  const response = await asked;
  const stopped = first.stop();
  // The answer comes to a gateway that has been told to stop.
  await eventually(first.isReady, (ready) => !ready);
  response.end("in the end");
  await stopped;
  receiver.behave("/stopped", answer(200));
  expect(await deliveries([id])).toEqual({ delivered: 1 });
  await client.deposit(100);
  await first.start();
  await eventually(
    () => deliveries([id]),
    ({ delivered }) => delivered === 2,
  );
  expect(receiver.to("/stopped")).toHaveLength(2);
});

/** Runs `action` when the next request is there: `during` keeps its answer back, `after` sends it first. */
function atNextRequest(when: "during" | "after", action: () => Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    let armed = true;
    for (const path of PATHS) {
      receiver.behave(path, (response) => {
        if (!armed) return void response.end();
        armed = false;
        if (when === "after") response.end();
        // An answer that is kept back is never given: the process that waits for it is gone.
        action().then(resolve, reject);
      });
    }
  });
}

it("gateways that are killed lose no event and deliver each under one id", async () => {
  const client = await Client.create(stack, pool, EVENTS * 100 + 1_000);
  await client.deposit(100);
  await untilIndexed(stack);
  const webhooks = await Promise.all(PATHS.map((path) => client.webhook(receiver.url(path), ["credit.topup"])));
  await second.start();

  const sent: Hex[] = [];
  const gateways = [first, second];
  for (let kill = 0; kill < KILLS; kill += 1) {
    const victim = gateways[kill % 2] as (typeof gateways)[number];
    const dead =
      kill % 3 === 2
        ? sleep(Math.random() * 300).then(() => victim.kill())
        : atNextRequest(kill % 3 === 0 ? "during" : "after", () => victim.kill());
    const share = Math.floor((EVENTS - sent.length) / (KILLS - kill));
    const [hashes] = await Promise.all([client.depositOften(share, 100), dead]);
    sent.push(...hashes);
    await victim.start();
  }

  const missing = () =>
    PATHS.map((path) => {
      const told = new Set(receiver.to(path).map(({ event }) => event.data.topup_tx));
      return sent.filter((hash) => !told.has(hash)).length;
    });
  // What a killed gateway held is free again when its lease of 20 s is over.
  expect(sent).toHaveLength(EVENTS);
  await eventually(
    async () => missing(),
    (counts) => counts.every((count) => count === 0),
    150_000,
  );

  for (const path of PATHS) {
    const told = receiver.to(path).map(({ event }) => `${event.data.topup_tx} ${event.id}`);
    // Nothing but these events, and dropping repeated ids leaves each exactly once.
    expect(new Set(told).size).toBe(EVENTS);
    expect(new Set(receiver.to(path).map(({ event }) => event.id)).size).toBe(EVENTS);
  }
  const left = await eventually(
    () => deliveries(webhooks.map(({ id }) => id)),
    (counts) => Object.keys(counts).every((status) => status === "delivered"),
  );
  expect(left).toEqual({ delivered: EVENTS * PATHS.length });
  const lost = await pool.query(
    "SELECT count(*) FROM webhook_attempt WHERE error LIKE 'the gateway%stopped during this attempt%'",
  );
  expect(lost.rows[0].count).toBeGreaterThan(0);
});
