/** The subject of an audit, a job, a wallet or a range of blocks, as a person names it. */
import { type Address, getAddress, type Hex, isAddress } from "viem";
import { fromApiJobId } from "../protocol/job-id.ts";
import { auditJob, type JobAudit } from "./audit-job.ts";
import { VerifyError } from "./chain.ts";
import type { EvidenceReader } from "./reader.ts";

export type JobSubject = { kind: "job"; jobId: Hex } | { kind: "transaction"; hash: Hex };
export type Subject = JobSubject | { kind: "wallet"; wallet: Address };

/** Throws a VerifyError for a text that names nothing. */
export function subjectOf(text: string): Subject {
  if (/^0x[0-9a-fA-F]{64}$/.test(text)) return { kind: "transaction", hash: text.toLowerCase() as Hex };
  if (isAddress(text)) return { kind: "wallet", wallet: getAddress(text) };
  if (/^0x[0-9a-fA-F]{40}$/.test(text)) {
    throw new VerifyError(`the checksum of the address ${text} is wrong: copy it again, or write it in lower case`);
  }
  // The bare bytes16 of the chain is a job too, as events show it.
  const jobId = /^0x[0-9a-fA-F]{32}$/.test(text) ? (text.toLowerCase() as Hex) : fromApiJobId(text.toLowerCase());
  if (jobId !== null) return { kind: "job", jobId };
  throw new VerifyError(
    `"${text}" is no job id (job_ and 32 hex digits), no transaction hash (0x and 64) and no wallet (0x and 40)`,
  );
}

/** Audits a job, or each job of a transaction. `text`: the answer of the job as it was received. */
export async function auditJobs(
  reader: EvidenceReader,
  subject: JobSubject,
  text: Uint8Array | null,
): Promise<JobAudit[]> {
  const jobs = subject.kind === "job" ? [subject.jobId] : await reader.jobsOf(subject.hash);
  if (subject.kind === "transaction" && jobs.length === 0) {
    throw new VerifyError(`transaction ${subject.hash} holds no job of the escrow ${reader.chain.addresses.escrow}`);
  }
  if (text !== null && jobs.length > 1) {
    throw new VerifyError(`the answer's text is of one job, and this transaction holds ${jobs.length}: name the job`);
  }
  const audits = [];
  for (const jobId of jobs) audits.push(await auditJob(await reader.job(jobId, text)));
  return audits;
}
