/** A client that was told a job's id finds the job, also where the database is slow to write its row. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type DispatchEvents, WorkerFailure } from "../../../../api/workers/worker-client.ts";
import { fakeGateway, registered } from "../../../support/fake-gateway.ts";
import { runJob } from "../../support/jobs.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A run whose worker does what `worker` says, and whose lock is written when `write` resolves. Its promises, and what has resolved. */
async function run(write: Promise<void>, worker: (events: DispatchEvents) => Promise<never>) {
  const context = fakeGateway({
    choose: () => registered(),
    client: { dispatch: (_endpoint: string, _body: object, handlers: DispatchEvents) => worker(handlers) },
    rows: { written: () => write },
  });
  const job = runJob(context);
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
