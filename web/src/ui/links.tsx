/** Where names lead. Apart from the lists, because the front page needs no more than these. */
import { Link } from "react-router";
import { Hash } from "./copy.tsx";
import { age, moment, short } from "./format.ts";

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

/** How long ago something was; the moment itself where one points at it. */
export const When = ({ iso }: { iso: string }) => (
  <time dateTime={iso} title={moment(iso)}>
    {age(iso)}
  </time>
);
