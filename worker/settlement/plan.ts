import { ChainStatus } from "../../protocol/job-status.ts";
import type { ChainJob, Windows } from "../chain/reader.ts";
import type { CompletionHead, Papers } from "../completions/record.ts";

/** A job that the worker took: running while `head` is null, else finished. */
export type OpenJob = { papers: Papers; head: CompletionHead | null };

export type Call = "acknowledge" | "submitProof" | "finalize";

/** What to do about a job now. Times are chain time, Unix seconds. */
export type Step =
  | { do: "wait"; until: number }
  | { do: "send"; calls: Call[]; before: number | null }
  /** Nothing is left to do; `loss` says why a finished job will not be paid, null if it is or nothing was owed. */
  | { do: "finish"; why: string; loss: boolean };

export type Policy = { selfSettleAfter: number | null; acknowledgeMargin: number };

/** How long to wait before a look that is not due for a known reason. */
const RUNNING_LOOK = 15;
const PROVEN_LOOK = 60;

/** The next step for a job, from what the chain shows. `worker` is this worker's id on chain, `now` the chain's time. */
export function nextStep(
  open: OpenJob,
  job: ChainJob,
  worker: number,
  now: number,
  windows: Windows,
  policy: Policy,
): Step {
  const { assignment } = open.papers;
  const mine = job.worker === worker && worker !== 0;
  const finished = open.head !== null;
  switch (job.status) {
    case ChainStatus.None: {
      // The lock was seen once, so the node is behind or the chain reorganised; the gateway will send it again.
      const end = assignment.acknowledgeBy + windows.completion + windows.inclusion;
      return now < end
        ? { do: "wait", until: now }
        : { do: "finish", why: "the lock vanished from the chain", loss: finished };
    }
    case ChainStatus.Settled:
      return { do: "finish", why: mine ? "settled" : "settled for another worker", loss: finished && !mine };
    case ChainStatus.Failed:
      return { do: "finish", why: "failed by its gateway", loss: finished };
    case ChainStatus.Refunded:
      return { do: "finish", why: "refunded", loss: finished };
    case ChainStatus.Disputed:
      return { do: "wait", until: now + PROVEN_LOOK };
    case ChainStatus.Proven: {
      if (!mine || !finished) return { do: "finish", why: "proven by another worker", loss: finished };
      const from = job.lockedAt + job.deadline;
      if (now >= from) return { do: "send", calls: ["finalize"], before: null };
      return { do: "wait", until: Math.min(from, now + PROVEN_LOOK) };
    }
    default:
      return unsettled(open, job, mine, now, windows, policy);
  }
}

/** Locked or Acknowledged: the gateway has the first word; close to a deadline the worker acts by itself. */
function unsettled(open: OpenJob, job: ChainJob, mine: boolean, now: number, windows: Windows, policy: Policy): Step {
  const { assignment } = open.papers;
  const finished = open.head !== null;
  const closes = job.lockedAt + windows.completion + windows.inclusion;
  if (now >= closes) return { do: "finish", why: "nobody settled it in time", loss: finished };
  const acknowledged = mine && job.attempt === assignment.attempt;
  if (job.attempt >= assignment.attempt && !acknowledged)
    return { do: "finish", why: "given to another worker", loss: finished };

  const proveAt = open.head === null ? Number.POSITIVE_INFINITY : proofTime(open.head, closes, windows, policy);
  if (acknowledged) {
    if (now >= proveAt) return { do: "send", calls: ["submitProof"], before: closes };
    return { do: "wait", until: finished ? now : now + RUNNING_LOOK };
  }
  // Past acknowledgeBy only the gateway can still settle the job.
  if (now >= assignment.acknowledgeBy) return { do: "wait", until: now };
  const margin = Math.min(policy.acknowledgeMargin, (assignment.acknowledgeBy - job.lockedAt) / 4);
  const acknowledgeAt = assignment.acknowledgeBy - margin;
  if (now >= Math.min(acknowledgeAt, proveAt)) {
    // A finished job is proven in the same transaction: the gateway had its time, and a second one would only cost more.
    return {
      do: "send",
      calls: finished ? ["acknowledge", "submitProof"] : ["acknowledge"],
      before: assignment.acknowledgeBy,
    };
  }
  return { do: "wait", until: finished ? now : Math.min(acknowledgeAt, now + RUNNING_LOOK) };
}

/** When the worker proves a job by itself: half the inclusion window before it closes, or sooner if so configured. */
function proofTime(head: CompletionHead, closes: number, windows: Windows, policy: Policy): number {
  const latest = closes - windows.inclusion / 2;
  if (policy.selfSettleAfter === null) return latest;
  return Math.min(latest, head.finishedAt + policy.selfSettleAfter);
}
