import { getAddress } from "viem";
import { credits, units } from "../ui/format.ts";
import { AddressLink } from "../ui/links.tsx";
import type { Arrow as ArrowData, Party } from "./flow.ts";

const THICKEST = 12;
const THINNEST = 2;

/** The money of a transaction as arrows, as thick as what they carry; a list with sentences for those who do not see them. */
export function MoneyFlow({ arrows }: { arrows: readonly ArrowData[] }) {
  const largest = arrows.map((arrow) => arrow.weight).reduce(larger, 1n);
  return (
    <ol className="flows">
      {arrows.map((arrow, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the order of the events is their identity
        <li key={index} className={arrow.unit === "credits" ? "credits" : "tokens"}>
          <Side party={arrow.from} />
          <div className="arrow">
            <span className="amount">{amountOf(arrow)}</span>
            <Arrow share={Number((arrow.weight * 1000n) / largest) / 1000} />
            <span className="hint">{arrow.why}</span>
          </div>
          <span className="visually-hidden">to</span>
          <Side party={arrow.to} />
        </li>
      ))}
    </ol>
  );
}

/** Math.max takes no bigint. */
function larger(a: bigint, b: bigint): bigint {
  if (a > b) return a;
  return b;
}

function amountOf({ amount, unit }: ArrowData): string {
  if (unit === "credits") return credits(Number(amount));
  return unit === "stablecoin units" ? `${units(amount, 6)} USDG` : `${units(amount, 18, 0)} SVC`;
}

function Side({ party }: { party: Party }) {
  return (
    <div className="party">
      <span>{party.role}</span>
      <AddressLink address={getAddress(party.address)} what={`address of ${party.role.toLowerCase()}`} />
    </div>
  );
}

/** The list's order and the words around it say what the drawing says. */
function Arrow({ share }: { share: number }) {
  return (
    <div className="flow-line" aria-hidden="true">
      <span style={{ height: THINNEST + share * (THICKEST - THINNEST) }} />
      <svg viewBox="0 0 14 22">
        <title>to</title>
        <path d="M0 0L14 11L0 22Z" />
      </svg>
    </div>
  );
}
