import { app } from "../data/app.ts";
import { Hash } from "../ui/copy.tsx";
import { credits, short } from "../ui/format.ts";
import { Badge } from "../ui/status.tsx";
import type { JobGroup } from "./decode.ts";
import { Events } from "./events.tsx";
import type { Names } from "./labels.ts";
import { RevertReason } from "./revert-reason.tsx";

/** A transaction's calls and events by job: one line a job, which opens. A lone job is open; without jobs, the events stand alone. */
export function JobGroups({ groups, names }: { groups: readonly JobGroup[]; names: Names }) {
  const [only] = groups;
  if (groups.length === 1 && only?.jobId === null && only.calls.length === 0) {
    return <Events events={only.events} names={names} />;
  }
  const open = groups.filter(({ jobId }) => jobId !== null).length <= 1;
  return (
    <div className="groups">
      {groups.map((group) => (
        <Group key={group.jobId} group={group} names={names} open={open} />
      ))}
    </div>
  );
}

function Group({ group, names, open }: { group: JobGroup; names: Names; open: boolean }) {
  const { jobId, calls, events } = group;
  const failed = calls.filter((call) => call.failed !== null);
  const said =
    calls.length > 0 ? calls.map(({ name }) => name) : events.flatMap(({ jobId, name }) => (jobId ? (name ?? []) : []));
  const charged = events[0]?.fields.find(({ name }) => name === "credits");
  return (
    <details open={open}>
      <summary>
        {jobId === null ? <span>Of no single job</span> : <code title={jobId}>{short(jobId, 10, 6)}</code>}
        <span className="hint">
          {said.join(", ")}
          {said.length > 0 ? "; " : ""}
          {events.length} {events.length === 1 ? "event" : "events"}
        </span>
        {charged === undefined ? null : <span className="hint">{credits(Number(charged.value))}</span>}
        {failed.length > 0 ? <Badge tone="bad">failed</Badge> : null}
      </summary>
      {jobId === null ? null : (
        <p>
          Job <Hash value={jobId} what="job id" to={`/app/jobs/${jobId}`} full />
        </p>
      )}
      {failed.map(({ index, name, failed: reason }) => (
        <p key={index}>
          Item {index} of the batch, <code>{name}</code>, reverted alone:{" "}
          <RevertReason data={reason ?? "0x"} called={app.contracts["InferenceEscrow"]} />
        </p>
      ))}
      {events.length > 0 ? <Events events={events} names={names} /> : null}
    </details>
  );
}
