import { isAddressEqual } from "viem";
import { ChainStatus, jobState } from "../job-status.ts";
import { isEvent } from "./event-log.ts";
import type { Checks, JobEvidence } from "./evidence.ts";
import type { JobStory } from "./story.ts";
import { gatewayOf } from "./terms.ts";

const REASONS = [
  "no worker took it",
  "its worker failed",
  "the delivered text was not the signed one",
  "the answer was lost",
  "its request was refused",
];

/** A job that ended without a charge: everything locked came back, and not too early. */
export function checkReturn(checks: Checks, { locked, returned }: JobStory, evidence: JobEvidence): void {
  if (returned === null) return;
  const { timeOf, windows, transactions, configuration } = evidence;
  checks.add(
    "return.credits",
    returned.args.credits === locked.args.credits,
    `all ${locked.args.credits} locked credits came back`,
    `${returned.args.credits} of ${locked.args.credits} locked credits came back`,
  );
  const gateway = gatewayOf(configuration, locked.args.gateway);
  const sender = transactions.get(returned.tx)?.from;
  const byGateway = gateway !== null && sender !== undefined && isAddressEqual(gateway, sender);
  if (isEvent({ ...returned, contract: "escrow" }, "escrow", "JobFailed")) {
    const reason = REASONS[(returned.args as { reason: number }).reason] ?? "unknown reason";
    checks.add(
      "return.caller",
      byGateway,
      `its own gateway ended it: ${reason}`,
      `${sender ?? "an unknown sender"} ended it, but only gateway ${gateway} may`,
    );
    return;
  }
  const waited = timeOf(returned.block) - timeOf(locked.block);
  const needed = windows.completion + (byGateway ? 0 : windows.inclusion);
  // Equivocation returns a proven job at any time.
  const early = waited < needed;
  checks.add(
    "return.time",
    !early || returnedByEquivocation(evidence, returned.tx),
    `the refund came ${waited} s after the lock`,
    `the refund came ${waited} s after the lock; its caller had to wait ${needed} s`,
  );
}

function returnedByEquivocation({ events, jobId }: JobEvidence, tx: string): boolean {
  return events.some(
    (event) =>
      event.tx === tx && isEvent(event, "escrow", "WorkerEquivocated") && event.args.jobId.toLowerCase() === jobId,
  );
}

/** What the escrow has stored must be what the events lead to; an open job is told apart from a finished one. */
export function checkStored(checks: Checks, story: JobStory, { stored }: JobEvidence): void {
  const name = (status: number) => jobState(status) ?? "unknown";
  checks.add(
    "state.status",
    stored.status === story.status,
    `the escrow has it stored as ${name(stored.status)}, as its events say`,
    `the escrow has it stored as ${name(stored.status)}, its events lead to ${name(story.status)}`,
  );
  const credits = story.settled?.args.credits ?? story.locked.args.credits;
  checks.add(
    "state.credits",
    stored.credits === credits,
    `stored credits (${credits}) are those of its events`,
    `${stored.credits} credits are stored, its events say ${credits}`,
  );
  const held = story.worker?.toLowerCase() ?? null;
  checks.add(
    "state.worker",
    (stored.worker?.toLowerCase() ?? null) === held,
    held === null ? "no worker holds it" : `the stored worker is ${story.worker}`,
    `the stored worker is ${stored.worker ?? "none"}, its events say ${story.worker ?? "none"}`,
  );
}

/** Whether the job can still change: what holds now may be followed by more. */
export const isOpen = (status: number): boolean =>
  [ChainStatus.Locked, ChainStatus.Acknowledged, ChainStatus.Proven, ChainStatus.Disputed].some(
    (one) => one === status,
  );
