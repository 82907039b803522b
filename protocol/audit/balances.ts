/** Credits of wallets, replayed event by event: each event states the balance after it, and each must follow from the one before. Pure. */
import type { Address, Hex } from "viem";
import { UNITS_PER_CREDIT } from "../money.ts";
import { type AnyEvent, type EscrowEvent, isEvent } from "./event-log.ts";

/** Whole credits. */
export type Balance = { free: number; escrowed: number };

/** Events that state a balance after them. */
export const BALANCE_EVENTS = [
  "Deposited",
  "Withdrawn",
  "JobLocked",
  "JobFailed",
  "JobRefunded",
  "JobSettled",
  "JobDisputed",
  "DisputeResolved",
  "Compensated",
] as const;
export type BalanceEvent = EscrowEvent<(typeof BALANCE_EVENTS)[number]>;

export const RULINGS = ["None", "WorkerAtFault", "GatewayAtFault", "Rejected"] as const;
export const REJECTED = 3;

/** What a single event does not say and the job's other events do. */
export type JobContext = {
  /** Credits that the wallet put up for the job's dispute. */
  bondOf: (jobId: Hex) => number;
  /** Whether this compensation went to the job's worker as tokens. */
  isForWorker: (event: EscrowEvent<"Compensated">) => boolean;
};

export function isBalanceEvent(event: AnyEvent): event is AnyEvent & BalanceEvent {
  return isEvent(event, "escrow", ...BALANCE_EVENTS);
}

/** The balance that the event itself states. */
export const statedBalance = ({ args }: BalanceEvent): Balance => ({ free: args.free, escrowed: args.escrowed });

/** Wallet of the event. */
export const walletOf = ({ args }: BalanceEvent): Address => args.wallet;

/** How an event changes its wallet's free and escrowed credits. */
function balanceChange(event: BalanceEvent, context: JobContext): Balance {
  const e = event as AnyEvent;
  if (isEvent(e, "escrow", "Deposited")) return { free: e.args.credits, escrowed: 0 };
  if (isEvent(e, "escrow", "Withdrawn")) return { free: -e.args.credits, escrowed: 0 };
  if (isEvent(e, "escrow", "JobLocked")) return { free: -e.args.credits, escrowed: e.args.credits };
  if (isEvent(e, "escrow", "JobFailed", "JobRefunded")) return { free: e.args.credits, escrowed: -e.args.credits };
  if (isEvent(e, "escrow", "JobSettled")) {
    return { free: e.args.returned, escrowed: -(e.args.credits + e.args.returned) };
  }
  if (isEvent(e, "escrow", "JobDisputed")) return { free: -e.args.bond, escrowed: e.args.bond };
  if (isEvent(e, "escrow", "DisputeResolved")) {
    const forfeited = e.args.ruling === REJECTED ? context.bondOf(e.args.jobId) : 0;
    return { free: e.args.returned, escrowed: -(e.args.returned + forfeited) };
  }
  if (isEvent(e, "escrow", "Compensated")) {
    return { free: context.isForWorker(e) ? 0 : Number(e.args.paid / UNITS_PER_CREDIT), escrowed: 0 };
  }
  throw new RangeError(`${event.name} states no balance`);
}

/** How an event changes what the escrow owes: credits of all accounts, and deferred token units. */
export function liabilityChange(event: AnyEvent, context: JobContext): { credits: number; units: bigint } {
  if (isBalanceEvent(event)) {
    const { free, escrowed } = balanceChange(event, context);
    return { credits: free + escrowed, units: 0n };
  }
  if (isEvent(event, "escrow", "PayoutDeferred")) return { credits: 0, units: event.args.units };
  if (isEvent(event, "escrow", "PayoutClaimed")) return { credits: 0, units: -event.args.units };
  return { credits: 0, units: 0n };
}

/** An event whose stated balance does not follow from the one before it. */
export type BalanceGap = { event: BalanceEvent; stated: Balance; expected: Balance };

/**
 * Replays the events of one wallet, in chain order.
 * @param opening Balance before the first event.
 */
export function replayBalances(opening: Balance, events: readonly BalanceEvent[], context: JobContext): BalanceGap[] {
  const gaps: BalanceGap[] = [];
  let before = opening;
  for (const event of events) {
    const change = balanceChange(event, context);
    const expected = { free: before.free + change.free, escrowed: before.escrowed + change.escrowed };
    const stated = statedBalance(event);
    if (stated.free !== expected.free || stated.escrowed !== expected.escrowed) gaps.push({ event, stated, expected });
    // One wrong event is reported once: what follows is held against what it stated.
    before = stated;
  }
  return gaps;
}
