import type { ReactNode } from "react";
import type { Field } from "../../../verify/describe.ts";
import type { ChainTransaction } from "../../contract.ts";
import { Hash } from "../ui/copy.tsx";
import { count } from "../ui/format.ts";
import { TxHash } from "../wallet/action-status.tsx";
import type { ShownEvent } from "./decode.ts";
import { labelOf, type Names } from "./labels.ts";
import { AddressValue, Value } from "./value.tsx";

/** Every event of a transaction, decoded; strangers' events with their bytes. */
export function Events({ events, names }: { events: readonly ShownEvent[]; names: Names }) {
  return (
    <ol className="events">
      {events.map((event) => (
        <li key={event.index}>
          <h3>
            {event.title}
            <span className="hint">
              {event.name === null ? null : <code>{event.name}</code>} #{event.index} of{" "}
              <AddressValue address={event.address} names={names} />
            </span>
          </h3>
          <Arguments fields={event.fields} names={names}>
            {event.name === null ? <Raw event={event} /> : null}
          </Arguments>
        </li>
      ))}
    </ol>
  );
}

type EventsByTransactionProps = {
  transactions: readonly { transaction: Pick<ChainTransaction, "hash" | "block_number">; events: ShownEvent[] }[];
  names: Names;
};

/** The events of each transaction, below its block and its hash. */
export const EventsByTransaction = ({ transactions, names }: EventsByTransactionProps) =>
  transactions.map(({ transaction: { hash, block_number }, events }) => (
    <section key={hash}>
      <h2 className="row">
        {block_number === null ? "Sent, not mined yet" : `Block ${count(block_number)}`}
        <TxHash hash={hash} />
      </h2>
      <Events events={events} names={names} />
    </section>
  ));

/** Shows the arguments of an event or a call by name; `children` come first. */
export function Arguments({
  fields,
  names,
  children,
}: {
  fields: readonly Field[];
  names: Names;
  children?: ReactNode;
}) {
  return (
    <dl className="arguments">
      {children}
      {fields.map((field) => (
        <div key={field.name}>
          <dt>{labelOf(field.name)}</dt>
          <dd>
            <Value field={field} names={names} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Raw({ event }: { event: ShownEvent }) {
  return (
    <>
      {event.log.topics.map((topic, index) => (
        <div key={topic}>
          <dt>topic {index}</dt>
          <dd>
            <Hash value={topic} what={`topic ${index}`} />
          </dd>
        </div>
      ))}
      <div>
        <dt>data</dt>
        <dd>{event.log.data === "0x" ? "none" : <Hash value={event.log.data} what="data" />}</dd>
      </div>
    </>
  );
}
