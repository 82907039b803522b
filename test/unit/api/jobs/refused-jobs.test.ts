/**
 * A client that was told "nothing is charged" is not charged. That holds if the gateway is killed before the chain has
 * the job's end. It holds even if a worker has the whole answer for the next process.
 */
import { generatePrivateKey } from "viem/accounts";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Operation } from "../../../../api/chain/operations.ts";
import type { StoredJob } from "../../../../api/db/jobs.ts";
import { Recovery } from "../../../../api/jobs/recovery.ts";
import { type DispatchEvents, WorkerFailure } from "../../../../api/workers/worker-client.ts";
import { ChainStatus } from "../../../../protocol/job-status.ts";
import { signingAccount } from "../../../../shared/secp256k1.ts";
import {
  fakeGateway,
  headAt,
  MODEL,
  minedAt,
  rowsInMemory,
  storedJob,
  submission,
} from "../../../support/fake-gateway.ts";
import { chainOf, runJob, signingWorker } from "../../support/jobs.ts";

const TEXT = "The whole answer.";
const gateway = signingAccount(generatePrivateKey());
const host = signingWorker();

type Dispatching = (events: DispatchEvents, signal: AbortSignal) => Promise<never>;
let row: StoredJob;
let lockedAt: number;
beforeEach(() => {
  vi.useFakeTimers();
  row = storedJob({ wallet: gateway.address, gateway: gateway.address, state: "locking" });
});
afterEach(() => void vi.useRealTimers());

/** A gateway process on the row, whose chain mines the lock and then stands still; and what it has sent. */
function process(dispatching: Dispatching) {
  const sent: Operation["kind"][] = [];
  const rows = rowsInMemory(
    async (step, change) => void Object.assign(row, change, step === "answered" && { state: "settling" }),
  );
  const submit = ({ kind, jobId }: Operation) => {
    sent.push(kind);
    return submission(kind === "lock" ? minedAt(lockedAt, kind) : null, { signed: jobId });
  };
  const fetchOutput = async () => {
    const { jobId } = row;
    const acknowledgement = { attempt: 1, signature: await host.acknowledge(jobId, 1) };
    return { text: TEXT, acknowledgement, ...(await host.complete(jobId, TEXT, { completedAt: lockedAt + 5 })) };
  };
  const context = fakeGateway({
    account: gateway,
    head: headAt(() => Math.floor(Date.now() / 1000), lockedAt),
    pipeline: { submit },
    choose: (excluded) => (excluded.has(host.signer) ? undefined : host),
    workers: {
      registered: () => [host],
    },
    client: {
      dispatch: (_endpoint: string, _body: object, events: DispatchEvents, signal: AbortSignal) =>
        dispatching(events, signal),
      fetchOutput,
    },
    ...rows,
    store: {
      ...rows.store,
      unfinished: async () => [row.jobId],
      find: async () => ({ ...row }),
    },
  });
  return { context, sent };
}

async function clientIsTold(dispatching: Dispatching): Promise<unknown> {
  const { context } = process(dispatching);
  const { completed } = runJob(context, { jobId: row.jobId });
  const told = completed.catch((error) => error);
  await vi.advanceTimersByTimeAsync(20_000);
  return told;
}

/** What the next process sends for the job. */
async function nextProcessSends(): Promise<Operation["kind"][]> {
  const { context, sent } = process(() => new Promise(() => {}));
  const chain = chainOf({
    jobOf: {
      ...MODEL,
      status: ChainStatus.Acknowledged,
      model: 1,
      lockedAt,
      credits: 8,
      worker: 1,
      attempt: 1,
      operator: 1,
    },
    walletOf: gateway.address,
    signerOf: host.signer,
    proofOf: [`0x${"00".repeat(28)}`, 0],
  });
  void new Recovery({ ...context, ...chain }).sweep();
  await vi.advanceTimersByTimeAsync(1_000);
  return sent;
}

it("a stream that its worker broke off is failed by the next process", async () => {
  lockedAt = Math.floor(Date.now() / 1000);
  const told = await clientIsTold(async ({ delta }) => {
    delta("The whole");
    throw new WorkerFailure("broken_stream", "gone", true);
  });
  expect(told).toMatchObject({ code: "service_unavailable", message: expect.stringContaining("nothing is charged") });
  expect(await nextProcessSends()).toEqual(["fail"]);
});

it("refunds a job whose time was over, though its answer could be settled", async () => {
  lockedAt = Math.floor(Date.now() / 1000) - 110;
  const told = await clientIsTold(
    (_, signal) => new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("late")))),
  );
  // The refund is not mined: nobody says that it is.
  expect(told).toMatchObject({ code: "job_timeout", message: expect.stringContaining("on its way") });
  expect(told).toMatchObject({ details: { credits_refunded: 0, refund_tx: null } });
  expect(await nextProcessSends()).toEqual(["refund"]);
});
