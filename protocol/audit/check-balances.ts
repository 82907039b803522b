import { isBalanceEvent, replayBalances, statedBalance, walletOf } from "./balances.ts";
import { inChainOrder, jobOfEvent } from "./event-log.ts";
import type { Checks, JobEvidence } from "./evidence.ts";
import { type JobStory, jobContext } from "./story.ts";

/** The balance that each event of the wallet states follows from the one before it, other jobs in between included. */
export function checkBalances(checks: Checks, { locked, jobId }: JobStory, evidence: JobEvidence): void {
  const wallet = locked.args.wallet.toLowerCase();
  const history = evidence.walletHistory
    .filter(isBalanceEvent)
    .filter((event) => walletOf(event).toLowerCase() === wallet);
  const [first, ...rest] = history;
  if (first === undefined) {
    checks.add("balance.after", false, "", `no event of wallet ${locked.args.wallet} states a balance`);
    return;
  }
  // A wallet begins with its first deposit, from nothing; otherwise with what its last event before the lock stated.
  const opensAccount = first.name === "Deposited" && first.args.free === (first.args as { credits: number }).credits;
  const context = jobContext(
    inChainOrder([...evidence.events, ...evidence.walletHistory, ...evidence.walletContext]),
    evidence.addresses.escrow,
  );
  const gaps = opensAccount
    ? replayBalances({ free: 0, escrowed: 0 }, history, context)
    : replayBalances(statedBalance(first), rest, context);
  const [gap] = gaps.filter(({ event }) => jobOfEvent(event) === jobId).concat(gaps);
  const show = ({ free, escrowed }: { free: number; escrowed: number }) => `${free} free and ${escrowed} in escrow`;
  checks.add(
    "balance.after",
    gap === undefined,
    `the balances after each of ${history.length} events of the wallet follow from each other`,
    gap ? `${gap.event.name} in ${gap.event.tx} states ${show(gap.stated)}; it should be ${show(gap.expected)}` : "",
  );
}
