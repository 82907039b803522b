import type { Address, Hex } from "viem";
import { UNITS_PER_CREDIT } from "../../../protocol/money.ts";
import { type FeeTerms, payouts } from "../../../protocol/pricing.ts";
import { type AnyEvent, eventsOf } from "../../../verify/events.ts";
import { type Flow, moneyFlow, type Place } from "../../../verify/money-flow.ts";
import { payoutsAfter } from "../../../verify/payouts.ts";
import { units } from "../ui/format.ts";
import { auditAddresses, type Contracts, feesOf, type ShownEvent } from "./decode.ts";

/** Someone money moves between, as the drawing names them. */
export type Party = { role: string; address: Address };

/** One arrow. `weight` compares credits with stablecoins; SVC has a scale of its own. */
export type Arrow = { from: Party; to: Party; amount: bigint; unit: Flow["unit"]; weight: bigint; why: string };

/** The money of these events as arrows, in their order. */
export function arrowsOf(events: readonly ShownEvent[], contracts: Contracts): Arrow[] {
  const audited = events.flatMap((event) => event.audited ?? []);
  const byTransaction = Map.groupBy(audited, ({ tx }) => tx);
  return [...byTransaction.values()].flatMap((logs) => arrowsOfTransaction(logs, audited, contracts));
}

/** `known`: events among which the locks of the jobs are looked for. */
function arrowsOfTransaction(logs: readonly AnyEvent[], known: readonly AnyEvent[], contracts: Contracts): Arrow[] {
  const escrow = contracts["InferenceEscrow"] as Address;
  const settled = eventsOf(logs, "escrow", "JobSettled");
  const paid = settled.flatMap((event) => payoutsAfter(event as AnyEvent, logs, escrow));
  const feeOf = feesOf(known);
  const paidFor = new Set(paid.map(({ logIndex }) => logIndex));
  return moneyFlow(logs, auditAddresses(contracts), known).map((flow): Arrow => {
    const arrow = {
      ...flow,
      from: partyOf(flow.from, escrow),
      to: partyOf(flow.to, escrow),
      weight: flow.unit === "credits" ? flow.amount * UNITS_PER_CREDIT : flow.amount,
    };
    if (!paidFor.has(flow.logIndex)) return arrow;
    if (arrow.to.role !== "Treasury") return { ...arrow, to: { ...arrow.to, role: "Worker" }, why: "paid for the job" };
    return { ...arrow, ...feeArrow(flow.amount, settled, feeOf) };
  });
}

/** The treasury is paid once for all jobs of a transaction; of that, what these jobs paid where their fee is known. */
function feeArrow(
  transferred: bigint,
  settled: readonly { args: { jobId: Hex; credits: number } }[],
  feeOf: ReadonlyMap<Hex, FeeTerms>,
): Pick<Arrow, "amount" | "weight" | "why"> {
  const shares = settled.map(({ args: { credits, jobId } }) => {
    const fee = feeOf.get(jobId);
    return fee === undefined ? 0n : payouts(credits, fee).treasuryUnits;
  });
  const known = settled.every(({ args }) => feeOf.has(args.jobId));
  const share = shares.reduce((sum, one) => sum + one, 0n);
  if (known && share < transferred) {
    const why = `treasury's share of the fee, within one transfer of ${units(transferred, 6)} USDG for all jobs of the transaction`;
    return { amount: share, weight: share, why };
  }
  const why =
    settled.length === 1 ? "treasury's share of the fee" : `treasury's share of the fee of ${settled.length} jobs`;
  return { amount: transferred, weight: transferred, why };
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
