/**
 * The second look at what failed. Two thousand tests run real databases, nodes and browsers, three suites at a time on shared machines:
 * a file that fails there is run once more, alone, when everything else has ended. What fails again has failed. What passes is counted as
 * passed and reported as unsteady, with its first failure, for it is a defect all the same: of the test, or of what it tests.
 */
import { type FailedStep, type Result, runStep } from "./suite.ts";
import { budgetOf, FILES_BUDGET } from "./table.ts";

/** More files than this do not fail by accident: there is nothing to be looked at twice. */
const MOST_FILES = 4;

/** Runs again what failed, where that is little enough, and corrects the results. */
export async function lookAgain(results: readonly Result[], isInterrupted: () => boolean): Promise<void> {
  const failed = results.flatMap((result) => result.failedSteps.filter(isWorthIt).map((one) => ({ result, one })));
  // A step that names no file is one.
  const files = failed.reduce((sum, { one }) => sum + Math.max(1, one.counted.files.length), 0);
  if (files === 0 || files > MOST_FILES) return;
  for (const { result, one } of failed) {
    if (!isInterrupted()) await again(result, one);
  }
}

/** A compiler or a linter says the same twice. */
const isWorthIt = ({ step }: FailedStep): boolean => step.count !== "exit code";

async function again(result: Result, { step, counted: first }: FailedStep): Promise<void> {
  const { suite } = result;
  console.log(`\n===== ${suite.name}, once more: ${first.files.join(", ") || step.title} =====`);
  const started = performance.now();
  const budget = first.files.length > 0 ? FILES_BUDGET : budgetOf(suite);
  const { outcome, counted: second } = await runStep(suite, step, budget, first.files);
  result.seconds += (performance.now() - started) / 1000;
  if (outcome.overTime) {
    result.notes.push(`its second run was over the time budget of ${budget} s: killed`);
    return;
  }
  for (const key of ["passed", "failed", "skipped"] as const) {
    // Where no file is named, everything ran again.
    result[key] += first.others[key] + second[key] - first[key];
  }
  const still = new Set(second.failures.map(({ title }) => title));
  result.unsteady.push(...first.failures.filter(({ title }) => !still.has(title)));
  result.failures = [...result.failures.filter((failure) => !first.failures.includes(failure)), ...second.failures];
  if (second.failed === 0) {
    result.notes = result.notes.filter((note) => note !== `${step.title} failed`);
    result.notes.push(`UNSTEADY: ${first.failures.length} failed at first, and not when run once more`);
  }
}
