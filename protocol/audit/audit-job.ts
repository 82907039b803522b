/** Everything that can be recomputed about one job from the chain alone. Pure. */
import type { Address, Hex } from "viem";
import { toApiJobId } from "../job-id.ts";
import { type JobState, jobState } from "../job-status.ts";
import { checkBalances } from "./check-balances.ts";
import { checkDispute } from "./check-dispute.ts";
import { checkReturn, checkStored, isOpen } from "./check-end.ts";
import { checkLock } from "./check-lock.ts";
import { checkProof } from "./check-proof.ts";
import { checkSettlement } from "./check-settlement.ts";
import { type Check, Checks, type JobEvidence } from "./evidence.ts";
import { jobStory } from "./story.ts";

export type JobAudit = {
  job_id: string;
  status: JobState;
  /** More can follow: the job is not over, or can still be disputed. */
  open: boolean;
  wallet: Address;
  worker: Address | null;
  credits_locked: number;
  credits_charged: number;
  proof_hash: Hex | null;
  escrow_tx: Hex;
  settlement_tx: Hex | null;
  /** Every check holds. */
  holds: boolean;
  checks: Check[];
};

/** Audits a job. Throws when its lock is not in the evidence: without it nothing can be said. */
export async function auditJob(evidence: JobEvidence): Promise<JobAudit> {
  const story = jobStory(evidence.jobId, evidence.events);
  if (story === null) throw new Error(`the events hold no lock of job ${evidence.jobId}`);
  const checks = new Checks();
  await checkLock(checks, story, evidence);
  if (story.settled !== null) await checkSettlement(checks, story, evidence);
  else await checkProof(checks, story, evidence);
  if (evidence.text !== null && story.settled === null && story.proven === null) {
    checks.add("proof.text", false, "", "the job has no proof to compare the text with");
  }
  checkReturn(checks, story, evidence);
  await checkDispute(checks, story, evidence);
  checks.presuming("balance.after", () => checkBalances(checks, story, evidence));
  checkStored(checks, story, evidence);
  const subject = story.settled ?? story.proven;
  return {
    job_id: toApiJobId(evidence.jobId),
    status: jobState(story.status) ?? "failed",
    open: isOpen(story.status),
    wallet: story.locked.args.wallet,
    worker: subject?.args.worker ?? story.worker,
    credits_locked: story.locked.args.credits,
    credits_charged: story.settled?.args.credits ?? 0,
    proof_hash: subject?.args.proofHash ?? null,
    escrow_tx: story.locked.tx,
    settlement_tx: story.settled?.tx ?? null,
    holds: checks.list.every(({ holds }) => holds),
    checks: checks.list,
  };
}
