import { useQuery } from "@tanstack/react-query";
import type { ObservedSpan } from "../../../contract.ts";
import { workerSeenQuery } from "../../data/queries.ts";
import { Chart } from "../../ui/chart.tsx";
import { count, milliseconds, percent, tokensPerSecond } from "../../ui/format.ts";
import { Loaded } from "../../ui/loaded.tsx";
import { Card } from "../../ui/page.tsx";
import { RangeChoice, SPANS, useRange } from "../../ui/range.tsx";

/** How it answered over time, all its models together, as this service's gateways saw it. */
export default function Seen({ id }: { id: string }) {
  const [range, setRange] = useRange();
  const seen = useQuery(workerSeenQuery(id, range));
  return (
    <Card
      title="As this service saw it"
      aside={<RangeChoice value={range} choose={setRange} />}
      className={seen.isPlaceholderData ? "stale" : ""}
    >
      <Loaded query={seen} rows={2} height={220}>
        {({ spans }) => <Charts spans={spans} />}
      </Loaded>
    </Card>
  );
}

function Charts({ spans }: { spans: readonly ObservedSpan[] }) {
  const chart = { starts: spans.map(({ from }) => from), span: SPANS[spans.length] ?? "hour" };
  const line = (name: string, read: (one: ObservedSpan) => number | null) => [{ name, values: spans.map(read) }];
  return (
    <div className="charts">
      <section aria-label="Requests">
        <h3>Requests that it was given</h3>
        <Chart
          {...chart}
          label="Requests"
          kind="bars"
          series={[
            ...line("Answered", (one) => one.requests - one.failures),
            { name: "Failed", colour: "bad", values: spans.map((one) => one.failures) },
          ]}
          says={count}
        />
      </section>
      <section aria-label="Uptime">
        <h3>Uptime of its models</h3>
        <Chart
          {...chart}
          label="Uptime"
          kind="lines"
          series={line("Could be asked", (one) => one.uptime)}
          says={percent}
          top={1}
        />
      </section>
      <section aria-label="Time to first token">
        <h3>Time to first token</h3>
        <Chart
          {...chart}
          label="Time to first token"
          kind="lines"
          series={line("From the offer", (one) => one.first_token_ms)}
          says={milliseconds}
        />
      </section>
      <section aria-label="Speed">
        <h3>Tokens a second</h3>
        <Chart
          {...chart}
          label="Tokens a second"
          kind="lines"
          series={line("Of one answer", (one) => one.tokens_per_second)}
          says={tokensPerSecond}
          tick={count}
        />
      </section>
    </div>
  );
}
