import { csvLine } from "../../../shared/csv.ts";

/** Gives the visitor a file of these rows. */
export function downloadCsv(name: string, rows: readonly (readonly (string | number)[])[]): void {
  const text = rows.map(csvLine).join("");
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}
