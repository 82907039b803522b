import type { ChainJob } from "../../../contract.ts";
import { app } from "../../data/app.ts";
import { decodeJob, namesOf } from "../../explorer/decode.ts";
import { EventsByTransaction } from "../../explorer/events.tsx";
import { arrowsOf } from "../../explorer/flow.ts";
import { MoneyFlow } from "../../explorer/money-flow.tsx";
import { Empty } from "../../ui/page.tsx";

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
      <EventsByTransaction transactions={transactions} names={namesOf(app.contracts)} />
    </>
  );
}
