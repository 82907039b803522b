import { Link } from "react-router";
import type { Job } from "../data/types.ts";
import { count, short, shortMoment } from "./format.ts";
import { JobBadge, TierBadge } from "./status.tsx";
import { whyUncharged } from "./why.ts";

/** Jobs, newest first; on a phone one line each. */
export function JobTable({ jobs }: { jobs: readonly Job[] }) {
  return (
    <table className="table">
      <caption className="visually-hidden">Jobs, newest first</caption>
      <thead>
        <tr>
          <th scope="col">Job</th>
          <th scope="col">Status</th>
          <th scope="col" className="more">
            Model
          </th>
          <th scope="col" className="end more">
            Tokens
          </th>
          <th scope="col" className="end">
            Credits
          </th>
          <th scope="col" className="end more">
            Created
          </th>
        </tr>
      </thead>
      <tbody>
        {jobs.map((job) => (
          <tr key={job.id}>
            <td>
              <Link to={`/app/jobs/${job.id}`}>
                <code title={job.id}>{short(job.id, 10, 6)}</code>
              </Link>
            </td>
            <td>
              <JobBadge status={job.status} />{" "}
              <span className="hint more" style={{ whiteSpace: "normal" }}>
                {whyUncharged(job)?.[0]}
              </span>
            </td>
            <td className="more">
              <span>
                {job.model} <TierBadge tier={job.tier} />
              </span>
            </td>
            <td className="end more">{job.usage.total_tokens === null ? "–" : count(job.usage.total_tokens)}</td>
            <td className="end">{count(job.credits_charged)}</td>
            <td className="end more">
              <time dateTime={job.created_at}>{shortMoment(job.created_at)}</time>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
