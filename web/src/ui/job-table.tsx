import type { OwnJob } from "../../contract.ts";
import { count, seconds, shortMoment } from "./format.ts";
import { JobLink } from "./links.tsx";
import { JobBadge, TierBadge } from "./status.tsx";
import { Table } from "./table.tsx";
import { whyUncharged } from "./why.ts";

const COLUMNS = [
  "Job",
  "Status",
  { end: "Credits" },
  "Model",
  { end: "Output tokens" },
  { end: "Answered in" },
  { end: "Created" },
];

/** Jobs, newest first. */
export function JobTable({ jobs }: { jobs: readonly OwnJob[] }) {
  return (
    <Table caption="Jobs, newest first" columns={COLUMNS}>
      {jobs.map((job) => (
        <tr key={job.id}>
          <td>
            <JobLink id={job.id} />
          </td>
          <td>
            <JobBadge status={job.status} /> <span className="hint wide-only">{whyUncharged(job)?.[0]}</span>
          </td>
          <td className="end">{count(job.credits_charged)}</td>
          <td>
            {job.model} <TierBadge tier={job.tier} />
          </td>
          <td className="end">{job.usage.completion_tokens === null ? "–" : count(job.usage.completion_tokens)}</td>
          <td className="end">{job.answer_seconds === null ? "–" : seconds(job.answer_seconds)}</td>
          <td className="end">
            <time dateTime={job.created_at}>{shortMoment(job.created_at)}</time>
          </td>
        </tr>
      ))}
    </Table>
  );
}
