import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { PATHS } from "../../../shared/web-paths.ts";
import type { Worker } from "../../contract.ts";
import { workersQuery } from "../data/queries.ts";
import { count, svc, units } from "../ui/format.ts";
import { LinkButton } from "../ui/links.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { Card, Empty, Page } from "../ui/page.tsx";
import { Table } from "../ui/table.tsx";
import { useWallet } from "../wallet/use-wallet.ts";
import { Earnings } from "./desk/earnings.tsx";
import { RegisterCard } from "./desk/register-card.tsx";
import { rolesOf, WorkerState } from "./worker/state.tsx";

/** The workers that the signed-in wallet owns or is paid by, and registering another one. */
export function MyWorkers() {
  const { session } = useWallet();
  const workers = useQuery({ ...workersQuery, refetchInterval: 5_000 });
  return (
    <Page
      title="My workers"
      about="Workers that your wallet owns, or that are paid to it."
      actions={<LinkButton to={PATHS.workers}>Run a worker</LinkButton>}
    >
      <Loaded query={workers} rows={3} height={60}>
        {({ data }) => <Mine workers={data.filter((worker) => rolesOf(worker, session?.wallet).length > 0)} />}
      </Loaded>
      <RegisterCard />
    </Page>
  );
}

function Mine({ workers }: { workers: readonly Worker[] }) {
  const { session } = useWallet();
  if (workers.length === 0) {
    return (
      <Empty title="Your wallet has no worker">
        <p>
          It owns none, and none is paid to it. A worker that <code>npx cmi-worker</code> registered belongs to the key
          it was registered with.
        </p>
      </Empty>
    );
  }
  const columns = [
    "Worker",
    "State",
    { end: "USDG, 24 h" },
    { end: "7 days" },
    { end: "Ever" },
    { end: "An hour ready" },
    { end: "Jobs, 24 h" },
    { end: "Stake" },
    "You are",
  ];
  return (
    <>
      <Earnings workers={workers} />
      <Card title="Workers">
        <Table caption="Your workers" columns={columns}>
          {workers.map((worker) => (
            <tr key={worker.number}>
              <td>
                <Link to={`${PATHS.desk}/${worker.number}`}>Worker {worker.number}</Link>
              </td>
              <td>
                <WorkerState worker={worker} />
              </td>
              <td className="end">{units(BigInt(worker.earned_24h), 6)}</td>
              <td className="end">{units(BigInt(worker.earned_7d), 6)}</td>
              <td className="end">{units(BigInt(worker.earned_total), 6)}</td>
              <td className="end">
                {worker.hourly?.asked.units == null ? "–" : units(BigInt(worker.hourly.asked.units), 6)}
              </td>
              <td className="end">{count(worker.jobs_24h)}</td>
              <td className="end">{svc(BigInt(worker.stake))}</td>
              <td>{rolesOf(worker, session?.wallet).join(", ")}</td>
            </tr>
          ))}
        </Table>
      </Card>
    </>
  );
}
