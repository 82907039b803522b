import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "react-router";
import { modelQuery, workersQuery } from "../data/queries.ts";
import { firstToken, History, JsonLink, success } from "../explorer/lists.tsx";
import { count, credits, moment, svc } from "../ui/format.ts";
import { Loaded } from "../ui/loaded.tsx";
import { Card, Empty, Fact, Page } from "../ui/page.tsx";
import { PriceTable } from "../ui/price-table.tsx";
import { Table } from "../ui/table.tsx";
import { WorkerState } from "./workers.tsx";

/** A model: its price, who hosts it, and how prices changed. */
export function ModelPage() {
  const { id = "" } = useParams();
  const model = useQuery(modelQuery(id));
  return (
    <Page key={id} title={id} actions={<JsonLink path={`/models/${encodeURIComponent(id)}`} name={id} />}>
      <Loaded query={model} rows={4} height={100}>
        {(data) => (
          <>
            <Card>
              <dl className="facts">
                <Fact label="By">{data.owned_by}</Fact>
                <Fact label="Parameters">{data.parameters}</Fact>
                <Fact label="Context">{count(data.context_window)} tokens</Fact>
                <Fact label="Number in the catalog">{data.number}</Fact>
                <Fact label="Jobs charged in 24 hours">{count(data.jobs_24h)}</Fact>
                <Fact label="Success in 24 hours">{success(data.success_24h)}</Fact>
                <Fact label="Charged in 24 hours">{credits(data.credits_24h)}</Fact>
                {data.retires_at === null ? null : <Fact label="Retires">{moment(data.retires_at)}</Fact>}
              </dl>
            </Card>
            <Card title="Price" aside={<span className="hint">in credits; 1 credit is 0.01 USDG</span>}>
              <PriceTable models={[data]} />
            </Card>
            <Card title="Workers that host it">
              <Hosts model={data.id} />
            </Card>
            <Card title="History">
              <History events={data.history} />
            </Card>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Hosts({ model }: { model: string }) {
  const workers = useQuery(workersQuery);
  const columns = ["Worker", "State", { end: "First token" }, { end: "Stake" }];
  return (
    <Loaded query={workers} rows={2} height={36}>
      {({ data }) => {
        const hosts = data.filter(({ models }) => models.includes(model));
        if (hosts.length === 0) return <Empty title="No worker hosts it" />;
        return (
          <Table caption="Workers that host the model" columns={columns}>
            {hosts.map((worker) => (
              <tr key={worker.number}>
                <td>
                  <Link to={`/app/workers/${worker.number}`}>Worker {worker.number}</Link>
                </td>
                <td>
                  <WorkerState worker={worker} />
                </td>
                <td className="end">{firstToken(worker.first_token_ms)}</td>
                <td className="end">{svc(BigInt(worker.stake))}</td>
              </tr>
            ))}
          </Table>
        );
      }}
    </Loaded>
  );
}
