import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "react-router";
import { PATHS } from "../../../shared/web-paths.ts";
import type { Model, ModelSeen, Observed } from "../../contract.ts";
import { modelQuery, modelSeenQuery, queryString, workersQuery } from "../data/queries.ts";
import { History, JsonLink } from "../explorer/lists.tsx";
import type { Series } from "../ui/chart.tsx";
import { CopyButton } from "../ui/copy.tsx";
import { FirstCall } from "../ui/first-call.tsx";
import {
  count,
  credits,
  firstToken,
  milliseconds,
  moment,
  percent,
  success,
  svc,
  tokensPerSecond,
} from "../ui/format.ts";
import { Loaded } from "../ui/loaded.tsx";
import { MEASURES, ObservedCard, requestsOf, useRange } from "../ui/observed.tsx";
import { Card, Empty, Fact, Figure, Page } from "../ui/page.tsx";
import { PriceTable } from "../ui/price-table.tsx";
import { TierBadge } from "../ui/status.tsx";
import { Table } from "../ui/table.tsx";
import { WorkerState } from "./worker/state.tsx";

/** A model: how it answers and what it costs, the code that asks it, who hosts it, and how its prices changed. */
export function ModelPage() {
  const { id = "" } = useParams();
  const model = useQuery(modelQuery(id));
  return (
    <Page
      key={id}
      title={id}
      about={model.data === undefined ? null : <About model={model.data} />}
      actions={
        <>
          {model.data !== undefined && model.data.active_workers > 0 ? (
            <Link className="button primary" to={PATHS.front + queryString({ model: id })}>
              Try it
            </Link>
          ) : null}
          <JsonLink path={`/models/${encodeURIComponent(id)}`} name={id} />
        </>
      }
    >
      <Loaded query={model} rows={4} height={100}>
        {(data) => (
          <>
            <Today model={data} />
            <Seen id={id} />
            <div className="columns lists">
              <Card title="Ask it">
                <FirstCall model={id} />
              </Card>
              <Card title="Facts">
                <Facts model={data} />
              </Card>
            </div>
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

const About = ({ model: { id, owned_by, parameters, context_window, tier } }: { model: Model }) => (
  <span className="row-start">
    <span className="hash">
      by {owned_by} <CopyButton text={id} what="model id" />
    </span>
    {parameters}, {count(context_window)} tokens of context <TierBadge tier={tier} />
  </span>
);

/** The model's answers to this service's clients in the last 24 hours. */
function Today({ model: { observed_24h: seen, active_workers, demo } }: { model: Model }) {
  const { requests, failures, uptime, first_token_ms, tokens_per_second } = seen;
  return (
    <dl className="figures four">
      <Figure label="Time to first token" value={milliseconds(first_token_ms)}>
        from the request, its lock included
      </Figure>
      <Figure label="Speed" value={tokensPerSecond(tokens_per_second)}>
        output of its workers, on average
      </Figure>
      <Figure label="Uptime" value={uptime === null ? "–" : percent(uptime)}>
        {demo
          ? "demo text answers now"
          : `${count(active_workers)} ${active_workers === 1 ? "worker answers" : "workers answer"} now`}
      </Figure>
      <Figure label="Failed requests" value={requests === 0 ? "–" : percent(failures / requests)}>
        {count(failures)} of {count(requests)} in 24 hours
      </Figure>
    </dl>
  );
}

/** The same over time, and by worker. */
function Seen({ id }: { id: string }) {
  const [range, choose] = useRange();
  const seen = useQuery(modelSeenQuery(id, range));
  return <ObservedCard seen={seen} range={range} choose={choose} charts={chartsOf} />;
}

function chartsOf({ spans, workers }: ModelSeen) {
  const byWorker = (read: (one: Observed) => number | null): Series[] =>
    workers.map(({ number, address, spans }, index) => ({
      colour: index + 1,
      name: number === null ? address.slice(0, 8) : `Worker ${number}`,
      values: spans.map(read),
    }));
  const line = (name: string, read: (one: Observed) => number | null) => ({ name, values: spans.map(read) });
  return [
    {
      ...MEASURES.firstToken,
      series: [line("Your request", (one) => one.first_token_ms), ...byWorker((one) => one.first_token_ms)],
    },
    { ...MEASURES.speed, series: byWorker((one) => one.tokens_per_second) },
    { ...MEASURES.uptime, series: [line("The model", (one) => one.uptime), ...byWorker((one) => one.uptime)] },
    { ...MEASURES.requests, series: requestsOf(spans) },
  ];
}

const Facts = ({ model }: { model: Model }) => (
  <dl className="facts">
    <Fact label="Number in the catalog">{model.number}</Fact>
    <Fact label="Jobs charged in 24 hours">{count(model.jobs_24h)}</Fact>
    <Fact label="Success in 24 hours">{success(model.success_24h)}</Fact>
    <Fact label="Charged in 24 hours">{credits(model.credits_24h)}</Fact>
    {model.retires_at === null ? null : <Fact label="Retires">{moment(model.retires_at)}</Fact>}
  </dl>
);

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
