import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { nodeHost } from "../../../../shared/node-url.ts";
import type { ListedJob } from "../../../contract.ts";
import { chainJobQuery } from "../../data/queries.ts";
import { useVerdict } from "../../explorer/use-verdict.ts";
import { capital, credits, short } from "../../ui/format.ts";
import { LinkButton, ModelLink, When } from "../../ui/links.tsx";
import { Skeleton } from "../../ui/loaded.tsx";
import { Card } from "../../ui/page.tsx";
import { Badge } from "../../ui/status.tsx";

/** The first lines of a verdict: what a visitor asks about a charge. */
const LINES_SHOWN = 6;

/** The newest settled job of this service, judged in the visitor's browser before anything was asked. It stays while the page is open. */
export function ShownVerdict({ jobs }: { jobs: readonly ListedJob[] | undefined }) {
  const [job, setJob] = useState<ListedJob | null>(null);
  const newest = jobs?.[0];
  useEffect(() => {
    if (newest !== undefined) setJob((shown) => shown ?? newest);
  }, [newest]);
  if (job !== null) return <Judged job={job} />;
  return (
    <Card title="A charge, checked in your browser" className="shown-verdict">
      {jobs === undefined ? (
        <Skeleton rows={6} height={26} />
      ) : (
        <p>No job of this service was settled yet. Ask a model below: your own charge is checked there.</p>
      )}
    </Card>
  );
}

function Judged({ job }: { job: ListedJob }) {
  // The page itself comes first: what audits is loaded when the browser has time.
  const isIdle = useIdle();
  const chain = useQuery({ ...chainJobQuery(job.id), enabled: isIdle, refetchInterval: false });
  const { node, verdict } = useVerdict(job.id, chain.data, true);
  const { data } = verdict;
  const failed = verdict.error ?? chain.error;
  return (
    <Card
      title="A charge, checked in your browser"
      className="shown-verdict"
      aside={
        data === undefined ? null : data.audit.holds ? (
          <Badge tone="good">holds</Badge>
        ) : (
          <Badge tone="bad">does not hold</Badge>
        )
      }
    >
      <p className="hint row-start">
        <code title={job.id}>{short(job.id, 10, 6)}</code> <ModelLink id={job.model} />
        <span>
          settled <When iso={job.created_at} /> ago
        </span>
      </p>
      {data === undefined ? (
        <>
          <p className="headline">{`${capital(job.status)}, charged ${credits(job.credits)}.`}</p>
          {node === null ? (
            <p>The service says so. Its page checks it with a node of your choice.</p>
          ) : failed ? (
            <p>The service says so. It could not be checked now: {failed.message}</p>
          ) : (
            <Skeleton rows={5} height={26} />
          )}
        </>
      ) : (
        <>
          <p className={data.audit.holds ? "headline" : "headline wrong"}>{data.headline}</p>
          <ul className="lines">
            {data.lines.slice(0, LINES_SHOWN).map(({ title, says, holds }) => (
              <li key={title}>
                <span className={holds ? "mark-good" : "mark-bad"}>
                  <span aria-hidden="true">{holds ? "✓" : "✗"}</span>
                  <span className="visually-hidden">{holds ? "holds" : "fails"}: </span>
                </span>
                <strong>{title}</strong> <span>{says}</span>
              </li>
            ))}
          </ul>
        </>
      )}
      <div className="row">
        <span className="hint">
          {data === undefined || node === null
            ? ""
            : `${data.audit.checks.length} checks of what the node at ${nodeHost(node)} says`}
        </span>
        <LinkButton to={`/app/jobs/${job.id}`}>All of this verdict</LinkButton>
      </div>
    </Card>
  );
}

const IDLE_MS = 1_500;

/** True once the page itself has had time to load, so that the browser is free for more. */
function useIdle(): boolean {
  const [isIdle, setIdle] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIdle(true), document.readyState === "complete" ? IDLE_MS / 3 : IDLE_MS);
    return () => clearTimeout(timer);
  }, []);
  return isIdle;
}
