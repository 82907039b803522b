/** Audits what a wallet paid for in a month: each of its jobs, and its account. */
import type { Address } from "viem";
import { auditJob, type JobAudit } from "./audit-job.ts";
import { auditWallet } from "./audit-wallet.ts";
import { VerifyError } from "./chain.ts";
import { eventsOf } from "./events.ts";
import type { EvidenceReader } from "./reader.ts";

export type WalletAudit = Awaited<ReturnType<typeof verifyWallet>>;

/** Unix seconds of the first moment of a month such as 2026-11, and of the next month's. Throws a VerifyError for another text. */
export function monthOf(text: string): { from: number; to: number } {
  const [, year, month] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(text) ?? [];
  if (year === undefined || month === undefined) throw new VerifyError(`"${text}" is not a month: write 2026-11`);
  const first = (months: number) => Date.UTC(Number(year), Number(month) - 1 + months) / 1_000;
  return { from: first(0), to: first(1) };
}

/**
 * `month`: as {@link monthOf} takes it; null for all time. `tell` hears how far the audit is.
 *
 * @example
 * const audit = await verifyWallet(reader, { wallet, month: "2026-11" });
 */
export async function verifyWallet(
  reader: EvidenceReader,
  { wallet, month }: { wallet: Address; month: string | null },
  tell: (line: string) => void = () => {},
) {
  const { chain } = reader;
  const time = month === null ? null : monthOf(month);
  const from = time === null ? chain.startBlock : await chain.firstBlockAt(time.from);
  const to = time === null ? chain.head : (await chain.firstBlockAt(time.to)) - 1n;
  const { jobs, ...evidence } = await reader.wallet(wallet, from, to);
  const checks = auditWallet(evidence);

  const failing: JobAudit[] = [];
  const counts = { audited: 0, settled: 0, open: 0 };
  for (const jobId of jobs) {
    const audit = await auditJob(await reader.job(jobId, null));
    counts.audited += 1;
    if (audit.settlement_tx !== null) counts.settled += 1;
    if (audit.open) counts.open += 1;
    if (!audit.holds) failing.push(audit);
    tell(`${counts.audited} of ${jobs.length} jobs of ${wallet}`);
  }
  const names = failing.map(({ job_id }) => job_id).join(", ");
  checks.note("jobs", failing.length === 0 ? [] : [names], `all checks of ${counts.audited} jobs hold`);

  const own = evidence.history.filter(({ block }) => block >= from && block <= to);
  const credits = (name: "Deposited" | "Withdrawn" | "JobSettled" | "JobLocked") =>
    eventsOf(own, "escrow", name).reduce((sum, { args }) => sum + args.credits, 0);
  return {
    wallet,
    month,
    from_block: Number(from),
    to_block: Number(to),
    jobs: counts,
    credits: {
      deposited: credits("Deposited"),
      withdrawn: credits("Withdrawn"),
      charged: credits("JobSettled"),
      locked: credits("JobLocked"),
    },
    holds: checks.holds,
    checks: checks.list,
    /** The audits of the jobs of which something does not hold. */
    failing,
  };
}
