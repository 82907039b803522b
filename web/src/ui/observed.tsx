/** Charts of what this service's gateways saw of a model or a worker. */
import type { UseQueryResult } from "@tanstack/react-query";
import type { ComponentProps } from "react";
import type { ObservedSpan, Range } from "../../contract.ts";
import { Chart } from "./chart.tsx";
import { Segments } from "./controls.tsx";
import { count, milliseconds, percent, tokensPerSecond, units } from "./format.ts";
import { Loaded } from "./loaded.tsx";
import { Card } from "./page.tsx";
import { useChoice } from "./use-choice.ts";

const RANGES: Record<Range, string> = { "24h": "24 h", "7d": "7 d", "30d": "30 d" };
/** How long a span is, by how many of them there are. */
const SPANS: Record<number, string> = { 24: "hour", 28: "six hours", 30: "day" };

/** The time that the charts show. */
export const useRange = () => useChoice("range", RANGES, "24h");

type ChartProps = Omit<ComponentProps<typeof Chart>, "starts" | "span">;

/** How each measure is drawn and written. */
export const MEASURES = {
  firstToken: { label: "Time to first token", kind: "lines", says: milliseconds },
  speed: { label: "Tokens a second", kind: "lines", says: tokensPerSecond, tick: count },
  uptime: { label: "Uptime", kind: "lines", says: percent, top: 1 },
  requests: { label: "Requests", kind: "bars", says: count },
  earned: {
    label: "Earned",
    kind: "bars",
    says: (value) => `${units(BigInt(value), 6)} USDG`,
    tick: (value) => units(BigInt(Math.round(value)), 6, 0),
  },
} as const satisfies Record<string, Omit<ChartProps, "series">>;

/** The layers of `MEASURES.requests`. */
export const requestsOf = (spans: readonly ObservedSpan[]): ChartProps["series"] => [
  { name: "Answered", values: spans.map((one) => one.requests - one.failures) },
  { name: "Failed", colour: "bad", values: spans.map((one) => one.failures) },
];

type ObservedProps<Seen> = {
  seen: UseQueryResult<Seen>;
  range: Range;
  choose: (range: string) => void;
  charts: (seen: Seen) => ChartProps[];
};

export function ObservedCard<Seen extends { spans: readonly ObservedSpan[] }>(props: ObservedProps<Seen>) {
  const { seen, range, choose, charts } = props;
  const options = Object.entries(RANGES);
  return (
    <Card
      title="As this service saw it"
      aside={<Segments legend="Time" name="range" options={options} value={range} choose={choose} />}
      className={seen.isPlaceholderData ? "stale" : ""}
    >
      <Loaded query={seen} rows={2} height={220}>
        {(data) => (
          <div className="charts">
            {charts(data).map((chart) => (
              <section key={chart.label} aria-label={chart.label}>
                <h3>{chart.label}</h3>
                <Chart
                  {...chart}
                  starts={data.spans.map(({ from }) => from)}
                  span={SPANS[data.spans.length] ?? "hour"}
                />
              </section>
            ))}
          </div>
        )}
      </Loaded>
    </Card>
  );
}
