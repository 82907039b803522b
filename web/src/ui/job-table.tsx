import { Link } from "react-router";
import type { Job } from "../data/types.ts";
import { count, short, shortMoment } from "./format.ts";
import { JobBadge, TierBadge } from "./status.tsx";

/** Jobs, newest first; on a phone each row becomes a block with the names of its values. */
export function JobTable({ jobs }: { jobs: readonly Job[] }) {
  return (
    <table className="table">
      <caption className="visually-hidden">Jobs, newest first</caption>
      <thead>
        <tr>
          <th scope="col">Job</th>
          <th scope="col">Status</th>
          <th scope="col">Model</th>
          <th scope="col" className="end">
            Tokens
          </th>
          <th scope="col" className="end">
            Credits
          </th>
          <th scope="col" className="end">
            Created
          </th>
        </tr>
      </thead>
      <tbody>
        {jobs.map((job) => (
          <tr key={job.id}>
            <td data-label="Job">
              <Link to={`/jobs/${job.id}`}>
                <code title={job.id}>{short(job.id, 10, 6)}</code>
              </Link>
            </td>
            <td data-label="Status">
              <JobBadge status={job.status} />
            </td>
            <td data-label="Model">
              <span>
                {job.model} <TierBadge tier={job.tier} />
              </span>
            </td>
            <td data-label="Tokens" className="end">
              {job.usage.total_tokens === null ? "–" : count(job.usage.total_tokens)}
            </td>
            <td data-label="Credits" className="end">
              {count(job.credits_charged)}
            </td>
            <td data-label="Created" className="end">
              <time dateTime={job.created_at}>{shortMoment(job.created_at)}</time>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
