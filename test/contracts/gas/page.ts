/** The gas table of docs/gas.md: measured again by each run of the tests, rewritten by `npm run gas`. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export type GasTable = Record<string, Record<string, number>>;

const PAGE = fileURLToPath(new URL("../../../docs/gas.md", import.meta.url));

const SIZES = ["1", "8", "32", "64"];

/** Zero bytes in ids, times and signatures move a measurement by a few units; a change of the code by more. */
const TOLERANCE = 0.005;

export function writePage(table: GasTable): void {
  writeFileSync(PAGE, page(table));
}

export const readPage = (): string => readFileSync(PAGE, "utf8");

/** The figures of a page. */
export function tableOf(text: string): GasTable {
  const rows = text.split("\n").flatMap((line) => {
    const [name, ...cells] = line.slice(2, -2).split(" | ");
    const row = SIZES.flatMap((size, i) =>
      /^[\d,]+$/.test(cells[i] ?? "") ? [[size, Number(cells[i]?.replaceAll(",", ""))]] : [],
    );
    return name === undefined || row.length === 0 ? [] : [[name, Object.fromEntries(row)]];
  });
  return Object.fromEntries(rows);
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

/** The table as a page of the documentation. */
export function page(table: GasTable): string {
  const cell = (gas: number | undefined) => gas?.toLocaleString("en") ?? "–";
  const rows = Object.entries(table).map(
    ([name, row]) => `| ${[name, ...SIZES.map((size) => cell(row[size]))].join(" | ")} |`,
  );
  return `# Gas

Gas an item, by the number of items in the transaction. Each job pays both payees and gives a quarter of its lock back. \`npm run gas\` writes
this page. The contract tests fail when a row moves by half a percent, or a fused job costs over 78,000 in a batch of 32 or 151,000 alone.

"Fused" is \`lock\` and \`complete\`; "authorized" is the same with \`lockAuthorized\`; "shared" sends \`acknowledge\` and \`complete\` in one
batch; "acknowledged" sends three batches. "Operator earns" has half of the fee for the operator; the others have none.

| operation | alone | of 8 | of 32 | of 64 |
| --- | ---: | ---: | ---: | ---: |
${rows.join("\n")}
`;
}
