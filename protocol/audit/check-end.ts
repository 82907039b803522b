import { ChainStatus, jobState } from "../job-status.ts";
import { callsIn, callsOf } from "./calls.ts";
import { isEvent } from "./event-log.ts";
import { type Checks, type JobEvidence, wrongFields } from "./evidence.ts";
import { type JobStory, transitionsOf } from "./story.ts";
import { isInOffice } from "./terms.ts";

const REASONS = [
  "no worker took it",
  "its worker failed",
  "the delivered text was not the signed one",
  "the answer was lost",
  "its request was refused",
];

/** A job that ended without a charge: everything locked came back, and not too early. */
export function checkReturn(checks: Checks, story: JobStory, evidence: JobEvidence): void {
  const { locked, returned, word, equivocated, jobId } = story;
  if (returned === null) return;
  const { timeOf, windows, transactions, configuration } = evidence;
  const { credits, wallet } = locked.args;
  const name = returned.name as string;
  checks.fields("return.credits", name, returned.args, { credits, wallet }, `all ${credits} locked credits came back`);
  const sender = transactions.get(returned.tx)?.from;
  const byOperator = sender !== undefined && isInOffice(configuration, sender, word.operator, returned);
  const event = { ...returned, contract: "escrow" } as const;
  if (isEvent(event, "escrow", "JobFailed")) {
    const { reason } = event.args;
    const call = callsOf(callsIn(evidence, returned.tx), "fail").find(({ args }) => args[0].toLowerCase() === jobId);
    const wrong = call === undefined ? [] : wrongFields("JobFailed", { reason }, { reason: call.args[1] });
    if (!byOperator)
      wrong.push(`${sender ?? "an unknown sender"} ended it, who is no signer of operator ${word.operator}`);
    const good = `its own operator ended it: ${REASONS[reason] ?? "unknown reason"}`;
    checks.add("return.caller", wrong.length === 0, good, wrong.join("; "));
    return;
  }
  const waited = timeOf(returned.block) - timeOf(locked.block);
  const needed = windows.completion + (byOperator ? 0 : windows.inclusion);
  // An equivocation returns a held escrow at any time.
  const punished = equivocated !== null && equivocated.tx === returned.tx;
  checks.add(
    "return.time",
    punished || waited >= needed,
    punished ? "the refund came with the equivocation of its worker" : `the refund came ${waited} s after the lock`,
    `the refund came ${waited} s after the lock; its caller had to wait ${needed} s`,
  );
}

/** The events are in an order that the contract allows, and lead to what it has stored. */
export function checkStored(checks: Checks, story: JobStory, { stored }: JobEvidence): void {
  const name = (status: number) => jobState(status) ?? "unknown";
  const wrong = transitionsOf(story.events).find(({ legal }) => !legal);
  checks.add(
    "state.order",
    wrong === undefined,
    "each of its events is possible after the one before",
    wrong ? `${wrong.event.name} cannot follow while the job is ${name(wrong.before)}` : "",
  );
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
  checks.add(
    "state.operator",
    stored.operator === story.word.operator,
    `operator ${stored.operator} runs it`,
    `operator ${stored.operator} is stored, JobLocked.job.operator is ${story.word.operator}`,
  );
}

/** Whether the job can still change: what holds now may be followed by more. */
export const isOpen = (status: number): boolean =>
  [ChainStatus.Locked, ChainStatus.Acknowledged, ChainStatus.Proven, ChainStatus.Disputed].some(
    (one) => one === status,
  );
