/**
 * Writes the result of a test program to a file that `npm test` reads: every program writes one into the folder that TEST_REPORTS names.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export type TestNote = { title: string; message: string };

/**
 * @property skipped Tests that did not run, and why.
 * @property flaky Tests that failed at first, and how; they passed when vitest ran them once more.
 */
export type Report = { passed: number; failed: number; skipped: TestNote[]; failures: TestNote[]; flaky: TestNote[] };

export const NO_REASON = "the test does not say why";

export function writeReport(name: string, report: Report, folder = process.env["TEST_REPORTS"]): void {
  if (folder !== undefined) writeFileSync(join(folder, `${name}.json`), JSON.stringify(report));
}

/** The sum of all reports in a folder and below. */
export function readReports(folder: string): Report {
  const files = globSync("**/*.json", { cwd: folder });
  const reports = files.map((file) => JSON.parse(readFileSync(join(folder, file), "utf8")) as Report);
  const sum = (key: "passed" | "failed"): number => reports.reduce((total, one) => total + one[key], 0);
  return {
    passed: sum("passed"),
    failed: sum("failed"),
    skipped: reports.flatMap(({ skipped }) => skipped),
    failures: reports.flatMap(({ failures }) => failures),
    flaky: reports.flatMap(({ flaky }) => flaky),
  };
}
