import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "react-router";
import { PATHS } from "../../../../shared/web-paths.ts";
import type { Usage, UsageRange, Used } from "../../../contract.ts";
import { queryString, usageQuery } from "../../data/queries.ts";
import { Chart, type Series } from "../../ui/chart.tsx";
import { Button, Segments } from "../../ui/controls.tsx";
import { downloadCsv } from "../../ui/download.ts";
import { count, credits, percent, seconds } from "../../ui/format.ts";
import { Loaded } from "../../ui/loaded.tsx";
import { Card, Empty } from "../../ui/page.tsx";
import { Table } from "../../ui/table.tsx";
import { useChoice } from "../../ui/use-choice.ts";

const RANGES: Record<UsageRange, string> = { "24h": "24 h", "7d": "7 d", "30d": "30 d", "12m": "12 months" };
/** The name of a span, by how many of them a range has. */
const SPANS: Record<number, string> = { 24: "hour", 12: "month" };

/** A measure that the chart can show; `of` is stacked by model. Times cannot be added up, so they are lines. */
type Measure = { label: string; says: (value: number) => string; of?: (used: Used) => number };

const MEASURES: Record<string, Measure> = {
  credits: { label: "Credits", of: (used) => used.credits, says: credits },
  tokens: { label: "Tokens", of: (used) => used.tokens, says: (value) => `${count(value)} tokens` },
  requests: {
    label: "Requests",
    of: (used) => used.jobs,
    says: (value) => `${count(value)} ${value === 1 ? "job" : "jobs"}`,
  },
  errors: { label: "Not charged", of: (used) => used.uncharged, says: (value) => `${count(value)} not charged` },
  latency: { label: "Lock to answer", says: seconds },
};

/** Models with a layer of their own; the others are one. */
const MOST_MODELS = 6;

/** The wallet's usage in a range that it chooses, which is in the page's URL; stacked by model, as a table and as a file. */
export function UsageCard() {
  const [range, setRange] = useChoice("range", RANGES, "30d");
  const [show, setShow] = useChoice("show", MEASURES, "credits");
  const usage = useQuery(usageQuery(range));
  const measures = Object.entries(MEASURES).map(([name, { label }]) => [name, label] as const);
  const choice = (
    <div className="filters">
      <Segments legend="What the chart shows" name="show" options={measures} value={show} choose={setShow} />
      <Segments legend="Time" name="range" options={Object.entries(RANGES)} value={range} choose={setRange} />
    </div>
  );
  return (
    <Card title="Usage" aside={choice} className={usage.isPlaceholderData ? "stale" : ""}>
      <div className="chart-room">
        <Loaded query={usage} rows={1} height={260}>
          {(data) => <Shown usage={data} measure={MEASURES[show] as Measure} />}
        </Loaded>
      </div>
    </Card>
  );
}

function Shown({ usage, measure }: { usage: Usage; measure: Measure }) {
  const { data, models } = usage;
  const sum = (read: (used: Used) => number) => data.reduce((all, one) => all + read(one), 0);
  // Until the chosen time is read, the bars are still those of the one before.
  const span = SPANS[data.length] ?? "day";
  const file = `usage-by-${span}-from-${data[0]?.from.slice(0, 10)}.csv`;
  if (sum((one) => one.jobs) === 0) {
    return (
      <Empty title="No jobs in this time">
        <p>Credits, tokens and times are charted here.</p>
      </Empty>
    );
  }
  return (
    <>
      <div className="row">
        <p className="chart-says">
          <strong>{count(sum((one) => one.credits))}</strong> credits and {count(sum((one) => one.tokens))} tokens for{" "}
          {count(sum((one) => one.jobs))} jobs, {count(sum((one) => one.uncharged))} of them not charged
        </p>
        <Button kind="quiet" onClick={() => downloadCsv(file, csvRows(usage, span))}>
          Download CSV
        </Button>
      </div>
      <Chart
        label={measure.label}
        kind={measure.of === undefined ? "lines" : "bars"}
        starts={data.map(({ from }) => from)}
        span={span}
        series={measure.of === undefined ? timesOf(usage) : layersOf(usage, measure.of)}
        says={measure.says}
        tick={measure.of === undefined ? seconds : count}
      />
      {models.length === 0 ? null : (
        <UsageTable
          rows={models.map(({ model, ...used }) => ({
            ...used,
            key: model,
            name: <Link to={PATHS.jobs + queryString({ model })}>{model}</Link>,
          }))}
        />
      )}
    </>
  );
}

/** A layer for each of the dearest models, and one for all others. */
function layersOf({ data, models }: Usage, of: (used: Used) => number): Series[] {
  const named = models.slice(0, MOST_MODELS).map(({ model }) => model);
  const values = (isShown: (model: string) => boolean) =>
    data.map(({ by_model }) => by_model.reduce((sum, one) => sum + (isShown(one.model) ? of(one) : 0), 0));
  const layers = named.map((name) => ({ name, values: values((model) => model === name) }));
  if (models.length <= MOST_MODELS) return layers;
  return [...layers, { name: "other models", values: values((model) => !named.includes(model)) }];
}

const timesOf = ({ data }: Usage): Series[] => [
  { name: "half were answered within", values: data.map(({ answer_seconds }) => answer_seconds?.median ?? null) },
  { name: "95 % within", values: data.map(({ answer_seconds }) => answer_seconds?.p95 ?? null) },
];

/** A row for each span and model with jobs. */
function csvRows({ data }: Usage, span: string) {
  const rows = data.flatMap(({ from, by_model }) =>
    by_model.map((one) => [from, one.model, one.jobs, one.uncharged, one.credits, one.tokens]),
  );
  return [[`${span}_utc`, "model", "jobs", "not_charged", "credits", "tokens"], ...rows];
}

type UsageRow = Used & { key: string; name: ReactNode };

/** The chain counts whole seconds: it cannot tell apart answers that take less than one. */
function timeToAnswer({ answer_seconds: took }: Used): string {
  if (took === null) return "–";
  return took.p95 <= 1 ? "at most 1 s" : `${seconds(took.median)} / ${seconds(took.p95)}`;
}

/** The usage of each model. */
function UsageTable({ rows }: { rows: readonly UsageRow[] }) {
  const columns = [
    "Model",
    { end: "Jobs" },
    { end: "Credits" },
    { end: "Not charged" },
    { end: "Lock to answer, median / 95 %" },
    { end: "Tokens" },
  ];
  return (
    <Table caption="Use by model" columns={columns}>
      {rows.map((row) => (
        <tr key={row.key}>
          <td>{row.name}</td>
          <td className="end">{count(row.jobs)}</td>
          <td className="end">{count(row.credits)}</td>
          <td className="end">
            {count(row.uncharged)} {row.uncharged === 0 ? null : `(${percent(row.uncharged / row.jobs)})`}
          </td>
          <td className="end">{timeToAnswer(row)}</td>
          <td className="end">{count(row.tokens)}</td>
        </tr>
      ))}
    </Table>
  );
}
