/** The terms in force at a place of the chain, from configuration events alone. Pure. */
import { type Address, zeroAddress } from "viem";
import { toUnits } from "../protocol/money.ts";
import type { FeeTerms, Prices } from "../protocol/pricing.ts";
import { type AnyEvent, type EscrowEvent, eventsOf, isBefore, isEvent, type Place } from "./events.ts";

/** A worker as the registry has it. Stake in millionths of an SVC. */
type WorkerTerms = {
  id: number;
  payout: Address;
  stake: bigint;
  unbonding: boolean;
  models: ReadonlySet<number>;
  sequence: number;
};

const OPERATOR_EVENTS = [
  "OperatorAdminSet",
  "SignerAdded",
  "SignerRemoved",
  "ReserveChanged",
  "ReserveLeaving",
  "EarningsChanged",
  "EarningsWithdrawn",
] as const;

const same = (a: Address | undefined, b: Address) => a?.toLowerCase() === b.toLowerCase();

/** The configuration (`CONFIGURATION_EVENTS`, and events of workers) in chain order. Each method looks before `place`. */
export class Terms {
  readonly #events: readonly AnyEvent[];
  readonly #timeOf: (block: bigint) => number;

  constructor(events: readonly AnyEvent[], timeOf: (block: bigint) => number) {
    this.#events = events;
    this.#timeOf = timeOf;
  }

  /** Events whose number is not the next one. Those of one subject are numbered from 1, so each gap shows a missing event. */
  gaps(): string[] {
    const counted = new Map<string, number>();
    return this.#events.flatMap((event) => {
      const { name, tx, args } = event;
      const { sequence, set } = args as { sequence?: number; set?: number };
      const [field, number] = sequence === undefined ? (["set", set] as const) : (["sequence", sequence] as const);
      if (number === undefined) return [];
      const subject = subjectOf(event);
      const expected = (counted.get(subject) ?? 0) + 1;
      // A gap is told once: what follows is held against the number that is there.
      counted.set(subject, number);
      return number === expected ? [] : [`${name}.${field} is ${number} in ${tx}, it should be ${expected}`];
    });
  }

  /** Terms of a model for a lock at `place`; null if it was not listed by then. */
  model(number: number, place: Place) {
    const own = eventsOf(this.#events, "catalog", "ModelListed", "PricesScheduled", "RetirementScheduled")
      .filter((event) => event.args.model === number && isBefore(event, place))
      .map((event) => event as AnyEvent);
    const [listed] = eventsOf(own, "catalog", "ModelListed");
    if (listed === undefined) return null;
    const { id, tier, ...first } = listed.args.listing;
    const announced = eventsOf(own, "catalog", "PricesScheduled");
    const prices = this.#inForce<Prices>(
      [{ block: listed.block, args: { ...first, effectiveAt: 0 } }, ...announced],
      place,
    );
    const retiresAt = eventsOf(own, "catalog", "RetirementScheduled").at(-1)?.args.retiresAt ?? 0;
    const { creditsPerRequest, creditsPer1kTokens } = prices ?? first;
    return { id, tier, retiresAt, creditsPerRequest, creditsPer1kTokens };
  }

  /** Protocol fee, and the operators' share of it; null before the first one was set. */
  fee(place: Place): FeeTerms | null {
    return this.#inForce(eventsOf(this.#events, "escrow", "FeeScheduled"), place);
  }

  /** Minimum stake and what a slash takes, millionths of an SVC; null before they were first set. */
  stake(place: Place) {
    return this.#inForce(eventsOf(this.#events, "registry", "StakeTermsScheduled"), place);
  }

  /** Receiver of fees. */
  treasury(place: Place): Address | null {
    return lastBefore(eventsOf(this.#events, "escrow", "TreasurySet"), place)?.args.treasury ?? null;
  }

  /** The operator that a key signs for, and since when it does not any more; null for a key that never did. */
  signer(key: Address, place: Place): { operator: number; removed: Place | null } | null {
    const all = eventsOf(this.#events, "escrow", "SignerAdded", "SignerRemoved");
    const last = lastBefore(
      all.filter(({ args }) => same(args.signer, key)),
      place,
    );
    return last && { operator: last.args.operator, removed: last.name === "SignerRemoved" ? last : null };
  }

  /** Whether a key signs for the operator. */
  isInOffice(key: Address, operator: number, place: Place): boolean {
    const signer = this.signer(key, place);
    return signer !== null && signer.operator === operator && signer.removed === null;
  }

  /** True if an operator may lock no job. */
  isStopped(operator: number, place: Place): boolean {
    const own = eventsOf(this.#events, "escrow", "OperatorStopped").filter(({ args }) => args.operator === operator);
    return lastBefore(own, place)?.args.stopped ?? false;
  }

  /** Whether deposits and locks are paused. */
  isPaused(place: Place): boolean {
    const args = lastBefore(eventsOf(this.#events, "escrow", "PausedSet"), place)?.args;
    return args !== undefined && (args.byGuardian || args.byGovernance);
  }

  /** The most that the treasury can be charged on a UTC day, token units. */
  compensationCap(place: Place): bigint {
    return toUnits(lastBefore(eventsOf(this.#events, "escrow", "CompensationCapSet"), place)?.args.credits ?? 0);
  }

  /** An operator's reserve and held bonds. */
  reserve(operator: number, place: Place) {
    const own = eventsOf(this.#events, "escrow", "ReserveChanged").filter(({ args }) => args.operator === operator);
    const { reserve, held } = lastBefore(own, place)?.args ?? { reserve: 0, held: 0 };
    return { reserve, held };
  }

  /** Number of the operator's last own event. */
  operatorSequence(operator: number, place: Place): number {
    const own = eventsOf(this.#events, "escrow", ...OPERATOR_EVENTS).filter(({ args }) => args.operator === operator);
    return lastBefore(own, place)?.args.sequence ?? 0;
  }

  /** A worker by its signing key; null if it was not registered. */
  worker(signer: Address, place: Place): WorkerTerms | null {
    let worker: (WorkerTerms & { models: Set<number> }) | null = null;
    for (const event of this.#events) {
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
        for (const model of event.args.models) worker.models[event.args.hosted ? "add" : "delete"](model);
      }
    }
    return worker;
  }

  /** The set of arbiters that rules on disputes opened at `place`. */
  arbiterSet(place: Place): number | null {
    return lastBefore(eventsOf(this.#events, "panel", "ArbitersSet"), place)?.args.set ?? null;
  }

  /** Arbiters and quorum of a set. */
  arbiters(set: number) {
    return eventsOf(this.#events, "panel", "ArbitersSet").find(({ args }) => args.set === set)?.args ?? null;
  }

  /** The value in force at `place`: the first one at once, an announced one after its notice, unless another one replaced it before. */
  #inForce<T>(all: readonly Announcement<T>[], place: Place): T | null {
    let now: T | null = null;
    let next: (T & { effectiveAt: number }) | null = null;
    for (const event of all) {
      if (!isBefore({ block: event.block, logIndex: event.logIndex ?? 0 }, place)) break;
      if (next !== null && this.#timeOf(event.block) >= next.effectiveAt) now = next;
      if (now === null) now = event.args;
      else next = event.args;
    }
    return next !== null && this.#timeOf(place.block) >= next.effectiveAt ? next : now;
  }
}

/** Whose events are numbered together. */
function subjectOf(event: AnyEvent): string {
  const { contract, name, args } = event;
  const { operator, model, worker } = args as { operator?: number; model?: number; worker?: number };
  if (contract === "catalog") return `model ${model}`;
  if (contract === "registry") return worker === undefined ? "stake" : `worker ${worker}`;
  if (contract === "panel") return "arbiters";
  return (OPERATOR_EVENTS as readonly string[]).includes(name) ? `operator ${operator}` : "administration";
}

type Announcement<T> = { block: bigint; logIndex?: number; args: T & { effectiveAt: number } };

/** The last event of `list` before `place`. */
function lastBefore<E extends Place>(list: readonly E[], place: Place): E | null {
  return list.findLast((event) => isBefore(event, place)) ?? null;
}

/** The operator that a wallet has chosen at `place`, 0 for none. `events`: the wallet's own. */
export function chosenOperator(events: readonly AnyEvent[], place: Place): number {
  return lastBefore(eventsOf(events, "escrow", "Deposited", "OperatorChosen"), place)?.args.operator ?? 0;
}

/** The naming of the key that may dispute for a wallet at `place`; null for none. `events`: the wallet's own. */
export function disputeKey(events: readonly AnyEvent[], place: Place): EscrowEvent<"DisputeKeySet">["args"] | null {
  const named = lastBefore(eventsOf(events, "escrow", "DisputeKeySet"), place)?.args;
  return named === undefined || named.key === zeroAddress ? null : named;
}

/** The key that must sign a wallet's locks at `place`; null for none. `events`: the wallet's own. */
export function authorizationKey(events: readonly AnyEvent[], place: Place): Address | null {
  const key = lastBefore(eventsOf(events, "escrow", "AuthorizationKeySet"), place)?.args.key;
  return key === undefined || key === zeroAddress ? null : key;
}
