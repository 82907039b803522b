import { useQuery } from "@tanstack/react-query";
import { Link, useSearchParams } from "react-router";
import { PATHS } from "../../../../shared/web-paths.ts";
import { queryString, usageQuery } from "../../data/queries.ts";
import type { UsageRange } from "../../data/types.ts";
import { Segments } from "../../ui/controls.tsx";
import { shortMoment } from "../../ui/format.ts";
import { Loaded } from "../../ui/loaded.tsx";
import { Card } from "../../ui/page.tsx";
import { MEASURES, type Span, UsageChart, UsageTable } from "../../ui/usage-chart.tsx";

const HOUR: Span = { name: "hour", label: ({ from }) => shortMoment(from) };
const DAY: Span = { name: "day", label: ({ from }) => from.slice(0, 10) };
const RANGES: Record<UsageRange, string> = { "24h": "24 h", "7d": "7 d", "30d": "30 d" };
const isRange = (text: string | null): text is UsageRange => text !== null && Object.hasOwn(RANGES, text);

const isMeasure = (text: string | null): text is keyof typeof MEASURES =>
  text !== null && Object.hasOwn(MEASURES, text);

/** What the wallet used in a time that it chooses, which is in the address; by hour or day, and by model. */
export function UsageCard() {
  const [search, setSearch] = useSearchParams();
  const given = search.get("range");
  const range = isRange(given) ? given : "30d";
  const usage = useQuery(usageQuery(range));
  const chosen = search.get("show");
  const show = isMeasure(chosen) ? chosen : "credits";
  const choose = (name: string) => (value: string) => {
    const next = new URLSearchParams(search);
    next.set(name, value);
    setSearch(next, { replace: true });
  };
  const measures = Object.entries(MEASURES).map(([name, { label }]) => [name, label] as const);
  const choice = (
    <div className="filters">
      <Segments legend="What the bars show" name="show" options={measures} value={show} choose={choose("show")} />
      <Segments legend="Time" name="range" options={Object.entries(RANGES)} value={range} choose={choose("range")} />
    </div>
  );
  return (
    <Card title="Usage" aside={choice} className={usage.isPlaceholderData ? "stale" : ""}>
      <div className="chart-room">
        <Loaded query={usage} rows={1} height={180}>
          {({ data, models }) => (
            <>
              {/* Until the chosen time is read, the bars are still those of the one before. */}
              <UsageChart spans={data} of={data.length === 24 ? HOUR : DAY} measure={MEASURES[show]} />
              {models.length === 0 ? null : (
                <UsageTable
                  head="Model"
                  rows={models.map(({ model, ...used }) => ({
                    ...used,
                    key: model,
                    name: <Link to={PATHS.jobs + queryString({ model })}>{model}</Link>,
                  }))}
                />
              )}
            </>
          )}
        </Loaded>
      </div>
    </Card>
  );
}
