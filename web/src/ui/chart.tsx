import { type KeyboardEvent, type PointerEvent, useState } from "react";
import { shortMoment } from "./format.ts";
import { Folded } from "./page.tsx";
import { Table } from "./table.tsx";

/**
 * One line, or one layer of the bars: a value for each span, null where nothing is known. `colour`: its place in the palette, where the same thing has
 * the same colour in several charts; `bad`: what should not be.
 */
export type Series = { name: string; values: readonly (number | null)[]; colour?: number | "bad" };

type ChartProps = {
  /** The measured quantity; names the chart for screen readers. */
  label: string;
  kind: "bars" | "lines";
  /** Begin of each span, ISO 8601, oldest first; `span` says how long one is. */
  starts: readonly string[];
  span: string;
  series: readonly Series[];
  /** A value in words, and short for the axis. */
  says: (value: number) => string;
  tick?: (value: number) => string;
  /** Top of the axis where it is no matter of the values: 1 of a share. */
  top?: number;
};

const WIDTH = 1_000;
const HEIGHT = 200;
/** Even the smallest value is seen. */
const LEAST = 3;
/** Colours of the palette (styles/pages.css); what comes after them shares the last one. */
const COLOURS = 8;
/** The span that runs now. */
const RUNNING: Record<string, string> = {
  hour: "This hour",
  "six hours": "These six hours",
  day: "Today (UTC)",
  month: "This month (UTC)",
};
const STEPS: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1 };

/**
 * Values over time as stacked bars or as lines, with a real axis. Pointer and arrow keys go from span to span: the legend then says the values of
 * that span. The same numbers stand in a table.
 */
export function Chart({ label, kind, starts, span, series, says, tick = says, top: fixed }: ChartProps) {
  const [shown, setShown] = useState<number | null>(null);
  const drawn = series.filter(({ values }) => values.some((value) => value !== null));
  const top = fixed ?? niceTop(largest(kind, drawn, starts.length));
  const last = starts.length - 1;
  const at = shown ?? last;
  const spoken = `${nameOf(starts[at], span)}: ${drawn.map(({ name, values }) => `${name} ${valueInWords(values[at], says)}`).join(", ") || "nothing"}`;
  const onKeyDown = (event: KeyboardEvent) => {
    const to = { Home: 0, End: last }[event.key] ?? at + (STEPS[event.key] ?? Number.NaN);
    if (Number.isNaN(to)) return;
    event.preventDefault();
    setShown(Math.min(last, Math.max(0, to)));
  };
  const onPointerMove = (event: PointerEvent<HTMLElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const to = Math.floor(((event.clientX - left) / width) * starts.length);
    setShown(Math.min(last, Math.max(0, to)));
  };
  return (
    <figure className="chart">
      <div className="plot">
        <div className="ticks" aria-hidden="true">
          {(drawn.length === 0 ? [] : [top, top / 2, 0]).map((value) => (
            <span key={value}>{tick(value)}</span>
          ))}
        </div>
        {/* A slider over the spans: what screen readers say at each is what the legend shows. */}
        <div
          className="field-of-view"
          role="slider"
          tabIndex={0}
          aria-label={`${label} by ${span}`}
          aria-valuemin={1}
          aria-valuemax={starts.length}
          aria-valuenow={at + 1}
          aria-valuetext={spoken}
          onKeyDown={onKeyDown}
          onFocus={() => setShown(at)}
          onBlur={() => setShown(null)}
          onPointerMove={onPointerMove}
          onPointerLeave={() => setShown(null)}
        >
          <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
            {(drawn.length === 0 ? [2] : [0, 1, 2]).map((line) => (
              <line
                key={line}
                className={line === 2 ? "axis" : "grid"}
                x1="0"
                x2={WIDTH}
                y1={(line * HEIGHT) / 2}
                y2={(line * HEIGHT) / 2}
              />
            ))}
            {shown === null ? null : (
              <rect className="at" x={(shown * WIDTH) / starts.length} width={WIDTH / starts.length} height={HEIGHT} />
            )}
            {kind === "bars" ? (
              <Bars series={drawn} count={starts.length} top={top} />
            ) : (
              <Lines series={drawn} count={starts.length} top={top} />
            )}
          </svg>
          {drawn.length === 0 ? <p className="unseen">Nothing was seen in this time</p> : null}
        </div>
        <div className="times" aria-hidden="true">
          {[0, Math.round(last / 3), Math.round((last * 2) / 3)].map((index) => (
            <span key={index}>{shortName(starts[index], span)}</span>
          ))}
          <span>now</span>
        </div>
      </div>
      <figcaption className="legend">
        <span className="when">{shown === null ? (RUNNING[span] ?? span) : nameOf(starts[at], span)}</span>
        {drawn.map((one, index) => (
          <span key={one.name}>
            <i className={colourOf(one, index)} /> {one.name} <strong>{valueInWords(one.values[at], says)}</strong>
          </span>
        ))}
      </figcaption>
      {drawn.length === 0 ? null : (
        <Folded summary="As a table">
          {() => <Numbers label={label} starts={starts} span={span} series={drawn} says={says} />}
        </Folded>
      )}
    </figure>
  );
}

const valueInWords = (value: number | null | undefined, says: ChartProps["says"]): string =>
  value == null ? "–" : says(value);

const colourOf = ({ colour }: Series, index: number): string =>
  `colour-${colour === "bad" ? colour : Math.min(colour ?? index, COLOURS - 1)}`;

/** The largest value on the axis: of bars, the highest pile. */
function largest(kind: ChartProps["kind"], series: readonly Series[], count: number): number {
  const values = Array.from({ length: count }, (_, at) => series.map((one) => one.values[at] ?? 0));
  return Math.max(
    0,
    ...values.map((all) => (kind === "bars" ? all.reduce((sum, one) => sum + one, 0) : Math.max(0, ...all))),
  );
}

type Drawn = { series: readonly Series[]; count: number; top: number };

function Bars({ series, count, top }: Drawn) {
  const step = WIDTH / count;
  const floors = Array<number>(count).fill(HEIGHT);
  return series.map((one, index) => {
    const { name, values } = one;
    let path = "";
    values.forEach((value, at) => {
      if (value === null || value === 0) return;
      const height = Math.max(LEAST, (value / top) * HEIGHT);
      const floor = floors[at] ?? HEIGHT;
      floors[at] = floor - height;
      path += `M${(at + 0.12) * step} ${floor}h${step * 0.76}v${-height}h${-step * 0.76}z`;
    });
    return <path key={name} className={`pile ${colourOf(one, index)}`} d={path} />;
  });
}

/** A line breaks where nothing is known; a lone value is as wide as its span, so that it is seen. */
function Lines({ series, count, top }: Drawn) {
  const step = WIDTH / count;
  return series.map((one, index) => {
    const { name, values } = one;
    let path = "";
    values.forEach((value, at) => {
      if (value === null) return;
      const point = `${(at + 0.5) * step} ${HEIGHT - (Math.min(value, top) / top) * HEIGHT}`;
      const [before, after] = [values[at - 1] ?? null, values[at + 1] ?? null];
      if (before === null && after === null) path += `M${point}m${-step / 2} 0h${step}`;
      else path += before === null ? `M${point}` : `L${point}`;
    });
    return <path key={name} className={colourOf(one, index)} d={path} />;
  });
}

function Numbers({
  label,
  starts,
  span,
  series,
  says,
}: Pick<ChartProps, "label" | "starts" | "span" | "series" | "says">) {
  const columns = [span === "day" ? "Day (UTC)" : "From", ...series.map(({ name }) => ({ end: name }))];
  const rows = starts.map((start, at) => ({ start, values: series.map(({ values }) => values[at] ?? null) })).reverse();
  return (
    <Table plain caption={`${label} by ${span}`} columns={columns}>
      {rows
        .filter(({ values }) => values.some((value) => value !== null && value !== 0))
        .map(({ start, values }) => (
          <tr key={start}>
            <td>{nameOf(start, span)}</td>
            {values.map((value, index) => (
              <td key={series[index]?.name} className="end">
                {valueInWords(value, says)}
              </td>
            ))}
          </tr>
        ))}
    </Table>
  );
}

/** Days are UTC days and named so; hours stand in the reader's own time. */
const nameOf = (start: string | undefined, span: string): string =>
  start === undefined
    ? ""
    : span === "day" || span === "month"
      ? start.slice(0, span === "day" ? 10 : 7)
      : shortMoment(start);

const dayTime = new Intl.DateTimeFormat(undefined, { weekday: "short", hour: "2-digit", minute: "2-digit" });
const dayAlone = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", timeZone: "UTC" });
const shortName = (start: string | undefined, span: string): string =>
  start === undefined
    ? ""
    : span === "month"
      ? start.slice(0, 7)
      : (span === "day" ? dayAlone : dayTime).format(new Date(start));

/** A round number at or above the largest value: 1, 2 or 5 times a power of ten. */
function niceTop(largest: number): number {
  if (largest <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(largest));
  return ([1, 2, 5, 10].find((factor) => factor * power >= largest) ?? 10) * power;
}
