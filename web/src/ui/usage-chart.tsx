import { useState } from "react";
import type { UsageSpan } from "../data/types.ts";
import { count, credits } from "./format.ts";

const WIDTH = 720;
const HEIGHT = 150;
const GAP = 4;
/** Even a day of one credit is seen. */
const LEAST = 2;

/** Credits a day as bars. The same numbers stand in a table for those who do not see bars. */
export function UsageChart({ days }: { days: readonly UsageSpan[] }) {
  const [shown, setShown] = useState<UsageSpan | null>(null);
  const top = niceTop(Math.max(...days.map((day) => day.credits)));
  const step = WIDTH / days.length;
  const total = days.reduce((sum, day) => sum + day.credits, 0);
  const jobs = days.reduce((sum, day) => sum + day.jobs, 0);
  return (
    <figure className="chart">
      <p className="chart-says" aria-hidden="true">
        {shown === null ? (
          <>
            <strong>{count(total)}</strong> credits for {count(jobs)} jobs
          </>
        ) : (
          <>
            <strong>{count(shown.credits)}</strong> credits for {count(shown.jobs)} jobs on {shown.from.slice(0, 10)}
          </>
        )}
      </p>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        <title>Credits a day</title>
        <line className="axis" x1="0" x2={WIDTH} y1={HEIGHT} y2={HEIGHT} />
        <line className="grid" x1="0" x2={WIDTH} y1="0.5" y2="0.5" />
        <line className="grid" x1="0" x2={WIDTH} y1={HEIGHT / 2} y2={HEIGHT / 2} />
        {days.map((day, index) => {
          const height = day.credits === 0 ? 0 : Math.max(LEAST, (day.credits / top) * HEIGHT);
          return (
            // biome-ignore lint/a11y/noStaticElementInteractions: an extra for the mouse; the table below has the numbers
            <g key={day.from} onMouseEnter={() => setShown(day)} onMouseLeave={() => setShown(null)}>
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
        <span>{days[0]?.from.slice(0, 10)}</span>
        <span>top line: {credits(top)}</span>
        <span>{days.at(-1)?.from.slice(0, 10)}</span>
      </figcaption>
      <table className="visually-hidden">
        <caption>Credits a day</caption>
        <thead>
          <tr>
            <th scope="col">Day</th>
            <th scope="col">Credits</th>
            <th scope="col">Jobs</th>
          </tr>
        </thead>
        <tbody>
          {days
            .filter((day) => day.jobs > 0)
            .map((day) => (
              <tr key={day.from}>
                <th scope="row">{day.from.slice(0, 10)}</th>
                <td>{day.credits}</td>
                <td>{day.jobs}</td>
              </tr>
            ))}
        </tbody>
      </table>
    </figure>
  );
}

/** A round number at or above the largest bar: 1, 2 or 5 times a power of ten. */
function niceTop(largest: number): number {
  if (largest <= 0) return 10;
  const power = 10 ** Math.floor(Math.log10(largest));
  return ([1, 2, 5, 10].find((factor) => factor * power >= largest) ?? 10) * power;
}
