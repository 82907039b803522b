import type { Address } from "viem";
import { UNITS_PER_CREDIT } from "../../../protocol/money.ts";
import { argument, type ShownEvent } from "./decode.ts";

/** Someone money moves between: a wallet's account in the ledger, the escrow, or whoever holds tokens. */
export type Party = { role: string; address: Address | null };

/** One movement of money. Amounts in stablecoin units, so that credits and tokens compare. */
export type Flow = { from: Party; to: Party; units: bigint; what: string; kind: "credits" | "tokens" };

const inEscrow: Party = { role: "Escrow", address: null };
const ledger = (address: Address): Party => ({ role: "Wallet's credits", address });
const toUnits = (credits: number): bigint => BigInt(credits) * UNITS_PER_CREDIT;

/** What moved in these events, in their order: credits inside the ledger, and stablecoin tokens in and out of it. */
export function flowsOf(events: readonly ShownEvent[], contracts: Record<string, Address>): Flow[] {
  const flows: Flow[] = [];
  let settled: ShownEvent | null = null;
  for (const event of events) {
    if (event.contract === "Stablecoin" && event.name === "Transfer") flows.push(transfer(event, settled, contracts));
    if (event.contract !== "InferenceEscrow") continue;
    if (event.name === "JobSettled") settled = event;
    flows.push(...inLedger(event));
  }
  return flows.filter((flow) => flow.units > 0n);
}

function inLedger(event: ShownEvent): Flow[] {
  const wallet = argument<Address>(event, "wallet");
  const move = (from: Party, to: Party, name: string, what: string): Flow[] => [
    { from, to, what, units: toUnits(argument<number>(event, name)), kind: "credits" },
  ];
  switch (event.name) {
    case "JobLocked":
      return move(ledger(wallet), inEscrow, "credits", "locked for the job");
    case "JobSettled":
      return move(inEscrow, ledger(wallet), "returned", "not needed, returned");
    case "JobFailed":
    case "JobRefunded":
      return move(inEscrow, ledger(wallet), "credits", "returned in full");
    case "JobDisputed":
      return move(ledger(wallet), inEscrow, "bond", "bond of the dispute");
    case "DisputeResolved":
      return move(inEscrow, ledger(wallet), "returned", "returned by the ruling");
    default:
      return [];
  }
}

/** Tokens that follow a settlement go to its worker and to the treasury: amounts and order tell which. */
function transfer(event: ShownEvent, settled: ShownEvent | null, contracts: Record<string, Address>): Flow {
  const [from, to] = [argument<Address>(event, "from"), argument<Address>(event, "to")];
  const units = argument<bigint>(event, "value");
  const party = (address: Address): Party => ({ role: roleOf(address, contracts), address });
  const isPayout = settled !== null && same(from, contracts["InferenceEscrow"]);
  const toWorker =
    isPayout && !same(to, contracts["ProtocolTreasury"]) && units === argument<bigint>(settled, "workerUnits");
  const receiver = toWorker ? { role: "Worker", address: to } : party(to);
  return {
    from: party(from),
    to: receiver,
    units,
    what: toWorker ? "paid for the job" : whatOf(receiver.role),
    kind: "tokens",
  };
}

const whatOf = (role: string): string =>
  role === "Treasury" ? "protocol fee" : role === "Escrow" ? "paid in" : "paid out";

function roleOf(address: Address, contracts: Record<string, Address>): string {
  if (same(address, contracts["InferenceEscrow"])) return "Escrow";
  if (same(address, contracts["ProtocolTreasury"])) return "Treasury";
  return /^0x0+$/.test(address) ? "Minted" : "Wallet";
}

const same = (a: Address, b: Address | undefined): boolean => a.toLowerCase() === b?.toLowerCase();
