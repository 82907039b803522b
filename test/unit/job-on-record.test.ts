/** A client that was told a job's id finds the job, also where the database is slow to write its row. */
import { pino } from "pino";
import { generatePrivateKey } from "viem/accounts";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { JobContext } from "../../api/jobs/context.ts";
import { JobRun, Stages } from "../../api/jobs/job.ts";
import { type DispatchEvents, WorkerFailure } from "../../api/jobs/worker-client.ts";
import { newJobId } from "../../protocol/job-id.ts";
import { signingAccount } from "../../shared/secp256k1.ts";
import { rowsInMemory } from "../support/job-rows.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A run whose worker does what `worker` says, and whose lock is written when `write` resolves. Its promises, and what has resolved. */
async function run(write: Promise<void>, worker: (events: DispatchEvents) => Promise<never>) {
  const now = Math.floor(Date.now() / 1000);
  const events = [{ name: "JobLocked", args: { credits: 8, account: 0n }, position: 1 }];
  const mined = { status: "mined", hash: "0x10", blockNumber: 1, blockTime: now, events };
  const context = {
    account: signingAccount(generatePrivateKey()),
    chainId: 1,
    escrow: `0x${"e5".repeat(20)}`,
    times: { completion: 120, inclusion: 30, acknowledge: 10, firstToken: 60, lock: 20 },
    head: { time: now, refresh: async () => {} },
    isOver: async () => false,
    pipeline: {
      congested: false,
      submit: () => ({ sent: Promise.resolve("0x10"), mined: Promise.resolve(mined) }),
    },
    balances: { hold: async () => () => {} },
    workers: {
      reserve: () => () => {},
      choose: () => ({ signer: `0x${"11".repeat(20)}`, endpoint: "https://worker.example" }),
      begin: () => ({ firstToken: () => {}, end: () => {} }),
      report: () => {},
    },
    client: { dispatch: (_endpoint: string, _body: object, handlers: DispatchEvents) => worker(handlers) },
    ...rowsInMemory(),
    record: { written: () => write },
    refused: new Map(),
    logger: pino({ level: "silent" }),
  } as unknown as JobContext;
  const model = { number: 1, id: "m", tier: "lite", creditsPerRequest: 8, creditsPer1kTokens: 4 };
  const request = { messages: [], max_tokens: 100 };
  const { address: wallet } = context.account;
  const job = new JobRun(context, {
    jobId: newJobId(),
    wallet,
    model,
    request,
    credits: 8,
    authorization: null,
    stages: new Stages(),
  } as never);
  const told: string[] = [];
  const note = (what: string) => () => void told.push(what);
  job.firstToken.then(note("first token"), () => {});
  job.completed.catch(note("error"));
  await job.locked;
  await vi.advanceTimersByTimeAsync(100);
  return { answer: job.answer, told };
}

const stillWriting = ({ delta }: DispatchEvents) => {
  delta("Hello");
  return new Promise<never>(() => {});
};

it("the first token waits for the row of the job's lock", async () => {
  const { promise: write, resolve: written } = Promise.withResolvers<void>();
  const { answer, told } = await run(write, stillWriting);
  expect([answer.text, told]).toEqual(["Hello", []]);
  written();
  await vi.advanceTimersByTimeAsync(1);
  expect(told).toEqual(["first token"]);
});

it("so does an error, which names the job as well", async () => {
  const { promise: write, resolve: written } = Promise.withResolvers<void>();
  const { told } = await run(write, async ({ delta }) => {
    delta("Hel");
    throw new WorkerFailure("broken_stream", "gone", true);
  });
  expect(told).toEqual([]);
  written();
  await vi.advanceTimersByTimeAsync(1);
  expect(told).toEqual(["first token", "error"]);
});
