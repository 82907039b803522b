/** Lists that several pages of the explorer have: jobs, transactions, and what happened to somebody. */
import { Link } from "react-router";
import type { HistoryEvent, ListedJob, ListedTransaction } from "../../contract.ts";
import { app } from "../data/app.ts";
import { capital, count, credits, short } from "../ui/format.ts";
import { JobLink, ModelLink, ModelNumber, When } from "../ui/links.tsx";
import { Empty } from "../ui/page.tsx";
import { JobBadge } from "../ui/status.tsx";
import { Table } from "../ui/table.tsx";
import { TxHash } from "../wallet/action-status.tsx";
import { inWords, kindOf, type Part } from "./history.ts";

export function ListedJobs({ jobs, empty }: { jobs: readonly ListedJob[]; empty: string }) {
  if (jobs.length === 0) return <Empty title={empty} />;
  const columns = ["Job", "Status", { end: "Credits" }, "Model", { end: "Age" }];
  return (
    <Table caption="Jobs, newest first" columns={columns}>
      {jobs.map(({ id, status, model, credits: cost, created_at }) => (
        <tr key={id}>
          <td>
            <JobLink id={id} />
          </td>
          <td>
            <JobBadge status={status} />
          </td>
          <td className="end">{count(cost)}</td>
          <td className="fill">
            <ModelLink id={model} />
          </td>
          <td className="end">
            <When iso={created_at} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** `15 settled for 120 credits, 2 locked`; without the number where that is the only one. */
const saidOf = ({ events, charged, job }: ListedTransaction): string =>
  Object.entries(events)
    .map(([kind, number], _, all) => {
      const said = number === 1 && (job !== null || all.length === 1) ? kindOf(kind) : `${number} ${kindOf(kind)}`;
      return kind === "job.settled" ? `${said} for ${credits(charged)}` : said;
    })
    .join(", ");

export function ListedTransactions({ transactions }: { transactions: readonly ListedTransaction[] }) {
  if (transactions.length === 0) return <Empty title="No transaction of the protocol is here" />;
  const columns = ["Transaction", "What it did", { end: "Block" }, { end: "Age" }];
  return (
    <Table caption="Transactions of the protocol" columns={columns}>
      {transactions.map((transaction) => (
        <tr key={transaction.hash}>
          <td>
            <Link to={`/app/tx/${transaction.hash}`}>
              <code title={transaction.hash}>{short(transaction.hash)}</code>
            </Link>
          </td>
          <td className="fill" title={saidOf(transaction)}>
            {/* On a phone the line ends early: what happened comes first. */}
            {saidOf(transaction)} {transaction.job === null ? null : <JobLink id={transaction.job} />}
          </td>
          <td className="end">
            <Link to={`/app/block/${transaction.block_number}`}>{count(transaction.block_number)}</Link>
          </td>
          <td className="end">
            <When iso={new Date(transaction.timestamp * 1000).toISOString()} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

export function History({ events }: { events: readonly HistoryEvent[] }) {
  if (events.length === 0) return <Empty title="Nothing has happened yet" />;
  return (
    <ol className="history" aria-label="What happened, newest first">
      {[...inWords(events)].map(([event, { title, says }]) => (
        <li key={`${event.tx} ${event.kind} ${JSON.stringify(event.data)}`}>
          <span>{capital(title)}</span>
          <span className="details">
            {says.map((part, place) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a sentence stay where they are
              <HistoryPart key={place} part={part} />
            ))}
          </span>
          <span className="end">
            <When iso={event.occurred_at} /> <TxHash hash={event.tx} />
          </span>
        </li>
      ))}
    </ol>
  );
}

function HistoryPart({ part }: { part: Part }) {
  if (typeof part === "string") return part;
  if ("address" in part) {
    return (
      <Link to={`/app/address/${part.address}`}>
        <code title={part.address}>{short(part.address)}</code>
      </Link>
    );
  }
  if ("model" in part) return <ModelNumber number={part.model} />;
  return <Link to={`/app/operators/${part.operator}`}>operator {part.operator}</Link>;
}

/** The page's data as the service sent it. */
export const JsonLink = ({ path, name }: { path: string; name: string }) => (
  <a className="button plain" href={`/app/api${path}`} download={`${name}.json`}>
    JSON
  </a>
);

/** Leads to the same thing in the chain's own explorer, where the service names one. */
export function TwinLink({ path }: { path: string }) {
  const { explorer_url } = app;
  if (explorer_url === null) return null;
  return (
    <a className="button plain" href={`${explorer_url.replace(/\/$/, "")}/${path}`} rel="noreferrer">
      {new URL(explorer_url).host}
    </a>
  );
}
