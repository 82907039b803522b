/** What a whole system goes through under load, and the report of it. */

/** Options as texts; one whose default is empty need not be given. */
export type Given = Readonly<Record<string, string>>;

export type Scenario = {
  name: string;
  does: string;
  /** Names of its options with their defaults. */
  options: Given;
  /** @param note Takes a line about how far it is. */
  run: (given: Given, note: (line: string) => void) => Promise<Outcome>;
};

type Row = Record<string, string | number>;

/** `problems`: what does not hold. `rows`: what was done, for a table. All else is shown as JSON. */
export type Outcome = { problems: readonly string[]; rows?: readonly Row[]; [more: string]: unknown };

/** The report of a scenario, as text for a terminal and a page of docs/. */
export function reportOf({ name }: Scenario, { rows = [], ...outcome }: Outcome): string {
  const [first] = rows;
  const line = (cells: readonly (string | number)[]): string => `| ${cells.join(" | ")} |`;
  const table = first === undefined ? [] : [line(Object.keys(first)), line(Object.values(first).map(alignment))];
  const { length } = outcome.problems;
  return [
    ...table,
    ...rows.map((row) => line(Object.values(row))),
    JSON.stringify(outcome, null, 2),
    length === 0 ? `verdict: ${name} holds` : `verdict: ${name} has ${length} problems`,
  ].join("\n");
}

const alignment = (cell: string | number): string => (typeof cell === "number" ? "---:" : "---");
