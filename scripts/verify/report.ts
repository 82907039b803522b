import type { JobAudit } from "../../protocol/audit/audit-job.ts";
import type { RangeAudit } from "../../protocol/audit/audit-range.ts";
import type { Check } from "../../protocol/audit/evidence.ts";

const line = ({ holds, id, says }: Check) => `  ${holds ? "holds " : "FAILS "} ${id.padEnd(24)} ${says}`;
const verdict = (checks: readonly Check[]): string => {
  const failed = checks.filter(({ holds }) => !holds);
  if (failed.length === 0) return `All ${checks.length} checks hold.`;
  return `${failed.length} of ${checks.length} checks FAIL: ${failed.map(({ id }) => id).join(", ")}.`;
};

/** A job's audit for a person. */
export function jobReport(audit: JobAudit): string {
  const { status, wallet, worker, credits_locked: locked, credits_charged: charged } = audit;
  return [
    `${audit.job_id}: ${status}`,
    `  wallet ${wallet}, worker ${worker ?? "none"}, ${locked} credits locked, ${charged} charged`,
    `  locked in ${audit.escrow_tx}${audit.settlement_tx ? `, settled in ${audit.settlement_tx}` : ""}`,
    ...audit.checks.map(line),
    `  ${verdict(audit.checks)}${audit.open ? " The job is not over: this is what holds so far." : ""}`,
  ].join("\n");
}

/** A range's audit for a person. */
export function rangeReport(audit: RangeAudit): string {
  const { jobs, credits, ledger } = audit;
  return [
    `blocks ${audit.from_block} to ${audit.to_block}: ${jobs.touched} jobs (${jobs.settled} settled, ${jobs.returned} returned, ${jobs.open} open)`,
    `  credits: ${credits.deposited} deposited, ${credits.locked} locked, ${credits.charged} charged, ${credits.withdrawn} withdrawn`,
    `  at the end ${ledger.credits_owed} credits and ${ledger.claimable_units} token units owed, ${ledger.tokens_held} token units held`,
    ...audit.checks.map(line),
    `  ${verdict(audit.checks)}`,
  ].join("\n");
}
