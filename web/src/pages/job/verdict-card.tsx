import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { FLAT_TOKENS, quote } from "../../../../protocol/pricing.ts";
import { nodeHost, nodeUrlFault } from "../../../../shared/node-url.ts";
import type { JobAudit } from "../../../../verify/audit-job.ts";
import { app } from "../../data/app.ts";
import { Button, Field } from "../../ui/controls.tsx";
import { count, credits } from "../../ui/format.ts";
import { Skeleton } from "../../ui/loaded.tsx";
import { Card, Notice } from "../../ui/page.tsx";
import { Badge } from "../../ui/status.tsx";

/** Where the browser keeps the visitor's own node. */
const NODE = "node of the visitor";

/**
 * Whether all that the chain says of the job fits together: price, signatures, times, money. The browser asks a node itself, which the
 * visitor may name, so nobody has to trust this service. `seen` changes when the chain has more of the job.
 */
export function VerdictCard({ jobId, seen }: { jobId: string; seen: string }) {
  const [node, setNode] = useState(localStorage.getItem(NODE) ?? app.rpc_url);
  const audit = useQuery({
    queryKey: ["audit", jobId, node, seen],
    // The audit's code is loaded when somebody looks at a job.
    queryFn: async () => (await import("../../explorer/audit.ts")).audit(jobId, node as string),
    enabled: node !== null,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: (before) => before,
  });
  const choose = (url: string) => {
    localStorage.setItem(NODE, url);
    setNode(url);
  };
  return (
    <Card title="Verdict" aside={audit.data ? <Summary audit={audit.data} /> : null}>
      {audit.data ? <Findings audit={audit.data} /> : null}
      {node !== null && audit.isPending ? <Skeleton rows={2} /> : null}
      {audit.error ? (
        <Notice tone="error" title="The job could not be checked">
          <p>{audit.error.message.split("\n", 1)[0]}</p>
        </Notice>
      ) : null}
      <Node url={node} onChange={choose} />
    </Card>
  );
}

function Summary({ audit: { holds, open } }: { audit: JobAudit }) {
  if (!holds) return <Badge tone="bad">does not hold</Badge>;
  return open ? <Badge tone="wait">holds so far</Badge> : <Badge tone="good">holds</Badge>;
}

function Findings({ audit }: { audit: JobAudit }) {
  const { checks, holds } = audit;
  const failed = checks.filter((check) => !check.holds);
  return (
    <>
      <p>
        <strong>{holds ? headline(audit) : "What the chain says of this job does not fit together."}</strong>
      </p>
      {failed.length > 0 ? <Lines checks={failed} /> : null}
      <details>
        <summary>
          {holds
            ? `All ${checks.length} checks hold: lock, price, signatures, times, payouts, balances`
            : `${failed.length} of ${checks.length} checks fail`}
        </summary>
        <Lines checks={checks} />
      </details>
    </>
  );
}

const Lines = ({ checks }: { checks: JobAudit["checks"] }) => (
  <ul className="plain-list">
    {checks.map(({ id, holds, says }) => (
      <li key={`${id} ${says}`}>
        <Badge tone={holds ? "good" : "bad"}>{holds ? "holds" : "fails"}</Badge> <code>{id}</code> {says}
      </li>
    ))}
  </ul>
);

/** What the job cost and why, in one sentence. */
function headline(audit: JobAudit): string {
  const { credits_charged: charged, billed_tokens: tokens, credits_locked: locked, fee_bps: fee } = audit;
  if (tokens === null) {
    return audit.open ? `${credits(locked)} are locked; nothing is charged yet.` : "Nothing was charged.";
  }
  const { credits_per_request: flat, credits_per_1k_tokens: rate } = audit;
  const price =
    tokens <= FLAT_TOKENS
      ? `the flat price of ${flat} for ${count(tokens)} tokens`
      : `max(${flat}, ⌈${count(tokens)} × ${rate} ÷ 1,000⌉)`;
  const full = quote(tokens, { creditsPerRequest: flat, creditsPer1kTokens: rate });
  const limit = full > charged ? `, but no more than the ${locked} that were locked` : "";
  return `Charge correct: ${credits(charged)}, ${price}${limit}; ${100 - fee / 100} % to the worker, ${fee / 100} % to the treasury.`;
}

/** The node that was asked, and a field for another one. */
function Node({ url, onChange }: { url: string | null; onChange: (url: string) => void }) {
  const [typed, setTyped] = useState<string | null>(url === null ? "" : null);
  const fault = typed === null || typed === "" ? null : nodeUrlFault(typed, "The address");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (typed === null || typed === "" || fault !== null) return;
    onChange(typed);
    setTyped(null);
  };
  if (typed === null) {
    return (
      <p className="row">
        <span className="hint">
          Checked in your browser with the node at {nodeHost(url as string)}; this service is not asked.
        </span>
        <Button kind="quiet" onClick={() => setTyped(url ?? "")}>
          Use another node
        </Button>
      </p>
    );
  }
  return (
    <form onSubmit={submit}>
      <Field
        label="Node of the settlement chain"
        type="url"
        value={typed}
        placeholder="https://…"
        onChange={(event) => setTyped(event.target.value)}
        error={fault}
        hint="Your browser asks this node for what the chain says of the job, and checks it."
      />
      <div className="actions">
        <Button type="submit" kind="primary" disabled={typed === "" || fault !== null}>
          Check with this node
        </Button>
        {url === null ? null : <Button onClick={() => setTyped(null)}>Cancel</Button>}
      </div>
    </form>
  );
}
