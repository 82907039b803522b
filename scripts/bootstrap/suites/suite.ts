import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cleanFolder } from "../../local-stack/cleanup.ts";
import { ROOT } from "../../local-stack/files.ts";
import { type Result as Counted, type Counts, count } from "./count.ts";
import type { Failure } from "./failures.ts";
import { type Outcome, runProgram } from "./program.ts";
import { BUILD, budgetOf, type Step, SUITES, type Suite } from "./table.ts";

export const NAME_WIDTH = Math.max(...SUITES.map((suite) => suite.name.length));

/** A step that failed within its time, and what was counted of it. */
export type FailedStep = { step: Step; counted: Counted };

/** @property unsteady Failures that were none when their tests ran again (again.ts). */
export type Result = Counts & {
  suite: Suite;
  seconds: number;
  notes: string[];
  failures: Failure[];
  failedSteps: FailedStep[];
  unsteady: Failure[];
};

const hasTests = (suite: Suite): boolean =>
  suite.folders.length === 0 ||
  suite.folders.some((folder) => {
    const path = join(ROOT, folder);
    return (
      existsSync(path) &&
      readdirSync(path, { recursive: true, encoding: "utf8" }).some((file) => /\.(test\.ts|t\.sol)$/.test(file))
    );
  });

/** Runs a suite's steps within its budget; goes on after a step that failed. */
export async function runSuite(suite: Suite, isInterrupted: () => boolean): Promise<Result> {
  const budget = budgetOf(suite);
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const result: Result = { ...counts, suite, seconds: 0, notes: [], failures: [], failedSteps: [], unsteady: [] };
  if (!hasTests(suite)) return { ...result, notes: [`SKIPPED: no tests in ${suite.folders.join(", ")}`] };
  console.log(`${labelOf(suite)}===== ${suite.name} (at most ${budget} s) =====`);

  const started = performance.now();
  const elapsed = (): number => (performance.now() - started) / 1000;
  for (const step of suite.steps) {
    if (suite.steps.length > 1) console.log(`${labelOf(suite)}----- ${step.title}`);
    const { outcome, counted } = await runStep(suite, step, Math.max(1, budget - elapsed()));
    if (isInterrupted()) break;
    result.passed += counted.passed;
    result.failed += counted.failed;
    result.skipped += counted.skipped;
    result.failures.push(...counted.failures);
    if (outcome.overTime) {
      result.notes = [`OVER ITS TIME BUDGET of ${budget} s (in ${step.title}): killed`];
      break;
    }
    if (counted.failed === 0) continue;
    result.notes.push(`${step.title} failed`);
    result.failedSteps.push({ step, counted });
  }
  return { ...result, seconds: elapsed() };
}

/**
 * Runs one step, in a folder of its own for the stacks it starts.
 * @param seconds Time it may take; then it is killed with all it started.
 * @param files Test files to which it is limited; all of its own if there are none.
 */
export async function runStep(
  suite: Suite,
  step: Step,
  seconds: number,
  files: readonly string[] = [],
): Promise<{ outcome: Outcome; counted: Counted }> {
  const folder = mkdtempSync(join(tmpdir(), `test-${suite.name}-`));
  const report = join(folder, "report.json");
  const colour = process.stdout.isTTY ? { FORCE_COLOR: "1" } : { NO_COLOR: "1" };
  const env = { ...process.env, TEST_STACKS: folder, ...colour };
  const reporters =
    step.count === "vitest" ? ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`] : [];
  const outcome = await runProgram([...step.args, ...reporters, ...files], env, seconds * 1000, labelOf(suite));
  const counted = count(step.count, outcome, report);
  await cleanFolder(folder);
  rmSync(folder, { recursive: true, force: true });
  return { outcome, counted };
}

/** Stands before each line of a suite that runs beside others. */
const labelOf = (suite: Suite): string => (suite === BUILD ? "" : `${suite.name.padEnd(NAME_WIDTH)} | `);
