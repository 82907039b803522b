/** A wallet's account: each of its events follows from the one before, and they lead to what the escrow has stored. Pure. */
import type { Address } from "viem";
import type { AccountWord } from "../protocol/words.ts";
import {
  ACCOUNT_EVENTS,
  accountAfter,
  type BalanceGap,
  isBalanceEvent,
  type JobContext,
  NO_ACCOUNT,
  replayBalances,
  statedAccount,
  walletOf,
} from "./accounts.ts";
import { Checks, wrongFields } from "./checks.ts";
import { type AnyEvent, eventsOf, isBefore, type Place } from "./events.ts";

/**
 * Replays a wallet's history.
 * @param history Its events as of a job (`JobEvidence.walletHistory`); those of other wallets are left out.
 * @param place The events from here on are replayed, and some before it.
 */
export function replayWallet(
  wallet: Address,
  history: readonly AnyEvent[],
  place: Place,
  context: JobContext,
): { checks: Checks; gaps: BalanceGap[]; replayed: number; closing: AccountWord } {
  const checks = new Checks();
  const events = history
    .filter(isBalanceEvent)
    .filter((event) => walletOf(event).toLowerCase() === wallet.toLowerCase());
  // Own events are numbered: if one of them is missing, it shows.
  const own = eventsOf(events, "escrow", ...ACCOUNT_EVENTS);
  const missing = own.find(({ args }, i) => args.sequence !== i + 1);
  checks.add(
    "balance.history",
    own.length > 0 && missing === undefined,
    `the wallet's ${own.length} own events are all there`,
    missing === undefined
      ? `no event of wallet ${wallet.toLowerCase()} is there`
      : `${missing.name}.sequence in ${missing.tx} is ${missing.args.sequence}, it should be ${own.indexOf(missing) + 1}`,
  );
  // A lock or a settlement states the whole account; without one before this place the history begins with the account. What the
  // wallet's own events decide is known from their beginning in any case.
  const base = events.findLast((event) => isBefore(event, place) && statedAccount(event) !== null);
  const chosen = own
    .filter((event) => base !== undefined && isBefore(event, base))
    .reduce((account, event) => accountAfter(account, event, context), NO_ACCOUNT);
  const { id, sequence, dailyLimit, flags, operator } = chosen;
  const stated = base === undefined ? null : statedAccount(base);
  const opening = stated === null ? NO_ACCOUNT : { ...stated, id, sequence, dailyLimit, flags, operator };
  const replayed = base === undefined ? events : events.slice(events.indexOf(base) + 1);
  return { checks, ...replayBalances(opening, replayed, context), replayed: replayed.length };
}

/** The evidence for the audit of a wallet's account. */
export type WalletEvidence = {
  wallet: Address;
  /** From here on its events are looked at. */
  place: Place;
  history: readonly AnyEvent[];
  context: JobContext;
  /** The account as the escrow has it stored after the last event. */
  stored: AccountWord;
};

/** Audits a wallet's account up to now. */
export function auditWallet({ wallet, place, history, context, stored }: WalletEvidence): Checks {
  const { checks, gaps, replayed, closing } = replayWallet(wallet, history, place, context);
  const good = `the account after each of ${replayed} events follows from the one before`;
  checks.noteEach(
    "balance.after",
    gaps.map(({ event, says }) => `in ${event.tx}: ${says}`),
    good,
  );
  checks.note(
    "balance.stored",
    wrongFields("accountOf", stored, closing),
    `the escrow has stored what the events lead to: ${stored.free} credits free, ${stored.escrowed} in escrow`,
  );
  return checks;
}
