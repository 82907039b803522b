import { type ReactNode, useState } from "react";
import type { UsageSpan } from "../data/types.ts";
import { count, credits } from "./format.ts";
import { Table } from "./table.tsx";

/** Of which spans the bars are, and how one is named. */
export type Span = { name: "hour" | "day"; label: (span: UsageSpan) => string };

const WIDTH = 720;
const HEIGHT = 150;
const GAP = 4;
/** Even a day of one credit is seen. */
const LEAST = 2;

/** Credits by hour or day as bars. The same numbers stand in a table, for whoever has no mouse or does not see bars. */
export function UsageChart({ spans, of: { name, label } }: { spans: readonly UsageSpan[]; of: Span }) {
  const [shown, setShown] = useState<UsageSpan | null>(null);
  const top = niceTop(Math.max(...spans.map((span) => span.credits)));
  const step = WIDTH / spans.length;
  const total = spans.reduce((sum, span) => sum + span.credits, 0);
  const jobs = spans.reduce((sum, span) => sum + span.jobs, 0);
  return (
    <figure className="chart">
      <p className="chart-says">
        {shown === null ? (
          <>
            <strong>{count(total)}</strong> credits for {count(jobs)} jobs
          </>
        ) : (
          <>
            <strong>{count(shown.credits)}</strong> credits for {count(shown.jobs)} jobs, {label(shown)}
          </>
        )}
      </p>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        <title>Credits by {name}</title>
        <line className="axis" x1="0" x2={WIDTH} y1={HEIGHT} y2={HEIGHT} />
        <line className="grid" x1="0" x2={WIDTH} y1="0.5" y2="0.5" />
        <line className="grid" x1="0" x2={WIDTH} y1={HEIGHT / 2} y2={HEIGHT / 2} />
        {spans.map((span, index) => {
          const height = span.credits === 0 ? 0 : Math.max(LEAST, (span.credits / top) * HEIGHT);
          return (
            // biome-ignore lint/a11y/noStaticElementInteractions: an extra for the mouse; the table below has the numbers
            <g key={span.from} onMouseEnter={() => setShown(span)} onMouseLeave={() => setShown(null)}>
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
      <figcaption>
        <span>{spans[0] && label(spans[0])}</span>
        <span>top line: {credits(top)}</span>
        <span>now</span>
      </figcaption>
      {jobs === 0 ? null : (
        <details>
          <summary>By {name}, as a table</summary>
          <UsageTable
            head={name === "hour" ? "Hour" : "Day (UTC)"}
            rows={spans.filter((span) => span.jobs > 0).map((span) => ({ ...span, key: span.from, name: label(span) }))}
          />
        </details>
      )}
    </figure>
  );
}

type UsageRow = Omit<UsageSpan, "from"> & { key: string; name: ReactNode };

/** What was used, a row an hour, a day or a model. */
export function UsageTable({ head, rows }: { head: string; rows: readonly UsageRow[] }) {
  const columns = [
    { label: head },
    { label: "Jobs", end: true },
    { label: "Not charged", end: true, more: true },
    { label: "Tokens", end: true, more: true },
    { label: "Credits", end: true },
  ];
  return (
    <Table caption={`Use by ${head.toLowerCase()}`} columns={columns}>
      {rows.map((row) => (
        <tr key={row.key}>
          <td>{row.name}</td>
          <td className="end">{count(row.jobs)}</td>
          <td className="end more">{count(row.uncharged)}</td>
          <td className="end more">{count(row.tokens)}</td>
          <td className="end">{count(row.credits)}</td>
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
