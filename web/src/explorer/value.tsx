import { Link } from "react-router";
import { type Address, getAddress, type Hex } from "viem";
import { toProofHash } from "../../../protocol/answer-hash.ts";
import { isNoJob, toApiJobId } from "../../../protocol/job-id.ts";
import type { Field } from "../../../verify/describe.ts";
import { app } from "../data/app.ts";
import { Hash } from "../ui/copy.tsx";
import { credits, moment, svc, units } from "../ui/format.ts";
import { ModelNumber } from "../ui/links.tsx";
import { type Names, textOf } from "./labels.ts";

/** One argument of an event with its unit, as a person reads it. */
export function Value({ field, names }: { field: Field; names: Names }) {
  const { name, value, unit, text } = field;
  switch (unit) {
    case "credits":
      return <>{credits(Number(value))}</>;
    case "stablecoin units":
      return <>{units(BigInt(value as bigint), 6)} USDG</>;
    case "SVC base units":
      return <>{units(BigInt(value as bigint), 18, 0)} SVC</>;
    case "SVC millionths":
      return <>{svc(BigInt(value as bigint))}</>;
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
      return <Texts name={name} all={Array.isArray(value) ? value.map(textOf) : [text]} />;
  }
}

/** Long bytes as a hash to copy, the rest as it is. */
function Texts({ name, all }: { name: string; all: readonly string[] }) {
  const said = all.filter((text) => text !== "");
  if (said.length === 0) return "none";
  const isBytes = (text: string) => text.startsWith("0x") && text.length > 20;
  if (!said.some(isBytes)) return said.join(", ");
  // biome-ignore lint/suspicious/noArrayIndexKey: the order of an argument's items is their identity
  return said.map((text, index) => <Hash key={index} value={text} what={name} />);
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
