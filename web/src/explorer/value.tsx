import { Link } from "react-router";
import { type Address, getAddress, type Hex } from "viem";
import { toProofHash } from "../../../protocol/answer-hash.ts";
import { isNoJob, toApiJobId } from "../../../protocol/job-id.ts";
import type { Field } from "../../../verify/describe.ts";
import { app } from "../data/app.ts";
import { Hash } from "../ui/copy.tsx";
import { credits, moment, units } from "../ui/format.ts";
import { ModelNumber } from "../ui/links.tsx";
import type { Names } from "./labels.ts";

/** One argument of an event with its unit, as a person reads it. */
export function Value({ field, names }: { field: Field; names: Names }) {
  const { name, value, unit, text } = field;
  switch (unit) {
    case "credits":
      return <>{credits(Number(value))}</>;
    case "stablecoin units":
      return <>{units(BigInt(value as bigint), 6)} USDG</>;
    case "Unix seconds":
      return <Time seconds={Number(value)} />;
    case "job": {
      if (isNoJob(value as Hex)) return "none";
      const id = toApiJobId(value as Hex);
      return <Hash value={id} what="job id" to={`/app/jobs/${id}`} />;
    }
    case "hash":
      return <Hash value={/Hash$/.test(name) ? toProofHash(value as Hex) : String(value)} what={name} />;
    case "address":
      return <Addresses value={value} names={names} />;
    case "number":
      if (name === "operator") return <Operator id={Number(value)} />;
      return name === "model" ? <ModelNumber number={Number(value)} /> : text;
    default:
      return text.startsWith("0x") && text.length > 20 ? <Hash value={text} what={name} /> : text;
  }
}

function Addresses({ value, names }: { value: unknown; names: Names }) {
  const all = [value].flat() as Address[];
  return all.length === 0
    ? "none"
    : all.map((address) => <AddressValue key={address} address={address} names={names} />);
}

function Operator({ id }: { id: number }) {
  const { operator } = app;
  if (id === 0) return <>none</>;
  return <Link to={`/app/operators/${id}`}>{id === operator ? `${id} (this service)` : id}</Link>;
}

function Time({ seconds }: { seconds: number }) {
  if (seconds === 0) return <>never</>;
  const iso = new Date(seconds * 1000).toISOString();
  return <time dateTime={iso}>{moment(iso)}</time>;
}

/** An address, with the contract's name if it is one of the deployment. */
export function AddressValue({ address, names }: { address: Address; names: Names }) {
  const name = names.get(address.toLowerCase());
  return (
    <>
      {name ? <span className="contract-name">{name} </span> : null}
      <Hash value={getAddress(address)} what="address" to={`/app/address/${getAddress(address)}`} />
    </>
  );
}
