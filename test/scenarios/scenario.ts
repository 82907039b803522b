/** What a whole system goes through under load, and the report of it. */

/** Names of options with their defaults; 0 and an empty text stand for none. */
type Options = Readonly<Record<string, string | number>>;
type Given<O> = { [N in keyof O]: O[N] extends number ? number : string };
/** Takes a line about how far a run is. */
export type Note = (line: string) => void;

export type Scenario<O = Options> = {
  name: string;
  does: string;
  options: O;
  run: (given: Given<O>, note: Note) => Promise<Outcome>;
};

type Row = Record<string, string | number>;
/** `problems`: what does not hold. `rows`: what was done, for a table. All else is shown as JSON. */
export type Outcome = { problems: readonly string[]; rows?: readonly Row[]; [more: string]: unknown };

/** Lets `run` know the types of its options. */
export const scenario = <const O extends Options>(one: Scenario<O>): Scenario => one as unknown as Scenario;

/** The report of a run, as text for a terminal and a page of docs/. */
export function reportOf(name: string, { rows = [], ...outcome }: Outcome): string {
  const line = (cells: readonly (string | number)[]): string => `| ${cells.join(" | ")} |`;
  const head = rows.slice(0, 1).flatMap((row) => [line(Object.keys(row)), line(Object.values(row).map(alignment))]);
  const { length } = outcome.problems;
  const verdict = length === 0 ? `verdict: ${name} holds` : `verdict: ${name} has ${length} problems`;
  return [...head, ...rows.map((row) => line(Object.values(row))), JSON.stringify(outcome, null, 2), verdict].join(
    "\n",
  );
}

const alignment = (cell: string | number): string => (typeof cell === "number" ? "---:" : "---");
