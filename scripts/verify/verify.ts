import { auditJob } from "../../protocol/audit/audit-job.ts";
import { Chain } from "./chain.ts";
import { VerifyError } from "./errors.ts";
import { EvidenceReader } from "./evidence-reader.ts";
import type { VerifyOptions } from "./options.ts";
import { verifyRange } from "./range.ts";
import { jobReport, rangeReport } from "./report.ts";

/** What was found: whether all of it holds, for machines, and for a person. */
export type VerifyResult = { holds: boolean; json: Record<string, unknown>; text: string };

/** Looks at one job, at all jobs of a transaction, or at a range of blocks. Throws a VerifyError when that is not possible. */
export async function verify(options: VerifyOptions): Promise<VerifyResult> {
  const reader = await EvidenceReader.begin(await Chain.open(options));
  const { target, text } = options;
  const { chainId, addresses, head } = reader.chain;
  const about = { chain_id: chainId, escrow: addresses.escrow, head_block: Number(head) };
  if (target.kind === "range") {
    const audit = await verifyRange(reader, target.from, target.to ?? head);
    return { holds: audit.holds, json: { ...about, ...audit }, text: rangeReport(audit) };
  }
  const jobs = target.kind === "job" ? [target.jobId] : await reader.jobsOf(target.hash);
  if (jobs.length === 0 && target.kind === "transaction") {
    throw new VerifyError(`transaction ${target.hash} holds no job of the escrow ${addresses.escrow}`);
  }
  if (text !== null && jobs.length > 1) {
    throw new VerifyError(`--text-file needs one job, this transaction holds ${jobs.length}: name the job`);
  }
  const audits = [];
  for (const jobId of jobs) audits.push(await auditJob(await reader.job(jobId, text)));
  const holds = audits.every((audit) => audit.holds);
  return { holds, json: { ...about, holds, jobs: audits }, text: audits.map(jobReport).join("\n\n") };
}
