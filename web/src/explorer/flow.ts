import type { Address } from "viem";
import { isEvent } from "../../../protocol/audit/event-log.ts";
import { type Flow, moneyFlow, type Place } from "../../../protocol/audit/money-flow.ts";
import { UNITS_PER_CREDIT } from "../../../protocol/money.ts";
import { auditAddresses, type Contracts, type ShownEvent } from "./decode.ts";

/** Someone money moves between, as the drawing names them. */
export type Party = { role: string; address: Address };

/** One arrow. `weight` compares credits with stablecoins; SVC has a scale of its own. */
export type Arrow = { from: Party; to: Party; amount: bigint; unit: Flow["unit"]; weight: bigint; why: string };

/** The money of these events as arrows, in their order. */
export function arrowsOf(events: readonly ShownEvent[], contracts: Contracts): Arrow[] {
  const audited = events.flatMap((event) => event.audited ?? []);
  const escrow = contracts["InferenceEscrow"] as Address;
  return moneyFlow(audited, auditAddresses(contracts)).map((flow): Arrow => {
    const settlement = audited.findLast(
      (event) => event.logIndex < flow.logIndex && isEvent(event, "escrow", "JobSettled"),
    );
    const pays = settlement && isEvent(settlement, "escrow", "JobSettled") ? settlement.args : null;
    const from = partyOf(flow.from, escrow);
    const to = partyOf(flow.to, escrow);
    // The payout follows its settlement; its amount tells the worker's share from the fee.
    const toWorker =
      pays !== null && from.role === "Escrow" && to.role === "Wallet" && flow.amount === pays.workerUnits;
    return {
      from,
      to: toWorker ? { ...to, role: "Worker" } : to,
      amount: flow.amount,
      unit: flow.unit,
      weight: flow.unit === "credits" ? flow.amount * UNITS_PER_CREDIT : flow.amount,
      why: toWorker ? "paid for the job" : pays !== null && to.role === "Treasury" ? "protocol fee" : flow.why,
    };
  });
}

const ROLES: Record<string, string> = {
  escrow: "Escrow",
  treasury: "Treasury",
  registry: "Stakes",
  stablecoin: "USDG",
};

function partyOf(place: Place, escrow: Address): Party {
  if (place.kind === "free") return { role: "Wallet's credits", address: place.wallet };
  if (place.kind === "escrow") return { role: "Job's escrow", address: escrow };
  const { address, name } = place;
  if (/^0x0+$/.test(address)) return { role: "Newly minted", address };
  return { role: name === null ? "Wallet" : (ROLES[name] ?? name), address };
}
