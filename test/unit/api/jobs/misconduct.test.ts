/** Workers that cheat: named by what they did, and paid for nothing of it. One of them on a real chain: test/api/misconduct.test.ts. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Operation } from "../../../../api/chain/operations.ts";
import { incidentCode } from "../../../../api/db/incidents.ts";
import type { CompletedEvent, DispatchEvents } from "../../../../api/workers/worker-client.ts";
import type { Dispatch } from "../../../../protocol/dispatch.ts";
import { newJobId } from "../../../../protocol/job-id.ts";
import { fakeGateway, minedAt, reverted, rowsInMemory, submission } from "../../../support/fake-gateway.ts";
import { runJob, signingWorker } from "../../support/jobs.ts";

const TEXT = "Every word of this is delivered as it stands.";
const worker = signingWorker();
const lockedAt = Math.floor(Date.now() / 1000);
const jobId = newJobId();
const signed = (text = TEXT, more: object = {}, id = jobId) =>
  worker.complete(id, text, { completedAt: lockedAt, ...more });

let sent: Operation["kind"][];
let reported: string[];
let stored: { countedTokens?: number; creditsCharged?: number };
/** The contract's error at the settlement; null where it takes it. */
let refusal: string | null;
/** Settlements that the wallet paid for. */
let settled: number;
/** Whether the worker was at fault for the job that failed. */
let faults: boolean[];
beforeEach(() => {
  [sent, reported, stored, faults, refusal, settled] = [[], [], {}, [], null, 0];
});

/** Runs a job whose worker streams the text, and completes it so. */
function run(text: string, completed: () => Promise<CompletedEvent>) {
  const submit = ({ kind }: Operation) => {
    sent.push(kind);
    return submission(kind === "complete" && refusal !== null ? reverted(refusal) : minedAt(lockedAt, kind));
  };
  const dispatch = async (_endpoint: string, { assignment }: Dispatch, events: DispatchEvents) => {
    events.acknowledged(await worker.acknowledge(jobId, assignment.attempt));
    events.delta(text);
    return completed();
  };
  const context = fakeGateway({
    time: lockedAt,
    pipeline: { submit },
    choose: () => worker,
    workers: {
      report: (_worker: string, { code }: { code: string }) => reported.push(code),
      test: async () => ({ model: "sound" }),
    },
    standings: {
      settled: () => {
        settled += 1;
      },
      failed: (_wallet, { isWorkersFault }) => void faults.push(isWorkersFault),
    },
    client: { dispatch },
    ...rowsInMemory(async (step, change) => void (step === "answered" && Object.assign(stored, change))),
  });
  return runJob(context, { jobId, request: { messages: [], max_tokens: 10_000 } }).completed;
}

describe("a completion is refused, and its job failed, when it", () => {
  it.each<[string, string, () => Promise<CompletedEvent>]>([
    ["is of an earlier job", "wrong_job", () => signed(TEXT, {}, newJobId())],
    [
      "is of an earlier job, with the new one's id",
      "wrong_signature",
      async () => {
        const old = await signed(TEXT, {}, newJobId());
        return { ...old, completion: { ...old.completion, jobId } };
      },
    ],
    ["has another hash than what was streamed", "hash_mismatch", () => signed("Something else entirely.")],
    [
      "ends at its length before any limit",
      "cut_short",
      async () => ({ ...(await signed()), finish_reason: "length" }),
    ],
    ["is dated before the job's time", "wrong_time", () => signed(TEXT, { completedAt: 1_600_000_000 })],
    ["is dated after the job's time", "wrong_time", () => signed(TEXT, { completedAt: lockedAt + 120 })],
  ])("%s", async (_, code, completed) => {
    await expect(run(TEXT, completed)).rejects.toMatchObject({ code: "service_unavailable" });
    expect([reported, sent, stored]).toEqual([[code], ["lock", "fail"], {}]);
    // A worker that broke the rules rests for it. One that cut an answer short does not, and can be its client's own.
    await vi.waitFor(() => expect(faults).toEqual([code !== "cut_short"]));
  });
});

describe("an answer that a client has", () => {
  it("counts for its wallet once it is settled", async () => {
    const { settling } = await run(TEXT, () => signed());
    await settling.done;
    await vi.waitFor(() => expect([settled, faults, reported]).toEqual([1, [], []]));
  });

  it.each([
    ["is a failure of the wallet, and its worker rests", "Job_WorkerNotEligible", [true], ["settlement_refused"]],
    ["by the doing of an earlier worker is a failure of the wallet", "Job_AttemptTaken", [true], []],
    ["is nobody's fault but the gateway's, where that was late", "Job_TooLate", [], []],
  ])("and whose settlement is refused %s", async (_, error, failed, incidents) => {
    refusal = error;
    const { settling } = await run(TEXT, () => signed());
    expect((await settling.done).isSettled).toBe(false);
    expect(sent).toEqual(["lock", "complete", "fail"]);
    await vi.waitFor(() => expect([settled, faults, reported]).toEqual([0, failed, incidents]));
  });
});

describe("tokens that are over-reported are not charged when they", () => {
  it("are more than the bytes that were sent", async () => {
    await run(TEXT, () => signed(TEXT, { completionTokens: 1_000_000 }));
    expect(reported).toEqual(["tokens_over_reported"]);
    expect(stored).toMatchObject({ countedTokens: TEXT.length, creditsCharged: 8 });
  });

  it("are more than any tokenizer makes of the text", async () => {
    const text = "plausible ".repeat(1_000).trim();
    await run(text, () => signed(text, { completionTokens: 9_000 }));
    expect(reported).toEqual(["tokens_implausible"]);
    expect(stored.countedTokens).toBeLessThan(6_000);
  });
});

it("gives an unknown reason no label of its own", () => {
  expect([incidentCode("x1"), incidentCode("constructor"), incidentCode("busy")]).toEqual(["other", "other", "busy"]);
});
