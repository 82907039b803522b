import type { ChainJob } from "../../../contract.ts";
import { app } from "../../data/app.ts";
import { decodeJob, namesOf } from "../../explorer/decode.ts";
import { Events } from "../../explorer/events.tsx";
import { arrowsOf } from "../../explorer/flow.ts";
import { MoneyFlow } from "../../explorer/money-flow.tsx";
import { count } from "../../ui/format.ts";
import { Empty } from "../../ui/page.tsx";
import { TxHash } from "../../wallet/action-status.tsx";

/** Every event and every transfer, as this service relays them. */
export default function RawEvents({ job }: { job: ChainJob }) {
  const transactions = decodeJob(job, app.contracts);
  const arrows = arrowsOf(
    transactions.flatMap(({ events }) => events),
    app.contracts,
  );
  return (
    <>
      {arrows.length === 0 ? <Empty title="Nothing has moved yet" /> : <MoneyFlow arrows={arrows} />}
      {transactions.map(({ transaction, events }) => (
        <section key={transaction.hash}>
          <h2 className="row">
            {transaction.block_number === null ? "Sent, not mined yet" : `Block ${count(transaction.block_number)}`}
            <TxHash hash={transaction.hash} />
          </h2>
          <Events events={events} names={namesOf(app.contracts)} />
        </section>
      ))}
    </>
  );
}
