/** Requests without a key whose connections end: which of them a repetition can join, and with what it is answered. */
import { setImmediate } from "node:timers/promises";
import express from "express";
import { pino } from "pino";
import { expect, it, onTestFinished, vi } from "vitest";
import { KeptAnswers } from "../../../../api/jobs/kept-answers.ts";
import { RunningJobs } from "../../../../api/jobs/running-jobs.ts";
import { type ChatDependencies, completeChat } from "../../../../api/routes/chat.ts";
import { errorHandler } from "../../../../api/routes/errors.ts";
import { type CompletedEvent, type DispatchEvents, WorkerFailure } from "../../../../api/workers/worker-client.ts";
import type { Dispatch } from "../../../../protocol/dispatch.ts";
import { newJobId } from "../../../../protocol/job-id.ts";
import {
  fakeGateway,
  type JobParts,
  type Replaced,
  reverted,
  storedJob,
  submission,
} from "../../../support/fake-gateway.ts";
import { ask, chatParts, readerOf, runJob, signingWorker, spending } from "../../support/jobs.ts";
import { serve } from "../../support/serve.ts";

const host = signingWorker();
const now = Math.floor(Date.now() / 1000);

type Worker = (offer: Dispatch, events: DispatchEvents) => Promise<CompletedEvent>;
const breaksOff: Worker = async () => {
  throw new WorkerFailure("unreachable", "gone", false);
};
const answersNothing: Worker = async ({ assignment: { jobId } }) => host.complete(jobId, "", { completedAt: now });

const thinks: Worker = async ({ assignment: { jobId } }, events) => {
  events.reasoning("thought ".repeat(100));
  events.delta("The answer.");
  return host.complete(jobId, "The answer.", { completedAt: now, reasoningTokens: 100 });
};

/** A gateway with one worker, and the jobs that a repetition may join there. */
function gateway(worker: Worker, parts: Replaced = {}) {
  const joinable: string[] = [];
  const jobs = fakeGateway({
    time: now,
    balances: spending(null),
    choose: (excluded) => (excluded.has(host.signer) ? undefined : host),
    client: { dispatch: (_endpoint: string, offer: Dispatch, events: DispatchEvents) => worker(offer, events) },
    abandoned: {
      take: async () => null,
      add: async (_request: object, jobId: string) => void joinable.push(jobId),
      close: async () => true,
    },
    ...parts,
  });
  return { jobs, joinable };
}

/** Serves the chat route of a gateway with these tables. */
async function serveChat(jobs: JobParts, more: Partial<ChatDependencies> = {}): Promise<string> {
  const app = express();
  app.post("/", express.json(), (request, response, next) => {
    const received = { client: { wallet: jobs.account.address }, bodyHash: Buffer.alloc(32), receivedAt: 0 };
    const whileWaiting = (work: (signal: AbortSignal) => unknown) => work(new AbortController().signal);
    Object.assign(request, received, { kept: { keep: () => {}, until: () => {}, whileWaiting } });
    return completeChat(chatParts(jobs, more))(request, response, next);
  });
  return serve(app.use(errorHandler("", pino({ level: "silent" }))));
}

function send(url: string, stream: boolean): Promise<Response> {
  const body = { model: "m", messages: [{ role: "user", content: "Hi" }], max_tokens: 100, stream };
  const headers = { "content-type": "application/json" };
  return fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
}

it.each([
  ["a refusal before the first byte", breaksOff, 503],
  ["an empty answer", answersNothing, 200],
])("a stream that ended with %s is not joined: its client has it all", async (_, worker, status) => {
  const { jobs, joinable } = gateway(worker);
  const left = vi.fn();
  Object.assign(jobs.store, { left: async () => left() });
  const reply = await send(await serveChat(jobs), true);
  expect(reply.status).toBe(status);
  await reply.text();
  // The connection's end is noted once the gateway has heard of it.
  await expect.poll(() => left.mock.calls.length).toBe(1);
  expect(joinable).toEqual([]);
});

it("a database that is away while a refused job is closed ends no process", async () => {
  let closes = 0;
  const close = async () => {
    closes += 1;
    throw new Error("the database is away");
  };
  const { jobs } = gateway(breaksOff, {
    abandoned: { close },
    pipeline: { submit: () => submission(reverted("Limits_Frozen")) },
  });
  const unhandled = vi.fn();
  process.on("unhandledRejection", unhandled);
  onTestFinished(() => void process.off("unhandledRejection", unhandled));
  await expect(ask(jobs, { destroyed: true })).rejects.toMatchObject({ code: "spending_frozen" });
  await expect.poll(() => closes).toBe(1);
  await setImmediate();
  expect(unhandled).not.toHaveBeenCalled();
});

it("a repetition that joins a job elsewhere is told of the settlement on its way", async () => {
  const jobId = newJobId();
  const { completion, signature, finish_reason } = await host.complete(jobId, "The answer.", { completedAt: now });
  const row = storedJob({
    jobId,
    state: "settling",
    worker: host.signer,
    countedTokens: 4,
    completion: { completion, signature, finish_reason },
  });
  const { jobs } = gateway(breaksOff, { abandoned: { take: async () => jobId }, store: { find: async () => row } });
  const sealed = { output: async () => Buffer.from("encrypted") };
  const kept = new KeptAnswers(sealed, { decrypt: () => "The answer." });
  const reader = readerOf([{ jobId, hash: "0x5e771e" }]);
  const reply = await send(await serveChat(jobs, { reader, kept }), false);
  expect([reply.status, reply.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
  expect(reply.headers.get("x-service-settlement-tx")).toBe("0x5e771e");
});

it.each([false, true])(
  "a repetition that joins an answered job gets no reasoning, which nobody pays for: stream %s",
  async (stream) => {
    const jobId = newJobId();
    const { jobs } = gateway(thinks, { abandoned: { take: async () => jobId } });
    const run = runJob(jobs, { jobId, showReasoning: true });
    const { settling } = await run.completed;
    expect(settling.countedTokens).toBe(4);
    // Its settlement is not mined yet.
    const runs = Object.assign(new RunningJobs(), { find: () => run });
    const reply = await (await send(await serveChat(jobs, { runs }), stream)).text();
    expect(reply).toContain("The answer.");
    expect(reply).not.toContain("thought");
  },
);
