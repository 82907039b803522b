import type { Address, Hex } from "viem";
import { sharePercent } from "../../../../protocol/pricing.ts";
import type { Field } from "../../../../verify/describe.ts";
import { app } from "../../data/app.ts";
import { type Call, decodeCallOf, namesOf } from "../../explorer/decode.ts";
import { Arguments } from "../../explorer/events.tsx";
import { AddressValue } from "../../explorer/value.tsx";
import { short, units } from "../../ui/format.ts";
import { Badge } from "../../ui/status.tsx";
import type { Action } from "./chain.ts";

const names = namesOf(app.contracts);

export const svcOf = (value: bigint): string => `${units(value, 18, 0)} SVC`;

/** An amount of a token that we know; its bare units otherwise. */
export function amountOf(token: Address, value: bigint): string {
  const name = names.get(token.toLowerCase());
  if (name === "Stablecoin") return `${units(value, 6)} USDG`;
  return name === "ServiceToken" ? svcOf(value) : `${value} units of token ${short(token)}`;
}

/** The calls of a decision, decoded with the ABI of their targets: a description can say anything, the calls are what happens. */
export function Actions({ actions }: { actions: readonly Action[] }) {
  return (
    <ol className="acts">
      {actions.map((action, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the order of the calls is their identity
        <li key={index}>
          <ActionLine action={action} />
        </li>
      ))}
    </ol>
  );
}

function ActionLine({ action }: { action: Action }) {
  const { target, value, data } = action;
  const contract = names.get(target.toLowerCase());
  const call = contract === undefined ? null : decodeCallOf(contract, data);
  return (
    <>
      <p>
        <strong>{titleOf(action)}</strong> {call === null ? <Badge tone="bad">cannot be decoded</Badge> : null}
      </p>
      <p className="hint">
        {call === null ? "A call of " : <code>{call.name}</code>} {call === null ? "" : " of "}
        <AddressValue address={target} names={names} />
        {value > 0n ? ` with ${units(value, 18, 0)} ${app.currency}` : ""}
      </p>
      {call === null ? (
        <p className="hint wrap">
          <code>{data}</code>
        </p>
      ) : (
        <Arguments fields={fieldsOf(call)} names={names} />
      )}
    </>
  );
}

/** Units of another token than the stablecoin must not read as the stablecoin's. */
function fieldsOf({ name, fields }: Call): Field[] {
  const token = fields.find((field) => field.name === "token")?.value as Address | undefined;
  if (name !== "pay" || token === undefined) return fields;
  return fields.map((field) =>
    field.name === "units" ? { ...field, unit: "text", text: amountOf(token, field.value as bigint) } : field,
  );
}

const argumentOf = (call: Call, name: string): unknown => call.fields.find((field) => field.name === name)?.value;

/** A decision's call in few words. */
export function titleOf({ target, data }: Action): string {
  const contract = names.get(target.toLowerCase());
  const call = contract === undefined ? null : decodeCallOf(contract, data);
  if (call === null) return contract === undefined ? "Call an unknown contract" : `Call ${contract}`;
  switch (`${contract}.${call.name}`) {
    case "ProtocolTreasury.pay": {
      const amount = amountOf(argumentOf(call, "token") as Address, argumentOf(call, "units") as bigint);
      return `Pay ${amount} from the treasury to ${short(argumentOf(call, "receiver") as Hex)}`;
    }
    case "InferenceEscrow.scheduleFee":
      return `Announce a protocol fee of ${Number(argumentOf(call, "feeBps")) / 100} %, of which operators have ${sharePercent(Number(argumentOf(call, "operatorShare")))} %`;
    case "InferenceEscrow.setGuardian":
      return `Make ${short(argumentOf(call, "guardian") as Hex)} the guardian`;
    case "ArbitrationPanel.setArbiters":
      return `Appoint ${(argumentOf(call, "arbiters") as Hex[]).length} arbiters, of whom ${argumentOf(call, "quorum")} rule`;
    default:
      return `${contract}.${call.name}`;
  }
}
