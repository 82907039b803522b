import type { Counts } from "./count.ts";
import type { Failure } from "./failures.ts";
import { NAME_WIDTH, type Result } from "./suite.ts";

/** Prints what failed, a line for each suite, and the sum alone on the last line: `N passed, N failed`. Returns the exit code. */
export function summarize(results: readonly Result[]): number {
  const sum = (key: keyof Counts): number => results.reduce((total, result) => total + result[key], 0);
  for (const { suite, unsteady } of results)
    explain("unsteady (failed at first, passed when run once more)", suite.name, unsteady);
  for (const { suite, failures } of results) explain("failed", suite.name, failures);
  console.log("\n===== all suites =====");
  for (const { suite, passed, failed, skipped, seconds, notes } of results) {
    const counts = `${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ""}`;
    const time = `${seconds.toFixed(0).padStart(4)} s`;
    console.log(`  ${suite.name.padEnd(NAME_WIDTH)} ${counts.padEnd(36)} ${time}  ${notes.join(", ")}`);
  }
  if (sum("skipped") > 0) console.log(`  (${sum("skipped")} tests are marked to be skipped)`);
  console.log(`${sum("passed")} passed, ${sum("failed")} failed`);
  return sum("failed") > 0 ? 1 : 0;
}

/** What failed, once more and together: between the output of several lanes it is hard to find. */
function explain(word: string, suite: string, failures: readonly Failure[]): void {
  for (const { title, message } of failures) {
    console.log(`\n===== ${word}: ${suite} > ${title}\n${message.replace(/^/gm, "  ")}`);
  }
}
