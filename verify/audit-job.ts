/** Everything that can be recomputed about one job from the chain alone. Pure. */
import type { Hex } from "viem";
import { toApiJobId } from "../protocol/job-id.ts";
import { decodeUsageWord } from "../protocol/words.ts";
import { jobContext } from "./accounts.ts";
import { replayWallet } from "./audit-wallet.ts";
import { jobCalls } from "./calls.ts";
import { checkDispute } from "./check-dispute.ts";
import { checkLock } from "./check-lock.ts";
import { checkMoney, checkOrder, splitOf } from "./check-money.ts";
import { checkProof } from "./check-proof.ts";
import { Checks, wrongFields } from "./checks.ts";
import { eventsOf, inChainOrder, jobOfEvent } from "./events.ts";
import type { JobEvidence } from "./evidence.ts";
import { feesByTransaction } from "./payouts.ts";
import { factsOf, isOpen, type Job, statusName } from "./story.ts";

export type JobAudit = Awaited<ReturnType<typeof auditJob>>;

/**
 * Audits a job. Throws when its lock is not in the evidence: without it nothing can be said.
 *
 * @example
 * const { holds, checks } = await auditJob(await reader.job(jobId, null));
 */
export async function auditJob(evidence: JobEvidence) {
  const job = factsOf(evidence);
  const { story, events, related, addresses, terms } = job;
  const checks = new Checks();
  checks.note("configuration.history", terms.gaps(), "no event is missing that decides what was in force");
  await checkLock(checks, job);
  const money = {
    escrow: addresses.escrow,
    // A batch settles jobs of the same wallet, too: their locks are in its history.
    splitOf: splitOf(eventsOf([...events, ...related, ...evidence.walletHistory], "escrow", "JobLocked")),
    logsOf: (tx: Hex) => events.filter((event) => event.tx === tx),
  };
  checkMoney(checks, story, { ...money, terms, feesOf: feesByTransaction(money.logsOf, money) });
  await checkProof(checks, job);
  checkReturn(checks, job);
  await checkDispute(checks, job);
  checks.presuming("balance.after", () => checkAccount(checks, job));
  checkOrder(checks, story);
  checkStored(checks, job);
  const subject = story.settled ?? story.proven;
  return {
    job_id: toApiJobId(job.jobId),
    status: statusName(story.status),
    /** More can follow: the job is not over, or can still be disputed. */
    open: isOpen(story.status),
    wallet: story.locked.args.wallet,
    worker: subject?.args.worker ?? story.worker,
    credits_locked: story.locked.args.credits,
    credits_charged: story.settled?.args.credits ?? 0,
    /** Output tokens of the charge; null while there is none. */
    billed_tokens: story.settled === null ? null : decodeUsageWord(story.settled.args.usage).billedTokens,
    /** In force when it was locked. */
    credits_per_request: story.word.creditsPerRequest,
    credits_per_1k_tokens: story.word.creditsPer1kTokens,
    fee_bps: story.word.feeBps,
    /** The operator's share of the fee, twentieths. */
    operator_share: story.word.operatorShare,
    proof_hash: subject?.args.proofHash ?? null,
    escrow_tx: story.locked.tx,
    settlement_tx: story.settled?.tx ?? null,
    /** Every check holds. */
    holds: checks.holds,
    checks: checks.list,
  };
}

const REASONS = [
  "no worker took it",
  "its worker failed",
  "the delivered text was not the signed one",
  "the answer was lost",
  "its request was refused",
];

/** A job that ended without a charge: who ended it could, and not too early. */
function checkReturn(checks: Checks, job: Job): void {
  const { timeOf, windows, transactions, terms } = job;
  const { locked, returned, word, equivocated } = job.story;
  if (returned === null) return;
  const sender = transactions.get(returned.tx)?.from;
  const byOperator = sender !== undefined && terms.isInOffice(sender, word.operator, returned);
  if ("reason" in returned.args) {
    const { reason } = returned.args;
    const [call] = jobCalls(job, returned.tx, "fail");
    const wrong = call === undefined ? [] : wrongFields("JobFailed", { reason }, { reason: call.args[1] });
    if (!byOperator)
      wrong.push(`${sender ?? "an unknown sender"} ended it, who is no signer of operator ${word.operator}`);
    checks.note("return.caller", wrong, `its own operator ended it: ${REASONS[reason] ?? "unknown reason"}`);
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

/** Checks that each event's statement of the wallet's account follows from the events before it, other jobs in between included. */
function checkAccount(checks: Checks, { story, walletHistory, events, related, addresses }: Job): void {
  const { locked, jobId } = story;
  const context = jobContext(inChainOrder([...events, ...walletHistory, ...related]), addresses.escrow);
  const { checks: own, gaps, replayed } = replayWallet(locked.args.wallet, walletHistory, locked, context);
  checks.list.push(...own.list);
  const gap = gaps.find(({ event }) => jobOfEvent(event) === jobId) ?? gaps[0];
  checks.note(
    "balance.after",
    gap === undefined ? [] : [`in ${gap.event.tx}: ${gap.says}`],
    `the account after each of ${replayed} events of the wallet follows from the one before`,
  );
}

/** The events lead to what the escrow has stored. */
function checkStored(checks: Checks, { story, stored }: Job): void {
  checks.add(
    "state.status",
    stored.status === story.status,
    `the escrow has it stored as ${statusName(stored.status)}, as its events say`,
    `the escrow has it stored as ${statusName(stored.status)}, its events lead to ${statusName(story.status)}`,
  );
  const credits = story.settled?.args.credits ?? story.locked.args.credits;
  checks.add(
    "state.credits",
    stored.credits === credits,
    `stored credits (${credits}) are those of its events`,
    `${stored.credits} credits are stored, its events say ${credits}`,
  );
  checks.add(
    "state.worker",
    stored.worker?.toLowerCase() === story.worker?.toLowerCase(),
    story.worker === null ? "no worker holds it" : `the stored worker is ${story.worker}`,
    `the stored worker is ${stored.worker ?? "none"}, its events say ${story.worker ?? "none"}`,
  );
  checks.add(
    "state.operator",
    stored.operator === story.word.operator,
    `operator ${stored.operator} runs it`,
    `operator ${stored.operator} is stored, JobLocked.job.operator is ${story.word.operator}`,
  );
}
