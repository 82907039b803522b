import { type KeyboardEvent, type ReactNode, useState } from "react";
import type { UsageSpan, Used } from "../data/types.ts";
import { count, credits, percent, seconds } from "./format.ts";
import { Table } from "./table.tsx";

/** Of which spans the bars are, and how one is named. */
export type Span = { name: "hour" | "day"; label: (span: UsageSpan) => string };

/** What bars can be of: their height, null for none, and the same in words. */
type Measure = { label: string; of: (used: Used) => number | null; says: (value: number) => string };

export const MEASURES = {
  credits: { label: "Credits", of: (used) => used.credits || null, says: credits },
  errors: {
    label: "Not charged",
    of: ({ uncharged }) => uncharged || null,
    says: (value) => `${count(value)} not charged`,
  },
  latency: {
    label: "Lock to answer",
    of: ({ answer_seconds }) => answer_seconds?.p95 ?? null,
    says: (value) => `95 % answered within ${seconds(value)} of the lock`,
  },
} satisfies Record<string, Measure>;

const WIDTH = 720;
const HEIGHT = 150;
const GAP = 4;
/** Even a day of one credit is seen. */
const LEAST = 2;
const STEPS: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1 };

/**
 * One measure by hour or day as bars. Mouse and arrow keys go from bar to bar, and the line above says what each is. The same numbers
 * stand in a table.
 */
export function UsageChart({ spans, of: { name, label }, measure }: UsageChartProps) {
  const [shown, setShown] = useState<number | null>(null);
  const span = shown === null ? undefined : spans[shown];
  const top = niceTop(Math.max(...spans.map((one) => measure.of(one) ?? 0)));
  const step = WIDTH / spans.length;
  const says = (one: UsageSpan) => {
    const value = measure.of(one);
    const jobs = `${count(one.jobs)} ${one.jobs === 1 ? "job" : "jobs"}`;
    return `${label(one)}: ${jobs}${value === null ? "" : `, ${measure.says(value)}`}`;
  };
  const total = spans.reduce((sum, one) => sum + one.credits, 0);
  const jobs = spans.reduce((sum, one) => sum + one.jobs, 0);
  const move = (event: KeyboardEvent) => {
    const last = spans.length - 1;
    const to = { Home: 0, End: last }[event.key] ?? (shown ?? spans.length) + (STEPS[event.key] ?? Number.NaN);
    if (Number.isNaN(to)) return;
    event.preventDefault();
    setShown(Math.min(last, Math.max(0, to)));
  };
  return (
    <figure className="chart">
      <p className="chart-says">
        {span === undefined ? (
          <>
            <strong>{count(total)}</strong> credits for {count(jobs)} jobs
          </>
        ) : (
          says(span)
        )}
      </p>
      {/* A slider over the bars: what screen readers say at each is what stands above them. */}
      <div
        role="slider"
        tabIndex={0}
        aria-label={`${measure.label} by ${name}`}
        aria-valuemin={1}
        aria-valuemax={spans.length}
        aria-valuenow={(shown ?? spans.length - 1) + 1}
        aria-valuetext={says(span ?? (spans.at(-1) as UsageSpan))}
        onKeyDown={move}
        onFocus={() => setShown(shown ?? spans.length - 1)}
        onBlur={() => setShown(null)}
        onMouseLeave={() => setShown(null)}
      >
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          <line className="axis" x1="0" x2={WIDTH} y1={HEIGHT} y2={HEIGHT} />
          <line className="grid" x1="0" x2={WIDTH} y1="0.5" y2="0.5" />
          <line className="grid" x1="0" x2={WIDTH} y1={HEIGHT / 2} y2={HEIGHT / 2} />
          {spans.map((one, index) => {
            const value = measure.of(one);
            const height = value === null ? 0 : Math.max(LEAST, (value / top) * HEIGHT);
            return (
              // biome-ignore lint/a11y/noStaticElementInteractions: an extra for the mouse; the slider does the same by keyboard
              <g key={one.from} className={index === shown ? "shown" : ""} onMouseEnter={() => setShown(index)}>
                <rect className="room" x={index * step} y="0" width={step} height={HEIGHT} />
                <rect
                  className="bar"
                  x={index * step + GAP / 2}
                  y={HEIGHT - height}
                  width={step - GAP}
                  height={height}
                  rx="1.5"
                />
              </g>
            );
          })}
        </svg>
      </div>
      <figcaption>
        <span>{spans[0] && label(spans[0])}</span>
        <span>top line: {measure.says(top)}</span>
        <span>now</span>
      </figcaption>
      {jobs === 0 ? null : (
        <details>
          <summary>By {name}, as a table</summary>
          <UsageTable
            plain
            head={name === "hour" ? "Hour" : "Day (UTC)"}
            rows={spans.filter((one) => one.jobs > 0).map((one) => ({ ...one, key: one.from, name: label(one) }))}
          />
        </details>
      )}
    </figure>
  );
}

type UsageChartProps = { spans: readonly UsageSpan[]; of: Span; measure: Measure };

type UsageRow = Used & { key: string; name: ReactNode };

type UsageTableProps = { head: string; rows: readonly UsageRow[]; plain?: boolean };

/** What was used, a row an hour, a day or a model. */
export function UsageTable({ head, rows, plain = false }: UsageTableProps) {
  const columns = [
    head,
    { end: "Jobs" },
    { end: "Credits" },
    { end: "Not charged" },
    { end: "Lock to answer, median / 95 %" },
    { end: "Tokens" },
  ];
  return (
    <Table caption={`Use by ${head.toLowerCase()}`} columns={columns} plain={plain}>
      {rows.map((row) => (
        <tr key={row.key}>
          <td>{row.name}</td>
          <td className="end">{count(row.jobs)}</td>
          <td className="end">{count(row.credits)}</td>
          <td className="end">
            {count(row.uncharged)} {row.uncharged === 0 ? null : `(${percent(row.uncharged / row.jobs)})`}
          </td>
          <td className="end">
            {row.answer_seconds === null
              ? "–"
              : `${seconds(row.answer_seconds.median)} / ${seconds(row.answer_seconds.p95)}`}
          </td>
          <td className="end">{count(row.tokens)}</td>
        </tr>
      ))}
    </Table>
  );
}

/** A round number at or above the largest bar: 1, 2 or 5 times a power of ten. */
function niceTop(largest: number): number {
  if (largest <= 0) return 10;
  const power = 10 ** Math.floor(Math.log10(largest));
  return ([1, 2, 5, 10].find((factor) => factor * power >= largest) ?? 10) * power;
}
