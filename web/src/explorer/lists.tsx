/** Lists that several pages of the explorer have: jobs, transactions, and what happened to somebody. */
import { Link } from "react-router";
import type { HistoryEvent, ListedJob, ListedTransaction } from "../data/types.ts";
import { count, credits, moment, percent, short, svc } from "../ui/format.ts";
import { AddressLink, JobLink, ModelLink, When } from "../ui/links.tsx";
import { Empty } from "../ui/page.tsx";
import { JobBadge } from "../ui/status.tsx";
import { Table } from "../ui/table.tsx";
import { TxHash } from "../wallet/action-status.tsx";
import { labelOf } from "./labels.ts";

export function ListedJobs({ jobs, empty }: { jobs: readonly ListedJob[]; empty: string }) {
  if (jobs.length === 0) return <Empty title={empty} />;
  const columns = [
    { label: "Job" },
    { label: "Status" },
    { label: "Credits", end: true },
    { label: "Model" },
    { label: "Age", end: true },
  ];
  return (
    <Table caption="Jobs, newest first" columns={columns}>
      {jobs.map(({ id, status, model, credits: charged, created_at }) => (
        <tr key={id}>
          <td>
            <JobLink id={id} />
          </td>
          <td>
            <JobBadge status={status} />
          </td>
          <td className="end">{count(charged)}</td>
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

/** `job.settled` → `settled`, `account.daily_limit_set` → `daily limit set`. */
const kindOf = (kind: string): string => (kind.split(".")[1] ?? kind).replaceAll("_", " ");

/** `15 settled, 2 locked` */
const saidOf = (events: ListedTransaction["events"]): string =>
  Object.entries(events)
    .map(([kind, number]) => `${number} ${kindOf(kind)}`)
    .join(", ");

export function ListedTransactions({ transactions }: { transactions: readonly ListedTransaction[] }) {
  if (transactions.length === 0) return <Empty title="No transaction of the protocol is here" />;
  const columns = [
    { label: "Transaction" },
    { label: "What it did" },
    { label: "Block", end: true },
    { label: "Age", end: true },
  ];
  return (
    <Table caption="Transactions of the protocol" columns={columns}>
      {transactions.map(({ hash, block_number, timestamp, events }) => (
        <tr key={hash}>
          <td>
            <Link to={`/app/tx/${hash}`}>
              <code title={hash}>{short(hash)}</code>
            </Link>
          </td>
          <td className="fill" title={saidOf(events)}>
            {saidOf(events)}
          </td>
          <td className="end">
            <Link to={`/app/block/${block_number}`}>{count(block_number)}</Link>
          </td>
          <td className="end">
            <When iso={new Date(timestamp * 1000).toISOString()} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** `said`: words for events whose values alone would say too little. */
export function History({
  events,
  said,
}: {
  events: readonly HistoryEvent[];
  said?: ReadonlyMap<HistoryEvent, { title: string; text: string }>;
}) {
  if (events.length === 0) return <Empty title="Nothing has happened yet" />;
  return (
    <ol className="history" aria-label="What happened, newest first">
      {events.map((event) => (
        <li key={`${event.tx} ${event.kind} ${JSON.stringify(event.data)}`}>
          <span>{said?.get(event)?.title ?? kindOf(event.kind)}</span>
          {said?.has(event) ? <span className="details">{said.get(event)?.text}</span> : <Details data={event.data} />}
          <span className="end">
            <When iso={event.occurred_at} /> <TxHash hash={event.tx} />
          </span>
        </li>
      ))}
    </ol>
  );
}

/** What every event of a history has, and says nothing of it. */
const COMMON = new Set("sequence worker_address usdg_value account wallet worker total_before total_after".split(" "));

/** What stands afterwards comes last. */
const AFTER = new Set("free escrowed reserve held operator".split(" "));

/** An event's values, those of a structure among them, each once. */
function valuesOf(data: Record<string, unknown>): [name: string, value: unknown][] {
  const all = Object.entries(data).flatMap(([name, value]) =>
    value !== null && typeof value === "object" && !Array.isArray(value)
      ? valuesOf(value as Record<string, unknown>)
      : ([[name, value]] as [string, unknown][]),
  );
  const shown = new Map(all.filter(([name, value]) => !COMMON.has(name) && value !== "" && value !== null));
  return [...shown].toSorted(([a], [b]) => Number(AFTER.has(a)) - Number(AFTER.has(b)));
}

function Details({ data }: { data: Record<string, unknown> }) {
  const shown = valuesOf(data);
  return (
    <span className="details">
      {shown.map(([name, value]) => (
        <span key={name}>
          <span className="hint">{labelOf(name).replaceAll("_", " ")}</span> <Detail name={name} value={value} />
        </span>
      ))}
    </span>
  );
}

function Detail({ name, value }: { name: string; value: unknown }) {
  if (typeof value === "boolean") return <>{value ? "yes" : "no"}</>;
  const text = Array.isArray(value) ? value.join(", ") : String(value);
  if (/^0x[0-9a-f]{40}$/i.test(text)) return <AddressLink address={text} what={name} />;
  if (/^(stake|added|minimum_stake)$/.test(name)) return <>{svc(BigInt(text))}</>;
  if (/(_at|_from|_before)$/.test(name) && /^\d{9,}$/.test(text))
    return <>{moment(new Date(Number(text) * 1000).toISOString())}</>;
  if (/^(credits|reserve|held|free|escrowed)$/.test(name)) return <>{credits(Number(text))}</>;
  return <>{text.length > 90 ? `${text.slice(0, 90)}…` : text}</>;
}

/** Success of 24 hours; a dash where nothing ended. */
export const success = (share: number | null): string => (share === null ? "–" : percent(share));

/** The page's data as the service sent it. */
export const JsonLink = ({ path, name }: { path: string; name: string }) => (
  <a className="button plain" href={`/app/api${path}`} download={`${name}.json`}>
    JSON
  </a>
);
