import { getAddress } from "viem";
import { Hash } from "../ui/copy.tsx";
import { units } from "../ui/format.ts";
import type { Flow, Party } from "./flow.ts";

const THICKEST = 12;
const THINNEST = 2;

/** The money of a transaction as arrows, as thick as what they carry; a list with sentences for those who do not see them. */
export function MoneyFlow({ flows }: { flows: readonly Flow[] }) {
  const largest = flows.map((flow) => flow.units).reduce(larger, 1n);
  return (
    <ol className="flows">
      {flows.map((flow, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the order of the events is their identity
        <li key={index} className={flow.kind}>
          <Side party={flow.from} />
          <div className="arrow">
            <span className="amount">
              {units(flow.units, 6)} USDG
              {flow.kind === "credits" ? <small> = {units(flow.units, 4, 0)} credits</small> : null}
            </span>
            <Arrow share={Number((flow.units * 1000n) / largest) / 1000} />
            <span className="hint">{flow.what}</span>
          </div>
          <span className="visually-hidden">to</span>
          <Side party={flow.to} />
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

function Side({ party }: { party: Party }) {
  return (
    <div className="party">
      <span>{party.role}</span>
      {party.address === null ? null : (
        <Hash value={getAddress(party.address)} what={`address of ${party.role.toLowerCase()}`} />
      )}
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
