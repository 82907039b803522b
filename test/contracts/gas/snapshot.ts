/** The committed gas table: measured again by each run of the tests, rewritten by scripts/gas.ts. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export type GasTable = Record<string, Record<string, number>>;

const FILE = fileURLToPath(new URL("./gas.snapshot.json", import.meta.url));
/** Zero bytes in ids, times and signatures move a measurement by a few units; a change of the code by more. */
const TOLERANCE = 0.005;

export function readSnapshot(): GasTable {
  return existsSync(FILE) ? (JSON.parse(readFileSync(FILE, "utf8")) as GasTable) : {};
}

export function writeSnapshot(table: GasTable): void {
  writeFileSync(FILE, `${JSON.stringify(table, null, 2)}\n`);
}

/** Rows of `measured` that are not what was committed, as text. */
export function differences(measured: GasTable, committed: GasTable): string[] {
  const names = new Set([...Object.keys(measured), ...Object.keys(committed)]);
  return [...names].flatMap((name) => {
    const [now, before] = [measured[name] ?? {}, committed[name] ?? {}];
    const columns = new Set([...Object.keys(now), ...Object.keys(before)]);
    return [...columns]
      .filter((column) => !close(now[column], before[column]))
      .map(
        (column) => `${name}, ${column}: ${now[column] ?? "not measured"}, committed ${before[column] ?? "nothing"}`,
      );
  });
}

function close(a: number | undefined, b: number | undefined): boolean {
  return a !== undefined && b !== undefined && Math.abs(a - b) <= TOLERANCE * b;
}

/** The table as text, one row an operation. */
export function format(table: GasTable): string {
  const columns = [...new Set(Object.values(table).flatMap((row) => Object.keys(row)))];
  const width = Math.max(...Object.keys(table).map((name) => name.length));
  const line = (name: string, cells: string[]) =>
    `${name.padEnd(width)}${cells.map((cell) => cell.padStart(10)).join("")}`;
  const rows = Object.entries(table).map(([name, row]) =>
    line(
      name,
      columns.map((column) => row[column]?.toLocaleString("en") ?? ""),
    ),
  );
  return [line("gas per item, in batches of", columns), ...rows].join("\n");
}
