import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import type { Address } from "viem";
import { app } from "../../data/app.ts";
import type { ChainJob } from "../../data/types.ts";
import type { AuditAnswer, AuditQuestion } from "../../explorer/audit.ts";
import { Arguments } from "../../explorer/events.tsx";
import { namesOf } from "../../explorer/labels.ts";
import { NodeChoice, useNode } from "../../explorer/node.tsx";
import type { EventBehind, Verdict, VerdictLine } from "../../explorer/verdict.ts";
import { Button } from "../../ui/controls.tsx";
import { count } from "../../ui/format.ts";
import { Skeleton } from "../../ui/loaded.tsx";
import { Card, Folded, Notice } from "../../ui/page.tsx";
import { Badge } from "../../ui/status.tsx";
import { TxHash } from "../../wallet/action-status.tsx";

let worker: Worker | null = null;

/** What audits jobs beside the page; another one where the first could not be loaded. */
function auditor(): Worker {
  if (worker === null) {
    worker = new Worker(new URL("../../explorer/audit.ts", import.meta.url), { type: "module" });
    worker.addEventListener("error", () => {
      worker = null;
    });
  }
  return worker;
}

const judge = (question: AuditQuestion): Promise<Verdict> =>
  new Promise((resolve, reject) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }: MessageEvent<AuditAnswer>) => {
      if ("verdict" in data) resolve(data.verdict);
      else reject(new Error(data.error));
      port1.close();
    };
    const asked = auditor();
    asked.addEventListener("error", () => reject(new Error("The code that checks it could not be loaded.")));
    asked.postMessage(question, [port2]);
  });

/**
 * Asks a node of the visitor's choice for all that the chain says of the job, and judges it here: nobody has to trust this service. `job`:
 * what the service says of it; it is judged anew when the chain has more of it.
 */
export function useVerdict(jobId: string, job: ChainJob | undefined) {
  const { node, choose } = useNode();
  const seen =
    job && [job.status, ...job.transactions.map(({ hash, block_number }) => `${hash} ${block_number}`)].join();
  // Its code comes while the service is asked.
  useEffect(() => {
    if (node !== null) auditor();
  }, [node]);
  const verdict = useQuery({
    queryKey: ["verdict", jobId, node, seen],
    queryFn: () =>
      judge({
        jobId,
        rpcUrl: node as string,
        escrow: app.contracts["InferenceEscrow"] as Address,
        chainId: app.chain_id,
        startBlock: app.start_block,
        near: job?.transactions[0]?.block_number ?? null,
      }),
    enabled: node !== null && seen !== undefined,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: (before) => (before?.audit.job_id === jobId ? before : undefined),
  });
  return { node, choose, verdict };
}

/** Whether all that the chain says of the job fits together, and what the service tells of it (`told`) until that is known: price, signatures, times, money; each line with the events that it rests on. */
export function VerdictCard({ node, choose, verdict, told }: ReturnType<typeof useVerdict> & { told: string }) {
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
          <p className="headline">{told}</p>
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
