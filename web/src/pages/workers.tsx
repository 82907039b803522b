import { useQuery } from "@tanstack/react-query";
import { workersQuery } from "../data/queries.ts";
import type { Incident, Worker } from "../data/types.ts";
import { Hash } from "../ui/copy.tsx";
import { moment, svc } from "../ui/format.ts";
import { Loaded } from "../ui/loaded.tsx";
import { Card, Empty, Fact, Page } from "../ui/page.tsx";
import { Badge } from "../ui/status.tsx";

export function Workers() {
  const workers = useQuery(workersQuery);
  return (
    <Page
      title="Workers"
      about="Who answers requests, what they have at stake, what they lost for fraud and what went wrong lately."
    >
      <Loaded query={workers} rows={3} height={120}>
        {({ data }) =>
          data.length === 0 ? (
            <Card>
              <Empty title="No worker is registered" />
            </Card>
          ) : (
            data.map((worker) => <WorkerCard key={worker.number} worker={worker} />)
          )
        }
      </Loaded>
    </Page>
  );
}

function WorkerCard({ worker }: { worker: Worker }) {
  return (
    <Card title={`Worker ${worker.number}`} aside={<State worker={worker} />}>
      <dl className="facts">
        <Fact label="Stake">{svc(BigInt(worker.stake))}</Fact>
        <Fact label="Signing key">
          <Hash value={worker.address} what="worker address" />
        </Fact>
        <Fact label="Paid to">
          <Hash value={worker.payout} what="payout address" />
        </Fact>
        <Fact label="Registered">{moment(worker.registered_at)}</Fact>
      </dl>
      <p className="tags">
        {worker.models.length === 0 ? <span className="hint">hosts no models</span> : null}
        {worker.models.map((model) => (
          <code key={model}>{model}</code>
        ))}
      </p>
      {worker.slashes.length === 0 ? (
        <p className="hint">Never slashed.</p>
      ) : (
        <ul className="plain-list">
          {worker.slashes.map((slash) => (
            <li key={slash.job_id}>
              Lost {svc(BigInt(slash.amount))} on {moment(slash.slashed_at)} ({slash.reason}) for{" "}
              <Hash value={slash.job_id} what="job id" to={`/app/jobs/${slash.job_id}`} />
            </li>
          ))}
        </ul>
      )}
      {worker.incidents.length === 0 ? (
        <p className="hint">Nothing went wrong with it lately.</p>
      ) : (
        <ul className="plain-list" aria-label={`Incidents of worker ${worker.number}`}>
          {worker.incidents.map((incident) => (
            <IncidentLine key={`${incident.code} ${incident.first_at}`} incident={incident} />
          ))}
        </ul>
      )}
    </Card>
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
          with <Hash value={job_id} what="job id" to={`/app/jobs/${job_id}`} />
        </>
      )}
    </li>
  );
}

function State({ worker }: { worker: Worker }) {
  if (worker.active && !worker.answers) return <Badge tone="bad">does not answer</Badge>;
  if (worker.active) return <Badge tone="good">active</Badge>;
  if (worker.unbonds_at !== null) return <Badge tone="mild">{`unbonding until ${moment(worker.unbonds_at)}`}</Badge>;
  return <Badge tone="bad">below the minimum stake</Badge>;
}
