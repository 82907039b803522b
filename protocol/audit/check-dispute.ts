import { isAddressEqual } from "viem";
import { ChainStatus } from "../job-status.ts";
import { RULINGS } from "./balances.ts";
import { checkCompensations, checkSlash } from "./check-slash.ts";
import { isBefore } from "./event-log.ts";
import type { Checks, JobEvidence } from "./evidence.ts";
import type { JobStory } from "./story.ts";
import { arbiterSet, gatewayOf, slashAmountAt } from "./terms.ts";

const RULING = { none: 0, workerAtFault: 1, gatewayAtFault: 2, rejected: 3 } as const;

/** The dispute: who opened it, what was disputed, who ruled, and what followed. */
export function checkDispute(checks: Checks, story: JobStory, evidence: JobEvidence): void {
  if (story.disputed !== null) {
    checkOpening(checks, story, story.disputed, evidence);
    if (story.resolved !== null) checkRuling(checks, story, story.disputed, story.resolved, evidence);
  }
  for (const equivocation of story.equivocated) {
    const { firstHash, secondHash, worker } = equivocation.args;
    checks.add(
      "equivocation.slash",
      story.slashed !== null && isAddressEqual(story.slashed.args.signer, worker),
      `worker ${worker} signed two Completions (${firstHash} and ${secondHash}) and was slashed without a vote`,
      `worker ${worker} signed two Completions, but no slash of it is recorded for this job`,
    );
  }
  checkSlash(checks, story, evidence);
}

function checkOpening(
  checks: Checks,
  { locked, settled, proven }: JobStory,
  disputed: NonNullable<JobStory["disputed"]>,
  { timeOf, windows, disputeBond, transactions, configuration }: JobEvidence,
): void {
  const { receivedHash, workerHash, byGateway, bond, wallet } = disputed.args;
  const charged = settled !== null && isBefore(settled, disputed) ? settled : null;
  const subject = charged ?? proven;
  checks.add(
    "dispute.hashes",
    receivedHash !== workerHash && workerHash === subject?.args.proofHash,
    `the client says it received ${receivedHash}, the worker signed ${workerHash}`,
    `disputed is ${workerHash} against ${receivedHash}; the proof is ${subject?.args.proofHash ?? "none"}`,
  );
  if (subject !== null) {
    const late = timeOf(disputed.block) - timeOf(subject.block);
    const window = charged ? windows.dispute + windows.inclusion : windows.finalization;
    checks.add(
      "dispute.time",
      late >= 0 && late < window,
      `it was opened ${late} s after the ${charged ? "settlement" : "proof"}, inside its ${window} s`,
      `it was opened ${late} s after the ${charged ? "settlement" : "proof"}; the window is ${window} s`,
    );
  }
  const sender = transactions.get(disputed.tx)?.from;
  const party = byGateway ? gatewayOf(configuration, locked.args.gateway) : wallet;
  checks.add(
    "dispute.party",
    sender !== undefined && party !== null && isAddressEqual(sender, party) && bond === (byGateway ? 0 : disputeBond),
    byGateway
      ? "the job's gateway opened it for the client"
      : `the wallet itself opened it, with a bond of ${bond} credits`,
    `${sender ?? "an unknown sender"} opened it with a bond of ${bond} credits, recorded as ${byGateway ? "the gateway" : "the wallet"}`,
  );
}

function checkRuling(
  checks: Checks,
  { settled, votes, slashed, equivocated, compensated, locked }: JobStory,
  disputed: NonNullable<JobStory["disputed"]>,
  resolved: NonNullable<JobStory["resolved"]>,
  evidence: JobEvidence,
): void {
  const { ruling, status, returned } = resolved.args;
  const fromProven = settled === null || isBefore(disputed, settled);
  const byEquivocation = equivocated.some(({ tx }) => tx === resolved.tx);
  const resolvedAt = evidence.timeOf(resolved.block);
  const { ruleBefore, bond, arbiterSet: set } = disputed.args;
  const name = RULINGS[ruling] ?? `ruling ${ruling}`;
  if (ruling === RULING.none) {
    checks.add(
      "dispute.expiry",
      resolvedAt >= ruleBefore,
      "nobody ruled in time; the dispute expired",
      `it expired at ${resolvedAt}, before the arbiters' time was over at ${ruleBefore}`,
    );
  } else if (!byEquivocation) {
    const arbiters = arbiterSet(evidence.configuration, set);
    const known = (address: string) => arbiters?.arbiters.some((one) => one.toLowerCase() === address.toLowerCase());
    const voters = new Set(
      votes.filter(({ args }) => args.ruling === ruling && known(args.arbiter)).map(({ args }) => args.arbiter),
    );
    checks.add(
      "dispute.quorum",
      arbiters !== null && voters.size >= arbiters.quorum && resolvedAt < ruleBefore,
      `${voters.size} arbiters of set ${set} (quorum ${arbiters?.quorum}) ruled ${name}, in time`,
      `the ruling ${name} has ${voters.size} votes of set ${set}; the quorum is ${arbiters?.quorum ?? "unknown"}, and the time ended at ${ruleBefore} (ruled at ${resolvedAt})`,
    );
  }

  const rejected = ruling === RULING.rejected;
  const expectedStatus = rejected
    ? fromProven
      ? ChainStatus.Proven
      : ChainStatus.Settled
    : ruling === RULING.none && !fromProven
      ? ChainStatus.Settled
      : ChainStatus.Refunded;
  const expectedReturn = rejected ? 0 : bond + (fromProven ? locked.args.credits : 0);
  checks.add(
    "dispute.outcome",
    status === expectedStatus && returned === expectedReturn,
    `${name}: ${returned} credits came back from escrow${bond > 0 ? ` (bond ${rejected ? "lost" : "included"})` : ""}`,
    `${name} should return ${expectedReturn} credits and lead to state ${expectedStatus}; it returned ${returned} and led to ${status}`,
  );

  const charge = BigInt(settled?.args.credits ?? 0);
  const fee = charge * BigInt(locked.args.feeBps);
  const full =
    slashed !== null &&
    slashed.args.amount ===
      slashAmountAt(evidence.configuration, slashed, evidence.timeOf(slashed.block), evidence.timeOf);
  const first = compensated.find(({ tx }) => tx === resolved.tx);
  const demanded = (first?.args.paid ?? 0n) + (first?.args.owed ?? 0n);
  let due = 0n;
  if (!rejected && !fromProven) due = full || ruling === RULING.gatewayAtFault ? charge * 10_000n : fee;
  if (fromProven && ruling === RULING.gatewayAtFault) {
    due = BigInt(disputed.args.credits) * (10_000n - BigInt(locked.args.feeBps));
  }
  checks.add(
    "dispute.compensation",
    demanded === due,
    due === 0n
      ? "the treasury owed nothing"
      : `the treasury owed ${due} token units: ${first?.args.paid} paid, ${first?.args.owed} left as debt`,
    `the treasury should owe ${due} token units; recorded are ${demanded}`,
  );
  checkCompensations(checks, compensated, evidence);
}
