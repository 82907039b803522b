import { useId } from "react";
import { Hash } from "../ui/copy.tsx";
import { units } from "../ui/format.ts";
import type { Flow, Party } from "./flow.ts";

const THICKEST = 14;
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
      {party.address === null ? null : <Hash value={party.address} what={`address of ${party.role.toLowerCase()}`} />}
    </div>
  );
}

function Arrow({ share }: { share: number }) {
  const id = useId();
  const width = THINNEST + share * (THICKEST - THINNEST);
  return (
    <svg className="flow-line" viewBox="0 0 200 28" preserveAspectRatio="none" role="img" aria-labelledby={id}>
      <title id={id}>goes to</title>
      <path d={`M0 ${14 - width / 2}H186V${14 + width / 2}H0Z`} />
      <path d="M184 4L200 14L184 24Z" />
    </svg>
  );
}
