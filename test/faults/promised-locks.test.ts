/**
 * Gateways that are killed (SIGKILL) while the locks of their jobs are only promised: the clients have had tokens, and no block has the jobs. Then the
 * sequencer keeps its promise or breaks it, and the gateway comes back or another one takes its jobs over. The sequencer is the stand-in of
 * scripts/dev/sequencer.ts. The tests make the blocks: what happens before one happens without it.
 */
import { randomUUID } from "node:crypto";
import type pg from "pg";
import type { Address } from "viem";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Finding, type JobReport, verified } from "../../client/index.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import { rpc } from "../../scripts/dev/chain.ts";
import type { Sequencer } from "../../scripts/dev/sequencer.ts";
import { type ApiClient, apiClient, chat, eventually, JSON_TYPE, readStream } from "../support/api-client.ts";
import type { ChainReader } from "../support/chain-reader.ts";
import type { Client } from "../support/client.ts";
import { giveGas } from "../support/gas.ts";
import { BLOCK_SECONDS, CREDITS, type PromisedStack, startPromisedStack } from "../support/promised-stack.ts";
import { SECOND_ADDRESS, SECOND_KEY, SecondGateway } from "../support/second-gateway.ts";
import type { TestStack } from "../support/stack.ts";
import { checkLedger, readStories } from "../support/stories.ts";
import { verifyJson } from "../verify/support/cli.ts";

const MODEL = "qwen3-8b";
/** A slow machine starts a gateway again within it. A test that needs it over moves the chain's clock. */
const LOCK_SECONDS = 120;
const BODY = chat(MODEL, "Tell me. [[tokens:20]]", { stream: true });

let promised: PromisedStack;
let sequencer: Sequencer;
let stack: TestStack;
let second: SecondGateway;
let store: pg.Pool;
let chain: ChainReader;
let client: Client;
/** The client through the stack's own gateway, and through the second one. */
let api: ApiClient;
let other: ApiClient;
/** Jobs that clients paid for, and those that came to nothing, as the tests expect it. */
const paid = new Set<string>();
const unpaid = new Set<string>();

const mine = () => promised.mine();
const mineBlocks = () => promised.mineBlocks();

beforeAll(async () => {
  promised = await startPromisedStack({
    env: {
      api: { LOCK_SECONDS: String(LOCK_SECONDS) },
      // A worker does not settle by itself what the gateways do.
      workers: { WORKER_SETTLEMENT_POLL_MS: "200", WORKER_SELF_SETTLE_AFTER: "600" },
    },
    workers: [{ models: [MODEL] }, { models: [MODEL] }],
    gatewayKeys: [SECOND_KEY],
  });
  ({ sequencer, stack, store, chain, client } = promised);
  await giveGas(stack, SECOND_ADDRESS, "10");
  second = new SecondGateway(stack, stack.options.env.api);
  api = client.api;
});
afterEach(() => promised.stopMining());
afterAll(async () => {
  await second?.kill();
  await promised?.remove();
});

type Begun = { jobId: string; lockTx: string; over: Promise<unknown> };

const send = (at: ApiClient, key?: string) =>
  at.send(
    "POST",
    "/v1/chat/completions",
    { ...JSON_TYPE, ...(key && { "idempotency-key": key }) },
    JSON.stringify(BODY),
  );

const untilListed = (at: ApiClient) =>
  eventually(
    () => at.get("/v1/models"),
    ({ body }) => body.data.some(({ id }: { id: string }) => id === MODEL),
  );

/** Begins a streamed job; resolves when something of the answer is said. With a key its request can be sent again. */
async function begin(at: ApiClient, key?: string): Promise<Begun> {
  await untilListed(at);
  const response = await send(at, key);
  expect(response.status).toBe(200);
  const { headers } = response;
  return {
    jobId: headers.get("x-service-job-id") as string,
    lockTx: headers.get("x-service-tx-hash") as string,
    over: readStream(response).catch(() => "cut"),
  };
}

const onChain = async ({ jobId }: Begun) => (await chain.job(jobId)).status;

/** Kills a gateway whose jobs no block has. */
async function kill(gateway: () => Promise<unknown>, ...jobs: Begun[]): Promise<void> {
  await gateway();
  for (const job of jobs) {
    expect(await job.over).toBe("cut");
    expect(await onChain(job)).toBe(ChainStatus.None);
  }
}

/** Starts the stack's own gateway again. Once it answers, it has taken up what it left, and blocks are made: it takes no jobs before one. */
async function restart(...jobs: Begun[]): Promise<void> {
  const restarted = stack.restart("api");
  await eventually(
    async () => (await fetch(`${stack.info.base_url}/readyz`).catch(() => null))?.status,
    (status) => status === 503,
  );
  for (const job of jobs) expect(await onChain(job)).toBe(ChainStatus.None);
  mineBlocks();
  await restarted;
}

async function startSecond(): Promise<void> {
  await second.start();
  other = apiClient({ info: { ...stack.info, base_url: second.url } }, client.apiKey);
}

/** The chain's end of a job, which its lock came to in the transaction that was promised. */
async function ended({ jobId, lockTx }: Begun) {
  const ends: number[] = [ChainStatus.Settled, ChainStatus.Failed];
  await eventually(
    () => chain.job(jobId),
    ({ status }) => ends.includes(status),
  );
  const { events } = await chain.transaction(lockTx as `0x${string}`, jobId);
  expect(events.map(({ eventName }) => eventName)).toContain("JobLocked");
  const { body } = await eventually(
    () => api.get(`/v1/jobs/${jobId}`),
    (reply) => ["settled", "failed"].includes(reply.body.status),
  );
  expect(body.on_chain.escrow_tx).toBe(lockTx);
  return body;
}

/** The repetition of a request gets this job's whole answer. */
async function repeated(reply: Response, jobId: string): Promise<void> {
  expect(reply.headers.get("x-service-job-id")).toBe(jobId);
  expect((await readStream(reply)).at(-1)).toBe("[DONE]");
}

/** Both jobs end as those of a gateway that is killed after their locks were mined: who can have the answer pays for it. */
async function endAsOthers(repeatable: Begun, single: Begun): Promise<void> {
  expect(await ended(repeatable)).toMatchObject({ status: "settled" });
  expect(await ended(single)).toMatchObject({ status: "failed", credits_charged: 0 });
  paid.add(repeatable.jobId);
  unpaid.add(single.jobId);
}

describe("a gateway that is killed while a lock is only promised", () => {
  const killFirst = () => stack.kill("api");

  it("takes the promise up after its restart, and the block brings the answer", async () => {
    const key = randomUUID();
    const [repeatable, single] = [await begin(api, key), await begin(api)];
    await kill(killFirst, repeatable, single);
    await restart(repeatable, single);
    await repeated(await send(api, key), repeatable.jobId);
    await endAsOthers(repeatable, single);
  });

  it("finds what was mined while it was away", async () => {
    const key = randomUUID();
    const [repeatable, single] = [await begin(api, key), await begin(api)];
    await kill(killFirst, repeatable, single);
    await mine();
    expect(await onChain(repeatable)).toBe(ChainStatus.Locked);
    await stack.restart("api");
    mineBlocks();
    await endAsOthers(repeatable, single);
    await repeated(await send(api, key), repeatable.jobId);
  });

  it("sends the same bytes again where the promise was broken", async () => {
    const key = randomUUID();
    const [repeatable, single] = [await begin(api, key), await begin(api)];
    await kill(killFirst, repeatable, single);
    await sequencer.breakPromises();
    await mine();
    await restart(repeatable, single);
    await repeated(await send(api, key), repeatable.jobId);
    await endAsOthers(repeatable, single);
  });
});

describe("another gateway", () => {
  const gatewayOf = async ({ jobId }: Begun): Promise<string> =>
    (await store.query("SELECT gateway FROM job WHERE job_id = $1", [jobId])).rows[0]?.gateway;
  const takenOver = (job: Begun) =>
    eventually(
      () => gatewayOf(job),
      (gateway) => gateway !== SECOND_ADDRESS.toLowerCase(),
    );
  const killSecond = () => second.kill();

  it("takes over the jobs of one that is killed, and ends them with their block", async () => {
    await startSecond();
    const key = randomUUID();
    const [repeatable, single] = [await begin(other, key), await begin(other)];
    await kill(killSecond, repeatable, single);
    await takenOver(repeatable);
    expect(await onChain(repeatable)).toBe(ChainStatus.None);
    const again = send(api, key);
    mineBlocks();
    await repeated(await again, repeatable.jobId);
    await endAsOthers(repeatable, single);
  });

  it("ends them too when the killed one returns and sends what a broken promise lost", async () => {
    await startSecond();
    const key = randomUUID();
    const [repeatable, single] = [await begin(other, key), await begin(other)];
    await kill(killSecond, repeatable, single);
    await sequencer.breakPromises();
    await mine();
    await takenOver(repeatable);
    expect(await onChain(repeatable)).toBe(ChainStatus.None);
    const again = send(api, key);
    mineBlocks();
    await second.start();
    await repeated(await again, repeatable.jobId);
    await endAsOthers(repeatable, single);
    expect(await gatewayOf(repeatable)).not.toBe(SECOND_ADDRESS.toLowerCase());
  });
});

/** The client package, whose findings and reports the test reads. */
function checkingClient() {
  const findings: Finding[] = [];
  const reports: JobReport[] = [];
  const fetch = verified({
    rpcUrl: stack.info.rpc_url,
    escrow: stack.info.contracts["InferenceEscrow"] as Address,
    wallet: client.account.address,
    onFinding: (finding) => findings.push(finding),
    onJob: (report) => reports.push(report),
  });
  const ask = () =>
    fetch(`${stack.info.base_url}/v1/chat/completions`, {
      method: "POST",
      headers: { ...JSON_TYPE, authorization: `Bearer ${client.apiKey}` },
      body: JSON.stringify(BODY),
    });
  const begun = async (): Promise<Begun> => {
    await untilListed(api);
    const response = await ask();
    expect(response.status).toBe(200);
    return {
      jobId: response.headers.get("x-service-job-id") as string,
      lockTx: response.headers.get("x-service-tx-hash") as string,
      over: readStream(response).catch(() => "cut"),
    };
  };
  return { fetch, ask, begun, findings, reports };
}

describe("the client package", () => {
  it("finds nothing wrong with a job whose gateway was killed before its block", async () => {
    const { fetch, ask, begun, findings, reports } = checkingClient();
    const job = await begun();
    await kill(() => stack.kill("api"), job);
    await mine();
    await stack.restart("api");
    // The program has its answer before the charge is mined: a charge for half of it would be told.
    await repeated(await ask(), job.jobId);
    mineBlocks();
    await fetch.checked();
    expect(await ended(job)).toMatchObject({ status: "settled" });
    paid.add(job.jobId);
    expect(findings).toEqual([]);
    expect(reports.at(-1)).toMatchObject({ jobId: job.jobId, holds: true, status: "settled" });
  });
});

// The last tests: they move the clock of the chain.
describe("a promise that is broken for good", () => {
  const lockTimeOver = async () => {
    await rpc(stack.info.rpc_url, "evm_increaseTime", [LOCK_SECONDS + BLOCK_SECONDS]);
    await mine();
  };
  const stateOf = async ({ jobId }: Begun) =>
    (await store.query("SELECT state FROM job WHERE job_id = $1", [jobId])).rows[0]?.state;
  const cameToNothing = async (...jobs: Begun[]) => {
    for (const job of jobs) {
      await eventually(
        () => stateOf(job),
        (state) => state === "unlocked",
        120_000,
      );
      expect(await onChain(job)).toBe(ChainStatus.None);
      expect((await api.get(`/v1/jobs/${job.jobId}`)).status).toBe(404);
      unpaid.add(job.jobId);
    }
  };
  /** The repetition of a request whose job came to nothing runs as a job of its own. */
  const runsAnew = async (reply: Response, before: Begun) => {
    expect(reply.status).toBe(200);
    const jobId = reply.headers.get("x-service-job-id") as string;
    expect(jobId).not.toBe(before.jobId);
    await repeated(reply, jobId);
    // The next test moves the clock of the chain, past the time of what is not settled yet.
    await eventually(
      () => chain.job(jobId),
      ({ status }) => status === ChainStatus.Settled,
    );
    paid.add(jobId);
  };

  it("costs nobody anything when the gateway comes back too late; the key is free", async () => {
    const key = randomUUID();
    const checking = checkingClient();
    const [repeatable, single, checked] = [await begin(api, key), await begin(api), await checking.begun()];
    await kill(() => stack.kill("api"), repeatable, single, checked);
    await sequencer.breakPromises();
    await lockTimeOver();
    await restart(repeatable, single, checked);
    await runsAnew(await send(api, key), repeatable);
    await cameToNothing(repeatable, single, checked);
    await checking.fetch.checked();
    expect(checking.findings).toMatchObject([{ kind: "wrong", id: "lock.found", jobId: checked.jobId }]);
    expect(checking.reports).toMatchObject([{ jobId: checked.jobId, status: null, creditsCharged: 0 }]);
  });

  it("costs nobody anything when another gateway took the jobs over; the key is free", async () => {
    await startSecond();
    const key = randomUUID();
    const [repeatable, single] = [await begin(other, key), await begin(other)];
    await kill(() => second.kill(), repeatable, single);
    await sequencer.breakPromises();
    await lockTimeOver();
    const again = send(api, key);
    mineBlocks();
    await runsAnew(await again, repeatable);
    await cameToNothing(repeatable, single);
  });
});

it("the books agree: each lock has one end, and the audits name what was paid", async () => {
  mineBlocks();
  const stories = await eventually(
    () => readStories(stack),
    (seen) => [...paid].every((jobId) => seen.get(jobId)?.settled === 1),
  );
  for (const [jobId, { locked, settled, failed, refunded }] of stories)
    expect([jobId, locked, settled + failed + refunded]).toEqual([jobId, 1, 1]);
  for (const jobId of unpaid) expect(stories.get(jobId)?.settled ?? 0).toBe(0);
  const problems: string[] = [];
  await checkLedger(stack, problems);
  expect(problems).toEqual([]);

  const { free, escrowed } = await chain.account(client.account.address);
  const at = ["--rpc", stack.info.rpc_url, "--escrow", stack.info.contracts["InferenceEscrow"] as string];
  const { code, report } = await verifyJson(["wallet", client.account.address, ...at]);
  expect([code, report.holds]).toEqual([0, true]);
  expect(report.jobs).toMatchObject({ settled: paid.size, open: 0 });
  expect([escrowed, report.credits.charged]).toEqual([0, CREDITS - free]);
  for (const jobId of paid) expect((await verifyJson(["job", jobId, ...at])).code).toBe(0);
});
