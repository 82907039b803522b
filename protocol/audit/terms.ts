/** What was in force at a place of the chain, from configuration events alone. Pure. All functions take events in chain order. */
import type { Address } from "viem";
import type { Prices } from "../pricing.ts";
import { type AnyEvent, eventsOf, isBefore, isEvent } from "./event-log.ts";

type Place = Pick<AnyEvent, "block" | "logIndex">;

/** A value that changes after a notice: an announcement replaces an earlier one that is not in force yet. */
class Announced<T> {
  #now: T;
  #next: { value: T; at: number } | null = null;

  constructor(first: T) {
    this.#now = first;
  }

  at(time: number): T {
    return this.#next !== null && time >= this.#next.at ? this.#next.value : this.#now;
  }

  announce(value: T, effectiveAt: number, time: number): void {
    this.#now = this.at(time);
    this.#next = { value, at: effectiveAt };
  }
}

export type ModelTerms = Prices & { id: string; tier: number; retiresAt: number };

/** Terms of a model for a lock at `place`; null if it was not listed by then. */
export function modelTermsAt(
  events: readonly AnyEvent[],
  model: number,
  place: Place,
  time: number,
  timeOf: (block: bigint) => number,
): ModelTerms | null {
  let listing: { id: string; tier: number } | null = null;
  let prices: Announced<Prices> | null = null;
  let retiresAt = 0;
  for (const event of events) {
    if (!isBefore(event, place)) break;
    if (isEvent(event, "catalog", "ModelListed") && event.args.model === model) {
      listing = event.args.listing;
      const { creditsPerRequest, creditsPer1kTokens } = event.args.listing;
      prices = new Announced({ creditsPerRequest, creditsPer1kTokens });
    } else if (isEvent(event, "catalog", "PricesScheduled") && event.args.model === model) {
      const { creditsPerRequest, creditsPer1kTokens, effectiveAt } = event.args;
      prices?.announce({ creditsPerRequest, creditsPer1kTokens }, effectiveAt, timeOf(event.block));
    } else if (isEvent(event, "catalog", "RetirementScheduled") && event.args.model === model) {
      retiresAt = event.args.retiresAt;
    }
  }
  if (listing === null || prices === null) return null;
  return { id: listing.id, tier: listing.tier, retiresAt, ...prices.at(time) };
}

/** Protocol fee for a lock at `place`, hundredths of a percent; null before the first one was set. */
export function feeAt(
  events: readonly AnyEvent[],
  place: Place,
  time: number,
  timeOf: (block: bigint) => number,
): number | null {
  let fee: Announced<number> | null = null;
  for (const { args, block, logIndex } of eventsOf(events, "escrow", "FeeScheduled")) {
    if (!isBefore({ block, logIndex }, place)) break;
    if (fee === null) fee = new Announced(args.feeBps);
    else fee.announce(args.feeBps, args.effectiveAt, timeOf(block));
  }
  return fee?.at(time) ?? null;
}

/** The last event of `list` before `place`. */
function lastBefore<E extends Place>(list: readonly E[], place: Place): E | null {
  return list.findLast((event) => isBefore(event, place)) ?? null;
}

/** Receiver of fees at `place`. */
export function treasuryAt(events: readonly AnyEvent[], place: Place): Address | null {
  return lastBefore(eventsOf(events, "escrow", "TreasurySet"), place)?.args.treasury ?? null;
}

/** Signing address of a gateway id. Ids are permanent. */
export function gatewayOf(events: readonly AnyEvent[], gateway: number): Address | null {
  return eventsOf(events, "escrow", "GatewayAdded").find(({ args }) => args.gateway === gateway)?.args.signer ?? null;
}

/** Payout address of a worker at `place`; null if it was not registered. */
export function payoutAt(events: readonly AnyEvent[], signer: Address, place: Place): Address | null {
  const own = eventsOf(events, "registry", "WorkerRegistered", "PayoutSet").filter(
    ({ args }) => args.signer.toLowerCase() === signer.toLowerCase(),
  );
  return lastBefore(own, place)?.args.payout ?? null;
}

/** What a slash took at `place`, millionths of an SVC. */
export function slashAmountAt(
  events: readonly AnyEvent[],
  place: Place,
  time: number,
  timeOf: (block: bigint) => number,
): bigint | null {
  let amount: Announced<bigint> | null = null;
  for (const { args, block, logIndex } of eventsOf(events, "registry", "StakeTermsScheduled")) {
    if (!isBefore({ block, logIndex }, place)) break;
    if (amount === null) amount = new Announced(args.slashAmount);
    else amount.announce(args.slashAmount, args.effectiveAt, timeOf(block));
  }
  return amount?.at(time) ?? null;
}

/** Arbiters and quorum of a set. */
export function arbiterSet(events: readonly AnyEvent[], set: number) {
  return eventsOf(events, "panel", "ArbitersSet").find(({ args }) => args.set === set)?.args ?? null;
}
