/** Accounts of wallets, replayed event by event: what each event states must follow from the events before it. Pure. */
import type { Address, Hex } from "viem";
import { ChainStatus, Ruling } from "../protocol/job-status.ts";
import { UNITS_PER_CREDIT } from "../protocol/money.ts";
import { payouts } from "../protocol/pricing.ts";
import {
  ACCOUNT_AUTHORIZED,
  ACCOUNT_FROZEN,
  ACCOUNT_LIMITED,
  type AccountWord,
  decodeAccountWord,
  decodeJobWord,
} from "../protocol/words.ts";
import { groupBy } from "../shared/group-by.ts";
import { MissingEvent, wrongFields } from "./checks.ts";
import { type AnyEvent, type EscrowEvent, eventsOf, isBefore, isEvent, sameAddress } from "./events.ts";
import { payoutsAfter } from "./payouts.ts";

/** A wallet's own events; they have a sequence without a gap. */
export const ACCOUNT_EVENTS = [
  "Deposited",
  "Withdrawn",
  "OperatorChosen",
  "LimitsSet",
  "AuthorizationKeySet",
  "DisputeKeySet",
] as const;
/** Events of its jobs that change its account. */
export const JOB_BALANCE_EVENTS = [
  "JobLocked",
  "JobFailed",
  "JobRefunded",
  "JobSettled",
  "JobDisputed",
  "DisputeResolved",
  "OperatorCharged",
  "Compensated",
] as const;
/** Everything that changes an account. All have the wallet as their second topic. */
const BALANCE_EVENTS = [...ACCOUNT_EVENTS, ...JOB_BALANCE_EVENTS] as const;
type BalanceEvent = EscrowEvent<(typeof BALANCE_EVENTS)[number]>;

const DAY = 86_400;
const MOST_SPENT = 2 ** 32 - 1;

/** By how much the earnings changed, what the job's dispute holds after it, and what the treasury got; token units. */
type PartMoved = { change: bigint; disputed: bigint; forfeited: bigint };

/** Facts that a single event does not have; they come from the other events of its job. */
export type JobContext = {
  /** The lock of a job. */
  lockOf: (jobId: Hex) => EscrowEvent<"JobLocked">;
  /** The dispute that a DisputeResolved ends. */
  disputeOf: (resolved: EscrowEvent<"DisputeResolved">) => EscrowEvent<"JobDisputed">;
  /** The wallet's own hash in that dispute. */
  joinOf: (resolved: EscrowEvent<"DisputeResolved">) => EscrowEvent<"DisputeJoined"> | undefined;
  /** True if this was paid to the job's worker as tokens, instead of to its wallet as credits. */
  isForWorker: (event: EscrowEvent<"Compensated" | "OperatorCharged">) => boolean;
  /** Token units that the operator earned by a settlement. */
  earnedBy: (settled: EscrowEvent<"JobSettled">) => bigint;
  /** The place to which this event moved the operator's part of a settled job's fee. */
  partMoved: (event: EscrowEvent<"EarningsChanged">) => PartMoved;
};

/** A wallet that never deposited. */
export const NO_ACCOUNT: AccountWord = {
  id: 0,
  free: 0,
  escrowed: 0,
  sequence: 0,
  dailyLimit: 0,
  spentToday: 0,
  spentDay: 0,
  flags: 0,
  openDisputes: 0,
  operator: 0,
};

export function isBalanceEvent(event: AnyEvent): event is AnyEvent & BalanceEvent {
  return isEvent(event, "escrow", ...BALANCE_EVENTS);
}

/** Wallet of the event. */
export const walletOf = ({ args }: BalanceEvent): Address => args.wallet;

/** The whole account, as a lock or a settlement states it; null for another event. */
export function statedAccount(event: AnyEvent): AccountWord | null {
  return isEvent(event, "escrow", "JobLocked", "JobSettled") ? decodeAccountWord(event.args.account) : null;
}

/** Credits of the escrow of an uncharged job that came back when its dispute ended. */
function escrowReturned(resolved: EscrowEvent<"DisputeResolved">, context: JobContext): number {
  const { ruling, returned } = resolved.args;
  return ruling === Ruling.Rejected ? returned : returned - walletBond(context.disputeOf(resolved));
}

/** Bond that the wallet put up; an operator's is held in its reserve. */
const walletBond = ({ args }: EscrowEvent<"JobDisputed">): number => (args.byOperator ? 0 : args.bond);

/** A settled job that its operator disputes without a bond counts for its limit. */
const countsAsOpen = ({ args }: EscrowEvent<"JobDisputed">): boolean => args.byOperator && args.bond === 0;

/** The account after an event. */
export function accountAfter(before: AccountWord, event: BalanceEvent, context: JobContext): AccountWord {
  const e = event as AnyEvent;
  const { free, escrowed } = balanceChange(event, context);
  const account = { ...before, free: before.free + free, escrowed: before.escrowed + escrowed };
  if (isEvent(e, "escrow", ...ACCOUNT_EVENTS)) {
    account.id = before.id || e.args.account;
    account.sequence += 1;
  }
  const authorized = account.flags & ACCOUNT_AUTHORIZED;
  if (isEvent(e, "escrow", "Deposited", "OperatorChosen")) account.operator = e.args.operator;
  else if (isEvent(e, "escrow", "LimitsSet")) {
    const { limited, frozen, dailyLimit } = e.args;
    account.flags = authorized | (frozen ? ACCOUNT_FROZEN : 0) | (limited ? ACCOUNT_LIMITED : 0);
    account.dailyLimit = limited ? dailyLimit : 0;
  } else if (isEvent(e, "escrow", "AuthorizationKeySet")) {
    const none = BigInt(e.args.key) === 0n;
    account.flags = (account.flags - authorized) | (none ? 0 : ACCOUNT_AUTHORIZED);
  } else if (isEvent(e, "escrow", "JobLocked")) {
    const today = dayOf(decodeJobWord(e.args.job).lockedAt);
    const spent = before.spentDay === today ? before.spentToday : 0;
    account.spentDay = today;
    account.spentToday = Math.min(spent + e.args.credits, MOST_SPENT);
  } else if (isEvent(e, "escrow", "JobFailed", "JobRefunded")) {
    giveLimitBack(account, e.args.credits, context.lockOf(e.args.jobId));
  } else if (isEvent(e, "escrow", "JobSettled")) {
    giveLimitBack(account, free, context.lockOf(e.args.jobId));
  } else if (isEvent(e, "escrow", "JobDisputed")) {
    if (countsAsOpen(e)) account.openDisputes += 1;
  } else if (isEvent(e, "escrow", "DisputeResolved")) {
    giveLimitBack(account, escrowReturned(e, context), context.lockOf(e.args.jobId));
    if (countsAsOpen(context.disputeOf(e))) account.openDisputes -= 1;
  }
  return account;
}

/** Credits that come back from a job give the daily limit back on the day of its lock. */
function giveLimitBack(account: AccountWord, credits: number, lock: EscrowEvent<"JobLocked">): void {
  if (account.spentDay !== dayOf(decodeJobWord(lock.args.job).lockedAt)) return;
  account.spentToday = Math.max(account.spentToday - credits, 0);
}

/** UTC day of a time. */
export const dayOf = (time: number): number => Math.floor(time / DAY);

/** The change of the wallet's free and escrowed credits by an event. */
function balanceChange(event: BalanceEvent, context: JobContext): { free: number; escrowed: number } {
  const e = event as AnyEvent;
  if (isEvent(e, "escrow", "Deposited")) return { free: e.args.credits, escrowed: 0 };
  if (isEvent(e, "escrow", "Withdrawn")) return { free: -e.args.credits, escrowed: 0 };
  if (isEvent(e, "escrow", "JobLocked")) return { free: -e.args.credits, escrowed: e.args.credits };
  if (isEvent(e, "escrow", "JobFailed", "JobRefunded")) return { free: e.args.credits, escrowed: -e.args.credits };
  if (isEvent(e, "escrow", "JobSettled")) {
    const locked = context.lockOf(e.args.jobId).args.credits;
    return { free: locked - e.args.credits, escrowed: -locked };
  }
  if (isEvent(e, "escrow", "JobDisputed")) return { free: -walletBond(e), escrowed: walletBond(e) };
  if (isEvent(e, "escrow", "DisputeResolved")) {
    const forfeited = e.args.ruling === Ruling.Rejected ? walletBond(context.disputeOf(e)) : 0;
    return { free: e.args.returned, escrowed: -(e.args.returned + forfeited) };
  }
  if (isEvent(e, "escrow", "OperatorCharged")) {
    return { free: context.isForWorker(e) ? 0 : e.args.credits, escrowed: 0 };
  }
  if (isEvent(e, "escrow", "Compensated")) {
    return { free: context.isForWorker(e) ? 0 : Number(e.args.paid / UNITS_PER_CREDIT), escrowed: 0 };
  }
  return { free: 0, escrowed: 0 };
}

/** The change of the escrow's liabilities by an event: credits of all accounts, and token units. Reserves are told apart. */
export function liabilityChange(event: AnyEvent, context: JobContext): { credits: number; units: bigint } {
  if (isBalanceEvent(event)) {
    const { free, escrowed } = balanceChange(event, context);
    return { credits: free + escrowed, units: isEvent(event, "escrow", "JobSettled") ? context.earnedBy(event) : 0n };
  }
  if (isEvent(event, "escrow", "EarningsChanged")) return { credits: 0, units: -context.partMoved(event).forfeited };
  if (isEvent(event, "escrow", "EarningsWithdrawn")) return { credits: 0, units: -event.args.units };
  if (isEvent(event, "escrow", "PayoutDeferred")) return { credits: 0, units: event.args.units };
  if (isEvent(event, "escrow", "PayoutClaimed")) return { credits: 0, units: -event.args.units };
  return { credits: 0, units: 0n };
}

/** An event that states something else than what follows from the events before it. */
export type BalanceGap = { event: BalanceEvent; says: string };

/**
 * Replays the events of one wallet, in chain order, to the account after the last one.
 * @param opening The account before the first event.
 */
export function replayBalances(
  opening: AccountWord,
  events: readonly BalanceEvent[],
  context: JobContext,
): { gaps: BalanceGap[]; closing: AccountWord } {
  const gaps: BalanceGap[] = [];
  let before = opening;
  for (const event of events) {
    const expected = accountAfter(before, event, context);
    const [name, stated, field] = statementOf(event);
    const wrong = wrongFields(
      name,
      stated,
      Object.fromEntries(Object.keys(stated).map((key) => [key, field(expected, key)])),
    );
    if (wrong.length > 0) gaps.push({ event, says: wrong.join("; ") });
    // One wrong event is reported once: what follows is held against what it stated.
    before = { ...expected, ...statedPart(event) };
  }
  return { gaps, closing: before };
}

type Statement = [name: string, stated: object, field: (account: AccountWord, key: string) => unknown];

/** The fields of its account that an event states, under the names of its arguments. */
function statementOf(event: BalanceEvent): Statement {
  const account = statedAccount(event as AnyEvent);
  if (account !== null) return [`${event.name}.account`, account, (word, key) => word[key as keyof AccountWord]];
  const args = event.args as Record<string, unknown>;
  const names = ["account", "sequence", "free", "escrowed"].filter((name) => name in args);
  const stated = Object.fromEntries(names.map((name) => [name, args[name]]));
  return [event.name, stated, (word, key) => word[(key === "account" ? "id" : key) as keyof AccountWord]];
}

function statedPart(event: BalanceEvent): Partial<AccountWord> {
  const account = statedAccount(event as AnyEvent);
  if (account !== null) return account;
  const { sequence, free, escrowed } = event.args as Partial<AccountWord>;
  return {
    ...(sequence !== undefined && { sequence }),
    ...(free !== undefined && { free }),
    ...(escrowed !== undefined && { escrowed }),
  };
}

/** The context of the accounts' events, from all events of their jobs and the logs of those transactions. */
export function jobContext(events: readonly AnyEvent[], escrow: Address): JobContext {
  const locks = new Map(
    eventsOf(events, "escrow", "JobLocked").map((lock) => [lock.args.jobId.toLowerCase(), lock] as const),
  );
  const disputes = groupBy(eventsOf(events, "escrow", "JobDisputed"), ({ args }) => args.jobId.toLowerCase());
  const joins = groupBy(eventsOf(events, "escrow", "DisputeJoined"), ({ args }) => args.jobId.toLowerCase());
  const byTransaction = groupBy(events, ({ tx }) => tx);
  const settlements = new Map(
    eventsOf(events, "escrow", "JobSettled").map((settled) => [settled.args.jobId.toLowerCase(), settled] as const),
  );
  const lockOf = (jobId: Hex) => locks.get(jobId.toLowerCase()) ?? absent(`the lock of job ${jobId}`);
  const earnedBy = ({ args: { jobId, credits } }: EscrowEvent<"JobSettled">) =>
    payouts(credits, decodeJobWord(lockOf(jobId).args.job)).operatorUnits;
  return {
    lockOf,
    earnedBy,
    partMoved: (event) => {
      const { jobId, disputed } = event.args;
      const part = earnedBy(settlements.get(jobId.toLowerCase()) ?? absent(`the settlement of job ${jobId}`));
      // The dispute's own event follows.
      if (disputed > 0n) return { change: -part, disputed: part, forfeited: 0n };
      const causes = eventsOf(byTransaction.get(event.tx) ?? [], "escrow", "DisputeResolved", "WorkerEquivocated");
      const cause = causes.findLast((one) => one.args.jobId === jobId && isBefore(one, event));
      if (cause === undefined) return absent(`what changed the earnings for job ${jobId}`);
      const { args } = cause;
      if ("ruling" in args && args.ruling === Ruling.Rejected) return { change: part, disputed: 0n, forfeited: 0n };
      const wasEarned = !("ruling" in args) && args.status === ChainStatus.Settled;
      return { change: wasEarned ? -part : 0n, disputed: 0n, forfeited: part };
    },
    disputeOf: (resolved) =>
      disputes.get(resolved.args.jobId.toLowerCase())?.findLast((opened) => isBefore(opened, resolved)) ??
      absent(`the dispute of job ${resolved.args.jobId}`),
    joinOf: (resolved) =>
      joins.get(resolved.args.jobId.toLowerCase())?.findLast((joined) => isBefore(joined, resolved)),
    isForWorker: (event) => {
      const { wallet, payee } = event.args;
      if (!sameAddress(wallet, payee)) return true;
      // A worker may be paid at the very wallet of the client: then the tokens themselves moved, and no credits.
      const moved = payoutsAfter(event, byTransaction.get(event.tx) ?? [], escrow);
      if (event.name === "OperatorCharged") return moved.length > 0;
      const { paid } = (event as EscrowEvent<"Compensated">).args;
      return paid >= UNITS_PER_CREDIT && moved.some(({ units }) => units === paid);
    },
  };
}

function absent(what: string): never {
  throw new MissingEvent(`${what} is not among the events`);
}
