import { app } from "../../data/app.ts";
import { Arguments } from "../../explorer/events.tsx";
import { namesOf } from "../../explorer/labels.ts";
import { NodeChoice } from "../../explorer/node.tsx";
import type { useVerdict } from "../../explorer/use-verdict.ts";
import type { EventBehind, Verdict, VerdictLine } from "../../explorer/verdict.ts";
import { Button } from "../../ui/controls.tsx";
import { count } from "../../ui/format.ts";
import { Skeleton } from "../../ui/loaded.tsx";
import { Card, Folded, Notice } from "../../ui/page.tsx";
import { Badge } from "../../ui/status.tsx";
import { TxHash } from "../../wallet/action-status.tsx";

/**
 * Shows if everything fits together that the chain says of the job: price, signatures, times, money; each line with the events that it
 * rests on. Until the audit is done it shows `unchecked`: the job as the service describes it.
 */
export function VerdictCard({
  node,
  choose,
  verdict,
  unchecked,
}: ReturnType<typeof useVerdict> & { unchecked: string }) {
  const { data, error, isPending } = verdict;
  return (
    <Card title="Verdict" aside={data ? <Summary audit={data.audit} /> : null}>
      {data ? (
        <>
          <p className={data.audit.holds ? "headline" : "headline wrong"}>{data.headline}</p>
          <ul className="verdict">
            {data.lines.map((line) => (
              <Line key={line.title} line={line} />
            ))}
          </ul>
        </>
      ) : null}
      {node !== null && isPending && !error ? (
        <>
          <p className="headline">{unchecked}</p>
          <p className="hint">The service says so. Your browser checks it now.</p>
          <Skeleton rows={6} height={28} />
        </>
      ) : null}
      {error ? (
        <Notice
          tone="error"
          title="The job could not be checked"
          actions={
            <Button busy={verdict.isFetching} onClick={() => void verdict.refetch()}>
              Try again
            </Button>
          }
        >
          <p>{error.message}</p>
        </Notice>
      ) : null}
      <NodeChoice
        url={node}
        onChange={choose}
        says="Your browser asks this node for what the chain says of the job, and checks it."
      />
    </Card>
  );
}

function Summary({ audit: { holds, open } }: { audit: Verdict["audit"] }) {
  if (!holds) return <Badge tone="bad">does not hold</Badge>;
  return open ? <Badge tone="wait">holds so far</Badge> : <Badge tone="good">holds</Badge>;
}

/** A line opens to its checks and to the events that they look at. */
function Line({ line: { title, says, holds, checks, events } }: { line: VerdictLine }) {
  const head = (
    <>
      <span className={holds ? "mark-good" : "mark-bad"}>
        <span aria-hidden="true">{holds ? "✓" : "✗"}</span>
        <span className="visually-hidden">{holds ? "holds" : "fails"}: </span>
      </span>
      <strong>{title}</strong> <span>{says}</span>
    </>
  );
  return (
    <li>
      <Folded key={String(holds)} open={!holds} summary={head}>
        {() => (
          <>
            <ul className="checks">
              {checks.map((check) => (
                <li key={`${check.id} ${check.says}`}>
                  {check.holds ? null : <Badge tone="bad">fails</Badge>} <code>{check.id}</code> {check.says}
                </li>
              ))}
            </ul>
            <ol className="events">
              {events.map((event) => (
                <Behind key={`${event.tx} ${event.logIndex}`} event={event} />
              ))}
            </ol>
          </>
        )}
      </Folded>
    </li>
  );
}

function Behind({ event }: { event: EventBehind }) {
  return (
    <li>
      <h3>
        {event.title}
        <span className="hint">
          <code>{event.name}</code> #{event.logIndex} in block {count(Number(event.block))}, transaction{" "}
          <TxHash hash={event.tx} />
        </span>
      </h3>
      <Arguments fields={event.fields} names={namesOf(app.contracts)} />
    </li>
  );
}
