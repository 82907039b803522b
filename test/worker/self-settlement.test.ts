import { parseEther } from "viem";
import { generatePrivateKey } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { answerHash } from "../../protocol/answer-hash.ts";
import { testStablecoinAbi } from "../../protocol/generated/abi.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import { gateway, newWorker, startChain, type TestChain, type TestWorker } from "./support/chain.ts";
import { type Daemon, startDaemon } from "./support/daemon.ts";
import { acknowledge, dispatch, type Job, lockJob } from "./support/dispatch.ts";
import { until } from "./support/processes.ts";

/** Seconds. No test waits for the inclusion window in real time: a slow machine has all of it. */
const WINDOWS = { completion: 40, inclusion: 120, finalization: 3 };

let chain: TestChain;
/** quick: proves a second after the end, and has no gas at first. patient: as configured by default. slow: 20 tokens a second. mute: none. */
const names = ["quick", "patient", "slow", "mute"] as const;
type Name = (typeof names)[number];
const workers = {} as Record<Name, TestWorker>;
const daemons = {} as Record<Name, Daemon>;
const settings: Record<Name, Record<string, string>> = {
  quick: { WORKER_SELF_SETTLE_AFTER: "1" },
  patient: {},
  slow: { WORKER_SELF_SETTLE_AFTER: "0", WORKER_TOKENS_PER_SECOND: "20", WORKER_ACKNOWLEDGE_MARGIN: "9" },
  mute: { WORKER_FIRST_TOKEN_MS: "600000" },
};

const status = async (job: Job) => (await chain.jobOf(job.assignment.jobId)).status;
const reaches = (job: Job, wanted: number) =>
  until(`status ${wanted}`, async () => (await status(job)) === wanted, 90_000);
/** When the chain saw an event of the job: a state is over after some seconds, its event stays. */
const timeOf = async (eventName: "JobAcknowledged" | "JobProven", job: Job): Promise<number> => {
  const { jobId } = job.assignment;
  const question = { ...chain.escrow, eventName, args: { jobId }, fromBlock: 0n } as const;
  const find = async () => (await chain.rpc.getContractEvents(question)).at(0);
  const { blockNumber } = await until(`${eventName} of ${jobId}`, find, 90_000);
  return Number((await chain.rpc.getBlock({ blockNumber: blockNumber as bigint })).timestamp);
};
const earned = (worker: TestWorker) => {
  const { Stablecoin } = chain.deployment.contracts;
  return chain.rpc.readContract({
    address: Stablecoin,
    abi: testStablecoinAbi,
    functionName: "balanceOf",
    args: [worker.address],
  });
};

beforeAll(async () => {
  chain = await startChain(WINDOWS);
  for (const name of names) workers[name] = await newWorker(generatePrivateKey(), ["qwen3-8b"]);
  await chain.register(Object.values(workers));
  for (const name of names) {
    if (name !== "quick") await chain.rpc.setBalance({ address: workers[name].address, value: parseEther("1") });
  }
  await Promise.all(
    names.map(async (name) => {
      daemons[name] = await startDaemon(chain, workers[name], { WORKER_SETTLEMENT_POLL_MS: "1000", ...settings[name] });
    }),
  );
});

afterAll(async () => {
  await Promise.all(Object.values(daemons).map((daemon) => daemon.end("SIGTERM")));
  await chain?.stop();
});

describe.concurrent("when the gateway stays silent", () => {
  it("acknowledges, proves and finalizes by itself, or says what gas it lacks", async () => {
    const job = await lockJob(chain, workers.quick, { prompt: "[[tokens:1500]]" });
    const { completed } = await dispatch(workers.quick, job);
    const { address } = workers.quick;
    const complaint = await until("the log says so", async () =>
      daemons.quick.logs().find((line) => line.level === 50),
    );
    expect(complaint).toMatchObject({ account: address, calls: ["acknowledge", "submitProof"], balance: "0" });
    expect(complaint.msg).toMatch(/send native currency/);
    await chain.rpc.setBalance({ address, value: parseEther("1") });
    await reaches(job, ChainStatus.Settled);
    expect(completed?.completion.completionTokens).toBe(1500);
    expect(await timeOf("JobProven", job)).toBeGreaterThan(0);
    expect(await chain.jobOf(job.assignment.jobId)).toMatchObject({ attempt: 1 });
    // 1,500 tokens at 4 credits a thousand, but never below 8; the treasury's share is 10 %.
    expect(await earned(workers.quick)).toBe(8n * 10_000n - 8n * 1_000n);
    // Its gateway may come back for the answer.
    expect(await daemons.quick.health()).toMatchObject({ unsettled: 1 });
  });

  it("acknowledges a running job in time, and proves what there is at its end", async () => {
    // Eighty seconds of text. Nine seconds are for the acknowledgement, which begins well before the answer is ended.
    const job = await lockJob(chain, workers.slow, { prompt: "[[tokens:1600]]", acknowledgeIn: 36 });
    const { text, completed } = await dispatch(workers.slow, job);
    expect(completed).toMatchObject({ finish_reason: "length", completion: { proofHash: answerHash(text) } });
    expect(completed?.completion.completionTokens).toBeGreaterThan(100);
    expect(completed?.completion.completionTokens).toBeLessThan(20 * WINDOWS.completion);
    const acknowledgedAt = await timeOf("JobAcknowledged", job);
    expect(acknowledgedAt).toBeLessThanOrEqual(job.assignment.acknowledgeBy);
    expect(acknowledgedAt).toBeLessThanOrEqual(completed?.completion.completedAt ?? 0);
    await timeOf("JobProven", job);
  });

  it("gives a job up that has no text when the completion window closes", async () => {
    const job = await lockJob(chain, workers.mute);
    const streamed = await dispatch(workers.mute, job);
    expect(streamed.error?.code).toBe("job_timeout");
    expect(streamed.completed).toBeNull();
  });

  it("stops working on a job that its gateway has failed", async () => {
    const job = await lockJob(chain, workers.slow, { prompt: "[[tokens:2000]]" });
    const running = dispatch(workers.slow, job);
    const { jobId } = job.assignment;
    await until("the job runs", async () =>
      daemons.slow.logs().some((line) => line.msg === "job taken" && line.jobId === jobId),
    );
    await chain.send(gateway, "fail", [jobId, 1]);
    expect((await running).error?.code).toBe("superseded");
  });
});

// The last test: it moves the clock of the chain.
it("waits until half the inclusion window is left, unless told otherwise", async () => {
  const job = await lockJob(chain, workers.patient);
  const { acknowledgement } = await dispatch(workers.patient, job);
  await acknowledge(chain, job, acknowledgement ?? "0x");
  const { lockedAt } = await chain.jobOf(job.assignment.jobId);
  const due = lockedAt + WINDOWS.completion + WINDOWS.inclusion / 2;
  await chain.rpc.setNextBlockTimestamp({ timestamp: BigInt(due - 4) });
  await chain.rpc.setIntervalMining({ interval: 1 });
  const provenAt = await timeOf("JobProven", job);
  expect(provenAt).toBeGreaterThanOrEqual(due);
  expect(provenAt).toBeLessThan(lockedAt + WINDOWS.completion + WINDOWS.inclusion);
});
