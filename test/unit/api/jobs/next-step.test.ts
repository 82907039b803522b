/**
 * The table that decides how a job ends (api/jobs/next-step.ts): every state of the row, every state on chain, both sides of every window. The
 * chain's rules behind it are the table above `InferenceEscrow`. A job is locked at t = 0 here, and proven at t = 100.
 */
import type { Hex } from "viem";
import { describe, expect, it } from "vitest";
import {
  type JobFacts,
  type JobOnChain,
  nextStep,
  type Refusal,
  settlementOf,
} from "../../../../api/jobs/next-step.ts";
import { newJobId } from "../../../../protocol/job-id.ts";
import { ChainStatus } from "../../../../protocol/job-status.ts";
import { proofDigest } from "../../../../protocol/messages.ts";

const WINDOWS = { completion: 120, inclusion: 30, finalization: 3_600 };
const PROVEN_AT = 100;
const [WORKER, OTHER] = [`0x${"a1".repeat(20)}`, `0x${"a2".repeat(20)}`] as [Hex, Hex];
const SIGNATURE: Hex = `0x${"5e".repeat(65)}`;

const completion = {
  jobId: newJobId(),
  proofHash: SIGNATURE.slice(0, 66) as Hex,
  promptTokens: 3,
  completionTokens: 4,
  reasoningTokens: 0,
  textBytes: 11,
};
const signed = { completion: { ...completion, completedAt: 90 }, signature: SIGNATURE, finish_reason: "stop" };
const PROOF = proofDigest(signed.completion);
/** The answer of a first attempt. */
const ANSWER = { worker: WORKER, attempt: 1, acknowledgement: null, signed, countedTokens: 4 };
/** Another answer of the same job: its digest is another. */
const OTHER_ANSWER = { ...ANSWER, signed: { ...signed, completion: { ...signed.completion, completedAt: 91 } } };

const TIMEOUT: Refusal = { reason: "timeout", why: "job_timeout" };
const BROKE_OFF: Refusal = { reason: "worker_failed", why: "broken_stream" };

const job = (facts: Partial<JobFacts> = {}): JobFacts => ({
  refusal: null,
  answer: null,
  isDeliverable: true,
  wasOffered: true,
  asked: null,
  askingFor: 0,
  ...facts,
});
const onChain = (status: number, more: Partial<JobOnChain> = {}): JobOnChain => ({
  status,
  isOurs: true,
  lockedAt: 0,
  worker: null,
  attempt: 0,
  proof: null,
  finalizeFrom: null,
  isAbsent: false,
  ...more,
});
const proven = (more: Partial<JobOnChain> = {}) => {
  const finalizeFrom = PROVEN_AT + WINDOWS.finalization;
  return onChain(ChainStatus.Proven, { worker: WORKER, attempt: 1, proof: PROOF, finalizeFrom, ...more });
};
const settled = (more: Partial<JobOnChain> = {}) => onChain(ChainStatus.Settled, { worker: WORKER, ...more });

const step = (facts: Partial<JobFacts>, chain: JobOnChain, now: number) => nextStep(job(facts), chain, now, WINDOWS);

const WAIT = { do: "wait", until: null };
const WITHHELD = { do: "wait", until: null, isWithheld: true };
const DISPUTE = { do: "dispute", isWithheld: true };
const SETTLE = { do: "settle", acknowledgeFirst: false };
const close = (state: string, why?: string) => ({ do: "close", state, ...(why !== undefined && { why }) });
const fail = (reason: string, why: string) => ({ do: "fail", refusal: { reason, why } });
const LOST = "the gateway restarted and no answer could be had";

describe("a job that the chain does not have", () => {
  it("may still be locked, or the node is late", () => {
    expect(step({ answer: ANSWER }, onChain(ChainStatus.None), 1_000)).toEqual(WAIT);
  });

  it("by two looks at named blocks, was never locked", () => {
    const next = step({}, onChain(ChainStatus.None, { isAbsent: true }), 1_000);
    expect(next).toEqual(close("unlocked", "the lock was never mined"));
  });
});

describe.each([
  ["locked", ChainStatus.Locked],
  ["acknowledged", ChainStatus.Acknowledged],
])("a job that is %s", (_, status) => {
  const chain = onChain(status, status === ChainStatus.Acknowledged ? { worker: WORKER, attempt: 1 } : {});
  it.each<[string, Partial<JobFacts>, number, object]>([
    ["refused because its time was over, a moment early", { refusal: TIMEOUT }, 119, { do: "wait", until: 120 }],
    ["refused because its time was over", { refusal: TIMEOUT }, 120, { do: "refund" }],
    ["refused because its time was over, with an answer", { refusal: TIMEOUT, answer: ANSWER }, 121, { do: "refund" }],
    ["refused for its worker", { refusal: BROKE_OFF }, 1, fail("worker_failed", "broken_stream")],
    [
      "refused for its worker, with an answer",
      { refusal: BROKE_OFF, answer: ANSWER },
      119,
      fail("worker_failed", "broken_stream"),
    ],
    ["refused for its worker, long ago", { refusal: BROKE_OFF }, 500, fail("worker_failed", "broken_stream")],
    ["answered, in time", { answer: ANSWER }, 149, SETTLE],
    ["answered, but the proof would come too late", { answer: ANSWER }, 150, { do: "refund" }],
    [
      "answered, and nobody can have the answer",
      { answer: ANSWER, isDeliverable: false },
      1,
      fail("answer_lost", "no answer can be had"),
    ],
    ["not answered", {}, 119, { do: "ask" }],
    ["not answered, its time is over, a settlement can still be mined", {}, 134, { do: "ask" }],
    ["not answered, and a settlement could hardly be mined", {}, 135, { do: "refund" }],
    [
      "not answered, and no answer would be kept",
      { isDeliverable: false },
      1,
      fail("answer_lost", "no answer can be had"),
    ],
    ["a worker is at work or away", { asked: "later" }, 119, WAIT],
    ["a worker is at work or away, its time is over", { asked: "later" }, 120, { do: "refund" }],
    ["no worker has an answer", { asked: "none" }, 119, fail("answer_lost", LOST)],
    [
      "no worker has an answer, none was offered the job",
      { asked: "none", wasOffered: false },
      119,
      fail("routing_failed", LOST),
    ],
    ["no worker has an answer, its time is over", { asked: "none" }, 120, { do: "refund" }],
  ])("%s", (_name, facts, now, expected) => {
    expect(step(facts, chain, now)).toEqual(expected);
  });

  it("under an id that another wallet or operator used first", () => {
    const expected = close("unlocked", "the id is another job's");
    expect(step({ answer: ANSWER }, { ...chain, isOurs: false }, 1)).toEqual(expected);
  });
});

describe("an answer settles by who has the job on chain", () => {
  const later = { worker: WORKER, attempt: 2, acknowledgement: SIGNATURE };
  it.each([
    ["nobody, a first attempt", ANSWER, { worker: null, attempt: 0 }, "possible"],
    ["its own worker", ANSWER, { worker: WORKER, attempt: 1 }, "possible"],
    [
      "its own worker, in other letters",
      ANSWER,
      { worker: WORKER.toUpperCase().replace("X", "x") as Hex, attempt: 1 },
      "possible",
    ],
    ["nobody, a later attempt", later, { worker: null, attempt: 0 }, "acknowledge-first"],
    ["another worker, an earlier attempt", later, { worker: OTHER, attempt: 1 }, "acknowledge-first"],
    ["another worker, the same attempt", later, { worker: OTHER, attempt: 2 }, "impossible"],
    ["another worker, a later attempt", later, { worker: OTHER, attempt: 3 }, "impossible"],
    [
      "another worker, and its own never signed",
      { ...later, acknowledgement: null },
      { worker: OTHER, attempt: 1 },
      "impossible",
    ],
    [
      "another worker, the first attempt",
      { ...ANSWER, acknowledgement: SIGNATURE },
      { worker: OTHER, attempt: 1 },
      "impossible",
    ],
  ])("%s", (_, answer, chain, expected) => {
    expect(settlementOf(answer, chain)).toBe(expected);
  });

  it("a later attempt's is settled once its acknowledgement is mined", () => {
    const answer = { ...ANSWER, attempt: 2, acknowledgement: SIGNATURE };
    const next = step({ answer }, onChain(ChainStatus.Acknowledged, { worker: OTHER, attempt: 1 }), 10);
    expect(next).toEqual({ do: "settle", acknowledgeFirst: true });
  });

  it("one that cannot be settled is as good as none: the workers are asked", () => {
    const chain = onChain(ChainStatus.Acknowledged, { worker: OTHER, attempt: 3 });
    expect(step({ answer: ANSWER }, chain, 10)).toEqual({ do: "ask" });
    expect(step({ answer: ANSWER, asked: "none" }, chain, 10)).toEqual(fail("answer_lost", LOST));
  });
});

describe("a job that its worker proved", () => {
  it.each<[string, Partial<JobFacts>, number, object]>([
    ["the proven answer is here", { answer: ANSWER }, 149, SETTLE],
    ["the proven answer is here, too late for a settlement", { answer: ANSWER }, 150, WAIT],
    ["the worker has 30 s to finalize its proof", { answer: ANSWER }, 3_729, WAIT],
    ["the worker has not finalized its proof", { answer: ANSWER }, 3_730, { do: "finalize" }],
    [
      "the client was refused, and can have the answer now",
      { answer: ANSWER, refusal: BROKE_OFF },
      149,
      { do: "withdraw-refusal" },
    ],
    ["the client was refused, long ago", { answer: ANSWER, refusal: TIMEOUT }, 3_730, { do: "withdraw-refusal" }],
    ["its client has another answer", { answer: OTHER_ANSWER }, 149, WITHHELD],
    ["its client has another answer, and the time to settle is over", { answer: OTHER_ANSWER }, 150, DISPUTE],
    ["it had refused the job", { refusal: { reason: "worker_failed", why: "took_refused" } }, 149, WITHHELD],
    ["it had refused the job, earlier", { refusal: { reason: "worker_failed", why: "took_refused" } }, 150, DISPUTE],
    ["its client has another answer, and no dispute was opened", { answer: OTHER_ANSWER }, 3_730, { do: "finalize" }],
    ["no answer is here", {}, 149, { do: "ask" }],
    ["no answer is here, whatever its client was told", { refusal: BROKE_OFF }, 200, { do: "ask" }],
    ["its worker does not deliver", { asked: "none" }, 2_799, WITHHELD],
    ["its worker does not deliver, and time runs out", { asked: "none" }, 2_800, DISPUTE],
    ["its worker is away", { asked: "later" }, 2_799, WITHHELD],
    ["its worker is away, and time runs out", { asked: "later" }, 2_800, DISPUTE],
    ["nobody disputed it in time, and its worker may still finalize", { asked: "none" }, 3_729, DISPUTE],
    ["nobody disputed it in time, and its worker does not finalize", { asked: "none" }, 3_730, { do: "finalize" }],
    // Its worker was not asked: it withholds nothing.
    ["no answer would be kept", { isDeliverable: false }, 149, WAIT],
    ["no answer would be kept, and time runs out", { isDeliverable: false }, 2_800, { do: "dispute" }],
    ["no answer would be kept, and nobody disputed it", { isDeliverable: false }, 3_730, { do: "finalize" }],
  ])("%s", (_, facts, now, expected) => {
    expect(step(facts, proven(), now)).toEqual(expected);
  });

  it("by copying the hash of another worker's answer, is left to that proof", () => {
    const chain = proven({ worker: OTHER });
    expect(step({ answer: ANSWER }, chain, 149)).toEqual(WAIT);
    expect(step({ answer: ANSWER }, chain, 3_730)).toEqual({ do: "finalize" });
  });

  it("where the finalization window is short, is disputed when half of it is over", () => {
    const facts = job({ asked: "none" });
    const chain = proven({ finalizeFrom: PROVEN_AT + 100 });
    const windows = { ...WINDOWS, finalization: 100 };
    expect(nextStep(facts, chain, PROVEN_AT + 49, windows)).toEqual(WITHHELD);
    expect(nextStep(facts, chain, PROVEN_AT + 50, windows)).toEqual(DISPUTE);
  });
});

describe("a job that is over on chain", () => {
  it.each<[string, Partial<JobFacts>, JobOnChain, object]>([
    ["settled by a gateway", {}, settled(), close("settled")],
    ["settled, refused here", { refusal: BROKE_OFF }, settled(), close("settled")],
    ["charged for a proof whose answer is here", { answer: ANSWER }, settled({ proof: PROOF }), close("settled")],
    ["charged for a proof whose answer is missing", {}, settled({ proof: PROOF }), { do: "ask" }],
    ["charged, and its worker is away", { asked: "later", askingFor: 600 }, settled({ proof: PROOF }), WAIT],
    [
      "charged, and its worker was away for long",
      { asked: "later", askingFor: 601 },
      settled({ proof: PROOF }),
      close("settled"),
    ],
    ["charged, and its worker has nothing", { asked: "none" }, settled({ proof: PROOF }), close("settled")],
    ["charged, and no answer would be kept", { isDeliverable: false }, settled({ proof: PROOF }), close("settled")],
    ["charged, but it is another wallet's job", {}, settled({ proof: PROOF, isOurs: false }), close("settled")],
    ["failed", { answer: ANSWER }, onChain(ChainStatus.Failed), close("failed")],
    ["refunded", { answer: ANSWER }, onChain(ChainStatus.Refunded), close("refunded")],
    ["disputed", { answer: ANSWER }, onChain(ChainStatus.Disputed), WAIT],
  ])("%s", (_, facts, chain, expected) => {
    expect(step(facts, chain, 5_000)).toEqual(expected);
  });
});
