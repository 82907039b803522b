/** Numbers of a run as a table, for a person and for machines. */
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";

/** The value below which `share` of the (unsorted) numbers lie, by the nearest rank; NaN of none. */
export function percentile(values: readonly number[], share: number): number {
  if (values.length === 0) return Number.NaN;
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

export const p50 = (values: readonly number[]): number => percentile(values, 0.5);
export const p99 = (values: readonly number[]): number => percentile(values, 0.99);

type Cell = string | number | undefined;

/** One table of the report, as machines read it: the names of the first row's values are the columns. */
export type Section = { title: string; rows: Record<string, Cell>[] };

/** A line on how far the run is. */
export const progress = (line: string): void => console.error(`${new Date().toISOString().slice(11, 19)}  ${line}`);

export function markdown(sections: readonly Section[], at: Date): string {
  const machine = `${cpus().length} cores (${cpus()[0]?.model.trim() ?? "unknown"}), ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`;
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |\n`;
  const tables = sections.map(({ title, rows }) => {
    const columns = Object.keys(rows[0] ?? {});
    const lines = rows.map((row) => line(columns.map((column) => shown(row[column]))));
    return `## ${title}\n\n${line(columns)}${line(columns.map(() => "---"))}${lines.join("")}`;
  });
  return `# Benchmark of ${at.toISOString()}\n\n${machine}; everything, the load included, runs on it.\n\n${tables.join("\n")}`;
}

/** Numbers with three digits, as far as they are no whole ones. */
function shown(cell: Cell): string {
  if (typeof cell !== "number") return cell ?? "";
  if (!Number.isFinite(cell)) return "–";
  return cell.toFixed(
    Number.isInteger(cell) ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.max(1, Math.abs(cell))))),
  );
}

/** Writes `bench.md` and `bench.json` into `folder`; called after each section, so that an interrupted run leaves what it has. */
export function writeReport(folder: string, sections: readonly Section[], at: Date): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "bench.md"), markdown(sections, at));
  writeFileSync(join(folder, "bench.json"), `${JSON.stringify({ at, sections }, null, 2)}\n`);
}
