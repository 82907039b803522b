import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { Link } from "react-router";
import { PATHS } from "../../../shared/web-paths.ts";
import type { Operator, Worker } from "../../contract.ts";
import { app } from "../data/app.ts";
import { operatorsQuery, workersQuery } from "../data/queries.ts";
import { CopyButton } from "../ui/copy.tsx";
import { count, credits, firstToken, success, svc, units } from "../ui/format.ts";
import { LinkButton, ModelLink } from "../ui/links.tsx";
import { Loaded, Skeleton } from "../ui/loaded.tsx";
import { Card, Empty, Page } from "../ui/page.tsx";
import { Badge } from "../ui/status.tsx";
import { Table } from "../ui/table.tsx";
import { WorkerState } from "./worker/state.tsx";

const OverTime = lazy(() => import("./operator/over-time.tsx"));

/** The page of the workers that answer requests, of the operators that route them, and of this service's measurements over time. */
export function Workers() {
  const workers = useQuery(workersQuery);
  const operators = useQuery(operatorsQuery);
  return (
    <Page
      title="Network"
      about="Workers answer requests and put a stake at risk. Operators route them. Anybody may become a worker."
      actions={
        <>
          <LinkButton to="/app/disputes">Disputes</LinkButton>
          <LinkButton to="/app/governance">Governance</LinkButton>
          <a className="button primary" href="#run">
            Run a worker
          </a>
        </>
      }
    >
      <Card title="Workers" aside={<span className="hint">the last 24 hours</span>}>
        <Loaded query={workers} rows={4} height={36}>
          {({ data }) =>
            data.length === 0 ? <Empty title="No worker is registered" /> : <WorkerTable workers={data} />
          }
        </Loaded>
      </Card>
      <Card title="Operators" aside={<span className="hint">the last 24 hours</span>}>
        <Loaded query={operators} rows={2} height={36}>
          {({ data }) => <OperatorTable operators={data} />}
        </Loaded>
      </Card>
      <Suspense fallback={<Skeleton rows={2} height={220} />}>
        <OverTime id={String(app.operator)} title="This service over time" />
      </Suspense>
      <RunAWorker />
    </Page>
  );
}

/** Registered first, then those that answer with most jobs. */
const byUse = (a: Worker, b: Worker): number =>
  Number(b.active && b.answers) - Number(a.active && a.answers) || b.jobs_24h - a.jobs_24h || a.number - b.number;

function WorkerTable({ workers }: { workers: readonly Worker[] }) {
  const columns = [
    "Worker",
    "State",
    { end: "Jobs" },
    { end: "Success" },
    { end: "First token" },
    "Models",
    { end: "Stake" },
    { end: "Earned, USDG" },
    { end: "Ever" },
    { end: "Slashes" },
  ];
  return (
    <Table caption="Workers and their last 24 hours" columns={columns}>
      {workers.toSorted(byUse).map((worker) => (
        <tr key={worker.number}>
          <td>
            <Link to={`/app/workers/${worker.number}`}>Worker {worker.number}</Link>
          </td>
          <td>
            <WorkerState worker={worker} />
          </td>
          <td className="end">{count(worker.jobs_24h)}</td>
          <td className="end">{success(worker.success_24h)}</td>
          <td className="end">{firstToken(worker.first_token_ms)}</td>
          <td>
            <Models ids={worker.models} />
          </td>
          <td className="end">{svc(BigInt(worker.stake))}</td>
          <td className="end">{units(BigInt(worker.earned_24h), 6)}</td>
          <td className="end">{units(BigInt(worker.earned_total), 6)}</td>
          <td className="end">{worker.slashes.length === 0 ? "none" : count(worker.slashes.length)}</td>
        </tr>
      ))}
    </Table>
  );
}

function Models({ ids }: { ids: readonly string[] }) {
  if (ids.length === 0) return <>none</>;
  if (ids.length === 1) return <ModelLink id={ids[0] as string} />;
  return <span title={ids.join(", ")}>{ids.length} models</span>;
}

function OperatorTable({ operators }: { operators: readonly Operator[] }) {
  const columns = ["Operator", "State", { end: "Jobs" }, { end: "Success" }, { end: "Credits" }, { end: "Reserve" }];
  return (
    <Table caption="Operators and their last 24 hours" columns={columns}>
      {operators.map((operator) => (
        <tr key={operator.number}>
          <td>
            <Link to={`/app/operators/${operator.number}`}>Operator {operator.number}</Link>
            {operator.number === app.operator ? <span className="hint wide-only"> this service</span> : null}
          </td>
          <td>
            <OperatorState operator={operator} />
          </td>
          <td className="end">{count(operator.jobs_24h)}</td>
          <td className="end">{success(operator.success_24h)}</td>
          <td className="end">{count(operator.credits_24h)}</td>
          <td className="end">{credits(operator.reserve)}</td>
        </tr>
      ))}
    </Table>
  );
}

export const OperatorState = ({ operator }: { operator: Operator }) =>
  operator.stopped ? <Badge tone="bad">stopped</Badge> : <Badge tone="good">in office</Badge>;

/** The way in, with this service's own address in the command. */
function RunAWorker() {
  const node = app.rpc_url === null ? " --rpc-url https://rpc.example.com" : "";
  const command = [
    "npm install ./credit-metered-inference-worker-*.tgz",
    "npx cmi-worker --backend http://127.0.0.1:8000/v1 --models qwen3-8b \\",
    `  --service ${app.origin} --endpoint https://gpu.example.com${node}`,
  ].join("\n");
  return (
    <section className="card" id="run" aria-labelledby="run-title">
      <header>
        <h2 id="run-title">Run a worker</h2>
      </header>
      <p>
        You need a model server with the OpenAI API, a public HTTPS address, the stake in SVC, and some {app.currency}{" "}
        to register. Each answer is paid in USDG in the transaction that settles it. Serving jobs needs no gas.
      </p>
      <div className="code">
        <pre>
          <code>{command}</code>
        </pre>
        <CopyButton text={command} what="the worker's command" />
      </div>
      <p className="hint">
        The package is this service's operator's, or <code>npm run packages</code> makes it in a clone. The first start
        makes the worker's key, checks your models and shows what it will send to the chain. It sends that once you
        agree. With a wallet that is to own the stake, register under <Link to={PATHS.desk}>My workers</Link> first. The
        contracts' addresses are in{" "}
        <a href="/app/api/deployment.json" download="deployment.json">
          deployment.json
        </a>
        : compare them with those published elsewhere, because your stake goes to them.
      </p>
    </section>
  );
}
