import { describe, expect, it } from "vitest";
import { ChainStatus } from "../../../protocol/job-status.ts";
import type { ChainJob, Windows } from "../../../worker/chain.ts";
import { nextStep, type OpenJob } from "../../../worker/settlement.ts";

const ME = 7;
const LOCKED_AT = 1_000;
const WINDOWS: Windows = {
  completion: 120,
  inclusion: 30,
  finalization: 3_600,
  dispute: 60,
  arbitration: 86_400,
  equivocation: 86_400,
  notice: 86_400,
};
const JOB: ChainJob = {
  account: 1,
  worker: 0,
  credits: 40,
  creditsPerRequest: 40,
  creditsPer1kTokens: 20,
  model: 1,
  feeBps: 1_000,
  operatorShare: 0,
  lockedAt: LOCKED_AT,
  deadline: 0,
  operator: 1,
  attempt: 0,
  status: ChainStatus.Locked,
};
const address = "0x5FbDB2315678afecb367f032d93F642f64180aa3" as const;
const agreement = {
  assignment: { jobId: `0x${"0a".repeat(16)}`, worker: address, attempt: 2, acknowledgeBy: LOCKED_AT + 40 },
  gateway: address,
  byGateway: "0x",
  byWorker: "0x",
} as const;
const running: OpenJob = { agreement, head: null };
const completion = {
  jobId: agreement.assignment.jobId,
  proofHash: "0x",
  promptTokens: 1,
  completionTokens: 1,
  reasoningTokens: 0,
  textBytes: 2,
  completedAt: LOCKED_AT + 10,
} as const;
const head = {
  version: 1,
  agreement,
  completion,
  signature: "0x",
  finishReason: "stop",
  finishedAt: LOCKED_AT + 10,
} as const;
const finished: OpenJob = { agreement, head };
const mine = { ...JOB, status: ChainStatus.Acknowledged, worker: ME, attempt: 2 };

const step = (open: OpenJob, job: Partial<ChainJob>, after: number, selfSettleAfter: number | null = null) => {
  const seen = { job: { ...JOB, ...job }, worker: ME, now: LOCKED_AT + after, windows: WINDOWS };
  return nextStep(open, seen, { selfSettleAfter, acknowledgeMargin: 5 });
};

describe("what a worker does about a job", () => {
  it("relays an acknowledgement shortly before it is too late", () => {
    expect(step(running, {}, 1)).toEqual({ do: "wait", until: LOCKED_AT + 16 });
    expect(step(running, {}, 25)).toEqual({ do: "wait", until: LOCKED_AT + 35 });
    expect(step(running, {}, 35)).toEqual({ do: "send", calls: ["acknowledge"], before: LOCKED_AT + 40 });
    expect(step(finished, {}, 35)).toEqual({
      do: "send",
      calls: ["acknowledge", "submitProof"],
      before: LOCKED_AT + 40,
    });
    expect(step(running, {}, 40).do).toBe("wait");
    expect(step(finished, {}, 149.9).do).toBe("wait");
  });

  it("replaces a lower attempt of another worker, and yields to a higher one", () => {
    const other = { status: ChainStatus.Acknowledged, worker: 9 };
    expect(step(running, { ...other, attempt: 1 }, 36)).toMatchObject({ do: "send", calls: ["acknowledge"] });
    expect(step(running, { ...other, attempt: 3 }, 5)).toMatchObject({ do: "finish", loss: false });
    expect(step(finished, { ...other, attempt: 2 }, 5)).toMatchObject({ do: "finish", loss: true });
  });

  it("acknowledged: proves when half the inclusion window is left, or as configured", () => {
    expect(step(finished, mine, 134)).toMatchObject({ do: "wait" });
    expect(step(finished, mine, 135)).toEqual({ do: "send", calls: ["submitProof"], before: LOCKED_AT + 150 });
    expect(step(finished, mine, 12.9, 3)).toMatchObject({ do: "wait" });
    expect(step(finished, mine, 13, 3)).toMatchObject({ do: "send", calls: ["submitProof"] });
    expect(step(finished, mine, 135, 10_000)).toMatchObject({ do: "send" });
    expect(step(running, mine, 100)).toMatchObject({ do: "wait" });
  });

  it("gives up at the first second in which no proof is taken", () => {
    expect(step(finished, mine, 149.9)).toMatchObject({ do: "send" });
    expect(step(finished, mine, 150)).toMatchObject({ do: "finish", loss: true });
    expect(step(running, {}, 150)).toMatchObject({ do: "finish", loss: false });
  });

  it("proven: finalizes from the first possible second", () => {
    const proven = { ...mine, status: ChainStatus.Proven, deadline: 3_700 };
    expect(step(finished, proven, 3_690)).toEqual({ do: "wait", until: LOCKED_AT + 3_700 });
    expect(step(finished, proven, 3_700)).toEqual({ do: "send", calls: ["finalize"], before: null });
    expect(step(finished, { ...proven, worker: 9 }, 200)).toMatchObject({ do: "finish", loss: true });
  });

  it("over: erases; a loss is one only when it had answered and is not paid", () => {
    expect(step(finished, { ...mine, status: ChainStatus.Settled }, 20)).toMatchObject({ do: "finish", loss: false });
    expect(step(finished, { ...mine, worker: 9, status: ChainStatus.Settled }, 20)).toMatchObject({
      do: "finish",
      loss: true,
    });
    for (const status of [ChainStatus.Failed, ChainStatus.Refunded]) {
      expect(step(finished, { status }, 20)).toMatchObject({ do: "finish", loss: true });
      expect(step(running, { status }, 20)).toMatchObject({ do: "finish", loss: false });
    }
  });

  it("disputed, or gone in a reorganisation: keeps everything and looks again", () => {
    expect(step(finished, { ...mine, status: ChainStatus.Disputed }, 20)).toMatchObject({ do: "wait" });
    expect(step(finished, { status: ChainStatus.None, lockedAt: 0 }, 20)).toMatchObject({ do: "wait" });
    expect(step(finished, { status: ChainStatus.None, lockedAt: 0 }, 190)).toMatchObject({ do: "finish", loss: true });
  });
});
