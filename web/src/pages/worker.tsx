import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { useParams } from "react-router";
import type { Counting } from "../../../protocol/dispatch.ts";
import { PATHS } from "../../../shared/web-paths.ts";
import type { Incident, Worker } from "../../contract.ts";
import { sessionQuery, workerQuery } from "../data/queries.ts";
import { History, JsonLink, ListedJobs } from "../explorer/lists.tsx";
import { count, firstToken, moment, success, svc, units } from "../ui/format.ts";
import { AddressLink, JobLink, LinkButton, ModelLink } from "../ui/links.tsx";
import { Loaded, Skeleton } from "../ui/loaded.tsx";
import { Card, Empty, Fact, Page } from "../ui/page.tsx";
import { Badge } from "../ui/status.tsx";
import { HourlyFacts } from "./worker/hourly.tsx";
import { Slashes } from "./worker/slashes.tsx";
import { rolesOf, WorkerState } from "./worker/state.tsx";

/** The charts: the pages of one's own workers do without them. */
const Seen = lazy(() => import("./worker/seen.tsx"));

/** A worker: what it does now, what it earned and lost, its jobs and its history. */
export function WorkerPage() {
  const { id = "" } = useParams();
  const worker = useQuery(workerQuery(id));
  const { number } = worker.data ?? {};
  const wallet = useQuery(sessionQuery).data?.session?.wallet;
  const isMine = worker.data !== undefined && rolesOf(worker.data, wallet).length > 0;
  return (
    <Page
      key={id}
      title={number === undefined ? "Worker" : `Worker ${number}`}
      actions={
        <>
          {isMine ? <LinkButton to={`${PATHS.desk}/${number}`}>Manage</LinkButton> : null}
          <JsonLink path={`/workers/${id}`} name={`worker-${id}`} />
        </>
      }
    >
      <Loaded query={worker} rows={4} height={100}>
        {(data) => (
          <>
            <Facts worker={data} />
            <Suspense fallback={<Skeleton rows={2} height={220} />}>
              <Seen id={id} />
            </Suspense>
            <Card title="Models">
              {data.models.length === 0 ? (
                <Empty title="It hosts no models" />
              ) : (
                <ul className="plain-list" aria-label="Models and how their prompts are counted">
                  {data.models.map((model) => (
                    <li key={model}>
                      <ModelLink id={model} /> <span className="hint">{countingInWords(data.counting[model])}</span>
                    </li>
                  ))}
                </ul>
              )}
            </Card>
            <Card title="Latest jobs">
              <ListedJobs jobs={data.jobs} empty="It has answered no job yet" />
            </Card>
            <div className="columns">
              <Slashes worker={data} />
              <Card title="Incidents" aside={<span className="hint">as this service saw it</span>}>
                <Incidents worker={data} />
              </Card>
            </div>
            <Card title="History">
              <History events={data.history} />
            </Card>
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** Says in words how a worker counts a prompt's tokens before the model gets it. */
function countingInWords(counting: Counting | undefined): string {
  if (counting === undefined) return "how prompts are counted is not known";
  const { by, window } = counting;
  const who = by === "server" ? "prompts are counted by its model server" : "prompts are estimated by the worker";
  return window === null ? who : `${who}; the server holds ${count(window)} tokens`;
}

const Facts = ({ worker }: { worker: Worker }) => (
  <Card>
    <dl className="facts">
      <Fact label="State">
        <WorkerState worker={worker} />
      </Fact>
      <Fact label="Stake">{svc(BigInt(worker.stake))}</Fact>
      {worker.unbonds_at === null ? null : <Fact label="Stake is free">{moment(worker.unbonds_at)}</Fact>}
      <Fact label="Jobs in 24 hours">{count(worker.jobs_24h)}</Fact>
      <Fact label="Success in 24 hours">{success(worker.success_24h)}</Fact>
      <Fact label="Time to first token">{firstToken(worker.first_token_ms)}</Fact>
      <Fact label="Earned in 24 hours">{units(BigInt(worker.earned_24h), 6)} USDG</Fact>
      <HourlyFacts worker={worker} />
      <Fact label="Earned ever">{units(BigInt(worker.earned_total), 6)} USDG</Fact>
      <Fact label="Registered">{moment(worker.registered_at)}</Fact>
      <Fact label="Endpoint">
        <code className="wrap">{worker.endpoint}</code>
      </Fact>
      <Fact label="Signing key">
        <AddressLink address={worker.address} what="worker address" />
      </Fact>
      <Fact label="Owner">
        <AddressLink address={worker.owner} what="owner's address" />
      </Fact>
      <Fact label="Paid to">
        <AddressLink address={worker.payout} what="payout address" />
      </Fact>
    </dl>
  </Card>
);

function Incidents({ worker }: { worker: Worker }) {
  if (worker.incidents.length === 0) return <Empty title="Nothing went wrong with it lately" />;
  return (
    <ul className="plain-list" aria-label={`Incidents of worker ${worker.number}`}>
      {worker.incidents.map((incident) => (
        <IncidentLine key={`${incident.code} ${incident.first_at}`} incident={incident} />
      ))}
    </ul>
  );
}

function IncidentLine({ incident }: { incident: Incident }) {
  const { severity, title, occurrences, last_at, job_id } = incident;
  return (
    <li>
      <Badge tone={severity === "misconduct" ? "bad" : "mild"}>{severity}</Badge> {title}
      {occurrences > 1 ? ` ${occurrences} times, last` : ""} on {moment(last_at)}
      {job_id === null ? null : (
        <>
          {" "}
          with <JobLink id={job_id} />
        </>
      )}
    </li>
  );
}
