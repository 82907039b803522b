/** What `JobEnding` does with the steps of the table: what it sends and writes, and what the client of a refused job is told. */
import type { Hex } from "viem";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { NotSent, type Operation, type Outcome } from "../../../../api/chain/operations.ts";
import { type AnsweredStep, JobStore } from "../../../../api/db/jobs.ts";
import { ApiError } from "../../../../api/errors.ts";
import type { EndingJob } from "../../../../api/jobs/job-ending.ts";
import { newJobId } from "../../../../protocol/job-id.ts";
import { ChainStatus, FailureReason } from "../../../../protocol/job-status.ts";
import {
  fakeGateway,
  headAt,
  MODEL,
  minedAt,
  type Replaced,
  reverted,
  rowsInMemory,
  submission,
  TIMES,
} from "../../../support/fake-gateway.ts";
import { signingWorker } from "../../support/jobs.ts";

const worker = signingWorker();
const OWN_ERROR = new ApiError("no_workers_available", "None.");
const BROKE_OFF = { reason: "worker_failed", why: "broken_stream" } as const;
const TIMEOUT = { reason: "timeout", why: "job_timeout" } as const;

let lockedAt: number;
let jobId: Hex;
let sent: Operation["kind"][];
beforeEach(() => {
  vi.useFakeTimers();
  lockedAt = Math.floor(Date.now() / 1000);
  jobId = newJobId();
  sent = [];
});
afterEach(() => void vi.useRealTimers());

/** A gateway whose chain answers each operation so, one after the other; the last answer stays. */
function gateway(outcomes: readonly (Outcome | "mined")[], parts: Replaced = {}) {
  const left = [...outcomes];
  const submit = ({ kind }: Operation) => {
    sent.push(kind);
    const [outcome = "mined"] = left.length > 1 ? left.splice(0, 1) : left;
    return submission(outcome === "mined" ? minedAt(lockedAt, kind) : outcome, { signed: "0x11" });
  };
  const head = headAt(() => Math.floor(Date.now() / 1000), lockedAt);
  return fakeGateway({ pipeline: { submit }, head, ...parts });
}

/** A job that was locked so many seconds ago and that a request of this process runs. */
const job = (age = 0): EndingJob => ({
  jobId,
  wallet: worker.signer,
  facts: {
    refusal: null,
    answer: null,
    isDeliverable: true,
    wasOffered: true,
    asked: "none",
    askingFor: 0,
  },
  chain: {
    status: ChainStatus.Locked,
    isOurs: true,
    lockedAt: lockedAt - age,
    worker: null,
    attempt: 0,
    proof: null,
    finalizeFrom: null,
    isAbsent: false,
    credits: 8,
    creditsPerRequest: MODEL.creditsPerRequest,
    creditsPer1kTokens: MODEL.creditsPer1kTokens,
  },
  askWorkers: async () => "none",
});
const answer = async (text = "Hello.") => ({
  worker: worker.signer,
  attempt: 1,
  acknowledgement: null,
  signed: await worker.complete(jobId, text, { completedAt: lockedAt }),
  countedTokens: 4,
  text,
});
const refuse = (context: ReturnType<typeof gateway>, refusal: typeof BROKE_OFF | typeof TIMEOUT, age = 0) =>
  context.ending.refuse(job(age), refusal, { error: () => OWN_ERROR, refusedBy: new Set() });

describe("an answered job", () => {
  it("is stored, then settled; the charge is that of its tokens", async () => {
    const written: string[] = [];
    const context = gateway(
      ["mined"],
      rowsInMemory(async (step) => void written.push(step)),
    );
    const settling = await context.ending.answered(job(), await answer());
    expect(settling).toMatchObject({ charged: 8, countedTokens: 4 });
    expect([written, sent]).toEqual([["answered"], ["complete"]]);
    expect([await settling.signed, await settling.done]).toEqual(["0x11", { isSettled: true }]);
  });

  it("whose settlement the chain refuses is failed, and its client is not charged", async () => {
    const written: object[] = [];
    const rows = rowsInMemory(async (step, change) => void (step === "refused" && written.push(change)));
    const context = gateway([reverted("Completion_WrongSigner"), "mined"], rows);
    const settling = await context.ending.answered(job(), await answer());
    expect((await settling.done).isSettled).toBe(false);
    expect(sent).toEqual(["complete", "fail"]);
    expect(written).toEqual([
      { failureReason: "worker_failed", failure: "settlement refused: Completion_WrongSigner" },
    ]);
  });

  it("is left to another gateway where the own key was removed", async () => {
    const settling = await gateway([reverted("Job_NotItsOperator")]).ending.answered(job(), await answer());
    expect((await settling.done).isSettled).toBe(false);
    expect(sent).toEqual(["complete"]);
  });

  it("has its final token when its reply leaves, however slow PostgreSQL is", async () => {
    const back = Date.now() + 65_000;
    let stored: AnsweredStep | undefined;
    const answered = async (step: AnsweredStep) => {
      if (Date.now() < back) throw new Error("Connection terminated unexpectedly");
      stored = step;
    };
    const context = gateway(["mined"], { store: { retry: JobStore.prototype.retry, answered } });
    const settling = context.ending.answered(job(), await answer());
    await vi.advanceTimersByTimeAsync(66_000);
    await settling;
    // The next second its client asks for a dispute.
    const late = Date.now() + 1_000 - (stored?.finalTokenAt.getTime() ?? 0);
    expect(late / 1_000).toBeLessThan(60);
  });
});

describe("a refused job", () => {
  it("is failed for its reason; the client gets its own error", async () => {
    const operations: Operation[] = [];
    const submit = (operation: Operation) => {
      operations.push(operation);
      return submission(minedAt(lockedAt, operation.kind));
    };
    const context = gateway(["mined"], { pipeline: { submit } });
    expect(await refuse(context, BROKE_OFF)).toBe(OWN_ERROR);
    expect(operations).toMatchObject([{ kind: "fail", data: expect.stringMatching(`${FailureReason.WorkerFailed}$`) }]);
  });

  it("whose time is over is refunded; the client is told with which transaction", async () => {
    const error = (refundTx: Hex | null) => new ApiError("job_timeout", `refund ${refundTx}`);
    const context = gateway(["mined"]);
    const told = await context.ending.refuse(job(TIMES.completion), TIMEOUT, { error, refusedBy: new Set() });
    expect([told.message, sent]).toEqual(["refund 0x10", ["refund"]]);
  });

  it("is refunded once the chain's time is there, not again and again before", async () => {
    const context = gateway([reverted("Job_TooEarly"), "mined"]);
    // The newest block is three seconds short of the deadline.
    context.head.block.timestamp = lockedAt - 3;
    const told = refuse(context, TIMEOUT, TIMES.completion);
    await vi.advanceTimersByTimeAsync(2_900);
    expect(sent).toEqual(["refund"]);
    await vi.advanceTimersByTimeAsync(200);
    expect(sent).toEqual(["refund", "refund"]);
    expect(await told).toBe(OWN_ERROR);
  });

  it("is left to a later sweep where the chain's time is far behind", async () => {
    const context = gateway([reverted("Job_TooEarly")]);
    context.head.block.timestamp = lockedAt - 60;
    expect(await refuse(context, TIMEOUT, TIMES.completion)).toBe(OWN_ERROR);
    expect(sent).toEqual(["refund"]);
  });

  it.each([
    ["proven", ChainStatus.Proven, "answer_withheld"],
    ["disputed", ChainStatus.Disputed, "answer_withheld"],
    ["settled", ChainStatus.Settled, "service_unavailable"],
    ["failed", ChainStatus.Failed, "service_unavailable"],
    ["refunded", ChainStatus.Refunded, "service_unavailable"],
  ])("that the chain shows as %s: its client is told so", async (_, status, code) => {
    const withheld: string[] = [];
    const workers = { withholds: (signer: string) => void withheld.push(signer) };
    const workerOf = async () => worker.signer;
    const context = gateway([reverted("Job_WrongState", jobId, status)], { workers, workerOf });
    expect(await refuse(context, BROKE_OFF)).toMatchObject({ code });
    expect(withheld).toEqual(code === "answer_withheld" ? [worker.signer] : []);
  });

  it("is held against nobody while the node does not say who proved it", async () => {
    const withheld: string[] = [];
    const workers = { withholds: (signer: string) => void withheld.push(signer) };
    const workerOf = () => Promise.reject(new Error("the node is silent"));
    const context = gateway([reverted("Job_WrongState", jobId, ChainStatus.Proven)], { workers, workerOf });
    expect(await refuse(context, BROKE_OFF)).toMatchObject({ code: "answer_withheld", details: { credits_held: 8 } });
    expect(withheld).toEqual([]);
  });

  it.each([BROKE_OFF, TIMEOUT])("keeps its client's error where the gateway stops: $reason", async (refusal) => {
    const submit = () => {
      const mined = Promise.reject(new NotSent("the gateway is stopping"));
      mined.catch(() => {});
      return submission(mined);
    };
    const context = gateway(["mined"], { pipeline: { submit } });
    expect(await refuse(context, refusal, TIMES.completion)).toBe(OWN_ERROR);
  });

  it("frees its client while the chain stands still, and stays under way", async () => {
    const back = Date.now() + 13_000;
    let failure: string | null = null;
    const refused = async ({ why }: { why: string }) => {
      if (Date.now() < back) throw new Error("Connection terminated unexpectedly");
      failure = why;
    };
    const context = gateway(["mined"], {
      store: { retry: JobStore.prototype.retry, refused },
      pipeline: { submit: () => submission(null) },
    });
    const told = refuse(context, BROKE_OFF);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await told).toBe(OWN_ERROR);
    expect([failure, context.ending.isUnderWay(jobId)]).toEqual([null, true]);
    await vi.advanceTimersByTimeAsync(4_000);
    expect(failure).toBe("broken_stream");
  });
});
