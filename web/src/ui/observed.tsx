/** Charts of a model, a worker or an operator over time: what this service's gateways saw of it, and what the chain has. */
import type { UseQueryResult } from "@tanstack/react-query";
import type { ComponentProps } from "react";
import type { Observed, Range } from "../../contract.ts";
import { Chart } from "./chart.tsx";
import { Segments } from "./controls.tsx";
import { count, credits, milliseconds, percent, tokensPerSecond, units } from "./format.ts";
import { Loaded } from "./loaded.tsx";
import { Card } from "./page.tsx";
import { useChoice } from "./use-choice.ts";

const RANGES: Record<Range, string> = { "24h": "24 h", "7d": "7 d", "30d": "30 d" };
/** The name of a span, by how many of them a range has. */
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
  jobs: { label: "Jobs by how they ended", kind: "bars", says: count },
  charged: { label: "Charged", kind: "bars", says: credits, tick: count },
  earned: {
    label: "Earned",
    kind: "bars",
    says: (value) => `${units(BigInt(value), 6)} USDG`,
    tick: (value) => units(BigInt(Math.round(value)), 6, 0),
  },
} as const satisfies Record<string, Omit<ChartProps, "series">>;

/** The layers of `MEASURES.requests`. */
export const requestsOf = (spans: readonly Observed[]): ChartProps["series"] => [
  { name: "Answered", values: spans.map((one) => one.requests - one.failures) },
  { name: "Failed", colour: "bad", values: spans.map((one) => one.failures) },
];

type ObservedProps<Seen> = {
  title?: string;
  /** The source of the charts' numbers, if the title does not say it. */
  hint?: string;
  seen: UseQueryResult<Seen>;
  range: Range;
  choose: (range: string) => void;
  charts: (seen: Seen) => ChartProps[];
};

export function ObservedCard<Seen extends { spans: readonly { from: string }[] }>(props: ObservedProps<Seen>) {
  const { title = "As this service saw it", hint, seen, range, choose, charts } = props;
  const options = Object.entries(RANGES);
  return (
    <Card
      title={title}
      aside={<Segments legend="Time" name="range" options={options} value={range} choose={choose} />}
      className={seen.isPlaceholderData ? "stale" : ""}
    >
      {hint === undefined ? null : <p className="hint">{hint}</p>}
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
