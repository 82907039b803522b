/** What was in force at a place of the chain, from configuration events alone. Pure. All functions take events in chain order. */
import { type Address, zeroAddress } from "viem";
import { toUnits } from "../money.ts";
import type { Prices } from "../pricing.ts";
import { type AnyEvent, eventsOf, isBefore, isEvent } from "./event-log.ts";

/** Where an event stands. */
export type Place = Pick<AnyEvent, "block" | "logIndex">;

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

/** The operator that a key signs for at `place`, and since when it does not any more; null for a key that never did. */
export function signerAt(
  events: readonly AnyEvent[],
  key: Address,
  place: Place,
): { operator: number; removed: Place | null } | null {
  const own = eventsOf(events, "escrow", "SignerAdded", "SignerRemoved").filter(({ args }) => same(args.signer, key));
  const last = lastBefore(own, place);
  if (last === null) return null;
  return { operator: last.args.operator, removed: last.name === "SignerRemoved" ? last : null };
}

/** Whether a key signs for the operator at `place`. */
export function isInOffice(events: readonly AnyEvent[], key: Address, operator: number, place: Place): boolean {
  const signer = signerAt(events, key, place);
  return signer !== null && signer.operator === operator && signer.removed === null;
}

/** Whether an operator may lock no job at `place`. */
export function isStopped(events: readonly AnyEvent[], operator: number, place: Place): boolean {
  const own = eventsOf(events, "escrow", "OperatorStopped").filter(({ args }) => args.operator === operator);
  return lastBefore(own, place)?.args.stopped ?? false;
}

/** Whether deposits and locks are paused at `place`. */
export function isPaused(events: readonly AnyEvent[], place: Place): boolean {
  const args = lastBefore(eventsOf(events, "escrow", "PausedSet"), place)?.args;
  return args !== undefined && (args.byGuardian || args.byGovernance);
}

/** What the treasury can be charged on a UTC day, token units. */
export function compensationCapAt(events: readonly AnyEvent[], place: Place): bigint {
  return toUnits(lastBefore(eventsOf(events, "escrow", "CompensationCapSet"), place)?.args.credits ?? 0);
}

/** An operator's reserve and held bonds before `place`. */
export function reserveBefore(events: readonly AnyEvent[], operator: number, place: Place): Reserve {
  const own = eventsOf(events, "escrow", "ReserveChanged").filter(({ args }) => args.operator === operator);
  const { reserve, held } = lastBefore(own, place)?.args ?? { reserve: 0, held: 0 };
  return { reserve, held };
}
export type Reserve = { reserve: number; held: number };

/** Number of the operator's last own event before `place`. */
export function operatorSequenceBefore(events: readonly AnyEvent[], operator: number, place: Place): number {
  const own = eventsOf(events, "escrow", ...OPERATOR_EVENTS).filter(({ args }) => args.operator === operator);
  return lastBefore(own, place)?.args.sequence ?? 0;
}
const OPERATOR_EVENTS = [
  "OperatorAdminSet",
  "SignerAdded",
  "SignerRemoved",
  "ReserveChanged",
  "ReserveLeaving",
] as const;

/** A worker as the registry has it at `place`. Stake in millionths of an SVC. */
export type WorkerTerms = {
  id: number;
  payout: Address;
  stake: bigint;
  unbonding: boolean;
  models: ReadonlySet<number>;
  sequence: number;
};

/** A worker by its signing key; null if it was not registered before `place`. */
export function workerAt(events: readonly AnyEvent[], signer: Address, place: Place): WorkerTerms | null {
  let worker: (WorkerTerms & { models: Set<number> }) | null = null;
  for (const event of events) {
    if (!isBefore(event, place)) break;
    if (event.contract !== "registry" || !same((event.args as { signer?: Address }).signer, signer)) continue;
    if (isEvent(event, "registry", "WorkerRegistered")) {
      const { worker: id, payout } = event.args;
      worker = { id, payout, stake: 0n, unbonding: false, models: new Set(), sequence: 0 };
    }
    if (worker === null) continue;
    worker.sequence = (event.args as { sequence: number }).sequence;
    if (isEvent(event, "registry", "PayoutSet")) worker.payout = event.args.payout;
    else if (isEvent(event, "registry", "StakeAdded", "WorkerSlashed")) worker.stake = event.args.stake;
    else if (isEvent(event, "registry", "UnbondingStarted")) worker.unbonding = true;
    else if (isEvent(event, "registry", "UnbondingCancelled")) worker.unbonding = false;
    else if (isEvent(event, "registry", "StakeWithdrawn")) Object.assign(worker, { stake: 0n, unbonding: false });
    else if (isEvent(event, "registry", "HostingSet")) {
      const { models, hosted } = event.args;
      for (const model of models) {
        if (hosted) worker.models.add(model);
        else worker.models.delete(model);
      }
    }
  }
  return worker;
}

const same = (a: Address | undefined, b: Address) => a?.toLowerCase() === b.toLowerCase();

/** Minimum stake and what a slash takes at `place`, millionths of an SVC; null before they were first set. */
export function stakeTermsAt(
  events: readonly AnyEvent[],
  place: Place,
  time: number,
  timeOf: (block: bigint) => number,
): { minimumStake: bigint; slashAmount: bigint } | null {
  let terms: Announced<{ minimumStake: bigint; slashAmount: bigint }> | null = null;
  for (const { args, block, logIndex } of eventsOf(events, "registry", "StakeTermsScheduled")) {
    if (!isBefore({ block, logIndex }, place)) break;
    if (terms === null) terms = new Announced(args);
    else terms.announce(args, args.effectiveAt, timeOf(block));
  }
  return terms?.at(time) ?? null;
}

/** The set of arbiters that rules on disputes opened at `place`. */
export function currentSetAt(events: readonly AnyEvent[], place: Place): number | null {
  return lastBefore(eventsOf(events, "panel", "ArbitersSet"), place)?.args.set ?? null;
}

/** The operator that a wallet has chosen at `place`, 0 for none. `events`: the wallet's own. */
export function chosenOperatorAt(events: readonly AnyEvent[], place: Place): number {
  return lastBefore(eventsOf(events, "escrow", "Deposited", "OperatorChosen"), place)?.args.operator ?? 0;
}

/** The key that must sign a wallet's locks at `place`; null for none. `events`: the wallet's own. */
export function authorizationKeyAt(events: readonly AnyEvent[], place: Place): Address | null {
  const key = lastBefore(eventsOf(events, "escrow", "AuthorizationKeySet"), place)?.args.key;
  return key === undefined || key === zeroAddress ? null : key;
}

/** A wallet's limits at `place`. `events`: the wallet's own. */
export function limitsAt(events: readonly AnyEvent[], place: Place): { dailyLimit: number | null; frozen: boolean } {
  const args = lastBefore(eventsOf(events, "escrow", "LimitsSet"), place)?.args;
  return { dailyLimit: args?.limited ? args.dailyLimit : null, frozen: args?.frozen ?? false };
}

/** Arbiters and quorum of a set. */
export function arbiterSet(events: readonly AnyEvent[], set: number) {
  return eventsOf(events, "panel", "ArbitersSet").find(({ args }) => args.set === set)?.args ?? null;
}
