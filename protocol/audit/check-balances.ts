import {
  ACCOUNT_EVENTS,
  accountAfter,
  isBalanceEvent,
  NO_ACCOUNT,
  replayBalances,
  statedAccount,
  walletOf,
} from "./balances.ts";
import { eventsOf, inChainOrder, isBefore, jobOfEvent } from "./event-log.ts";
import type { Checks, JobEvidence } from "./evidence.ts";
import { type JobStory, jobContext } from "./story.ts";

/** What each event of the wallet states of its account follows from the events before it, other jobs in between included. */
export function checkBalances(checks: Checks, { locked, jobId }: JobStory, evidence: JobEvidence): void {
  const wallet = locked.args.wallet.toLowerCase();
  const history = evidence.walletHistory
    .filter(isBalanceEvent)
    .filter((event) => walletOf(event).toLowerCase() === wallet);
  // Own events are numbered: if one of them is missing, it shows.
  const own = eventsOf(history, "escrow", ...ACCOUNT_EVENTS);
  const missing = own.find(({ args }, i) => args.sequence !== i + 1);
  checks.add(
    "balance.history",
    own.length > 0 && missing === undefined,
    `the wallet's ${own.length} own events are all there`,
    missing === undefined
      ? `no event of wallet ${wallet} is there`
      : `${missing.name}.sequence in ${missing.tx} is ${missing.args.sequence}, it should be ${own.indexOf(missing) + 1}`,
  );
  const context = jobContext(
    inChainOrder([...evidence.events, ...evidence.walletHistory, ...evidence.related]),
    evidence.addresses.escrow,
  );
  // A lock or a settlement states the whole account; without one before this lock the history begins with the account. What the
  // wallet's own events decide is known from their beginning in any case.
  const base = history.findLast((event) => isBefore(event, locked) && statedAccount(event) !== null);
  const chosen = own
    .filter((event) => base !== undefined && isBefore(event, base))
    .reduce((account, event) => accountAfter(account, event, context), NO_ACCOUNT);
  const { id, sequence, dailyLimit, flags, operator } = chosen;
  const stated = base === undefined ? null : statedAccount(base);
  const opening = stated === null ? NO_ACCOUNT : { ...stated, id, sequence, dailyLimit, flags, operator };
  const replayed = base === undefined ? history : history.slice(history.indexOf(base) + 1);
  const gaps = replayBalances(opening, replayed, context);
  const [gap] = gaps.filter(({ event }) => jobOfEvent(event) === jobId).concat(gaps);
  checks.add(
    "balance.after",
    gap === undefined,
    `the account after each of ${replayed.length} events of the wallet follows from the one before`,
    gap ? `in ${gap.event.tx}: ${gap.says}` : "",
  );
}
