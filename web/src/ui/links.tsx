/** Links from names to their pages. Apart from the lists, because the front page needs no more than these. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { modelsQuery } from "../data/queries.ts";
import { Hash } from "./copy.tsx";
import { age, moment, short } from "./format.ts";

/** Leads to another page, and looks like a button. */
export const LinkButton = ({ to, children }: { to: string; children: string }) => (
  <Link className="button plain" to={to}>
    {children}
  </Link>
);

export const AddressLink = ({ address, what }: { address: string; what: string }) => (
  <Hash value={address} what={what} to={`/app/address/${address}`} />
);

export const JobLink = ({ id }: { id: string }) => (
  <Link to={`/app/jobs/${id}`}>
    <code title={id}>{short(id, 10, 6)}</code>
  </Link>
);

export const ModelLink = ({ id }: { id: string }) => (
  <Link to={`/app/models/${encodeURIComponent(id)}`} className="name">
    {id}
  </Link>
);

/** A model by its number; the catalog knows its name. */
export function ModelNumber({ number }: { number: number }) {
  const { data } = useQuery(modelsQuery);
  const name = data?.data.find((model) => model.number === number)?.id;
  return name === undefined ? <>model {number}</> : <ModelLink id={name} />;
}

/** The time since something happened; pointing at it shows the moment itself. */
export const When = ({ iso }: { iso: string }) => (
  <time dateTime={iso} title={moment(iso)}>
    {age(iso)}
  </time>
);
