import type { Address, Hex } from "viem";
import { toApiJobId } from "../../../protocol/job-id.ts";
import { toProofHash } from "../../../protocol/proof-hash.ts";
import { Hash } from "../ui/copy.tsx";
import { credits, moment, svc, units } from "../ui/format.ts";
import type { Argument, Names, ShownEvent } from "./decode.ts";
import { ENUMS, unitOf } from "./names.ts";

/** One argument of an event with its unit, as a person reads it. */
export function Value({ event, arg, names }: { event: ShownEvent; arg: Argument; names: Names }) {
  const { name, value } = arg;
  switch (unitOf(event.contract ?? "", name)) {
    case "credits":
      return <>{credits(Number(value))}</>;
    case "usdg":
      return <>{units(BigInt(value as bigint), 6)} USDG</>;
    case "svc":
      return <>{svc(BigInt(value as bigint))}</>;
    case "svcWei":
      return <>{units(BigInt(value as bigint), 18, 0)} SVC</>;
    case "percent":
      return <>{Number(value) / 100} %</>;
    case "time":
      return <Time seconds={Number(value)} />;
    case "job": {
      const id = toApiJobId(value as Hex);
      return <Hash value={id} what="job id" to={`/jobs/${id}`} />;
    }
    case "hash":
      return <Hash value={toProofHash(value as Hex)} what={name} />;
    case "enum":
      return <>{ENUMS[name]?.[Number(value)] ?? String(value)}</>;
    default:
      return <Plain value={value} names={names} />;
  }
}

function Time({ seconds }: { seconds: number }) {
  if (seconds === 0) return <>never</>;
  const iso = new Date(seconds * 1000).toISOString();
  return <time dateTime={iso}>{moment(iso)}</time>;
}

function Plain({ value, names }: { value: unknown; names: Names }) {
  if (typeof value === "string" && /^0x[0-9a-fA-F]{40}$/.test(value))
    return <AddressValue address={value as Address} names={names} />;
  if (typeof value === "string" && value.startsWith("0x") && value.length > 20)
    return <Hash value={value} what="value" />;
  if (typeof value === "boolean") return <>{value ? "yes" : "no"}</>;
  if (Array.isArray(value)) return <>{value.length === 0 ? "none" : value.map(String).join(", ")}</>;
  if (typeof value === "object" && value !== null) {
    return (
      <>
        {Object.entries(value)
          .map(([key, inner]) => `${key}: ${String(inner)}`)
          .join(", ")}
      </>
    );
  }
  return <>{String(value)}</>;
}

/** An address, with the contract's name if it is one of the deployment. */
export function AddressValue({ address, names }: { address: Address; names: Names }) {
  const name = names.get(address.toLowerCase());
  return (
    <>
      {name ? <span className="contract-name">{name} </span> : null}
      <Hash value={address} what="address" />
    </>
  );
}
