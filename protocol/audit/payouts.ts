/** Tokens that left the escrow because of an event: the token's own transfers, or the payouts it refused. Pure. */
import { type Address, isAddressEqual } from "viem";
import { type AnyEvent, isBefore, isEvent } from "./event-log.ts";

/** One payout, in token units. */
export type Payout = { payee: Address; units: bigint; deferred: boolean; logIndex: number };

/** Whether the event starts payouts of its own; the payouts of an earlier event end there. */
const startsPayouts = (event: AnyEvent) =>
  isEvent(event, "escrow", "JobSettled", "DisputeResolved", "Compensated", "Withdrawn", "PayoutClaimed");

/**
 * What the escrow paid out after `cause` and before the next event that pays.
 * @param logs Events of the same transaction, in order.
 */
export function payoutsAfter(cause: AnyEvent, logs: readonly AnyEvent[], escrow: Address): Payout[] {
  const payouts: Payout[] = [];
  for (const event of logs) {
    if (!isBefore(cause, event)) continue;
    if (startsPayouts(event)) break;
    const { logIndex } = event;
    if (isEvent(event, "stablecoin", "Transfer") && isAddressEqual(event.args.from, escrow)) {
      payouts.push({ payee: event.args.to, units: event.args.value, deferred: false, logIndex });
    } else if (isEvent(event, "escrow", "PayoutDeferred")) {
      payouts.push({ payee: event.args.payee, units: event.args.units, deferred: true, logIndex });
    }
  }
  return payouts;
}
