import { useQuery } from "@tanstack/react-query";
import type { Status } from "../../contract.ts";
import { statusQuery } from "../data/queries.ts";
import { capital, count, moment, percent } from "../ui/format.ts";
import { ModelLink } from "../ui/links.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { Card, Notice, Page } from "../ui/page.tsx";
import { Badge } from "../ui/status.tsx";
import { Table } from "../ui/table.tsx";

/** Whether the service works now, part by part and model by model. */
export function StatusPage() {
  const status = useQuery(statusQuery);
  return (
    <Page
      title="Status"
      about="Whether requests are answered now. Monitors read the same without signing in."
      actions={
        <a className="button plain" href="/app/api/status">
          JSON
        </a>
      }
    >
      <Loaded query={status} rows={4} height={60}>
        {(data) => (
          <>
            <Summary status={data} />
            <Card title="Parts" aside={<span className="hint">checked {moment(data.checked_at)}</span>}>
              <Table plain caption="Parts of the service" columns={["Part", "State", "What it says"]}>
                {data.parts.map(({ name, ok, says }) => (
                  <tr key={name}>
                    <td>{capital(name)}</td>
                    <td>{ok ? <Badge tone="good">works</Badge> : <Badge tone="bad">does not work</Badge>}</td>
                    <td>{says}</td>
                  </tr>
                ))}
              </Table>
            </Card>
            <Card title="Models">
              <Table caption="Models" columns={["Model", "State", { end: "Workers" }, { end: "Uptime in 24 hours" }]}>
                {data.models.map(({ id, active_workers, demo, uptime_24h }) => (
                  <tr key={id}>
                    <td>
                      <ModelLink id={id} />
                    </td>
                    <td>
                      {active_workers === 0 ? (
                        <Badge tone="bad">nobody answers</Badge>
                      ) : demo ? (
                        <Badge tone="mild">demo text</Badge>
                      ) : (
                        <Badge tone="good">answers</Badge>
                      )}
                    </td>
                    <td className="end">{count(active_workers)}</td>
                    <td className="end">{uptime_24h === null ? "–" : percent(uptime_24h)}</td>
                  </tr>
                ))}
              </Table>
            </Card>
            <p className="hint">
              A monitor asks <code>{`${location.origin}/app/api/status`}</code>: 200 while requests are answered, 503
              while they are refused; <code>status</code> is ok, degraded or down.
            </p>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Summary({ status: { status, parts, models } }: { status: Status }) {
  const unserved = models.filter(({ active_workers }) => active_workers === 0).map(({ id }) => id);
  if (status === "ok") return <Notice tone="good" title="Everything works" />;
  if (status === "down") {
    return (
      <Notice tone="error" title="Chat requests are refused now">
        <p>
          {parts.every(({ ok }) => ok) ? "No worker answers for any model." : "What does not work stands below."}{" "}
          Credits are safe: nothing is charged without an answer.
        </p>
      </Notice>
    );
  }
  return (
    <Notice tone="warn" title="Requests are answered, but something is missing">
      <p>
        {unserved.length === 0 ? "Lists and balances may be old." : `Nobody answers for ${unserved.join(", ")} now.`}
      </p>
    </Notice>
  );
}
