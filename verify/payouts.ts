/** Tokens that left the escrow because of an event: the token's own transfers, or the payouts it refused. Pure. */

import type { Address, Hex } from "viem";
import { isNoJob } from "../protocol/job-id.ts";
import { usdgText } from "../protocol/money.ts";
import type { Split } from "../protocol/pricing.ts";
import { type AnyEvent, type EscrowEvent, isBefore, isEvent, sameAddress } from "./events.ts";

/** One payout, in token units. */
export type Payout = { payee: Address; units: bigint; deferred: boolean; logIndex: number };

const CAUSES = [
  "JobSettled",
  "DisputeResolved",
  "OperatorCharged",
  "Compensated",
  "EarningsChanged",
  "EarningsWithdrawn",
  "Withdrawn",
  "PayoutClaimed",
] as const;
/** True if the event starts payouts of its own: the payouts of an earlier event end there. */
const startsPayouts = (event: AnyEvent) =>
  isEvent(event, "escrow", ...CAUSES) ||
  // A withdrawal from a reserve; changes for a job's sake stand between a dispute's end and what it pays.
  (isEvent(event, "escrow", "ReserveChanged") && isNoJob(event.args.jobId));

/** The payout that a log is; null if it is none. */
function payoutOf(event: AnyEvent, escrow: Address): Payout | null {
  const { logIndex } = event;
  if (isEvent(event, "stablecoin", "Transfer") && sameAddress(event.args.from, escrow)) {
    return { payee: event.args.to, units: event.args.value, deferred: false, logIndex };
  }
  if (isEvent(event, "escrow", "PayoutDeferred")) {
    return { payee: event.args.payee, units: event.args.units, deferred: true, logIndex };
  }
  return null;
}

/**
 * The payouts of the escrow after `cause` and before the next event that pays. After the last one of a batch, the treasury's share of the
 * whole batch is among them (`feePayouts`).
 * @param logs Events of the same transaction, in order.
 */
export function payoutsAfter(cause: AnyEvent, logs: readonly AnyEvent[], escrow: Address): Payout[] {
  const payouts: Payout[] = [];
  for (const event of logs) {
    if (!isBefore(cause, event)) continue;
    if (startsPayouts(event)) break;
    const payout = payoutOf(event, escrow);
    if (payout !== null) payouts.push(payout);
  }
  return payouts;
}

/** Settlements whose fees are one payout to the treasury: those of a batch, or one alone. */
export type FeePayout = {
  settled: EscrowEvent<"JobSettled">[];
  /** The units that the treasury must have got for these settlements. */
  units: bigint;
  /** Null: no such payout is there. */
  payout: Payout | null;
};

/** Worker's, operator's and treasury's units of a settlement. */
export type SplitOf = (settled: EscrowEvent<"JobSettled">) => Split;

/**
 * Finds what the treasury got for the settlements of a transaction.
 * @param logs Its events, in order.
 */
function feePayouts(
  logs: readonly AnyEvent[],
  { escrow, treasury, splitOf }: { escrow: Address; treasury: Address; splitOf: SplitOf },
): FeePayout[] {
  const found: FeePayout[] = [];
  let open: FeePayout = { settled: [], units: 0n, payout: null };
  // The worker is paid first; its payout can be the treasury's address, too.
  let forWorker: bigint | null = null;
  for (const event of logs) {
    if (isEvent(event, "escrow", "JobSettled")) {
      const { workerUnits, treasuryUnits } = splitOf(event);
      open.settled.push(event);
      open.units += treasuryUnits;
      forWorker = workerUnits;
      continue;
    }
    const payout = payoutOf(event, escrow);
    if (payout === null) continue;
    if (payout.units === forWorker) {
      forWorker = null;
    } else if (open.units > 0n && payout.units === open.units && sameAddress(payout.payee, treasury)) {
      found.push({ ...open, payout });
      open = { settled: [], units: 0n, payout: null };
    }
  }
  return open.settled.length === 0 ? found : [...found, open];
}

/** {@link feePayouts} of any transaction, found once each: the settlements of a batch all ask for them. */
export function feesByTransaction(
  logsOf: (tx: Hex) => readonly AnyEvent[],
  { escrow, splitOf }: { escrow: Address; splitOf: SplitOf },
): (tx: Hex, treasury: Address) => FeePayout[] {
  const known = new Map<string, FeePayout[]>();
  return (tx, treasury) => {
    const found = known.get(tx + treasury) ?? feePayouts(logsOf(tx), { escrow, treasury, splitOf });
    known.set(tx + treasury, found);
    return found;
  };
}

/** Takes the payout of these units to this payee out of the list. */
export function takePayout(left: Payout[], payee: Address | null, units: bigint): Payout | null {
  const index = left.findIndex((one) => payee !== null && sameAddress(one.payee, payee) && one.units === units);
  return index < 0 ? null : (left.splice(index, 1)[0] ?? null);
}

/** Payouts in words. */
export const showPayouts = (payouts: readonly Payout[]): string =>
  payouts.length === 0
    ? "no other payout was seen"
    : payouts
        .map(({ units, payee, deferred }) => `${usdgText(units)} ${deferred ? "deferred for" : "to"} ${payee}`)
        .join(", ");
