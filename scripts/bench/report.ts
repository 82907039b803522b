import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";

/** One table of the report, and the same numbers for machines. */
export type Section = { title: string; columns: string[]; rows: string[][]; json: object[] };

/** The report as a person reads it. */
export function markdown(sections: readonly Section[], at: Date): string {
  const machine = `${cpus().length} cores (${cpus()[0]?.model.trim() ?? "unknown"}), ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`;
  const tables = sections.map(
    ({ title, columns, rows }) =>
      `## ${title}\n\n${line(columns)}${line(columns.map(() => "---"))}${rows.map(line).join("")}`,
  );
  return `# Benchmark of ${at.toISOString()}\n\n${machine}; everything, the load included, runs on it.\n\n${tables.join("\n")}`;
}

const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |\n`;

/** Writes `bench.md` and `bench.json` into `folder`; called after each section, so that an interrupted run leaves what it has. */
export function writeReport(folder: string, sections: readonly Section[], at: Date): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "bench.md"), markdown(sections, at));
  const results = sections.map(({ title, json }) => ({ title, results: json }));
  writeFileSync(join(folder, "bench.json"), `${JSON.stringify({ at, sections: results }, null, 2)}\n`);
}
