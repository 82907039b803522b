/**
 * `npm test [suite...]`: compiles, then runs the suites two at a time, each within its time budget, and goes on after a failure.
 * The last line is the sum, alone: `N passed, N failed`. Exit code 1 when anything failed.
 */
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cleanFolder } from "../../local-stack/cleanup.ts";
import { ROOT } from "../../local-stack/files.ts";
import { type Result as Counted, type Counts, count } from "./count.ts";
import { killRunning, runProgram } from "./program.ts";
import { COMPILE, LANES, SUITES, type Suite } from "./table.ts";

const NAME_WIDTH = Math.max(...SUITES.map((suite) => suite.name.length));

let interrupted = false;

type Result = Counted & { name: string; seconds: number; note: string };

const hasTests = (suite: Suite): boolean =>
  suite.folders.length === 0 ||
  suite.folders.some((folder) => {
    const path = join(ROOT, folder);
    return (
      existsSync(path) &&
      readdirSync(path, { recursive: true, encoding: "utf8" }).some((file) => /\.(test\.ts|t\.sol)$/.test(file))
    );
  });

async function runSuite(suite: Suite): Promise<Result> {
  const result: Result = { name: suite.name, passed: 0, failed: 0, skipped: 0, failures: [], seconds: 0, note: "" };
  if (!hasTests(suite)) return { ...result, note: `SKIPPED: no tests in ${suite.folders.join(", ")}` };
  const label = suite === COMPILE ? "" : `${suite.name.padEnd(NAME_WIDTH)} | `;
  console.log(`${label}===== ${suite.name} (at most ${suite.budget} s) =====`);

  const started = performance.now();
  const elapsed = (): number => (performance.now() - started) / 1000;
  const folder = mkdtempSync(join(tmpdir(), `test-${suite.name}-`));
  // Test stacks put their data here; others may enter, as the database runs as another user under root.
  const colour = process.stdout.isTTY ? { FORCE_COLOR: "1" } : { NO_COLOR: "1" };
  const env = { ...process.env, TEST_STACKS: folder, ...colour };
  for (const step of suite.steps) {
    const report = join(folder, "report.json");
    const extra =
      step.count === "vitest" ? ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`] : [];
    if (suite.steps.length > 1) console.log(`${label}----- ${step.title}`);
    const left = Math.max(1, suite.budget - elapsed()) * 1000;
    const outcome = await runProgram([...step.args, ...extra], env, left, label);
    const counts = count(step.count, outcome, report);
    if (interrupted) break;
    result.passed += counts.passed;
    result.failed += counts.failed;
    result.skipped += counts.skipped;
    result.failures.push(...counts.failures);
    if (outcome.overTime) {
      result.note = `OVER ITS TIME BUDGET of ${suite.budget} s (in ${step.title}): killed`;
      break;
    }
    if (counts.failed > 0) result.note = [result.note, `${step.title} failed`].filter(Boolean).join(", ");
  }
  await cleanFolder(folder);
  rmSync(folder, { recursive: true, force: true });
  return { ...result, seconds: elapsed() };
}

function choose(names: string[]): readonly Suite[] {
  const unknown = names.filter((name) => !SUITES.some((suite) => suite.name === name));
  if (unknown.length === 0 && names.length === 0) return SUITES;
  if (unknown.length === 0) {
    return SUITES.filter((suite) => suite === COMPILE || names.includes(suite.name));
  }
  console.error(`There is no suite ${unknown.join(", ")}; there are: ${SUITES.map((suite) => suite.name).join(", ")}.`);
  process.exit(2);
}

/** What failed, once more and together: between the output of two lanes it is hard to find. */
function explain(results: Result[]): void {
  for (const { name, failures } of results) {
    for (const { title, message } of failures) {
      console.log(`\n===== failed: ${name} > ${title}\n${message.replace(/^/gm, "  ")}`);
    }
  }
}

function summarize(results: Result[]): number {
  const sum = (key: keyof Counts): number => results.reduce((total, result) => total + result[key], 0);
  explain(results);
  console.log("\n===== all suites =====");
  for (const { name, passed, failed, skipped, seconds, note } of results) {
    const counts = `${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ""}`;
    console.log(`  ${name.padEnd(NAME_WIDTH)} ${counts.padEnd(36)} ${seconds.toFixed(0).padStart(4)} s  ${note}`);
  }
  if (sum("skipped") > 0) console.log(`  (${sum("skipped")} tests are marked to be skipped)`);
  console.log(`${sum("passed")} passed, ${sum("failed")} failed`);
  return sum("failed") > 0 ? 1 : 0;
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => {
    console.error(`\n${signal}: tests stopped.`);
    interrupted = true;
    killRunning();
  });
}

/** Takes suites off the list until there are none. */
async function runLane(waiting: Suite[], results: Result[]): Promise<void> {
  for (let suite = waiting.shift(); suite !== undefined && !interrupted; suite = waiting.shift()) {
    results.push(await runSuite(suite));
  }
}

const waiting = [...choose(process.argv.slice(2))];
// Everything else reads what it makes.
const results: Result[] = [await runSuite(waiting.shift() as Suite)];
await Promise.all(Array.from({ length: LANES }, () => runLane(waiting, results)));
if (interrupted) process.exit(130);
process.exitCode = summarize(results);
